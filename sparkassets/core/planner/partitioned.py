"""The decision for an asset with partitions: missing and stale blocks, filtered by schedule, gates and holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.alignment import Aligned, Group, groups
from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.planner.gates import gate, kept, without
from sparkassets.core.planner.holds import held
from sparkassets.core.planner.lookback import lookback, owed
from sparkassets.core.planner.news import Uses, everything, ticks_of, uses_of
from sparkassets.core.planner.pending import Pending, pending
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.readiness import readiness, unready
from sparkassets.core.planner.timing import Tick, due_ticks
from sparkassets.core.planner.wanted import fills_nothing, lacks_the_newest, left_out
from sparkassets.core.planner.wording import labels, listing, plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange


def decide(context: PlanningContext, asset: AssetSpec, partition: TimePartition, state: AssetState) -> Decision:
    """Whether and with which blocks the asset runs now."""
    found = pending(context, asset, partition, state)
    chain = state.chain
    rescued = partition.cover(chain[-1].entry.blocks or RangeSet()) if chain else RangeSet()
    if chain and chain[-1].entry.rebuilds:
        rescued = RangeSet()  # the table is as it was; who wants it rebuilt asks again
    scheduled = _scheduled(context, asset, partition, state, found)
    tick, waiting = scheduled.tick, scheduled.waiting
    asked = scheduled.due | rescued
    due = asked | (owed(asset, partition, state) if scheduled.open else RangeSet())
    failed = found.failed & due
    due = due - failed
    holds = held(context, asset, found.wanted)
    waiting += holds.waiting
    barred = partition.cover(holds.coming | holds.blocked)  # what comes or failed may be a part of a block
    waiting += fills_nothing(context, asset, partition, due & found.holes)
    gated = gate(context, asset, due - barred - found.holes, tick.run_after if tick else None)
    waiting += gated.waiting
    shared = groups(context, asset, partition, gated.ready)
    waiting += tuple(wait for group in shared for wait in group.aligned.waiting)
    shared = tuple(group for group in shared if not group.aligned.waiting)
    ready = RangeSet.union(group.blocks for group in shared)
    coming = holds.coming if asset.schedule.condition is not None else holds.coming & due
    blocked = failed | holds.blocked
    failure = f"{asset.name} {labels(failed, partition)}, which failed" if failed else holds.failure
    if failed:
        waiting += (Waiting(asset.name, f"failed: {found.error}", None, failed),)
    waiting += left_out(context, asset, partition, found.wanted | found.later)
    if found.later:
        first = partition.next(found.later.first)
        reason = f"{partition.key(found.later.first)} is not over before {context.when(first)}"
        waiting += (Waiting(asset.name, reason, first, found.later, quiet=True),)
    resting = _resting(context, asset, state, found, due)
    if not ready and not chain:
        return Decision((), (waiting or (_up_to_date(context, asset, state),)) + resting, coming, blocked, failure)
    runs = []
    parts, taken = shared or (Group(RangeSet(), Aligned()),), list[RangeSet]()
    for group in parts:
        batch = _batch(context, asset, partition, state, group.blocks, barred=barred, failed=found.failed)
        ready = ready | batch.blocks | batch.rest
        if batch.rest:
            limit = limit_of(asset)
            reason = f"left for the next run: more than max_partitions_per_run ({limit})"
            waiting += (Waiting(asset.name, reason, None, batch.rest),)
        notes = (*group.aligned.notes, *gated.notes)
        asks = scheduled if batch.blocks & asked else replace(scheduled, uses=Uses())
        run = _run(context, asset, partition, state, found=found, scheduled=asks, blocks=batch.blocks, notes=notes)
        run = replace(run, pins={**run.pins, **group.aligned.pins}, owes=batch.owes, gaps=batch.gaps)
        taken.append(batch.blocks)
        last = group is parts[-1] and not batch.rest and not _holds(tick, (due | failed) - RangeSet.union(taken))
        runs.append(run if last else replace(run, cursor=None))
    return Decision(tuple(runs), waiting + resting, ready | coming, blocked, failure)


def _resting(
    context: PlanningContext, asset: AssetSpec, state: AssetState, found: Pending, due: RangeSet
) -> tuple[Waiting, ...]:
    """What wants nothing, and why: it keeps rows whose input is gone, or needs what is still to come."""
    waiting = lacks_the_newest(context, asset, found.ahead)
    for inlet, lost, gone in kept(context, asset, state.coverage):
        if rest := lost - due:
            waiting += (Waiting(asset.name, without(context, inlet, gone), None, rest, quiet=True),)
    return waiting


def _holds(tick: Tick | None, left: RangeSet) -> bool:
    """Whether blocks of the tick's own interval are left, which wait for their gates; older holes wait for a tick."""
    return tick is not None and bool(left.clip(*tick.interval))


