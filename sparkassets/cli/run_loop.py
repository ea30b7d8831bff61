"""Shared by `run`, `backfill` and `promote`: progress, signals, the loop, the summary and the exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import field
from errno import EIO
from signal import SIGINT
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from sparkassets.cli.options import PLAINLY, ProgressOptions, Style
from sparkassets.cli.output import Terminal, print_json
from sparkassets.cli.plan_tables import NOTHING_WAS_DUE, print_summary
from sparkassets.cli.progress import ProgressReporter, make_reporter
from sparkassets.core.instants import format_zoned
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.results import RunResult, Summary
from sparkassets.errors import SparkAssetsError
from sparkassets.frozen import frozen, mutable, replace
from sparkassets.runtime.progress import Progress
from sparkassets.wiring.host import SystemClock

if TYPE_CHECKING:
    from sparkassets.cli.progress_events import ProgressEvents
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.open_project import OpenProject


class GuardedStream:
    """A text stream whose writes are dropped once its reader has gone.

    A closed terminal raises EIO. After a signal every OSError is ignored: it may have ended the reader, too.

    Args:
        stream: The stream to write to.
        has_ended: Returns whether a signal has come.
    """

    def __init__(self, stream: TextIO, has_ended: Callable[[], bool]) -> None:
        self._stream = stream
        self._has_ended = has_ended

    def write(self, text: str) -> int:
        """Writes the text, unless the reader has gone."""
        with self._ignore_closed():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes the stream, unless the reader has gone."""
        with self._ignore_closed():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever else the stream has
        return getattr(self._stream, name)

    @contextmanager
    def _ignore_closed(self) -> Iterator[None]:
        """Ignores the error of a write to a closed terminal, and after a signal any error of a write."""
        try:
            yield
        except OSError as error:
            if error.errno != EIO and not self._has_ended():
                raise


STOPPING = "stopping: cancelling runs; press again to quit immediately"


