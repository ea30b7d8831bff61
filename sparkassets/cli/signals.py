"""SIGINT, SIGTERM and SIGHUP: the first asks for an orderly end, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

STOPPING = "stopping: cancelling runs; again to quit at once"


_HANGUP = getattr(signal, "SIGHUP", None)
"""The terminal is gone; some systems have none."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, *([] if _HANGUP is None else [_HANGUP]))


class InterruptedBySignalError(BaseException):
    """A signal came while nothing ran that could be stopped in order."""


class SignalStopper:
    """Handles signals while entered: the first calls ``stop``, or raises where nothing could be stopped.

    Attributes:
        signum: The signal received; None before any.
        tell: Called with a message when stopping begins; must be safe in a signal handler.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        """``stop`` returns whether there was something to stop."""
        self.signum: int | None = None
        self.tell: Callable[[str], None] = _nobody
        self._stop = stop
        self._former: dict[int, Any] = {}

    def install(self) -> None:
        """Installs the handlers, also again: pyspark takes SIGINT whenever a session starts."""
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            for signum in SIGNALS:
                if signum == _HANGUP and signal.getsignal(signum) == signal.SIG_IGN:
                    continue  # started by nohup: it is to outlive its terminal
                handler = signal.signal(signum, self._handle)
                self._former.setdefault(signum, handler)

    def sleep_until(self, seconds: float) -> None:
        """Sleeps; a signal raises out of it."""
        time.sleep(seconds)

    def __enter__(self) -> Self:
        """Installs the handlers."""
        self.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restores the former handlers."""
        for signum, handler in self._former.items():
            signal.signal(signum, handler)

    def _handle(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002  the signal module's signature
        if self.signum is not None:
            os._exit(128 + signum)
        self.signum = signum
        if not self._stop():
            raise InterruptedBySignalError
        with suppress(OSError, ValueError):  # the terminal may be closed
            self.tell(STOPPING)


def _nobody(text: str) -> None:
    """Ignores the message."""
