"""The decision for an asset with partitions: missing and stale blocks, filtered by schedule, gates and holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sparkassets.core.conditions import Condition, Leaf, Time, Verdict, evaluate
from sparkassets.core.instants import epoch, instant
from sparkassets.core.journal.state import AssetState, FailedBlocks
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.alignment import Aligned, Group, groups
from sparkassets.core.planner.gates import gate, refused_blocks
from sparkassets.core.planner.holds import held
from sparkassets.core.planner.look import Decision, Look
from sparkassets.core.planner.news import Passed, Uses, everything, news_of, next_tick, ticks_of, uses_of
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.timing import Tick, due_ticks
from sparkassets.core.planner.wording import labels, lacking, listing, plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange


@dataclass(frozen=True, slots=True)
class Pending:
    """What is known of an asset's blocks.

    Attributes:
        wanted: All that should be there and is over.
        later: Wanted, but not over yet.
        missing: Wanted and never computed.
        stale: Per inlet, computed from something that changed since.
        failed: Failed in this invocation, without a new cause since.
    """

    wanted: RangeSet
    later: RangeSet
    missing: RangeSet
    stale: Mapping[str, RangeSet]
    failed: RangeSet
    error: str

    @property
    def all_stale(self) -> RangeSet:
        """Stale for any reason."""
        return RangeSet.union(self.stale.values())


def pending(look: Look, asset: AssetSpec, partition: TimePartition, state: AssetState) -> Pending:
    """What is wanted of the asset now, and what of it is missing or stale."""
    over = look.over(partition)
    span = _span(look, asset, partition, state)
    wanted, later = span.clip(None, over), span.clip(over, None)
    have = partition.inside(state.coverage)
    within = have.clip(asset.start, asset.end)
    rerun = [inlet.name for inlet in asset.inlets.values() if inlet.on_update == "rerun" and inlet.name in state.stale]
    stale = {name: partition.cover(state.stale[name].ranges() & within) for name in rerun}
    failed, error = RangeSet(), ""
    tried = [item for item in state.failed if item.invocation == look.invocation]
    marks = [mark for stamped in state.stale.values() for mark in stamped.items()] if tried else []
    for item in tried:
        if item.ranges is not None:
            fresh = RangeSet.of((start, end) for start, end, seq in marks if seq > item.epoch)
            still = RangeSet() if _newer(look, asset, state, item) else partition.cover(item.ranges - fresh)
            failed, error = failed | still, error or item.error
    stale = {name: blocks for name, blocks in stale.items() if blocks}
    return Pending(wanted, later, wanted - have, stale, failed, error)


def decide(look: Look, asset: AssetSpec, partition: TimePartition, state: AssetState) -> Decision:
    """Whether and with which blocks the asset runs now."""
    found = pending(look, asset, partition, state)
    chain = state.chain
    rescued = partition.cover(chain[-1].entry.blocks or RangeSet()) if chain else RangeSet()
    if chain and chain[-1].entry.rebuilds:
        rescued = RangeSet()  # the table is as it was; who wants it rebuilt asks again
    scheduled = _scheduled(look, asset, partition, state, found)
    tick, waiting = scheduled.tick, scheduled.waiting
    due = scheduled.due | rescued
    failed = found.failed & due
    due = due - failed
    holds = held(look, asset, found.wanted)
    waiting += holds.waiting
    barred = partition.cover(holds.coming | holds.blocked)  # what comes or failed may be a part of a block
    gated = gate(look, asset, due - barred, tick.run_after if tick else None)
    waiting += gated.waiting
    shared = groups(look, asset, partition, gated.ready)
    waiting += tuple(wait for group in shared for wait in group.aligned.waiting)
    shared = tuple(group for group in shared if not group.aligned.waiting)
    ready = RangeSet.union(group.blocks for group in shared)
    coming = holds.coming if asset.schedule.condition is not None else holds.coming & due
    blocked = failed | holds.blocked
    failure = f"{asset.name} {labels(failed, partition)}, which failed: {found.error}" if failed else holds.failure
    if failed:
        waiting += (Waiting(asset.name, f"failed: {found.error}", None, failed),)
    waiting += _left_out(asset, partition, found.wanted | found.later)
    if found.later:
        first = partition.next(found.later.first)
        reason = f"{partition.key(found.later.first)} is not over before {look.when(first)}"
        waiting += (Waiting(asset.name, reason, first, found.later, quiet=True),)
    if not ready and not chain:
        return Decision((), waiting or (_up_to_date(look, asset, state),), coming, blocked, failure)
    runs = []
    parts, left = shared or (Group(RangeSet(), Aligned()),), due | failed
    for group in parts:
        blocks, rest = _batch(look, asset, partition, state, group.blocks, barred=failed | barred)
        if rest:
            limit = limit_of(asset)
            reason = f"left for the next run: more than max_partitions_per_run ({limit})"
            waiting += (Waiting(asset.name, reason, None, rest),)
        notes = (*group.aligned.notes, *gated.notes)
        run = _run(
            look, asset, partition=partition, state=state, found=found, scheduled=scheduled, blocks=blocks, notes=notes
        )
        run = replace(run, pins={**run.pins, **group.aligned.pins})
        left = left - blocks
        last = group is parts[-1] and not rest and not _holds(tick, left)
        runs.append(run if last else replace(run, cursor=None))
    return Decision(tuple(runs), waiting, ready | coming, blocked, failure)


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
    """

    due: RangeSet
    waiting: tuple[Waiting, ...] = ()
    tick: Tick | None = None
    uses: Uses = field(default_factory=Uses)


