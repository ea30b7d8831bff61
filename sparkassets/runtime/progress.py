"""Progress and watchers of an invocation, called at plans, starts and ends; their errors stop no run."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sparkassets.core.journal.state import State
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.results import RunResult, Summary
from sparkassets.errors import RunError, SparkAssetsError, describe_error
from sparkassets.frozen import frozen, mutable

MOST_FAILURES = 3
"""The most failures that the text of one error names."""


@frozen
class FailureExplanation:
    """Why a run failed, for people.

    Attributes:
        error: Its first line.
        hint: What to do about it.
        details: Name of the file that holds the whole of it; empty where none could be written.
        topic: The section of docs/troubleshooting.md about it.
    """

    error: str = ""
    hint: str = ""
    details: str = ""
    topic: str = RunError.topic


class RunFailedError(SparkAssetsError):
    """Some run of an invocation failed, or a source could not be looked at.

    Attributes:
        summary: What the invocation did, all of it.
    """

    topic = "run-failed"

    def __init__(self, summary: Summary) -> None:
        hint = next((run.hint for run in summary.runs if run.status == "failed" and run.hint), None)
        super().__init__("; ".join([*summary.failures[:MOST_FAILURES], *_left_out_count(summary.failures)]), hint=hint)
        self.summary = summary


def _left_out_count(failures: tuple[str, ...]) -> list[str]:
    return [f"and {len(failures) - MOST_FAILURES} more"] if len(failures) > MOST_FAILURES else []


class Progress(Protocol):
    """Callbacks for what an invocation does, called on the driver's own thread; must return soon."""

    def planned(self, runs: int, waiting: int) -> None:
        """A plan was made.

        Args:
            runs: Number of its runs.
            waiting: Number of reasons why wanted partitions wait.
        """

    def starting(self, what: str) -> None:
        """Something that takes seconds begins, such as the start of Spark."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""

    def finished(self, result: RunResult) -> None:
        """A run ended."""


class SilentProgress:
    """A progress that shows nothing."""

    def planned(self, runs: int, waiting: int) -> None:
        """Ignored."""

    def starting(self, what: str) -> None:
        """Ignored."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Ignored."""

    def finished(self, result: RunResult) -> None:
        """Ignored."""


class GuardedProgress:
    """Passes calls on until the wrapped progress raises, then drops them: the runs go on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def planned(self, runs: int, waiting: int) -> None:
        """A plan with something to run was made."""
        with self._guard():
            self._progress.planned(runs, waiting)

    def starting(self, what: str) -> None:
        """Something that takes seconds begins."""
        with self._guard():
            self._progress.starting(what)

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        with self._guard():
            self._progress.started(run, run_id)

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        with self._guard():
            self._progress.finished(result)

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Suppresses an error of the progress, warns once, and stops calling it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is, it is not the runs' fault
            self._progress = SilentProgress()
            with contextlib.suppress(Warning):
                warnings.warn(
                    f"the progress listener raised {describe_error(error)} and is now ignored",
                    RuntimeWarning,
                    stacklevel=4,
                )


class InvocationWatcher(Progress, Protocol):
    """A progress that is also called when an invocation begins and ends."""

    def began(self) -> None:
        """An invocation begins."""

    def ended(self, summary: Summary | None, state: State | None) -> None:
        """The invocation is over; summary and state are None if an error broke it off."""


@mutable
class InvocationEnding:
    """Holds the summary and the final state of an invocation for its watchers; both None until it ends."""

    summary: Summary | None = None
    state: State | None = None


class WatchedProgress:
    """Passes every call on to one progress and to all watchers."""

    def __init__(self, progress: Progress, watchers: Sequence[InvocationWatcher]) -> None:
        self._watchers = [_GuardedWatcher(watcher) for watcher in watchers]
        self._all: list[Progress] = [GuardedProgress(progress), *self._watchers]

    @contextmanager
    def watch_invocation(self) -> Iterator[InvocationEnding]:
        """Announces the beginning and the end of the invocation in the block, which fills in the yielded ending."""
        ending = InvocationEnding()
        for watcher in self._watchers:
            watcher.began()
        try:
            yield ending
        finally:
            for watcher in reversed(self._watchers):
                watcher.ended(ending)

    def planned(self, runs: int, waiting: int) -> None:
        """A plan with something to run was made."""
        for watcher in self._all:
            watcher.planned(runs, waiting)

    def starting(self, what: str) -> None:
        """Something that takes seconds begins."""
        for watcher in self._all:
            watcher.starting(what)

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        for watcher in self._all:
            watcher.started(run, run_id)

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        for watcher in self._all:
            watcher.finished(result)


class _GuardedWatcher(GuardedProgress):
    """A watcher whose errors are suppressed, also at the beginning and end of an invocation."""

    def __init__(self, watcher: InvocationWatcher) -> None:
        super().__init__(watcher)
        self._watcher = watcher

    def began(self) -> None:
        """An invocation begins."""
        with self._guard():
            self._watcher.began()

    def ended(self, ending: InvocationEnding) -> None:
        """Announces the end, even to a watcher that raised before: it may have something to restore."""
        with self._guard():
            self._watcher.ended(ending.summary, ending.state)


Watchers = Callable[[], Sequence[InvocationWatcher]]
"""Makes the watchers of one invocation."""
