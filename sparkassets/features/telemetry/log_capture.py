"""Passes log records of runs on to their logs; loaded when the first run starts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable


class LogCapture:
    """Records the log records of all threads; from level INFO on where logging is not configured.

    Args:
        record_output: Takes the text of each record, in the thread that logs it.
    """

    def __init__(self, record_output: Callable[[str], None]) -> None:
        self._record_output = record_output
        self._silent = threading.local()
        self._handler = _RunLogHandler(self)
        self._level: int | None = None
        root = logging.getLogger()
        if not root.handlers and root.level == logging.WARNING:  # as Python starts: nobody has configured logging
            self._level = root.level
            root.setLevel(logging.INFO)
        root.addHandler(self._handler)

    def remove(self) -> None:
        """Removes the handler, and puts the level back."""
        root = logging.getLogger()
        root.removeHandler(self._handler)
        if self._level is not None:
            root.setLevel(self._level)

    @property
    def is_silent(self) -> bool:
        """Whether what the calling thread prints is a record, which is recorded already."""
        return getattr(self._silent, "on", False)

    def record(self, record: logging.LogRecord, text: str) -> None:
        """Records a record; where no other handler exists, also prints it as Python does without any handler.

        Python prints warnings by `logging.lastResort` only if there is no handler, and ours is one.
        """
        if record.levelno >= logging.WARNING or not record.name.startswith("py4j"):
            self._record_output(f"{text}\n")
        if len(logging.getLogger().handlers) > 1 or logging.lastResort is None:
            return
        if record.levelno >= logging.lastResort.level:
            self._silent.on = True
            try:
                logging.lastResort.handle(record)
            finally:
                self._silent.on = False


class _RunLogHandler(logging.Handler):
    """Passes log records to `LogCapture`."""

    def __init__(self, capture: LogCapture) -> None:
        super().__init__()
        self._capture = capture
        formatter = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Records a message of a run; from py4j only warnings and errors."""
        try:
            self._capture.record(record, self.format(record))
        except Exception:  # noqa: BLE001  as handlers do
            self.handleError(record)
