"""`ClaimedRuns`: the way of due runs, from their claims to their records; made once something is due."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sparkassets.core.journal.state import State
from sparkassets.core.planner.plan import RunQueue
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.results import RunResult
from sparkassets.ports import IdGenerator, TargetObserver
from sparkassets.runtime.claims import RunClaimer
from sparkassets.runtime.driver_work import DriverWork
from sparkassets.runtime.enlistment import ProcessEnlistment
from sparkassets.runtime.invocation import Invocation
from sparkassets.runtime.invocation_observer import InvocationObserver
from sparkassets.runtime.lease_renewal import LeaseRenewal
from sparkassets.runtime.run_recorder import ExplainFailure, RunRecorder
from sparkassets.runtime.run_results import settle_results

STOP_SECONDS = 40.0
"""How long an interrupted driver waits for its runs to be fenced and recorded."""


class ClaimedRuns:
    """Claims runs, renews their leases, and records how they ended.

    Args:
        targets: Looks at the tables of runs that write their target themselves.
        explain_failure: Stores the whole error of a run, and returns what people are shown.
        stopping: Is set once the driver is asked to stop.
    """

    def __init__(
        self,
        invocation: Invocation,
        *,
        observer: InvocationObserver,
        targets: TargetObserver,
        ids: IdGenerator,
        explain_failure: ExplainFailure,
        stopping: threading.Event,
    ) -> None:
        self._active = invocation.active
        self._clock = invocation.clock
        self._enlistment = ProcessEnlistment(invocation)
        self._renewal = LeaseRenewal(invocation)
        self._claimer = RunClaimer(invocation, enlistment=self._enlistment, ids=ids)
        self._recorder = RunRecorder(
            invocation, observer=observer, targets=targets, explain_failure=explain_failure, stopping=stopping
        )

    def claim_and_start(
        self,
        queue_runs: Callable[[PlanningContext], RunQueue],
        make_context: Callable[[State], PlanningContext],
    ) -> None:
        """Claims as many of the due runs as may be, and starts them.

        Args:
            queue_runs: Plans the due runs.
            make_context: What they are planned with, for a state.
        """
        if not self._active:
            self._renewal.record_renewal()  # else the time runs on: a new claim renews no older one
        self._claimer.claim_runs(queue_runs, make_context)
        self._active.start_waiting()

    def await_ends(self, work: DriverWork | None) -> None:
        """Waits for a run to end, and records all that have; keeps leases alive meanwhile.

        Without ``work`` the invocation is at its end, and nothing is started any more.
        """
        starts_more = work is not None
        self._active.await_ends(starts_more=starts_more)
        if self._active.ended:
            self._recorder.record_ended(work)
            if starts_more:
                self._active.start_waiting()
        self._renewal.renew_when_due()

    def shut_down(self) -> None:
        """Cancels what still runs and records how it ended; what takes too long is left to the next driver."""
        self._active.cancel_all()
        deadline = self._clock.monotonic() + STOP_SECONDS
        while self._active and self._clock.monotonic() < deadline:
            self.await_ends(None)
        self._enlistment.close()
        for active in self._active.by_token.values():
            self._recorder.abandon(active)

    def finish(self) -> tuple[RunResult, ...]:
        """The results of all runs, once old iterations are removed, for which it waits for a while."""
        self._recorder.finish_removals()
        return settle_results(self._recorder.results)
