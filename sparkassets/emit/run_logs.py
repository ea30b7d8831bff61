"""What a run prints and logs, in a file of its own: the thread tells whose it is, however many runs go side by side.

A run computes in threads that have its name; what threads do that its function starts itself is nobody's.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import Plan, PlannedRun
    from sparkassets.core.redaction import RedactingStream
    from sparkassets.core.results import RunResult, Summary

LOGS_KEPT: Final = 1_000
"""Files in a folder of logs; the oldest make way."""
DAYS_KEPT: Final = 30
LOG_CHARACTERS: Final = 1_000_000
"""Of a log that is longer the middle is left out."""
_HALF: Final = LOG_CHARACTERS // 2
_LEFT_OUT: Final = "[…]\n"


class RunLogs:
    """Watches an invocation, and writes what its runs print and log.

    Args:
        folder: Where; a file is named by its run, and there is none of a run that says nothing.
        variables: Of the environment, whose values are not written.
    """

    def __init__(self, folder: Path, *, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._variables = variables
        self._logs: dict[str, _RunLogFile] = {}
        self._handler = _RunLogHandler(self)
        self._level: int | None = None
        self._silent = threading.local()

    def began(self) -> None:
        """Listens to what is logged; where nobody has set up logging, from INFO on."""
        root = logging.getLogger()
        if not root.handlers and root.level == logging.WARNING:
            self._level = root.level
            root.setLevel(logging.INFO)
        root.addHandler(self._handler)

    def planned(self, plan: Plan) -> None:
        """Nothing."""

    def starting(self, what: str) -> None:
        """Nothing."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Listens to a run, and to what is printed, unless somebody else prints by then."""
        del run
        self._logs[run_id] = _RunLogFile(self._folder / f"{run_id}.log", self._variables)
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, _TeeStream):
                setattr(sys, name, _TeeStream(stream, self))

    def finished(self, result: RunResult) -> None:
        """Its file is whole."""
        if (log := self._logs.pop(result.run, None)) is not None:
            log.close()

    def ended(self, summary: Summary | None, state: State | None) -> None:
        """Listens no more, and removes what is old."""
        del summary, state
        root = logging.getLogger()
        root.removeHandler(self._handler)
        if self._level is not None:
            root.setLevel(self._level)
            self._level = None
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, _TeeStream):
                setattr(sys, name, stream.stream)
        for log in self._logs.values():
            log.close()
        self._logs.clear()
        remove_old_logs(self._folder)

    def record_output(self, text: str) -> None:
        """The thread that calls has printed or logged this."""
        if self._logs and not getattr(self._silent, "on", False):
            name = threading.current_thread().name
            log = self._logs.get(name) or self._logs.get(name.rpartition("-")[0])
            if log is not None:
                log.write(text)

    def to_stderr(self, record: logging.LogRecord) -> None:
        """What nobody else handles goes where it would without us, and is not heard twice."""
        if len(logging.getLogger().handlers) > 1 or logging.lastResort is None:
            return
        if record.levelno >= logging.lastResort.level:
            self._silent.on = True
            try:
                logging.lastResort.handle(record)
            finally:
                self._silent.on = False


class _RunLogHandler(logging.Handler):
    """Hears what is logged."""

    def __init__(self, logs: RunLogs) -> None:
        super().__init__()
        self._logs = logs
        formatter = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes it down, where it is a run's; what connects to Spark tells only what is wrong."""
        try:
            if record.levelno >= logging.WARNING or not record.name.startswith("py4j"):
                self._logs.record_output(f"{self.format(record)}\n")
            self._logs.to_stderr(record)
        except Exception:  # noqa: BLE001  as handlers do
            self.handleError(record)


class _TeeStream:
    """A stream, and what is written to it heard."""

    def __init__(self, stream: TextIO, logs: RunLogs) -> None:
        self.stream = stream
        self._logs = logs

    def write(self, text: str) -> int:
        """Writes to the stream."""
        written = self.stream.write(text)
        with suppress(Exception):  # whoever prints is not to know
            self._logs.record_output(text)
        return written

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has
        return getattr(self.stream, name)


class _RunLogFile:
    """One run's file: the beginning as it comes, and the end when the run is over."""

    def __init__(self, path: Path, variables: Mapping[str, str]) -> None:
        self._path = path
        self._variables = variables
        self._stream: RedactingStream | None = None
        self._lock = threading.Lock()
        self._pending = ""
        self._room = _HALF
        self._end: deque[str] = deque()
        self._length = 0
        self._dropped = False

    def write(self, text: str) -> None:
        """Adds text; whole lines are written."""
        with self._lock:
            whole, newline, self._pending = f"{self._pending}{text}".rpartition("\n")
            if len(self._pending) > _HALF:
                whole, newline, self._pending = f"{whole}{newline}{self._pending}", "\n", ""
            if newline:
                self._add(f"{whole}\n")

    def close(self) -> None:
        """Writes what is left."""
        with self._lock:
            if self._pending:
                self._add(f"{self._pending}\n")
                self._pending = ""
            if self._end:
                self._append(f"{_LEFT_OUT if self._dropped else ''}{''.join(self._end)}")
                self._end.clear()

    def _add(self, text: str) -> None:
        if self._room >= len(text):
            self._room -= len(text)
            self._append(text)
            return
        self._room = 0
        text, self._dropped = text[-_HALF:], self._dropped or len(text) > _HALF
        self._end.append(text)
        self._length += len(text)
        while self._length > _HALF and len(self._end) > 1:
            self._length -= len(self._end.popleft())
            self._dropped = True

    def _append(self, text: str) -> None:
        if self._stream is None:
            from sparkassets.core.redaction import RedactingStream  # most runs say nothing

            self._stream = RedactingStream(self._variables)
        with suppress(OSError):  # a disk that is full is no reason to fail
            append(self._path, self._stream.redact(text))


def append(path: Path, text: str) -> None:
    """Adds text to a log, which neither it nor its folder lets others than the owner and the group read.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    with open(path, "a", encoding="utf-8", errors="backslashreplace", opener=_private) as file:
        file.write(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o640)


def remove_old_logs(folder: Path) -> None:
    """Removes logs beyond those that are kept, by number and by age; other drivers may do so at the same time."""
    found: list[tuple[float, Path]] = []
    for log in folder.glob("*.log"):
        with suppress(OSError):
            found.append((log.stat().st_mtime, log))
    oldest = time.time() - DAYS_KEPT * 86_400
    found.sort()
    for number, (changed, log) in enumerate(reversed(found)):
        if number >= LOGS_KEPT or changed < oldest:
            with suppress(OSError):
                log.unlink(missing_ok=True)
