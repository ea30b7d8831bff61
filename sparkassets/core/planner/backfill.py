"""A backfill: what is missing or stale in a stretch of time is computed, or all of it by force; nothing else moves."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.alignment import align_unpartitioned, groups
from sparkassets.core.planner.batch import limit_of
from sparkassets.core.planner.bounds import within
from sparkassets.core.planner.context import EVERYTHING, PlanningContext
from sparkassets.core.planner.gates import gate
from sparkassets.core.planner.lookback import before
from sparkassets.core.planner.news import Causes, causes
from sparkassets.core.planner.pending import pending
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.runs import Consumption, RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, FullRefresh
from sparkassets.errors import InputError


def plan_backfill(context: PlanningContext, asset: AssetSpec, blocks: RangeSet, *, force: bool) -> Plan:
    """The runs that backfill ``blocks`` (whole partitions) of a partitioned asset, oldest first.

    Only the first can be claimed at a time; the others follow it. With ``force`` also what is outside the asset's
    bounds, and what keeps its rows although its input was removed, is computed.

    Raises:
        InputError: Some of the blocks are outside the asset's bounds.
    """
    partition, state = _partition(asset), context.state_of(asset)
    if not force:
        _refuse_outside(context, asset, partition, blocks)
    live = _live(context, state)
    if live is not None:
        return Plan(context.now, (), (Waiting(asset.name, live, None, blocks),))
    found = pending(context, asset, partition, state)
    over = context.over(partition)
    due = blocks.clip(None, over)
    waiting = []
    if blocks.clip(over, None):
        later = blocks.clip(over, None)
        waiting.append(Waiting(asset.name, f"not over before {context.when(later.last)}", later.last, later))
    if not force:
        current = due & (partition.inside(state.coverage) - found.all_stale)
        due = due - current
        if current:
            waiting.append(Waiting(asset.name, "up to date (--force computes it again)", None, current, quiet=True))
    gated = gate(context, asset, due, emptied=force)
    waiting += gated.waiting
    behind = before(asset, partition, state, gated.ready - state.coverage) - gated.ready
    if behind and isinstance(asset.strategy, DateRange) and asset.strategy.lookback is not None:
        omitted = f"without lookback ({asset.strategy.lookback.text})"
        reason = f"not computed again: a backfill computes what it names, {omitted}"
        waiting.append(Waiting(asset.name, reason, None, behind, quiet=True))
    shared = groups(context, asset, partition, gated.ready)
    waiting += [wait for group in shared for wait in group.aligned.waiting]
    batches = [
        (batch, group.aligned)
        for group in shared
        if not group.aligned.waiting
        for batch in partition.split(group.blocks, limit_of(asset))
    ]
    requests = [
        RunRequest(
            asset=asset.name,
            kind="backfill",
            blocks=batch,
            schedule_date=context.now,
            reason=", ".join(
                [f"backfill of {plural(partition.count(batch), 'partition')}", *aligned.notes, *gated.notes]
            ),
            interval=(batch.first, batch.last),
            pins={**context.pins(asset, state, batch), **aligned.pins},
        )
        for batch, aligned in batches
    ]
    runs = tuple(PlannedRun.of(request, asset=asset, state=state) for request in requests)
    return Plan(context.now, runs, tuple(waiting))


def plan_backfill_unpartitioned(
    context: PlanningContext, asset: AssetSpec, interval: tuple[int, int] | None, *, force: bool = False
) -> Plan:
    """The run that backfills an asset without partitions, for a data interval (Unix seconds).

    Without an interval it reads what a run of the asset's condition would read now: if that is due for updates alone,
    it stands for this run too, and uses up what this would.

    Raises:
        InputError: The interval is outside the asset's bounds, and it is not forced.
    """
    state = context.state_of(asset)
    if interval is not None and not force:
        _refuse_interval(context, asset, interval)
    live = _live(context, state)
    if live is not None:
        return Plan(context.now, (), (Waiting(asset.name, live),))
    aligned, gated = align_unpartitioned(context, asset, interval), gate(context, asset, EVERYTHING, context.now)
    if aligned.waiting or gated.waiting:
        return Plan(context.now, (), (*gated.waiting, *aligned.waiting))
    over = f" of {context.when(interval[0])}..{context.when(interval[1])}" if interval is not None else ""
    found = _answers(context, asset, state) if interval is None else None
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        blocks=None,
        schedule_date=context.now,
        reason=", ".join([f"backfill{over}", *aligned.notes, *gated.notes]),
        interval=interval,
        pins={**context.pins(asset, state, None), **aligned.pins},
        consumption=Consumption(found.uses.consumption.consumes) if found is not None else Consumption(),
    )
    events = found.events if found is not None else ()
    return Plan(context.now, (PlannedRun.of(request, asset=asset, state=state, events=events),), ())


def _answers(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Causes | None:
    """The causes that a backfill of everything answers: those of a whole run that is due, but for a tick's own."""
    if asset.schedule.condition is None or not isinstance(asset.strategy, FullRefresh):
        return None
    found = causes(context, asset.schedule.condition, state)
    return found if found.holds and found.run_after is None else None


def _refuse_outside(context: PlanningContext, asset: AssetSpec, partition: TimePartition, blocks: RangeSet) -> None:
    outside = blocks - within(asset, partition)
    if outside:
        early = asset.start is not None and outside.first < asset.start
        bound, at = ("start", asset.start) if early else ("end", asset.end)
        _refuse(context, asset, labels(outside, partition), bound, at)


def _refuse_interval(context: PlanningContext, asset: AssetSpec, interval: tuple[int, int]) -> None:
    """Intervals begin at a timetable's start or after, and before its end."""
    timetable = asset.schedule.timetable
    start, end = (timetable.start, timetable.end) if timetable is not None else (asset.start, asset.end)
    told = f"{context.when(interval[0])}..{context.when(interval[1])}"
    if start is not None and interval[0] < start:
        _refuse(context, asset, told, "start", start)
    if end is not None and interval[0] >= end:
        _refuse(context, asset, told, "end", end)


def _refuse(context: PlanningContext, asset: AssetSpec, what: str, bound: str, at: int | None) -> None:
    side = "before the start" if bound == "start" else "after the end"
    raise InputError(
        f"{what} of {asset.name!r} lies {side} of the asset, {context.when(at or 0)}",
        hint="--force computes it all the same",
    )


def _partition(asset: AssetSpec) -> TimePartition:
    if asset.partition is None:
        raise ValueError(f"{asset.name} has no partitions")
    return asset.partition


def _live(context: PlanningContext, state: AssetState) -> str | None:
    chain = context.chain(state)
    return f"running: {chain[-1].entry.run} since {context.when(chain[-1].at)}" if chain else None
