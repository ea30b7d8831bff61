"""A driver's work, and the usual one: all that is due."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from sparkassets.core.planner.incremental_planner import IncrementalPlanner
from sparkassets.core.planner.plan import Plan, PlannedRun, RunQueue
from sparkassets.core.planner.planning_context import PlanningContext

if TYPE_CHECKING:
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.results import RunResult


class DriverWork(Protocol):
    """One task of a driver, which plans for it again and again until nothing is left to run.

    Attributes:
        select: Assets that may run; None means all.
    """

    select: Collection[str] | None

    def begin(self, context: PlanningContext) -> Sequence[Entry]:
        """Entries to record before anything runs; called again with the new state if another driver commits first."""
        del context
        return ()

    def plan(self, context: PlanningContext) -> Plan:
        """The runs that could start now; empty when the work is done."""

    def queue_runs(self, context: PlanningContext) -> RunQueue:
        """The runs that the driver starts before it plans again."""
        return RunQueue.from_plan(self.plan(context))

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Called after each run of this work has ended, so that the work knows what it has tried."""
        del run, result


class DueWork(DriverWork):
    """Runs everything that is due, until nothing is."""

    def __init__(self, select: Collection[str] | None = None) -> None:
        self.select = select
        self._planner: IncrementalPlanner | None = None

    def plan(self, context: PlanningContext) -> Plan:
        """The plan for all due assets; an asset whose state did not change since the last plan is not decided again."""
        return self._planner_for(context).plan(context)

    def queue_runs(self, context: PlanningContext) -> RunQueue:
        """The runs of the plan; each one is decided only when the driver takes it."""
        return self._planner_for(context).queue_runs(context)

    def _planner_for(self, context: PlanningContext) -> IncrementalPlanner:
        if self._planner is None:
            self._planner = IncrementalPlanner(context.project)
        return self._planner
