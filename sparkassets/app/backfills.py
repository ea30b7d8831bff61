"""`BackfillCommands`: computes partitions again, and shows beforehand what would run, follow and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext
from sparkassets.app.work_runner import RunOptions, WorkRunner
from sparkassets.core.instants import parse_instant, to_unix
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionError, Partitioning, PartitionSet
from sparkassets.core.planner.plan import Plan
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.state import State
    from sparkassets.core.planner.plan import CostEstimate
    from sparkassets.core.planner.planning_context import PlanningContext
    from sparkassets.core.results import Summary
    from sparkassets.runtime.driver_work import DriverWork
    from sparkassets.runtime.progress import Progress
    from sparkassets.runtime.requested_works import BackfillWork, RebuildWork

_ALL_ALONE = "--all excludes --partition, --interval and --segment: it computes every expected partition"


@frozen
class BackfillRequest:
    """The options of a backfill.

    Attributes:
        partition: Keys ``A..B`` or ``A``, inclusive; for an asset with partitions.
        interval: Instants ``A..B``; for an asset without.
        downstream: Afterwards run what reads it or waits for it, too.
        force: Compute what is up to date again.
        rebuild: Compute all of a table in one commit, whose columns take the place of the table's.
        whole: All that is wanted, and what other code than the asset's has made.
        segments: Only these, ``KEY`` or ``COLUMN=KEY``; without a partition of all time.
        newest_first: The newest partitions first.
        max_runs: So many runs at most; who asks for the same again goes on.
        max_parallel: So many at the same time, in place of the project's ``max_parallel_runs``.
        reason: Why, for people; follows the reason of each run, with the person's name.
    """

    asset: str
    partition: str | None = None
    interval: str | None = None
    downstream: bool = False
    force: bool = False
    rebuild: bool = False
    whole: bool = False
    segments: tuple[str, ...] = ()
    newest_first: bool = False
    max_runs: int | None = None
    max_parallel: int | None = None
    reason: str = ""

    @property
    def has_range(self) -> bool:
        """Whether it names partitions, segments or an interval."""
        return self.partition is not None or self.interval is not None or bool(self.segments)


def make_backfill(asset: AssetSpec, request: BackfillRequest) -> BackfillWork | RebuildWork:
    """The driver's work for this request.

    Raises:
        InputError: The request makes no sense for that asset.
    """
    from sparkassets.runtime.requested_works import BackfillWork

    if asset.source is not None:
        raise InputError(f"asset {asset.name!r} is a source: others write it, so there is nothing to backfill")
    if request.rebuild:
        return _make_rebuild(asset, request)
    if asset.partitioning.is_partitioned:
        partitions = _requested_partitions(asset, request)
        return BackfillWork(
            asset, partitions, force=request.force, newest_first=request.newest_first, max_runs=request.max_runs
        )
    _refuse_partition_options(asset, request)
    return BackfillWork(asset, EVERYTHING, interval=parse_interval(asset, request.interval), force=request.force)


def _requested_partitions(asset: AssetSpec, request: BackfillRequest) -> PartitionSet:
    """Partitions that the request names; for ``--all`` (``whole``) everything: all that are wanted or present.

    Raises:
        InputError: It names none, or some that the asset does not have, or `--segment` excludes what `--partition` has.
    """
    _refuse_wrong_range(asset, request)
    if request.whole:
        return EVERYTHING
    partitions = partitions_of(asset, request.partition) if request.partition is not None else EVERYTHING
    if not request.segments:
        return partitions
    selected = partitions & asset.partitioning.parse_segments(request.segments)
    if not selected:
        raise InputError(f"--partition {request.partition} and --segment have no segment in common")
    return selected


def _refuse_wrong_range(asset: AssetSpec, request: BackfillRequest) -> None:
    """Raises `InputError` if the request names no partitions, or names something that the asset does not have."""
    if request.whole and request.has_range:
        raise InputError(_ALL_ALONE)
    if request.interval is not None and request.partition is not None:
        raise InputError(f"asset {asset.name!r} has partitions, but --interval is for assets without")
    if request.interval is not None or not (request.whole or request.has_range):
        keys = asset.partitioning.placeholder
        raise InputError(f"asset {asset.name!r} has partitions: name them by --partition {keys}, or pass --all")
    if request.segments and not asset.partitioning.segments:
        raise InputError(f"asset {asset.name!r} has no segments: leave --segment out")


def _refuse_partition_options(asset: AssetSpec, request: BackfillRequest) -> None:
    """Raises `InputError` for options that only make sense for an asset with partitions."""
    if request.partition is not None:
        raise InputError(
            f"asset {asset.name!r} has no partitions: pass --interval A..B, or no option to compute all of it"
        )
    if request.whole and request.interval is not None:
        raise InputError(_ALL_ALONE)
    options = {
        "--segment": request.segments,
        "--newest-first": request.newest_first,
        "--max-runs": request.max_runs is not None,
    }
    option = next((name for name, value in options.items() if value), None)
    if option is not None:
        raise InputError(f"asset {asset.name!r} has no partitions, so {option} does not apply")


def parse_interval(asset: AssetSpec, interval: str | None) -> tuple[int, int] | None:
    """The data interval ``A..B``, or the single instant ``A``, in Unix seconds; None for None.

    Raises:
        InputError: It is no interval, or it ends before it starts.
    """
    if interval is None:
        return None
    first, dots, last = interval.partition("..")
    start = parse_instant(first, zone=asset.local_zone)
    end = parse_instant(last, zone=asset.local_zone) if dots else start
    if end < start:
        raise InputError(f"the interval {interval!r} ends before it starts")
    return to_unix(start), to_unix(end)


def _make_rebuild(asset: AssetSpec, request: BackfillRequest) -> BackfillWork | RebuildWork:
    """The work of a rebuild; an ordinary backfill if every run of the asset replaces the whole table anyway."""
    from sparkassets.runtime.requested_works import BackfillWork, RebuildWork

    _refuse_rebuild(asset, request)
    if not asset.partitioning.is_partitioned and asset.write is not None and asset.write.takes_all:
        return BackfillWork(asset, EVERYTHING, force=request.force)
    return RebuildWork(asset, force=request.force)


def _refuse_rebuild(asset: AssetSpec, request: BackfillRequest) -> None:
    """Raises `InputError` for a rebuild of part of a table, or of a table that one run cannot compute again."""
    if request.whole or request.has_range:
        raise InputError("--rebuild excludes --partition, --segment, --interval and --all: it computes the whole table")
    if request.newest_first or request.max_runs is not None:
        raise InputError("--rebuild excludes --newest-first and --max-runs: it is a single run")
    if not asset.is_recomputable:
        raise InputError(f"asset {asset.name!r} appends and cannot be rebuilt: its rows cannot be recomputed")
    if asset.writes_itself:
        hint = "`backfill --force` runs its code again for the partitions that you name"
        raise InputError(f"asset {asset.name!r} cannot be rebuilt: its own code writes its table", hint=hint)
    if asset.segment_params is not None:
        raise InputError(f"asset {asset.name!r} cannot be rebuilt in one run: it has params for each segment")


def refuse_empty_rebuild(plan: Plan) -> None:
    """Raises `InputError`, with the reasons, if the plan of a rebuild has no run."""
    if not plan.runs:
        reasons = "; ".join(f"{wait.asset}: {wait.reason}" for wait in plan.waiting) or "there is nothing to compute"
        raise InputError(f"not rebuilt: {reasons}")


def named_partitions(asset: AssetSpec, keys: Sequence[str]) -> PartitionSet:
    """The union of the keys ``A..B`` or ``A``; everything for an asset without partitions, which has no keys.

    Raises:
        InputError: The asset has partitions and none is named, or has no such keys.
    """
    if asset.partitioning.is_partitioned and not keys:
        option = f"--partition {asset.partitioning.placeholder}"
        raise InputError(f"asset {asset.name!r} has partitions: name them by {option}")
    return PartitionSet.union(partitions_of(asset, each) for each in keys) if keys else EVERYTHING


def _lacks_a_segment(asset: AssetSpec, keys: str) -> bool:
    """Whether keys that `_parse_keys` has refused are well formed and only name a segment that is not known yet.

    ``recorded`` is what lets `parse` pass unknown segments, so what it refuses even then is wrong in another way.
    """
    try:
        asset.partitioning.parse(keys, recorded=True)
    except PartitionError:
        return False
    return True


def _parse_keys(partitioning: Partitioning, keys: str) -> PartitionSet:
    """One key or range, or several as they are printed: ``;`` separates keys that contain commas, else ``,``.

    Raises:
        PartitionError: One of them is no key.
    """
    separator = ";" if len(partitioning.names) > 1 else ","
    each = [text.strip() for text in keys.split(separator)]
    return PartitionSet.union(map(partitioning.parse, each)) if len(each) > 1 else partitioning.parse(keys)


def partitions_of(asset: AssetSpec, keys: str) -> PartitionSet:
    """The partitions of ``A..B`` or ``A``, both ends included, or of several as they are printed: ``A, B..C``.

    Raises:
        InputError: The asset has no partitions, or no such keys.
    """
    if not asset.partitioning.is_partitioned:
        raise InputError(f"asset {asset.name!r} has no partitions")
    try:
        return _parse_keys(asset.partitioning, keys)
    except PartitionError as error:
        if not asset.partitioning.is_open or not _lacks_a_segment(asset, keys):
            raise
        add = f"`sparkassets partitions {asset.name} add KEY` adds a segment"
        raise PartitionError(str(error.args[0]), hint=f"{error.hint}; {add}" if error.hint else add) from None


class BackfillCommands:
    """Runs and plans backfills of one project."""

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
        """Computes missing and stale partitions in a range, with ``force`` all of them; or rebuilds the table.

        >>> project.backfills.run(BackfillRequest("daily_sales", "2025-01"), spark)  # doctest: +SKIP

        Raises:
            InputError: It makes no sense for the asset, or a rebuild would lose what cannot be computed again.
            RunFailedError: As of `run` of the project.
        """
        from sparkassets.core.spec.asset_graph import find_descendants
        from sparkassets.runtime.driver_work import DueWork

        self._runner.lend(spark)
        if request.rebuild:
            refuse_empty_rebuild(self.plan(request, at=at, over_budget=over_budget))
        asset = self._context.runnable_asset(request.asset, "backfill")
        if asset.runs_elsewhere:
            hint = "start its job, which records itself by `project.run_of`"
            raise InputError(f"asset {asset.name!r} has no code in this project: its own job runs it", hint=hint)
        if asset.partitioning.is_open:
            asset = self._context.look(at=at).asset(asset.name)
        works: list[DriverWork] = [make_backfill(asset, request)]
        if request.downstream:
            works.append(DueWork(find_descendants(self._context.spec.assets, request.asset)))
        return self._runner.run(
            works,
            spark,
            at=at,
            progress=progress,
            check=check,
            options=RunOptions(over_budget, request.max_parallel, request.reason),
        )

    def plan(
        self,
        request: BackfillRequest,
        *,
        at: datetime | str | None = None,
        estimate: bool = False,
        over_budget: bool = False,
    ) -> Plan:
        """The runs of a backfill; with ``estimate`` also their cost, with ``over_budget`` also those over budget.

        >>> project.backfills.plan(BackfillRequest("daily_sales", "2025-01"), estimate=True).totals  # doctest: +SKIP
        """
        self._context.runnable_asset(request.asset, "backfill")
        works: list[DriverWork] = []

        def begin(context: PlanningContext) -> Sequence[Entry]:
            works.append(make_backfill(context.asset(request.asset), request))
            return works[0].begin(context)

        context = self._context.look(at=at, begin=begin)
        if over_budget:
            context.estimate_volume = None  # without an estimate no run is over its budget
        return self._context.show_plan(works[0].plan(context), context, estimate=estimate)

    def downstream(self, plan: Plan, *, at: datetime | str | None = None) -> dict[str, PartitionSet]:
        """Asset to the partitions that become due after the plan's runs, upstream first; everything means all."""
        from sparkassets.core.planner.explain.impact import recomputed_by_update

        updated: dict[str, PartitionSet] = {}
        for run in plan.runs:
            updated[run.asset] = updated.get(run.asset, NOTHING) | run.partitions
        return recomputed_by_update(self._context.look(at=at), updated)

    def downstream_costs(
        self, due: Mapping[str, PartitionSet], *, at: datetime | str | None = None
    ) -> dict[str, tuple[CostEstimate, ...]]:
        """Asset to the estimated cost of each run of a `downstream`, as if it read what is there now."""
        from sparkassets.core.planner.batch.cost_estimates import estimate_followers

        return estimate_followers(self._context.look(at=at), due, self._context.estimate_volume)

    def give_up(self, asset: str) -> PartitionSet:
        """Ends the asset's recorded (forced) backfills, so that no driver continues them; returns what was left.

        Raises:
            InputError: There is no such asset.
        """
        from sparkassets.core.journal.entries import BackfillEntry

        self._context.runnable_asset(asset, "backfill --give-up")
        given_up: list[PartitionSet] = []

        def decide(state: State) -> Sequence[Entry]:
            asset_state = state.assets.get(asset)
            given_up[:] = [each.left for each in asset_state.redo_requests] if asset_state is not None else []
            return [BackfillEntry(asset, NOTHING, PartitionSet.union(given_up))] if given_up else []

        with self._context.recording("backfill") as ledger:
            ledger.commit(decide)
        return PartitionSet.union(given_up)
