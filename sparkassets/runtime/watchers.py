"""Who watches invocations: told where each begins and ends, and what it runs; what one raises ends only it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from sparkassets.core.journal.state import State
from sparkassets.core.planner.plan import PlannedRun
from sparkassets.core.results import RunResult, Summary
from sparkassets.runtime.progress import GuardedProgress, Progress


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
