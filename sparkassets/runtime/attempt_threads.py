"""Runs the attempts of a run in threads with a timeout; an attempt that does not return is left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sparkassets.errors import RunError

INTERRUPTED = "interrupted before it ended"
"""The error of a cancelled run."""
GRACE_SECONDS = 20.0
"""How long a cancelled attempt may take to return before it is left behind; it can begin no commit after that."""
AGAIN_SECONDS = 0.5
"""Seconds after which a cancelled attempt that has not returned is interrupted again."""


class AttemptTimedOutError(RunError):
    """An attempt took longer than its asset's timeout."""

    retryable = True
    topic = "run-timed-out"


class AttemptCancelledError(RunError):
    """An attempt was interrupted."""

    topic = "run-cancelled"


class AttemptThreads:
    """Runs jobs, one after the other, for one run; `interrupt` may be called from any thread.

    Args:
        asset: Its name, for errors.
        timeout_seconds: The most that one job may take.
        cancel: Makes what a job waits for return soon.

    Attributes:
        write_lock: Held while it is decided whether a job may begin to write, or is left behind.
    """

    def __init__(self, asset: str, *, timeout_seconds: float, cancel: Callable[[], None]) -> None:
        self.write_lock = threading.Lock()
        self._asset = asset
        self._timeout_seconds = timeout_seconds
        self._cancel = cancel
        self._interrupted = threading.Event()
        self._ended_or_interrupted = threading.Event()

    def interrupt(self) -> None:
        """Interrupts the job that runs, and every later one."""
        self._interrupted.set()
        self._ended_or_interrupted.set()
        self._cancel()

    def sleep(self, seconds: float) -> None:
        """Waits; returns at once when interrupted."""
        self._interrupted.wait(min(seconds, threading.TIMEOUT_MAX))

    def run_job(self, job: Callable[[threading.Event], None], *, name: str) -> BaseException | None:
        """Runs a job in a thread that can be left behind; returns what it raised, or why it was left.

        Args:
            job: Is given the event that is set, under ``write_lock``, when the thread is left behind.
            name: Of the thread.
        """
        raised: list[BaseException] = []
        ended, left_behind = threading.Event(), threading.Event()
        self._ended_or_interrupted.clear()
        if self._interrupted.is_set():  # by whoever interrupted it just now
            self._ended_or_interrupted.set()

        def work() -> None:
            try:
                job(left_behind)
            except BaseException as error:  # noqa: BLE001  handed to the thread that waits
                raised.append(error)
            finally:
                ended.set()
                self._ended_or_interrupted.set()

        threading.Thread(target=work, name=name, daemon=True).start()
        self._ended_or_interrupted.wait(min(self._timeout_seconds, threading.TIMEOUT_MAX))
        if ended.is_set():
            return raised[0] if raised else None
        is_late = not self._interrupted.is_set()
        self._cancel_until(ended)
        with self.write_lock:
            left_behind.set()
        if is_late:
            return AttemptTimedOutError(f"{self._asset}: no result within its timeout of {self._timeout_seconds} s")
        return AttemptCancelledError(INTERRUPTED)

    def _cancel_until(self, ended: threading.Event) -> None:
        """Cancels again until the job ends or the grace is over: it may begin new work after a cancellation."""
        deadline = time.monotonic() + GRACE_SECONDS
        while not ended.is_set() and (seconds := deadline - time.monotonic()) > 0:
            self._cancel()
            ended.wait(min(seconds, AGAIN_SECONDS))