def _span(look: Look, asset: AssetSpec, partition: TimePartition, state: AssetState) -> RangeSet:
    """All that should be there: from the earliest to the newest inlet partition, within the asset's bounds."""
    mapped = [inlet for inlet in asset.inlets.values() if inlet.mapping is not None]
    start, end = asset.start, asset.end
    if mapped:
        coverages = [look.dataset(inlet).coverage for inlet in mapped]
        there = [coverage for coverage in coverages if coverage]
        if not there:
            return RangeSet()
        first, last = min(coverage.first for coverage in there), max(coverage.last for coverage in there)
        start = first if start is None else max(start, first)
        end = last if end is None else min(end, last)
    else:
        newest = look.over(partition)
        if start is None:
            start = state.coverage.first if state.coverage else partition.previous(newest)
        end = newest if end is None else min(end, newest)
    return partition.cover(RangeSet.of([(start, end)])) if start < end else RangeSet()


def _left_out(asset: AssetSpec, partition: TimePartition, span: RangeSet) -> tuple[Waiting, ...]:
    """What the asset's start asks for although no inlet has anything of it: nothing could be computed from nothing."""
    if asset.start is None or not span:
        return ()
    before = partition.inside(RangeSet.span(partition.ceil(asset.start), span.first))
    if not before:
        return ()
    names = listing([inlet.name for inlet in asset.inlets.values() if inlet.mapping is not None])
    return (Waiting(asset.name, f"before the first partition of {names}", None, before, quiet=True),)


def _scheduled(look: Look, asset: AssetSpec, partition: TimePartition, state: AssetState, found: Pending) -> _Scheduled:
    """What the schedule lets through of what is missing or stale."""
    due = found.missing | found.all_stale
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = due_ticks(look, asset, schedule.timetable, state)
        if isinstance(ticks, Waiting):
            # what failed is tried once more by each invocation, whenever the next tick is
            again = (item.ranges for item in state.failed if item.ranges and item.invocation != look.invocation)
            retried = due & partition.cover(RangeSet.union(again))
            return _Scheduled(retried, (ticks,), None, Uses({}, everything(look, state)))
        return _Scheduled(due, (), _spanning(ticks), Uses({}, everything(look, state)))
    if schedule.condition is None:
        manual = Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
        return _Scheduled(RangeSet(), (manual,))
    if schedule.default and not due and not state.chain:
        return _Scheduled(due)
    if schedule.default:
        named = {look.uri(leaf): leaf.ref for leaf in schedule.condition.leaves()}
        return _Scheduled(due, (), None, Uses(named, everything(look, state), blocks=dict.fromkeys(named, due)))
    times = ticks_of(look, schedule.condition, state)
    verdict = readiness(look, asset, schedule.condition, state, found, times)
    waiting = _lacking(look, asset, verdict, due - verdict.value)
    return _Scheduled(verdict.value, waiting, None, uses_of(look, schedule.condition, state, times, verdict))


def _lacking(look: Look, asset: AssetSpec, verdict: Verdict[RangeSet], blocks: RangeSet) -> tuple[Waiting, ...]:
    """What the condition wants for ``blocks``, together those that lack the same."""
    parts: list[tuple[RangeSet, tuple[Leaf | Time, ...]]] = [(blocks, ())]
    for leaf, ready in verdict.leaves():
        split = [(part & ready, wanted) for part, wanted in parts]
        parts = split + [(part - ready, (*wanted, leaf)) for part, wanted in parts]
        parts = [(part, wanted) for part, wanted in parts if part]
    waiting = []
    for part, wanted in sorted(parts, key=lambda each: each[0].first):
        until = next_tick(look, [leaf for leaf in wanted if isinstance(leaf, Time)])
        said = lacking(verdict.node, set(wanted).__contains__)
        waiting.append(Waiting(asset.name, f"waits for {said} ({asset.schedule.text})", until, part))
    return tuple(waiting)


def _spanning(ticks: tuple[Tick, ...]) -> Tick:
    """One tick for all that are due: blocks fuse, whatever was missed."""
    newest = ticks[-1]
    return replace(newest, interval=(ticks[0].interval[0], newest.interval[1]))


def readiness(
    look: Look,
    asset: AssetSpec,
    condition: Condition,
    state: AssetState,
    found: Pending,
    ticks: Mapping[Time, Passed | None],
) -> Verdict[RangeSet]:
    """The blocks that an update of each leaf, or a tick of it, makes ready."""
    due = found.missing | found.all_stale

    def ready(leaf: Leaf | Time) -> RangeSet:
        if isinstance(leaf, Time):
            return due if ticks[leaf] is not None else _unanswered(asset, state, leaf.written, due)
        return _ready(look, asset, state, found, leaf)

    return evaluate(condition, ready)


