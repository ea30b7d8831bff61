"""Plans a backfill: runs for the missing and stale partitions of a request, or for all of them by force."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.instance_runs import PartitionsAndSlot, assign_slots
from sparkassets.core.planner.batch.run_batches import partition_limit, partitions_before_gaps
from sparkassets.core.planner.due.condition_causes import ConditionCauses, find_causes
from sparkassets.core.planner.due.due_ticks import MOST_RUNS
from sparkassets.core.planner.due.outdated_code import outputs_of_other_code
from sparkassets.core.planner.due.pending_partitions import choose_next_partitions, find_pending, resolve_partitions
from sparkassets.core.planner.due.withheld_partitions import explain_withheld, find_withheld
from sparkassets.core.planner.gates.aligned_inlets import AlignedGroup, align_unpartitioned, group_by_upstream_runs
from sparkassets.core.planner.gates.incremental_reads import read_without_position
from sparkassets.core.planner.gates.inlet_gates import check_gates
from sparkassets.core.planner.gates.partition_gates import explain_partly_appended, partly_appended_partitions
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext, partitions_in_bounds, possible_partitions
from sparkassets.core.planner.run_slots import (
    RunSlotAssigner,
    allows_parallel_runs,
    busy_partitions,
    describe_live_runs,
    explain_obstacles,
    find_held_slots,
)
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.runs import RunConsumption, RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, EveryInstance, FullRefresh
from sparkassets.errors import InputError


def plan_backfill(
    context: PlanningContext,
    asset: AssetSpec,
    partitions: PartitionSet,
    *,
    force: bool,
    other_code: bool = False,
    newest_first: bool = False,
) -> Plan:
    """Plans the runs that backfill ``partitions`` (whole ones) of a partitioned asset, oldest first by default.

    Where the request is open in time, it means all wanted or present partitions. Runs that go one at a time are all
    planned, but only the first can be claimed now. ``force`` adds current partitions, those outside the bounds, and
    those that keep rows of a removed input; ``other_code`` adds partitions computed by other code than the asset's.

    Raises:
        InputError: Some of the partitions are outside the asset's bounds.
    """
    state = context.state_of(asset)
    partitions = resolve_partitions(context, asset, state, partitions)
    if not force:
        _refuse_outside(context, asset, partitions)
    if (obstacle := explain_obstacles(context, asset, state, partitions)) is not None:
        return obstacle
    order = -1 if newest_first else 1
    due, waiting = _find_due(
        context, asset, state, partitions - busy_partitions(context, asset, state), force=force, other_code=other_code
    )
    gated = check_gates(context, asset, due, counts_removed=force)
    groups = group_by_upstream_runs(context, asset, gated.ready)
    waiting += [
        *describe_live_runs(context, asset, state),
        *gated.waiting,
        *_explain_no_lookback(asset, state, gated.ready),
    ]
    waiting += [wait for group in groups for wait in group.inlet_alignment.waiting]
    runs: list[PlannedRun] = []
    slots = RunSlotAssigner(asset.partitioning, state, find_held_slots(context, state))
    for group in groups[::order]:
        if not group.inlet_alignment.waiting:
            batches, slot_waits = _assign_batches(context, asset, state, group.partitions, slots=slots, order=order)
            runs += [_build_batch_run(context, asset, state, each, group=group, notes=gated.notes) for each in batches]
            waiting += slot_waits
    return Plan(context.now, tuple(runs), tuple(waiting))


def redoable_partitions(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> PartitionSet:
    """Partitions of a request that a forced backfill could compute now if the asset had no other runs."""
    state = context.state_of(asset)
    due, _ = _find_due(
        context, asset, state, resolve_partitions(context, asset, state, partitions), force=True, other_code=True
    )
    groups = group_by_upstream_runs(context, asset, check_gates(context, asset, due, counts_removed=True).ready)
    return PartitionSet.union(group.partitions for group in groups if not group.inlet_alignment.waiting)


def find_divided_partitions(context: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """Partitions that failed because of their data in this invocation and are retried in parts."""
    suspects = find_pending(context, asset, context.state_of(asset)).suspects
    return PartitionSet.union(each.partitions for each in suspects if not each.is_retried_whole)


def _assign_batches(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    ready: PartitionSet,
    *,
    slots: RunSlotAssigner,
    order: int,
) -> tuple[list[PartitionsAndSlot], list[Waiting]]:
    """The partitions and the run slot of each run, and why the other ``ready`` partitions wait.

    Partitions that failed because of their data (suspects) get runs of their own, so that they fail no others.
    ``order`` is -1 for the newest first, else 1.
    """
    if allows_parallel_runs(asset):
        # slots go to the oldest partitions, so newest first is asked only about the last chunk
        capped = asset.partitioning.split_into_chunks(ready, MOST_RUNS)[-1] if order < 0 and ready else ready
        assigned, slot_waits = assign_slots(asset, state, capped, slots)
        return assigned[::order], slot_waits
    suspects = find_pending(context, asset, state).suspects if state.failed else ()
    batches: list[PartitionsAndSlot] = []
    remaining = ready
    while capped := choose_next_partitions(asset.partitioning, remaining, suspects).partitions:
        batches += [
            (batch, 0) for batch in asset.partitioning.split_into_chunks(capped, partition_limit(asset))[::order]
        ]
        remaining = remaining - capped
    return batches, []


def _find_due(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    partitions: PartitionSet,
    *,
    force: bool,
    other_code: bool,
) -> tuple[PartitionSet, list[Waiting]]:
    """The partitions of a backfill that are due, and the reasons why the rest is not.

    Due are finished partitions that are not current, skipped or withheld; with ``force`` all finished ones. Where
    a part of a partition was appended before, it is not due: computing it would append that part twice.

    Raises:
        InputError: ``force`` would append present partitions a second time.
    """
    waiting: list[Waiting] = []
    finished = context.finished_partitions(asset.partitioning)
    if unfinished := partitions - finished:
        finish_time = asset.partitioning.last_finish_time(unfinished)
        waiting.append(
            Waiting(
                asset.name,
                f"not over before {context.format_instant(finish_time or context.now)}",
                finish_time,
                unfinished,
            )
        )
    due = partitions & finished
    if force:
        _refuse_second_append(asset, due & asset.partitioning.cover(state.coverage))
        return due, waiting
    if skipped := due & state.skipped_partitions:
        waiting.append(Waiting(asset.name, "skipped (--force computes it)", None, skipped, quiet=True))
        due -= skipped
    waiting += explain_withheld(context, asset, state, among=due)
    due -= find_withheld(context, asset, state).resting
    stale = find_pending(context, asset, state).all_stale
    if other_code and not asset.appends:
        stale = PartitionSet.union([stale, *(made.partitions for made in outputs_of_other_code(asset, state))])
    current = due & (asset.partitioning.inside(state.coverage) - stale)
    if current:
        waiting.append(Waiting(asset.name, "up to date (--force recomputes it)", None, current, quiet=True))
    due -= current
    if appended := partly_appended_partitions(asset, state, due - stale):
        waiting.append(explain_partly_appended(asset, appended))
    return due - appended, waiting


def _refuse_second_append(asset: AssetSpec, present: PartitionSet) -> None:
    """Refuses a forced backfill of present partitions of an asset that appends: it would duplicate their rows."""
    if present and asset.appends:
        reason = f"{label_partitions(present, asset.partitioning)} already exists; its rows would be duplicated"
        raise InputError(
            f"{asset.name!r} appends: {reason}", hint="leave --force out to compute only the missing partitions"
        )


def _explain_no_lookback(asset: AssetSpec, state: AssetState, ready: PartitionSet) -> list[Waiting]:
    """A quiet note about partitions that a scheduled run would compute again by lookback; a backfill does not."""
    before_gaps = partitions_before_gaps(asset, state, ready - state.coverage) - ready
    if not before_gaps or not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return []
    omitted = f"without lookback ({asset.strategy.lookback.text})"
    reason = f"not recomputed: a backfill computes only the partitions it names, {omitted}"
    return [Waiting(asset.name, reason, None, before_gaps, quiet=True)]


def _build_batch_run(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    batch: PartitionsAndSlot,
    *,
    group: AlignedGroup,
    notes: tuple[str, ...],
) -> PlannedRun:
    """The run of one batch; its pins of aligned inlets are those of the group that shares the same upstream runs."""
    (partitions, slot), alignment = batch, group.inlet_alignment
    count = plural(asset.partitioning.count(partitions), "partition")
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason=", ".join([f"backfill of {count}", *alignment.notes, *notes]),
        interval=asset.partitioning.interval(partitions),
        pins={**context.pins(asset, state, partitions), **alignment.pins},
        run_slot=slot,
        accepted=find_withheld(context, asset, state).accepted & partitions,
    )
    return PlannedRun.from_request(request, asset=asset, state=state)


def backfillable_partitions(context: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """All partitions that are wanted, or present and could be computed again."""
    state = context.state_of(asset)
    present = (
        asset.partitioning.inside(state.coverage) & asset.partitioning.known_partitions & partitions_in_bounds(asset)
    )
    return find_pending(context, asset, state).wanted | present


def plan_backfill_unpartitioned(
    context: PlanningContext,
    asset: AssetSpec,
    interval: tuple[int, int] | None,
    *,
    force: bool = False,
    rebuilds: bool = False,
) -> Plan:
    """Plans the run that backfills an asset without partitions, for a data interval (Unix seconds).

    Without an interval it reads the same as a run of the asset's condition now; if such a run is due for updates alone,
    the backfill replaces it and uses up its events. Inlets with a watermark are read from the beginning if the asset is
    recomputable; with ``rebuilds``, the rows replace the whole table.

    Raises:
        InputError: The interval is outside the asset's bounds, and it is not forced; or it would append twice.
    """
    state = context.state_of(asset)
    if interval is not None and not force:
        _refuse_interval(context, asset, interval)
    if (obstacle := explain_obstacles(context, asset, state, EVERYTHING)) is not None:
        return obstacle
    alignment = align_unpartitioned(context, asset, interval)
    gated = check_gates(context, asset, EVERYTHING, context.now)
    if alignment.waiting or gated.waiting:
        return Plan(context.now, (), (*gated.waiting, *alignment.waiting))
    causes = _answered_causes(context, asset, state) if interval is None else None
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=EVERYTHING,
        schedule_date=context.now,
        reason=", ".join([_request_reason(context, interval, rebuilds=rebuilds), *alignment.notes, *gated.notes]),
        interval=interval,
        pins={
            **context.pins(asset, state, EVERYTHING, again=True),
            **read_without_position(context, asset, state),
            **alignment.pins,
        },
        rebuilds=rebuilds,
        consumption=RunConsumption(causes.uses.consumption.consumes) if causes is not None else RunConsumption(),
        accepted=_accepted_partitions(context, asset, state, causes),
        is_instance=isinstance(asset.strategy, EveryInstance),
    )
    events = causes.events if causes is not None else ()
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state, events=events),), ())


def _accepted_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, causes: ConditionCauses | None
) -> PartitionSet:
    """Partitions to publish although their rules fail, as a person accepted them.

    None for a backfill that answers a condition, or for an instance: these read newer inputs, so they are validated
    again.
    """
    if causes is not None or isinstance(asset.strategy, EveryInstance):
        return NOTHING
    return find_withheld(context, asset, state).accepted


def _request_reason(context: PlanningContext, interval: tuple[int, int] | None, *, rebuilds: bool) -> str:
    """The sentence for the run: a rebuild, or a backfill with its interval if it has one."""
    if rebuilds:
        return "rebuild"
    return "backfill" + (
        f" of {context.format_instant(interval[0])}..{context.format_instant(interval[1])}" if interval else ""
    )


def _answered_causes(context: PlanningContext, asset: AssetSpec, state: AssetState) -> ConditionCauses | None:
    """The causes of a due full refresh that the backfill answers in its place; None without any.

    Also None if a tick is among the causes: the tick stands for its own interval, so its run is still to come.
    """
    if asset.schedule.condition is None or not isinstance(asset.strategy, FullRefresh):
        return None
    causes = find_causes(context, asset.schedule.condition, state)
    return causes if causes.holds and causes.run_after is None else None


def _refuse_outside(context: PlanningContext, asset: AssetSpec, partitions: PartitionSet) -> None:
    """Refuses partitions outside the asset's bounds, and those for which the inlets can never have data.

    A present partition is not refused for its inlets: it was computed before.
    """
    outside = partitions - partitions_in_bounds(asset)
    if outside:
        is_before_start = asset.start is not None and outside.first < asset.start
        bound, bound_time = ("start", asset.start) if is_before_start else ("end", asset.end)
        _refuse(context, asset, label_partitions(outside, asset.partitioning), bound, bound_time)
    possible = possible_partitions(context.project).get(asset.name, EVERYTHING)
    if impossible := partitions - possible - context.state_of(asset).coverage:
        refused_text = f"{label_partitions(impossible, asset.partitioning)} of {asset.name!r} can never have data"
        message = f"{refused_text}: it lies outside the bounds that its inlets declare"
        raise InputError(message, hint="--force computes it anyway")


def _refuse_interval(context: PlanningContext, asset: AssetSpec, interval: tuple[int, int]) -> None:
    """Refuses an interval that begins before the timetable's start, or at its end or after.

    Without a timetable the asset's own start and end are the bounds.
    """
    timetable = asset.schedule.timetable
    start, end = (timetable.start, timetable.end) if timetable is not None else (asset.start, asset.end)
    span = f"{context.format_instant(interval[0])}..{context.format_instant(interval[1])}"
    if start is not None and interval[0] < start:
        _refuse(context, asset, span, "start", start)
    if end is not None and interval[0] >= end:
        _refuse(context, asset, span, "end", end)


def _refuse(context: PlanningContext, asset: AssetSpec, what: str, bound: str, at: int | None) -> None:
    """Raises the refusal of ``what``, which lies outside the asset's ``bound``, ``start`` or ``end``.

    ``at`` is that bound, Unix seconds.
    """
    side = "before the start" if bound == "start" else "after the end"
    raise InputError(
        f"{what} of {asset.name!r} is {side} of the asset, {context.format_instant(at or 0)}",
        hint="--force computes it anyway",
    )
