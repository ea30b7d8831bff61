"""The claimed runs of a driver: how many it holds at once, which of them execute, and which have ended.

A wave of due runs passes through here. The driver claims a few times as many runs as may run in parallel, in one
commit, starts those that may, and records together those that end together.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.frozen import frozen, mutable
from sparkassets.ports import Clock, EngineLostError
from sparkassets.runtime.outcomes import FailedRun, Outcome
from sparkassets.runtime.progress import Progress

if TYPE_CHECKING:
    from sparkassets.core.journal.state import ClaimState
    from sparkassets.core.planner.plan import PlannedRun
    from sparkassets.runtime.execution import RunExecution

POLL_SECONDS = 0.2
"""The longest that a driver waits for a run to end before it looks after leases and signals."""
CLAIMS_PER_PARALLEL_RUN = 4
"""Claims held for each parallel run: enough to share a commit, few enough to leave work to other drivers."""
GATHER_SECONDS = 0.005
"""After a run that ended, how long another may take that is recorded with it."""


@mutable
class ActiveRun:
    """A run with its claim, from the claim to its record.

    Attributes:
        started_at: Monotonic time at which it started; until then, at which it was claimed.
    """

    run: PlannedRun
    claim: ClaimState
    execution: RunExecution
    started_at: float
    is_started: bool = False

    @property
    def leaves_nothing(self) -> bool:
        """Whether nothing has to be fenced if the run never starts: no claim before it has to be recovered."""
        return not self.run.recovers


@frozen
class EndedRun:
    """A run that came to an end, which is not recorded yet."""

    active: ActiveRun
    outcome: Outcome


class ActiveRuns:
    """The claimed runs of one driver; every method is for the driver's own thread.

    Attributes:
        by_token: Fence token of the claim to the run.
        ended: Runs that ended and are not recorded yet, in the order in which they ended.
        mailbox: Calls that other threads ask of the driver's thread, each without arguments.
        is_engine_lost: Whether a run ended because the engine is gone.
    """

    def __init__(self, max_parallel: int, *, clock: Clock, progress: Progress, stopping: threading.Event) -> None:
        self.by_token: dict[int, ActiveRun] = {}
        self.ended: list[EndedRun] = []
        self.mailbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.is_engine_lost = False
        self._max_parallel = max_parallel
        self._clock = clock
        self._progress = progress
        self._stopping = stopping

    def __bool__(self) -> bool:
        return bool(self.by_token)

    @property
    def tokens(self) -> frozenset[int]:
        """The fence tokens of the claims."""
        return frozenset(self.by_token)

    @property
    def started_count(self) -> int:
        """How many runs started and are not recorded."""
        return sum(active.is_started for active in self.by_token.values())

    @property
    def claimable_count(self) -> int:
        """How many runs may be claimed; none while many claimed ones wait to start: later more share a commit."""
        if len(self.by_token) - self.started_count > self._max_parallel:
            return 0
        return max(0, CLAIMS_PER_PARALLEL_RUN * self._max_parallel - len(self.by_token))

    def add(self, run: PlannedRun, claim: ClaimState, execution: RunExecution) -> None:
        """Holds a run that was just claimed."""
        self.by_token[claim.token] = ActiveRun(run, claim, execution, self._clock.monotonic())

    def remove(self, end: EndedRun) -> None:
        """Drops a run that is recorded."""
        del self.by_token[end.active.claim.token]
        self.ended.remove(end)

    def start_waiting(self) -> None:
        """Starts claimed runs, each in its own thread, until as many run as may run in parallel.

        None starts once the driver was asked to stop, or the engine is lost: `cancel_all` ends what never started.
        """
        if self._stopping.is_set() or self.is_engine_lost:
            return
        running = self.started_count - len(self.ended)
        for active in self.by_token.values():
            if running >= self._max_parallel:
                return
            if not active.is_started:
                running += 1
                self._start(active)

    def _start(self, active: ActiveRun) -> None:
        """Starts the thread of a run; if the system has no more threads, the run ends as failed."""
        active.is_started = True
        active.started_at = self._clock.monotonic()
        name = active.claim.entry.run
        self._progress.started(active.run, name)
        try:
            threading.Thread(target=self._execute, args=(active,), name=name, daemon=True).start()
        except RuntimeError as error:  # no more threads
            self._send_end(active, FailedRun("error", error, fenced=active.leaves_nothing, attempts=0))

    def _execute(self, active: ActiveRun) -> None:
        """Executes a run in its own thread; whatever it raises, the driver's thread receives its end."""
        outcome: Outcome
        try:
            outcome = active.execution.execute()
        except BaseException as error:  # noqa: BLE001  the driver waits for the end of this thread
            outcome = FailedRun("error", error, fenced=False, attempts=0)
        self._send_end(active, outcome)

    def _send_end(self, active: ActiveRun, outcome: Outcome) -> None:
        """Passes the end of a run to the driver's thread; may be called from any thread."""
        self.mailbox.put(partial(self._add_end, EndedRun(active, outcome)))

    def _add_end(self, end: EndedRun) -> None:
        """Keeps the end of a run until it is recorded; on the driver's thread, from the mailbox."""
        if isinstance(end.outcome, FailedRun):
            self.is_engine_lost |= issubclass(type(end.outcome.error), EngineLostError)
        self.ended.append(end)

    def await_ends(self, *, starts_more: bool) -> None:
        """Waits up to ``POLL_SECONDS`` for a run to end, then gathers in ``ended`` all that end about then.

        Runs send their ends to the mailbox as calls, which are made here, on the driver's thread.

        Args:
            starts_more: Whether waiting runs start in place of those that ended.
        """
        with suppress(queue.Empty):
            self.mailbox.get(timeout=POLL_SECONDS)()
            # those that end together are recorded together, while the next ones run; an empty mailbox ends the loop
            for _ in self.by_token:
                if starts_more:
                    self.start_waiting()
                more_run = self.started_count > len(self.ended)
                self.mailbox.get(timeout=GATHER_SECONDS if more_run else 0.0)()

    def cancel_all(self) -> None:
        """Cancels every run; one that never started ends at once."""
        for active in list(self.by_token.values()):
            if active.is_started:
                active.execution.cancel()
            else:
                error = InterruptedError("not started")
                self._send_end(active, FailedRun("cancelled", error, fenced=active.leaves_nothing, attempts=0))
