"""`BackfillCommands`: stretches of time are computed again, and what that would run, make due and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.backfill_requests import BackfillRequest, backfill_of, refuse_without_run
from sparkassets.app.context import ProjectContext
from sparkassets.app.work_runner import WorkRunner
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import CostEstimate, Plan
    from sparkassets.core.planner.planning_context import PlanningContext
    from sparkassets.core.results import Summary
    from sparkassets.runtime.driver_work import DriverWork
    from sparkassets.runtime.progress import Progress


class BackfillCommands:
    """Computes again, and says beforehand what that would do."""

    def __init__(self, context: ProjectContext, runner: WorkRunner) -> None:
        self._context = context
        self._runner = runner

    def run(
        self,
        request: BackfillRequest,
        spark: SparkSession | None = None,
        *,
        at: datetime | str | None = None,
        progress: Progress | None = None,
        check: bool = True,
        over_budget: bool = False,
    ) -> Summary:
        """Computes what is missing or stale in a stretch of time, or all of it by force; or rebuilds the table.

        >>> project.backfills.run(BackfillRequest("daily_sales", "2025-01"), spark)  # doctest: +SKIP

        Raises:
            InputError: It makes no sense for the asset, or a rebuild would lose what cannot be computed again.
            RunFailedError: As of `run` of the project.
        """
        from sparkassets.core.spec.asset_graph import find_descendants
        from sparkassets.runtime.driver_work import TickWork

        self._runner.lend(spark)
        if request.rebuild:
            refuse_without_run(self.plan(request, at=at, over_budget=over_budget))
        asset = self._context.runnable(request.asset, "backfill")
        if asset.runs_elsewhere:
            hint = "start its job, which records itself by `project.run_of`"
            raise InputError(f"asset {asset.name!r} has no code here: its own job runs it", hint=hint)
        if asset.partitioning.is_open:
            asset = self._context.look(at=at).asset(asset.name)
        works: list[DriverWork] = [backfill_of(asset, request)]
        if request.downstream:
            works.append(TickWork(find_descendants(self._context.spec.assets, request.asset)))
        return self._runner.run(works, spark, at=at, progress=progress, check=check, over_budget=over_budget)

    def plan(
        self,
        request: BackfillRequest,
        *,
        at: datetime | str | None = None,
        estimate: bool = False,
        over_budget: bool = False,
    ) -> Plan:
        """What a backfill would run, with ``estimate`` at what cost, with ``over_budget`` whatever it costs.

        >>> project.backfills.plan(BackfillRequest("daily_sales", "2025-01"), estimate=True).totals  # doctest: +SKIP
        """
        self._context.runnable(request.asset, "backfill")
        works: list[DriverWork] = []

        def begin(context: PlanningContext) -> Sequence[Entry]:
            works.append(backfill_of(context.asset(request.asset), request))
            return works[0].begin(context)

        context = self._context.look(at=at, begin=begin)
        context.over_budget = over_budget
        return self._context.show_plan(works[0].plan(context), context, estimate=estimate)

    def downstream(self, plan: Plan, *, at: datetime | str | None = None) -> dict[str, PartitionSet]:
        """What the runs of a plan make due after them, upstream first: by asset, everything for all of one."""
        from sparkassets.core.planner.explain.impact import recomputed_by_update

        updated: dict[str, PartitionSet] = {}
        for run in plan.runs:
            updated[run.asset] = updated.get(run.asset, NOTHING) | run.blocks
        return recomputed_by_update(self._context.look(at=at), updated)

    def downstream_costs(
        self, due: Mapping[str, PartitionSet], *, at: datetime | str | None = None
    ) -> dict[str, tuple[CostEstimate, ...]]:
        """What the runs of a `downstream` are to cost, by asset, as if they read what is there now."""
        from sparkassets.core.planner.batch.cost_estimates import estimate_followers

        return estimate_followers(self._context.look(at=at), due, self._context.weigh)

    def give_up(self, asset: str) -> PartitionSet:
        """Gives up what is left of the asset's forced backfills: nobody goes on with it; returns what that is.

        Raises:
            InputError: There is no such asset.
        """
        from sparkassets.core.journal.backfill_requests import BackfillEntry

        self._context.runnable(asset, "backfill --give-up")
        given_up: list[PartitionSet] = []

        def decide(state: State) -> Sequence[Entry]:
            known = state.assets.get(asset)
            given_up[:] = [each.left for each in known.redo] if known is not None else []
            return [BackfillEntry(asset, NOTHING, PartitionSet.union(given_up))] if given_up else []

        with self._context.recording("backfill") as ledger:
            ledger.commit(decide)
        return PartitionSet.union(given_up)
