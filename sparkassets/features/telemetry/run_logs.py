"""Writes output and log records of each run to a file of its own; the thread's name tells parallel runs apart.

A run computes in threads that have its name; output of threads that its function starts belongs to no run.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

if TYPE_CHECKING:
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import PlannedRun
    from sparkassets.core.redaction import RedactingStream
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.features.telemetry.log_capture import LogCapture

LOGS_KEPT: Final = 1_000
"""At most so many log files are kept; the oldest are removed."""
DAYS_KEPT: Final = 30
LOG_CHARACTERS: Final = 1_000_000
"""Longest log; of a longer one the middle is left out."""
_HALF: Final = LOG_CHARACTERS // 2
_LEFT_OUT: Final = "[…]\n"


class RunLogs:
    """Watches an invocation, and writes the output and log records of its runs.

    Args:
        folder: The folder; each file is named by its run, and a run without output has none.
        variables: Variables of the environment, whose values are redacted.
    """

    def __init__(self, folder: Path, *, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._variables = variables
        self._logs: dict[str, _RunLogFile] = {}
        self._capture: LogCapture | None = None

    def began(self) -> None:
        """Does nothing: many invocations start no run."""

    def planned(self, runs: int, waiting: int) -> None:
        """Does nothing."""

    def starting(self, what: str) -> None:
        """Does nothing."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Opens the log of a run, and captures log records, stdout and stderr unless they are captured already."""
        from sparkassets.features.telemetry.log_capture import LogCapture  # with logging

        del run
        if self._capture is None:
            self._capture = LogCapture(self.record_output)
        self._logs[run_id] = _RunLogFile(self._folder / f"{run_id}.log", self._variables)
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, _TeeStream):
                setattr(sys, name, _TeeStream(stream, self))

    def finished(self, result: RunResult) -> None:
        """Closes the log of the run."""
        if (log := self._logs.pop(result.run, None)) is not None:
            log.close()

    def ended(self, summary: Summary | None, state: State | None) -> None:
        """Removes the captures, and deletes old logs."""
        del summary, state
        if self._capture is not None:
            self._capture.remove()
            self._capture = None
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, _TeeStream):
                setattr(sys, name, stream.stream)
        for log in self._logs.values():
            log.close()
        self._logs.clear()
        remove_old_logs(self._folder)

    def record_output(self, text: str) -> None:
        """Appends a text of the calling thread to the log of its run."""
        if self._logs and not (self._capture is not None and self._capture.is_silent):
            name = threading.current_thread().name  # of a run, or `<run>-<attempt>` of a thread that computes for it
            log = self._logs.get(name) or self._logs.get(name.rpartition("-")[0])
            if log is not None:
                log.write(text)


class _TeeStream:
    """A stream that also records its text in the log of a run."""

    def __init__(self, stream: TextIO, logs: RunLogs) -> None:
        self.stream = stream
        self._logs = logs

    def write(self, text: str) -> int:
        """Writes to the stream."""
        written = self.stream.write(text)
        with suppress(Exception):  # an error of the log must not reach the code that prints
            self._logs.record_output(text)
        return written

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has
        return getattr(self.stream, name)


class _RunLogFile:
    """The log file of one run.

    The beginning is written as it comes. Of what follows, only the end is kept in memory and written when the run is
    over.
    """

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
        """Adds text; whole lines are written, so that a credential is redacted even if it came in two pieces.

        A line that does not end is written once it is as long as half a log.
        """
        with self._lock:
            whole, newline, self._pending = f"{self._pending}{text}".rpartition("\n")
            if len(self._pending) > _HALF:
                whole, newline, self._pending = f"{whole}{newline}{self._pending}", "\n", ""
            if newline:
                self._add(f"{whole}\n")

    def close(self) -> None:
        """Writes what is kept in memory."""
        with self._lock:
            if self._pending:
                self._add(f"{self._pending}\n")
                self._pending = ""
            if self._end:
                self._append(f"{_LEFT_OUT if self._dropped else ''}{''.join(self._end)}")
                self._end.clear()

    def _add(self, text: str) -> None:
        """Writes text while there is room for the beginning; then keeps the newest text and drops older."""
        if self._room >= len(text):
            self._room -= len(text)
            self._append(text)
            return
        self._room = 0
        # `_room` is 0 from now on: what follows must not be written before what is kept in memory
        text, self._dropped = text[-_HALF:], self._dropped or len(text) > _HALF
        self._end.append(text)
        self._length += len(text)
        while self._length > _HALF and len(self._end) > 1:
            self._length -= len(self._end.popleft())
            self._dropped = True

    def _append(self, text: str) -> None:
        """Redacts the text and appends it to the file; a full disk is ignored."""
        if self._stream is None:
            from sparkassets.core.redaction import RedactingStream  # most runs say nothing

            self._stream = RedactingStream(self._variables)
        with suppress(OSError):  # a disk that is full is no reason to fail
            append(self._path, self._stream.redact(text))


def append(path: Path, text: str) -> None:
    """Appends text to a log; creates log and folder so that only owner and group can read them.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    try:
        _write(path, text, mode="a")
    except OSError as error:
        if error.errno != errno.ESPIPE:
            raise
        earlier = path.read_text(encoding="utf-8") if path.exists() else ""
        _write(path, f"{earlier}{text}", mode="w")  # a volume of Databricks takes whole files only


def _write(path: Path, text: str, *, mode: Literal["a", "w"]) -> None:
    with open(path, mode, encoding="utf-8", errors="backslashreplace", opener=_private) as file:
        file.write(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o640)


def remove_old_logs(folder: Path) -> None:
    """Removes logs beyond the limits of number and age; other drivers may do so at the same time."""
    logs: list[tuple[float, Path]] = []
    for log in folder.glob("*.log"):
        with suppress(OSError):
            logs.append((log.stat().st_mtime, log))
    oldest = time.time() - DAYS_KEPT * 86_400
    logs.sort()
    for number, (changed, log) in enumerate(reversed(logs)):
        if number >= LOGS_KEPT or changed < oldest:
            with suppress(OSError):
                log.unlink(missing_ok=True)