@dataclass(frozen=True, slots=True)
class _Scheduled:
    """What the schedule says.

    Attributes:
        due: The blocks that it lets through.
        waiting: What it holds back.
        tick: The due tick if it is a timetable's.
        uses: What a run of a condition uses up; of a tick, everything.
        open: Whether what an earlier run owes may run.
    """

    due: RangeSet
    waiting: tuple[Waiting, ...] = ()
    tick: Tick | None = None
    uses: Uses = field(default_factory=Uses)
    open: bool = True


def _scheduled(
    context: PlanningContext, asset: AssetSpec, partition: TimePartition, state: AssetState, found: Pending
) -> _Scheduled:
    """What the schedule lets through of what is missing or stale."""
    due = found.missing | found.all_stale
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = due_ticks(context, asset, schedule.timetable, state)
        if isinstance(ticks, Waiting):
            # what failed is tried once more by each invocation, whenever the next tick is
            again = (item.ranges for item in state.failed if item.ranges and item.invocation != context.invocation)
            retried = due & partition.cover(RangeSet.union(again))
            return _Scheduled(retried, (ticks,), None, Uses({}, everything(context, state)), open=False)
        return _Scheduled(due, (), _spanning(ticks), Uses({}, everything(context, state)))
    if schedule.condition is None:
        manual = Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
        return _Scheduled(RangeSet(), (manual,), open=False)
    if schedule.default and not due and not state.chain:
        return _Scheduled(due)
    if schedule.default:
        named = {context.uri(leaf): leaf.ref for leaf in schedule.condition.leaves()}
        return _Scheduled(due, (), None, Uses(named, everything(context, state), blocks=dict.fromkeys(named, due)))
    times = ticks_of(context, schedule.condition, state)
    verdict = readiness(context, asset, schedule.condition, state, found, times)
    waiting = unready(context, asset, verdict, due - verdict.value, found)
    return _Scheduled(verdict.value, waiting, None, uses_of(context, schedule.condition, state, times, verdict))


def _spanning(ticks: tuple[Tick, ...]) -> Tick:
    """One tick for all that are due: blocks fuse, whatever was missed."""
    newest = ticks[-1]
    return replace(newest, interval=(ticks[0].interval[0], newest.interval[1]))


