"""Progress and watchers of invocations: told of plans, starts and ends of runs; their errors end only them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from sparkassets.core.journal.state import State
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.results import RunResult, Summary
from sparkassets.errors import SparkAssetsError, describe_error
from sparkassets.frozen import frozen

MOST_TOLD = 3
"""Failures that an error names."""


@frozen
class FailureExplanation:
    """What a run failed of, for people.

    Attributes:
        error: Its first line.
        hint: What to do about it.
        details: Name of the file that holds the whole of it; empty where none could be written.
    """

    error: str = ""
    hint: str = ""
    details: str = ""


class RunFailedError(SparkAssetsError):
    """Some run of an invocation failed, or a source could not be looked at.

    Attributes:
        summary: What the invocation did, all of it.
    """

    def __init__(self, summary: Summary) -> None:
        hint = next((run.hint for run in summary.runs if run.status == "failed" and run.hint), None)
        super().__init__("; ".join([*summary.failures[:MOST_TOLD], *_rest(summary.failures)]), hint=hint)
        self.summary = summary


def _rest(failures: tuple[str, ...]) -> list[str]:
    return [f"and {len(failures) - MOST_TOLD} more"] if len(failures) > MOST_TOLD else []


class Progress(Protocol):
    """Is told what happens, on the driver's own thread; must return soon."""

    def planned(self, runs: int, waiting: int) -> None:
        """A plan with so many runs was made, and so many reasons why something that is wanted waits."""

    def starting(self, what: str) -> None:
        """Something that takes seconds begins, such as the start of Spark."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""

    def finished(self, result: RunResult) -> None:
        """A run ended."""


class SilentProgress:
    """Tells nobody."""

    def planned(self, runs: int, waiting: int) -> None:
        """Ignored."""

    def starting(self, what: str) -> None:
        """Ignored."""

    def started(self, run: PlannedRun, run_id: str) -> None:
        """Ignored."""

    def finished(self, result: RunResult) -> None:
        """Ignored."""


class GuardedProgress:
    """Tells a progress as long as it does not raise: who watches may go, the work goes on."""

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
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is, it is not the runs' fault
            self._progress = SilentProgress()
            with contextlib.suppress(Warning):
                warnings.warn(
                    f"the progress raised {describe_error(error)}; it is told no more", RuntimeWarning, stacklevel=4
                )


class InvocationWatcher(Progress, Protocol):
    """Is told of invocations and of their runs, on the driver's own thread; must return soon."""

    def began(self) -> None:
        """An invocation begins."""

    def ended(self, summary: Summary | None, state: State | None) -> None:
        """It is over, with that summary and what the journal says by then; both are None where it was broken off."""


@dataclass(slots=True, eq=False, repr=False)
class InvocationEnding:
    """What there is to say of an invocation in its end."""

    summary: Summary | None = None
    state: State | None = None


class WatchedProgress:
    """A progress that is told, and beside it all that watch."""

    def __init__(self, progress: Progress, watchers: Sequence[InvocationWatcher]) -> None:
        self._watchers = [_GuardedWatcher(each) for each in watchers]
        self._all: list[Progress] = [GuardedProgress(progress), *self._watchers]

    @contextmanager
    def watch_invocation(self) -> Iterator[InvocationEnding]:
        """An invocation while the block lasts, which says how it ended."""
        ending = InvocationEnding()
        for each in self._watchers:
            each.began()
        try:
            yield ending
        finally:
            for each in reversed(self._watchers):
                each.ended(ending)

    def planned(self, runs: int, waiting: int) -> None:
        """A plan with something to run was made."""
        for each in self._all:
            each.planned(runs, waiting)

    def starting(self, what: str) -> None:
        """Something that takes seconds begins."""
        for each in self._all:
            each.starting(what)

    def started(self, run: PlannedRun, run_id: str) -> None:
        """A run began."""
        for each in self._all:
            each.started(run, run_id)

    def finished(self, result: RunResult) -> None:
        """A run ended."""
        for each in self._all:
            each.finished(result)


class _GuardedWatcher(GuardedProgress):
    """A watcher that is told its beginnings and ends as well, as long as it does not raise."""

    def __init__(self, watcher: InvocationWatcher) -> None:
        super().__init__(watcher)
        self._watcher = watcher

    def began(self) -> None:
        """An invocation begins."""
        with self._guard():
            self._watcher.began()

    def ended(self, ending: InvocationEnding) -> None:
        """It is over; also one that raised is told, as it may have something to put back."""
        with self._guard():
            self._watcher.ended(ending.summary, ending.state)


Watchers = Callable[[], Sequence[InvocationWatcher]]
"""Makes those that watch one invocation."""
