"""`QueryCommands`: what a run of an asset would execute, as text, and rows of its table or of its query."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.backfills import partitions_of
from sparkassets.app.context import ProjectContext, Selection
from sparkassets.app.run_rendering import RunRenderer
from sparkassets.app.work_runner import WorkRunner
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.documents.rendered_run import RenderedRun
    from sparkassets.core.documents.row_sample import RowSample
    from sparkassets.core.planner.plan import PlannedRun
    from sparkassets.core.planner.planning_context import PlanningContext

MOST_ROWS = 20
"""Rows of a sample, unless more are asked for."""


class QueryCommands:
    """Shows what runs execute and what tables hold; records and writes nothing."""

    def __init__(self, context: ProjectContext, runner: WorkRunner) -> None:
        self._context = context
        self._runner = runner

    def render(self, asset: str, *, partition: str | None = None, at: datetime | str | None = None) -> RenderedRun:
        """What a run would execute now: SQL with its pins, partitions and literals, or what a function is passed.

        Without a partition it is the asset's next run in the plan; if nothing is due, a run of the newest wanted
        partition. No gate is asked. Spark starts only for inlets in a catalog.

        >>> print(*project.queries.render("daily_sales").code[0].statements)  # doctest: +SKIP

        Args:
            asset: With SQL or a function.
            partition: Keys ``A..B`` or ``A`` that the run would compute.
            at: Fixes the planner's now.

        Raises:
            InputError: There is no such asset or partition, or others write it.
            RunError: The template refuses such a run, or an inlet cannot be written as text.
        """
        renderer, run, is_planned = self._choose(asset, "render", partition, at)
        return renderer.render(run, is_planned=is_planned)

    def render_plan(self, *, at: datetime | str | None = None, select: Selection = None) -> list[RenderedRun]:
        """What each run of the plan would execute now, as `render` has it, without Spark.

        Where that needs Spark, or the template refuses the run, a note says so in the place of the code.

        >>> [run.asset for run in project.queries.render_plan(select="orders+")]  # doctest: +SKIP
        """
        from sparkassets.core.planner.planner import make_plan

        planning = self._context.look(at=at, select=select)
        renderer = RunRenderer(self._context, planning, "plan")
        return [renderer.render_without_spark(run) for run in make_plan(planning).runs]

    def show(self, asset: str, *, partition: str | None = None, limit: int = MOST_ROWS) -> RowSample:
        """Some rows of the asset's table as it is now; without Spark, unless only Spark can read the table.

        >>> project.queries.show("daily_sales", partition="2025-01-02").rows  # doctest: +SKIP

        Args:
            asset: Any with a Delta table, a source too.
            partition: Keys ``A..B`` or ``A`` whose rows are wanted.
            limit: The most rows.

        Raises:
            InputError: There is no such asset or partition, or it has no table of Delta.
            SourceError: The table cannot be read.
        """
        spec = self._context.known_project("show").asset(asset)
        if spec.storage is None or (spec.source is not None and spec.source.kind != "delta"):
            raise InputError(f"asset {asset!r} has no Delta table, so it has no rows to show")
        partitions = EVERYTHING if partition is None else partitions_of(spec, partition)
        return self._context.adapters.sample_table(spec, partitions, limit)

    def compute(
        self,
        asset: str,
        spark: SparkSession | None = None,
        *,
        partition: str | None = None,
        at: datetime | str | None = None,
        limit: int = MOST_ROWS,
    ) -> RowSample:
        """Some rows of the asset's query or function, computed by Spark as `render` has it, and written nowhere.

        >>> project.queries.compute("daily_sales", spark, partition="2025-01-02").rows  # doctest: +SKIP

        Raises:
            InputError: There is no such asset or partition; or its code writes its target or files itself.
            RunError: The code fails.
        """
        renderer, run, _ = self._choose(asset, "show --query", partition, at)
        order = renderer.build_order(run)
        spec = order.asset
        if spec.writes_itself or spec.publishes or spec.outlets:
            what = "writes several tables" if spec.outlets else "writes files or its table itself"
            raise InputError(f"the code of {asset!r} {what}, so its rows cannot be shown without a run")
        self._runner.lend(spark)
        engine, _ = self._runner.open_engine(spark)
        engine.start()
        return self._context.adapters.sample_computation(engine.compute(order, attempt=1), limit)

    def _choose(
        self, name: str, verb: str, partition: str | None, at: datetime | str | None
    ) -> tuple[RunRenderer, PlannedRun, bool]:
        """The run that would compute these partitions now, what renders it, and whether the plan holds it."""
        asset = self._context.runnable_asset(name, verb)
        if asset.source is not None:
            raise InputError(f"asset {name!r} is a source: others write it, so there is nothing to {verb}")
        if asset.runs_elsewhere:
            raise InputError(f"asset {name!r} has no code here: its own job runs it")
        planning = self._context.look(at=at, select=[name])
        return RunRenderer(self._context, planning, verb), *_choose_run(planning, planning.asset(name), partition)


def _choose_run(planning: PlanningContext, asset: AssetSpec, partition: str | None) -> tuple[PlannedRun, bool]:
    """The run of the asset, and whether the plan holds it.

    Without ``partition`` that is the planned run; if there is none, one by hand of the newest wanted partition. With
    it, one by hand of that partition. Without partitions it has the data interval of the last run.
    """
    from sparkassets.core.planner.batch.requested_runs import request_by_hand
    from sparkassets.core.planner.planner import make_plan

    if partition is None:
        planned = next((run for run in make_plan(planning).runs if run.asset == asset.name), None)
        if planned is not None:
            return planned, True
    partitions = _newest_partition(planning, asset) if partition is None else partitions_of(asset, partition)
    last = planning.state_of(asset).last
    interval = last.interval if last is not None and not asset.partitioning.is_partitioned else None
    reason = "nothing is due, so this is a run by hand" if partition is None else "a run by hand"
    return request_by_hand(planning, asset, partitions, interval, reason=reason), False


def _newest_partition(planning: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """The newest partition that the asset should have; everything without partitions.

    Raises:
        InputError: None is wanted yet.
    """
    from sparkassets.core.planner.due.pending_partitions import find_pending

    if not asset.partitioning.is_partitioned:
        return EVERYTHING
    wanted = find_pending(planning, asset, planning.state_of(asset)).wanted
    if not wanted:
        hint = f"name one: --partition {asset.partitioning.placeholder}"
        raise InputError(f"no partition of {asset.name!r} is wanted yet", hint=hint)
    return asset.partitioning.split_into_chunks(wanted, 1)[-1]