_HANGUP = getattr(signal, "SIGHUP", None)
"""The signal of a closed terminal; None on systems without it."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, *([] if _HANGUP is None else [_HANGUP]))


class InterruptedBySignalError(BaseException):
    """A signal came when no run was in progress that could be cancelled."""


class SignalStopper:
    """Handles signals while entered: the first one calls ``stop``, or raises if nothing is running.

    Attributes:
        signum: The signal received; None before any.
        tell: Called with a message when stopping begins; must be safe in a signal handler.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        """``stop`` returns whether there was something to stop."""
        self.signum: int | None = None
        self.tell: Callable[[str], None] = _ignore_message
        self._stop = stop
        self._former_handlers: dict[int, Any] = {}

    def install(self) -> None:
        """Installs the handlers, also again: pyspark takes SIGINT whenever a session starts."""
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            for signum in SIGNALS:
                if signum == _HANGUP and signal.getsignal(signum) == signal.SIG_IGN:
                    continue  # started by nohup: it is to outlive its terminal
                handler = signal.signal(signum, self._handle)
                self._former_handlers.setdefault(signum, handler)

    def sleep_until(self, seconds: float) -> None:
        """Sleeps that many seconds; a signal raises `InterruptedBySignalError` here."""
        time.sleep(seconds)

    def __enter__(self) -> Self:
        """Installs the handlers."""
        self.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restores the former handlers."""
        for signum, handler in self._former_handlers.items():
            signal.signal(signum, handler)

    def _handle(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002  the signal module's signature
        """Cancels what runs at the first signal; a second one ends the process at once."""
        if self.signum is not None:
            os._exit(128 + signum)
        self.signum = signum
        if not self._stop():
            raise InterruptedBySignalError
        with suppress(OSError, ValueError):  # the terminal may be closed
            self.tell(STOPPING)


def _ignore_message(text: str) -> None:
    """Shows nothing: there is no progress yet."""


MOST_RUNS_KEPT = 1000
"""The most runs that the document of a loop holds, the newest ones."""

STDOUT, STDERR = 1, 2
"""File descriptors, which a JVM inherits."""

Work = Callable[[Progress], Summary]
"""One invocation of the runtime, which reports its progress."""

Idle = Callable[[Summary], str]
"""Returns the text to print for a summary without runs."""


def nothing_was_due(_: Summary) -> str:
    """The usual text for a summary without runs."""
    return NOTHING_WAS_DUE


def drive(
    project: OpenProject,
    work: Work,
    *,
    as_json: bool,
    every_seconds: float | None = None,
    reporting: ProgressOptions = PLAINLY,
    idle: Idle = nothing_was_due,
) -> int:
    """Runs ``work``, once or in a loop, reports the result and returns the exit code.

    Args:
        project: The project; a signal stops it, and it is closed at the end.
        work: One invocation.
        as_json: The summary is one document on stdout; else a table on stderr, as stdout is for what people's own
            functions print.
        every_seconds: Does it again and again, with this pause between, until a signal comes.
        reporting: Progress for programs.
        idle: The text for a summary without runs.
    """
    if reporting.metrics is not None:
        from sparkassets.wiring.watchers import metrics_to

        project.events.watch(metrics_to(project.spec, reporting.metrics))
    stopper = SignalStopper(project.stop)
    terminal = Terminal.from_stream(cast("TextIO", GuardedStream(sys.stderr, lambda: stopper.signum is not None)))
    loop_summary = LoopSummary()
    with stdout_for_one_document() if as_json else nullcontext():
        try:
            with stopper, project, _events(project.spec, reporting.style) as events:
                output = ProgressOutput(terminal, events, prints_summary=not as_json, idle=idle)
                _run_invocations(project, work, stopper, output, loop_summary, every_seconds=every_seconds)
        except (InterruptedBySignalError, KeyboardInterrupt):
            stopper.signum = stopper.signum or SIGINT
            terminal.print("interrupted")
        except SparkAssetsError as error:
            if stopper.signum is None:  # after a signal an error is its consequence, such as a JVM that it ended
                raise
            terminal.print(f"interrupted: {error}")
    if as_json:
        summary = loop_summary.summary(interrupted=stopper.signum is not None)
        from sparkassets.core.documents.runs import summary_document

        print_json(summary_document(summary, project.spec))
    if stopper.signum is not None:
        return 128 + stopper.signum
    return 0 if loop_summary.ok else 1


@mutable
class LoopSummary:
    """Adds up the invocations of a loop; keeps only the newest runs, so that it does not grow without limit.

    Attributes:
        runs: The newest runs of all invocations.
        last_invocation: The newest summary, without its runs.
        ok: Whether no run has failed so far, and in the newest one every source could be observed and nothing
            waits for a person.
    """

    runs: deque[RunResult] = field(default_factory=lambda: deque(maxlen=MOST_RUNS_KEPT))
    last_invocation: Summary | None = None
    ok: bool = True
    _has_no_failure: bool = True

    def add(self, invocation: Summary) -> None:
        """Adds a finished invocation."""
        self.runs.extend(invocation.runs)
        self._has_no_failure &= replace(invocation, faults=(), waiting=()).ok
        self.ok = self._has_no_failure and not invocation.faults and not invocation.stuck
        self.last_invocation = replace(invocation, runs=())

    def summary(self, *, interrupted: bool) -> Summary:
        """The newest runs of all invocations, and what waits after the last one; unknown, so empty, after a signal."""
        last = self.last_invocation or Summary((), ())
        waiting = () if interrupted else last.waiting
        return replace(last, runs=tuple(self.runs), waiting=waiting, interrupted=interrupted)


def _events(project: ProjectSpec, style: Style) -> AbstractContextManager[ProgressEvents | None]:
    """Progress for programs; None for people, so that its modules are not loaded."""
    if not style:
        return nullcontext()
    from sparkassets.cli.progress_events import open_events

    return open_events(project, style)


@frozen
class ProgressOutput:
    """How invocations are reported.

    Attributes:
        events: Progress for programs; None for people.
        prints_summary: Whether a summary is printed for people.
        idle: Returns the text for a summary without runs.
    """

    terminal: Terminal
    events: ProgressEvents | None
    prints_summary: bool
    idle: Idle

    def progress(self, project: ProjectSpec) -> ProgressReporter:
        """The progress to pass to one invocation."""
        return self.events or make_reporter(project, self.terminal, SystemClock().now)

    def report_invocation(self, summary: Summary, project: ProjectSpec, *, quiet: bool, loops: bool) -> None:
        """Reports a finished invocation; a ``quiet`` one, without news, only to programs."""
        if self.events is not None:
            self.events.report_end(summary)
        elif self.prints_summary and not quiet:
            if loops:
                self.terminal.print(f"{format_zoned(SystemClock().now(), project.timezone, seconds=True)} tick")
            print_summary(summary, project, self.terminal, idle=self.idle(summary))


def _run_invocations(
    project: OpenProject,
    work: Work,
    stopper: SignalStopper,
    output: ProgressOutput,
    loop_summary: LoopSummary,
    *,
    every_seconds: float | None,
) -> None:
    """Runs ``work`` once, or again and again with a pause, until a signal comes or Spark has died."""
    while True:
        with output.progress(project.spec) as progress:
            stopper.tell = progress.stopping
            summary = work(_SignalProgress(progress, stopper))
        last_failures = loop_summary.last_invocation.failures if loop_summary.last_invocation is not None else None
        is_quiet = not summary.runs and summary.failures == last_failures  # a loop reports an unchanged state only once
        loop_summary.add(summary)
        output.report_invocation(summary, project.spec, quiet=is_quiet, loops=every_seconds is not None)
        if every_seconds is None or summary.interrupted or summary.lost:
            return
        stopper.sleep_until(every_seconds)


@frozen
class _SignalProgress:
    """Reinstalls the signal handlers at each plan: pyspark replaces that of SIGINT when a session starts."""

    progress: Progress
    stopper: SignalStopper

    def planned(self, runs: int, waiting: int) -> None:
        self.stopper.install()
        self.progress.planned(runs, waiting)

    def starting(self, what: str) -> None:
        self.progress.starting(what)

    def started(self, run: PlannedRun, run_id: str) -> None:
        self.progress.started(run, run_id)

    def finished(self, result: RunResult) -> None:
        self.progress.finished(result)


@contextmanager
def stdout_for_one_document() -> Iterator[None]:
    """Redirects stdout of this process, and of the JVM that it starts, to stderr while entered.

    With ``--json`` stdout holds the document alone; whatever functions and the JVM print must not be mixed into it.
    """
    stdout = sys.stdout
    stdout.flush()
    saved = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        stdout.flush()
        os.dup2(saved, STDOUT)
        os.close(saved)
