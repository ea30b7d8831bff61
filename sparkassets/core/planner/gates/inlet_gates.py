"""Gates on inlets: which partitions may run because their inputs are present, fresh and quiet.

``require`` counts partitions, ``tolerance`` says how long past due it is waited for, ``fresh_within`` is about the
inlet's last update and ``settle`` about how long it has been quiet. They hold for timetables and conditions alike, and
for an asset without partitions as for one with a single partition.
"""

from __future__ import annotations

from collections.abc import Callable

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.wanted_partitions import explain_hole
from sparkassets.core.planner.gates.table_losses import explain_lost_input, partitions_reading_loss
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import (
    countable_partitions,
    describe_lacking,
    explain_never_fed,
    explain_refused,
    required_partitions,
    split_refused_partitions,
    tolerance_end,
    waived_inputs,
)
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen, replace


def explain_stale_inlet(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> str | None:
    """Why ``fresh_within`` keeps the asset from running; None where it does not, or before the inlet's first update."""
    dataset = context.dataset(inlet)
    if inlet.fresh_within is None or not dataset.seq:
        return None
    if inlet.fresh_within.add_to(dataset.last_fresh_at, asset.timezone) >= context.now:
        return None
    return (
        f"waits for {inlet.name}: its last update, at {context.format_instant(dataset.last_fresh_at)}, is older than "
        f"{inlet.fresh_within.text} (fresh_within)"
    )


def unquiet_until(context: PlanningContext, inlet: InletSpec) -> int | None:
    """When the inlet will have been quiet for its ``settle``, Unix seconds; None if it has, or has no ``settle``."""
    dataset = context.dataset(inlet)
    quiet_at = dataset.at + inlet.settle_seconds
    return quiet_at if inlet.settle_seconds and dataset.seq and context.clock < quiet_at else None


def unquiet_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, partitions: PartitionSet
) -> tuple[PartitionSet, int | None]:
    """The given partitions that read what was updated less than ``settle`` ago, and when all of them may run.

    The time is in Unix seconds. (nothing, None) where the inlet is quiet.
    """
    if not inlet.settle_seconds:
        return NOTHING, None
    dataset, dependency = context.dataset(inlet), context.dependency(asset, inlet)
    if not dependency.is_mapped:
        until = unquiet_until(context, inlet)
        return (partitions, until) if until is not None else (NOTHING, None)
    recently_touched = dataset.touched.stamped_after(context.clock - inlet.settle_seconds)
    if recently_touched.newest is None:
        return NOTHING, None
    return dependency.affected_partitions(
        recently_touched.stamped_partitions()
    ) & partitions, recently_touched.newest + inlet.settle_seconds


def explain_settling(inlet: InletSpec) -> str:
    """Reason of partitions that wait for an inlet's ``settle``."""
    return f"waits until {inlet.name} has been quiet for {Duration(seconds=inlet.settle_seconds).text}"


def find_kept_partitions(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet
) -> list[tuple[InletSpec, PartitionSet, PartitionSet]]:
    """The given partitions that keep rows whose input was removed (``on_removed: keep``).

    One (inlet, partitions, removed inlet partitions) for each inlet; empty where there are none.
    """
    kept, state = [], context.state_of(asset)
    if not state.kept:
        return []
    for inlet in asset.inlets.values():
        stamps = state.kept.get(inlet.name)
        if stamps is not None and inlet.on_removed == "keep":
            partitions_kept = asset.partitioning.cover(stamps.stamped_partitions() & state.coverage) & partitions
            if partitions_kept:
                kept.append(
                    (
                        inlet,
                        partitions_kept,
                        required_partitions(context, asset, inlet, partitions_kept) & context.dataset(inlet).gone,
                    )
                )
    return kept


def explain_protection(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, kept: PartitionSet, removed_inputs: PartitionSet
) -> Waiting:
    """Reason of partitions (``kept``) that keep their rows although their input (``removed_inputs``) was removed.

    Computing them again would lose the rows, so only ``backfill --force`` does.
    """
    removed = describe_removed_input(context, inlet, removed_inputs)
    reason = f"{removed}: recomputing would lose its rows; `sparkassets backfill --force` does so anyway"
    return Waiting(asset.name, reason, None, kept)


def describe_removed_input(context: PlanningContext, inlet: InletSpec, removed_inputs: PartitionSet) -> str:
    """Clause that names removed inlet partitions whose derived rows are kept."""
    partitioning = context.partitioning(inlet)
    verb = "were" if partitioning.count(removed_inputs) > 1 else "was"
    return f"kept, although {name_partitions(inlet.name, removed_inputs, partitioning)} {verb} removed"


