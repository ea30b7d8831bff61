"""The works of a driver that branches add: what a branch records before it runs, and its promotion to the base."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkassets.core.journal.entries import Entry, EventEntry
from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.plan import Plan, PlannedRun, RunQueue, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.results import RunResult
from sparkassets.features.branches.branch_project import BranchProject, base_uri
from sparkassets.features.branches.promotion import PromotionOffer, plan_promotion
from sparkassets.runtime.driver_work import DriverWork


class BranchWork(DriverWork):
    """A driver's work in a branch, which first records how far the branch knew its base.

    From that point on, a promotion can tell the branch's changes from those that the base made since.
    """

    def __init__(self, work: DriverWork, branch_project: BranchProject, base: State) -> None:
        self.select = work.select
        self._work = work
        self._branch_project = branch_project
        self._base = base

    def begin(self, context: PlanningContext) -> Sequence[Entry]:
        """For each computed asset without one, an event with the base's sequence number; then the work's entries."""
        state, base_position = context.state, {"seq": self._base.seq, "journal": self._base.journal_id}
        new_assets = [name for name in self._branch_project.assets_to_compute if not state.dataset(base_uri(name)).seq]
        return [
            *(EventEntry(base_uri(name), extra=base_position) for name in new_assets),
            *self._work.begin(context),
        ]

    def plan(self, context: PlanningContext) -> Plan:
        """The plan of the wrapped work."""
        return self._work.plan(context)

    def queue_runs(self, context: PlanningContext) -> RunQueue:
        """The runs of the wrapped work."""
        return self._work.queue_runs(context)

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Passes the result on to the wrapped work."""
        self._work.record_result(run, result)


class PromotionWork(DriverWork):
    """Promotes what a branch offers to the base, until every offered run has been tried.

    Args:
        assets: The assets that are promoted, upstream first.
        offer: Returns what the branch offers, with what the base has recorded up to its state.
        rebuild: Whether tables may get other columns than a run of the base may give them.
    """

    def __init__(
        self, assets: Sequence[str], offer: Callable[[PlanningContext], PromotionOffer], *, rebuild: bool = False
    ) -> None:
        self.select = tuple(assets)
        self._offer = offer
        self._rebuild = rebuild
        self._tried: dict[str, PartitionSet] = {}

    def plan(self, context: PlanningContext) -> Plan:
        """The promotions that can be claimed now; an asset made from promoted rows follows in a later plan."""
        offer = self._offer(context)
        runs: list[PlannedRun] = []
        waiting: list[Waiting] = []
        for name in self.select:
            asset = context.asset(name)
            if asset.written_by:
                continue
            promotion = plan_promotion(context, asset, offer, rebuild=self._rebuild)
            runs += [run for run in promotion.runs if not self._is_tried(run)]
            waiting += promotion.waiting
        return Plan(context.now, tuple(runs), tuple(waiting))

    def _is_tried(self, run: PlannedRun) -> bool:
        return run.request.promotes is not None and not run.partitions - self._tried.get(run.asset, NOTHING)

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Notes the run's partitions as tried; a run that only recorded an older one (``adopted``) does not count."""
        if result.adopted is None and run.request.promotes is not None:
            self._tried[run.asset] = self._tried.get(run.asset, NOTHING) | run.partitions