def _ready(look: Look, asset: AssetSpec, state: AssetState, found: Pending, leaf: Leaf) -> RangeSet:
    uri, due = look.uri(leaf), found.missing | found.all_stale
    mapped = [inlet for inlet in asset.inlets.values() if inlet.uri == uri and inlet.mapping is not None]
    if not mapped:
        if news_of(look, leaf, state):
            return due
        return _unanswered(asset, state, uri, due)
    ready = RangeSet()
    for inlet in mapped:
        there = found.missing - refused_blocks(look, asset, inlet, found.missing)[0]
        ready = ready | there | found.stale.get(inlet.name, RangeSet())
    return ready


def _unanswered(asset: AssetSpec, state: AssetState, key: str, due: RangeSet) -> RangeSet:
    """Those of the blocks ``due`` that have still to answer an event or a tick."""
    left = due & state.unanswered(key)
    return asset.partition.cover(left) & due if left and asset.partition is not None else RangeSet()


def _newer(look: Look, asset: AssetSpec, state: AssetState, failed: FailedBlocks) -> bool:
    """Whether all that failed has a cause that the failed run did not have: a tick, or an update of everything."""
    mapped = {inlet.uri for inlet in asset.inlets.values() if inlet.mapping is not None}
    for uri in state.spec.named:
        newest = look.state.dataset(uri).recent[-1:]
        if newest and newest[0].seq > failed.epoch and not (uri in mapped and newest[0].ranges):
            return True
    condition, timetable = asset.schedule.condition, asset.schedule.timetable
    clocks = [leaf.timetable for leaf in condition.times()] if condition is not None else []
    ticks = (each.last_at(instant(look.now)) for each in (*clocks, *([timetable] if timetable is not None else [])))
    return any(tick is not None and epoch(tick.run_after) > failed.planned for tick in ticks)


def limit_of(asset: AssetSpec) -> int:
    """How many partitions one run computes at most."""
    return asset.strategy.max_partitions_per_run if isinstance(asset.strategy, DateRange) else 1 << 62


def _batch(
    look: Look, asset: AssetSpec, partition: TimePartition, state: AssetState, ready: RangeSet, *, barred: RangeSet
) -> tuple[RangeSet, RangeSet]:
    """(The blocks of the next run with their lookback, what is left for another run), oldest first.

    The lookback too waits for its gates, and leaves out what is ``barred``.
    """
    if not ready:
        return ready, RangeSet()
    first = partition.oldest(ready, limit_of(asset))
    rest = ready - first
    if isinstance(asset.strategy, DateRange) and asset.strategy.lookback is not None:
        back = -asset.strategy.lookback
        gaps = (first - state.coverage).pairs()
        before = RangeSet.of((back.add_to(start, partition.timezone), start) for start, _ in gaps)
        back_then = (partition.cover(before) & partition.inside(state.coverage)) - barred
        first = first | gate(look, asset, back_then).ready
    return first, rest


def _run(
    look: Look,
    asset: AssetSpec,
    *,
    partition: TimePartition,
    state: AssetState,
    found: Pending,
    scheduled: _Scheduled,
    blocks: RangeSet,
    notes: tuple[str, ...],
) -> PlannedRun:
    tick, chain = scheduled.tick, state.chain
    uses = scheduled.uses if blocks else Uses()
    events = look.events(asset, state, {uri: blocks & uses.blocks.get(uri, RangeSet()) for uri in uses.named})
    return PlannedRun(
        asset=asset.name,
        kind=chain[-1].entry.kind if chain and not (blocks & (found.missing | found.all_stale)) else "scheduled",
        strategy=asset.strategy.name if asset.strategy else "",
        write=asset.write or "",
        reason=", ".join(
            [_reason(look, asset, state, partition=partition, found=found, tick=tick, blocks=blocks), *notes]
        ),
        blocks=blocks,
        schedule_date=tick.run_after if tick else look.now,
        interval=tick.interval if tick else look.interval(events, blocks),
        cursor=tick.cursor if tick else None,
        pins=look.pins(asset, state, blocks),
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
    look: Look,
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
    return (f"{asset.schedule.text} at {look.when(tick.run_after)}: " if tick else "") + ", ".join(parts)


def _up_to_date(look: Look, asset: AssetSpec, state: AssetState) -> Waiting:
    since = f" since {state.last.run}" if state.last else ""
    nothing = "up to date" if state.coverage else _nothing(look, asset)
    return Waiting(asset.name, nothing + since, quiet=bool(state.coverage))


def _nothing(look: Look, asset: AssetSpec) -> str:
    names = [inlet.name for inlet in asset.inlets.values() if inlet.mapping is not None]
    faulty = next((name for name in names if name in look.faults), None)
    if faulty is not None:
        return f"waits for {faulty}: {look.faults[faulty]}"
    return f"waits for the first partition of {listing(names)}" if names else "no partition is over yet"