def limit_of(asset: AssetSpec) -> int:
    """How many partitions one run computes at most."""
    return asset.strategy.max_partitions_per_run if isinstance(asset.strategy, DateRange) else 1 << 62


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one run computes.

    Attributes:
        blocks: Those of the run, at most `limit_of`, the oldest first.
        rest: Left for another run.
        owes, gaps: As in `PlannedRun`.
    """

    blocks: RangeSet
    rest: RangeSet
    owes: RangeSet
    gaps: RangeSet


def _batch(
    context: PlanningContext,
    asset: AssetSpec,
    partition: TimePartition,
    state: AssetState,
    ready: RangeSet,
    *,
    barred: RangeSet,
    failed: RangeSet,
) -> _Batch:
    """The blocks of the next run, lookback included; what of that has ``failed`` is owed to another invocation."""
    back = lookback(context, asset, partition, state, ready, barred=barred)
    todo = ready | (back.blocks - failed)
    blocks = partition.oldest(todo, limit_of(asset)) if todo else todo
    return _Batch(blocks, todo - blocks, back.blocks - blocks, back.gaps)


def _run(
    context: PlanningContext,
    asset: AssetSpec,
    partition: TimePartition,
    state: AssetState,
    *,
    found: Pending,
    scheduled: _Scheduled,
    blocks: RangeSet,
    notes: tuple[str, ...],
) -> PlannedRun:
    tick, uses, chain = scheduled.tick, scheduled.uses, state.chain
    events = context.events(asset, state, {uri: blocks & uses.blocks.get(uri, RangeSet()) for uri in uses.named})
    return PlannedRun(
        asset=asset.name,
        kind=chain[-1].entry.kind if chain and not (blocks & (found.missing | found.all_stale)) else "scheduled",
        strategy=asset.strategy.name if asset.strategy else "",
        write=asset.write.name if asset.write else "",
        reason=", ".join(
            [_reason(context, asset, state, partition=partition, found=found, tick=tick, blocks=blocks), *notes]
        ),
        blocks=blocks,
        schedule_date=tick.run_after if tick else context.now,
        interval=tick.interval if tick else context.interval(events, blocks),
        cursor=tick.cursor if tick else None,
        pins=context.pins(asset, state, blocks),
        events=events,
        consumes=uses.events,
        ticks=uses.ticks,
        left={} if tick else _left(found, uses, blocks),
        recovers=tuple(link.entry.run for link in chain),
    )


def _left(found: Pending, uses: Uses, blocks: RangeSet) -> dict[str, RangeSet]:
    """What a run of ``blocks`` leaves of the events and ticks that it uses, each for its own time."""
    rest = (found.missing | found.all_stale | found.later) - blocks
    asked = blocks & (found.missing | found.all_stale)
    left = {key: rest | (asked - used) for key, used in uses.blocks.items()}
    left |= {key: RangeSet.always() for key in uses.ticks if key not in left}
    return {key: ranges for key, ranges in left.items() if ranges}


def _reason(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    *,
    partition: TimePartition,
    found: Pending,
    tick: Tick | None,
    blocks: RangeSet,
) -> str:
    parts = []
    if state.chain:
        parts.append(f"takes over {listing([link.entry.run for link in state.chain])}, which never ended")
    missing = partition.count(blocks & found.missing)
    if missing:
        parts.append(f"{plural(missing, 'partition')} missing")
    stale = blocks & found.all_stale
    if stale:
        causes = [name for name, ranges in found.stale.items() if ranges.overlaps(blocks)]
        parts.append(f"{partition.count(stale)} stale: {listing(causes)} changed")
    again = partition.count(blocks - found.missing - found.all_stale)
    if again and not state.chain:
        parts.append(f"{again} by lookback")
    failures = RangeSet.union(item.ranges for item in state.failed if item.ranges)
    if failures.overlaps(blocks):
        parts.append(f"{partition.count(failures & blocks)} failed before")
    return (f"{asset.schedule.text} at {context.when(tick.run_after)}: " if tick else "") + ", ".join(parts)


def _up_to_date(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Waiting:
    since = f" since {state.last.run}" if state.last else ""
    nothing = "up to date" if state.coverage else _nothing(context, asset)
    return Waiting(asset.name, nothing + since, quiet=bool(state.coverage))


def _nothing(context: PlanningContext, asset: AssetSpec) -> str:
    names = [inlet.name for inlet in asset.inlets.values() if inlet.mapping is not None]
    faulty = next((name for name in names if name in context.faults), None)
    if faulty is not None:
        return f"waits for {faulty}: {context.faults[faulty]}"
    return f"waits for the first partition of {listing(names)}" if names else "no partition is over yet"