@frozen
class GateResult:
    """The partitions that may run, and why the others may not.

    Attributes:
        notes: Remarks about inputs that a run continues without.
    """

    ready: PartitionSet
    waiting: tuple[Waiting, ...] = ()
    notes: tuple[str, ...] = ()

    def without_partitions(self, partitions: PartitionSet, *waiting: Waiting) -> GateResult:
        """The result without these partitions, with the reasons why they wait."""
        return replace(self, ready=self.ready - partitions, waiting=(*self.waiting, *waiting))


@frozen
class _GateQuery:
    """What the gates of one check have in common.

    Attributes:
        due: When the run was due, Unix seconds; None where each partition is due at its own end.
        counts_removed: Whether removed inlet partitions count as present, and no rows are kept for them.
    """

    context: PlanningContext
    asset: AssetSpec
    due: int | None
    counts_removed: bool


def apply_gates(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that removes the partitions that inlets' gates hold back, and holes: those whose inputs never existed.

    A partitioned asset has one due run at this step. Of the runs of an asset without partitions the first decides.
    """
    if not progress.due_runs:
        return progress
    due_run = progress.due_runs[0]
    if case.pending is None:
        gated = check_gates(case.context, case.asset, EVERYTHING, due_run.due_since)
        if gated.waiting and not case.state.chain:  # who takes over a run settles it, gates or not
            return replace(progress, due_runs=(), waiting=(*progress.waiting, *gated.waiting))
        return progress.with_notes(gated.notes)
    if not due_run.partitions:
        return progress
    holes, not_unready = case.pending.holes, due_run.partitions - progress.unready
    waiting = explain_hole(case.context, case.asset, not_unready & holes)
    is_forced = due_run.kind == "backfill"  # what is left of a request, which is recorded of forced ones alone
    gated = check_gates(case.context, case.asset, not_unready - holes, due_run.due_since, counts_removed=is_forced)
    if gated.ready is due_run.partitions and not (gated.waiting or gated.notes or waiting):
        return progress
    narrowed = replace(due_run, partitions=gated.ready, notes=(*due_run.notes, *gated.notes))
    return replace(progress, due_runs=(narrowed,), waiting=(*progress.waiting, *waiting, *gated.waiting))


def check_gates(
    context: PlanningContext,
    asset: AssetSpec,
    partitions: PartitionSet,
    due: int | None = None,
    *,
    counts_removed: bool = False,
) -> GateResult:
    """Splits ``partitions`` by whether every inlet's gates are open.

    Partitions that keep the rows of a removed input are not computed again.

    Args:
        context: The planner's view.
        asset: The asset that reads the inlets.
        partitions: Whole partitions.
        due: When the run was due, Unix seconds; None where each partition is due at its own end.
        counts_removed: Whether removed inlet partitions count as present, and no rows are kept for them.
    """
    gated = GateResult(partitions)
    if not partitions:
        return gated
    for inlet, kept, removed_inputs in () if counts_removed else find_kept_partitions(context, asset, partitions):
        gated = gated.without_partitions(kept, explain_protection(context, asset, inlet, kept, removed_inputs))
    query = _GateQuery(context, asset, due, counts_removed)
    for inlet in asset.inlets.values():
        for gate in _GATES:
            if gated.ready:
                gated = gate(query, inlet, gated)
    return gated


def _require_known_columns(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Gate of ``require: none``: closed until the inlet was written once or declares its columns.

    Until then nobody knows which columns to read. Of the sources, only tables are checked.
    """
    context, upstream = query.context, query.context.project.assets[inlet.name]
    if inlet.require.kind != "none" or inlet.waits_only or upstream.columns:
        return gated
    is_table = upstream.source is None or upstream.source.kind == "delta"
    if not is_table or context.state_of(upstream).version is not None or context.dataset(inlet).seq:
        return gated
    reason = f"waits for {inlet.name}: not written yet, so its columns are unknown; declare its `columns`"
    return GateResult(NOTHING, (*gated.waiting, Waiting(query.asset.name, reason, None, gated.ready)), gated.notes)


def _require_whole_table(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Gate that is closed for partitions which read lost rows of the inlet's table."""
    reading_loss = partitions_reading_loss(query.context, query.asset, inlet, gated.ready)
    wait = explain_lost_input(query.context, query.asset, inlet, reading_loss) if reading_loss else None
    return gated if wait is None else gated.without_partitions(reading_loss, wait)


def _require_freshness(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Gate of ``fresh_within``: closed while the inlet's last update is too old."""
    reason = explain_stale_inlet(query.context, query.asset, inlet)
    if reason is None:
        return gated
    return GateResult(NOTHING, (*gated.waiting, Waiting(query.asset.name, reason, None, gated.ready)))


def _require_quiet(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Gate of ``settle``: closed for partitions whose input was updated a moment ago."""
    unquiet, until = unquiet_partitions(query.context, query.asset, inlet, gated.ready)
    return (
        gated.without_partitions(unquiet, Waiting(query.asset.name, explain_settling(inlet), until, unquiet))
        if unquiet
        else gated
    )


def _require_inputs(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Gate of ``require`` and ``tolerance``: closed while too few of the required inlet partitions are present.

    Open partitions get a note on inputs that they go without: tolerated, skipped or not required.
    """
    context, asset = query.context, query.asset
    if not asset.partitioning.is_partitioned and not context.dependency(asset, inlet).is_mapped:
        return _require_one_update(query, inlet, gated)
    refused, tolerated = split_refused_partitions(
        context, asset, inlet, gated.ready, query.due, counts_removed=query.counts_removed
    )
    if tolerated:
        missing_text = describe_lacking(context, asset, inlet, tolerated).reason.removeprefix("waits for ")
        gated = _note_tolerated(gated, f"all of {missing_text}", inlet)
    if waived := waived_inputs(context, asset, inlet, gated.ready - refused):
        waived_text = name_partitions(inlet.name, waived, context.partitioning(inlet))
        gated = replace(gated, notes=(*gated.notes, f"without {waived_text}: skipped"))
    if inlet.require.kind == "none":
        gated = _note_missing_inputs(query, inlet, gated)
    if not refused:
        return gated
    reasons = [_limit_wait_by_tolerance(query, inlet, each) for each in explain_refused(context, asset, inlet, refused)]
    return gated.without_partitions(refused, *reasons)


def _note_missing_inputs(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Adds a note about the absent inlet partitions that ``require: none`` lets a run go without."""
    absent = required_partitions(query.context, query.asset, inlet, gated.ready) - countable_partitions(
        query.context, inlet
    )
    if not absent:
        return gated
    absent_text = name_partitions(inlet.name, absent, query.context.partitioning(inlet))
    return replace(gated, notes=(*gated.notes, f"without {absent_text}: no data"))


def _require_one_update(query: _GateQuery, inlet: InletSpec, gated: GateResult) -> GateResult:
    """Gate of an inlet that is read as a whole: closed until its first update.

    Only an inlet that the asset waits for without reading it can be tolerated: otherwise there would be no rows to
    read.
    """
    context, asset = query.context, query.asset
    if not inlet.requires_partitions or context.dataset(inlet).seq:
        return gated
    tolerance_over = (
        tolerance_end(inlet, context.now if query.due is None else query.due, asset) if inlet.waits_only else None
    )
    if tolerance_over is not None and context.now >= tolerance_over:
        return _note_tolerated(gated, inlet.name, inlet)
    return gated.without_partitions(
        gated.ready, replace(explain_never_fed(context, asset, inlet, gated.ready), until=tolerance_over)
    )


def _note_tolerated(gated: GateResult, without: str, inlet: InletSpec) -> GateResult:
    """Adds a note that the run continues without something, because the inlet's tolerance is over."""
    note = f"continues without {without}: the tolerance of {_duration_text(inlet.tolerance)} is over"
    return replace(gated, notes=(*gated.notes, note))


_GATES: tuple[Callable[[_GateQuery, InletSpec, GateResult], GateResult], ...] = (
    _require_known_columns,
    _require_whole_table,
    _require_freshness,
    _require_quiet,
    _require_inputs,
)
"""The gates of each inlet. `_require_inputs` comes last because it counts only the partitions that the others left."""


def _limit_wait_by_tolerance(query: _GateQuery, inlet: InletSpec, wait: Waiting) -> Waiting:
    """Adds the end of the inlet's tolerance to a waiting reason.

    Unchanged without a tolerance, or if the inlet was never updated: then the tolerance does not count.
    """
    context, asset, due, partitions = query.context, query.asset, query.due, wait.partitions
    if due is None:
        due = asset.partitioning.first_finish_time(partitions)
    tolerance_over = tolerance_end(inlet, due, asset) if due is not None and context.dataset(inlet).seq else None
    if tolerance_over is None:
        return wait
    until = tolerance_over if wait.until is None else min(tolerance_over, wait.until)
    return replace(
        wait, reason=f"{wait.reason}; at most until {context.format_instant(tolerance_over)} (tolerance)", until=until
    )


def _duration_text(duration: Duration | None) -> str:
    return duration.text if duration is not None else ""
