"""A promotion, as a driver does it: run by run, upstream first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkassets.core.branches.promotion import PromotionOffer, plan_promotion
from sparkassets.core.journal.entries import Entry
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.results import RunResult
from sparkassets.runtime.driver_work import DriverWork


class PromotionWork(DriverWork):
    """What a branch offers, until all of it has been tried.

    Args:
        own: The assets that are promoted, upstream first.
        offer: Tells what the branch offers, with what the base has recorded up to its state.
        rebuild: Whether tables may get other columns than a run of the base may give them.
    """

    def __init__(
        self, own: Sequence[str], offer: Callable[[PlanningContext], PromotionOffer], *, rebuild: bool = False
    ) -> None:
        self.select = tuple(own)
        self._offer = offer
        self._rebuild = rebuild
        self._tried: dict[str, PartitionSet] = {}

    def begin(self, context: PlanningContext) -> Sequence[Entry]:
        """Nothing."""
        del context
        return ()

    def plan(self, context: PlanningContext) -> Plan:
        """The runs that can be claimed now: what is made of what they promote comes after them."""
        offer = self._offer(context)
        runs: list[PlannedRun] = []
        waiting: list[Waiting] = []
        for name in self.select:
            asset = context.asset(name)
            if asset.maker:
                continue
            found = plan_promotion(context, asset, offer, rebuild=self._rebuild)
            runs += [run for run in found.runs if not self._is_tried(run)]
            waiting += found.waiting
        return Plan(context.now, tuple(runs), tuple(waiting))

    def _is_tried(self, run: PlannedRun) -> bool:
        return run.request.promotes is not None and not run.blocks - self._tried.get(run.asset, NOTHING)

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """What was tried is not tried again; a run that only settled an older one has tried nothing."""
        if result.adopted is None and run.request.promotes is not None:
            self._tried[run.asset] = self._tried.get(run.asset, NOTHING) | run.blocks
