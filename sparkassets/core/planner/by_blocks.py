"""What the schedule asks for of an asset with partitions: missing and stale blocks, as far as it lets them through."""

from __future__ import annotations

from dataclasses import field, replace

from sparkassets.core.conditions import Condition
from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Candidate, Case, Course
from sparkassets.core.planner.lookback import owed
from sparkassets.core.planner.news import Uses, everything, ticks_of, uses_of
from sparkassets.core.planner.pending import Pending
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.readiness import readiness, unready
from sparkassets.core.planner.slots import busy, left_behind, side_by_side
from sparkassets.core.planner.timing import Tick, before_tick, due_ticks, instance_tick, tick_at
from sparkassets.core.planner.triggers import (
    Round,
    is_due_by_trigger,
    is_instance_of_tick,
    left_open,
    rounds,
    unanswered,
)
from sparkassets.core.runs import TIMETABLE
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import FullRefresh
from sparkassets.core.timetables import Once, Timetable
from sparkassets.frozen import frozen

_FURTHER = "left for the next invocation: added by a run of what another run had added"


@frozen
class _Asked:
    """What the schedule says.

    Attributes:
        blocks: Those that it lets through.
        waiting: What it holds back.
        tick: The due tick if it is a timetable's.
        uses: What a run of a condition uses up; of a tick, everything.
        open: Whether what an earlier run owes may run.
        triggered: Those of the blocks that are due by the tick or the event alone.
        rounds: Of segments alone under ``every_instance``: each tick with the blocks that answer it.
    """

    blocks: PartitionSet
    waiting: tuple[Waiting, ...] = ()
    tick: Tick | None = None
    uses: Uses = field(default_factory=Uses)
    open: bool = True
    triggered: PartitionSet = NOTHING
    rounds: tuple[Round, ...] = ()


def due_blocks(case: Case, found: Pending) -> Course:
    """One candidate with all that is due: asked for by the schedule, left by a driver that is gone, or owed."""
    context, asset, state = case.context, case.asset, case.state
    asked = _asked(context, asset, state, found)
    blocks = asked.blocks | _rescued(context, asset, state)
    back = owed(asset, state) - found.held.resting if asked.open else NOTHING
    added = _added(asset, state, found)
    due = blocks | back | _redone(asset, state, found) | added | found.held.accepted
    further = _further(context, asset, state, found) & due
    due = due - busy(context, asset, state) - further
    tick = asked.tick
    candidate = Candidate(
        due,
        tick.run_after if tick else context.now,
        asked.uses,
        asked=blocks,
        triggered=asked.triggered | (added & found.by_trigger - found.due),
        rounds=asked.rounds,
        since=tick.run_after if tick else None,
        tick=tick,
        interval=tick.interval if tick else None,
        cursor=tick.cursor if tick else None,
    )
    waits = (Waiting(asset.name, _FURTHER, None, further),) if further else ()
    return Course((candidate,), due, waiting=(*asked.waiting, *waits))


def triggered(context: PlanningContext, asset: AssetSpec, state: AssetState, found: Pending) -> PartitionSet:
    """What is there and due all the same, by a tick or an event alone."""
    return _asked(context, asset, state, found).triggered if found.by_trigger else NOTHING


def _rescued(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What a run that never ended was to compute, of the partitions that the asset has now."""
    if side_by_side(asset):
        return left_behind(context, asset, state)
    if not state.chain or state.chain[-1].token < state.placed:
        return NOTHING
    if state.chain[-1].entry.request.rebuilds:
        return NOTHING  # of a rebuild the table is as it was; who wants it rebuilt asks again
    begun = state.chain[-1].entry.blocks - state.settled_since(state.chain[-1].token)
    return asset.partitioning.cover(asset.partitioning.told_now(begun)) & asset.partitioning.known


def _redone(asset: AssetSpec, state: AssetState, found: Pending) -> PartitionSet:
    """What somebody wants computed again, which waits for no tick and no event."""
    if not state.marks or (asset.schedule.timetable is None and asset.schedule.condition is None):
        return NOTHING
    return asset.partitioning.cover(state.redone) & found.missing


def _added(asset: AssetSpec, state: AssetState, found: Pending) -> PartitionSet:
    """What a run has added and not computed, which waits for no tick and no event; a full refresh computes all then."""
    if not state.additions or (asset.schedule.timetable is None and asset.schedule.condition is None):
        return NOTHING
    added = asset.partitioning.inside(state.additions.due) & found.missing
    return added | found.by_trigger if added and isinstance(asset.strategy, FullRefresh) else added


def _further(context: PlanningContext, asset: AssetSpec, state: AssetState, found: Pending) -> PartitionSet:
    """What a run of added partitions has added in its turn, in this invocation, which computes no more of it."""
    if not state.additions or state.additions.invocation != context.invocation:
        return NOTHING
    return asset.partitioning.inside(state.additions.further) & found.missing


def _asked(context: PlanningContext, asset: AssetSpec, state: AssetState, found: Pending) -> _Asked:
    """What the schedule lets through of what is missing or stale."""
    schedule = asset.schedule
    if schedule.timetable is not None and is_instance_of_tick(asset):
        return _by_rounds(context, asset, schedule.timetable, state, found)
    if schedule.timetable is not None and side_by_side(asset):
        return _by_interval(context, asset, schedule.timetable, state, found)
    if schedule.timetable is not None:
        return _by_timetable(context, asset, schedule.timetable, state, found)
    if schedule.condition is None:
        manual = Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
        return _Asked(NOTHING, (manual,), None, Uses({}, everything(context, state)), open=False)
    if schedule.default:
        return _by_default(context, schedule.condition, state, found)
    times = ticks_of(context, schedule.condition, state)
    verdict = readiness(context, asset, schedule.condition, state, found, times)
    blocks = verdict.value | found.redefined | found.held.rejudged  # code is nothing that a condition could name
    rest = found.due - blocks - _redone(asset, state, found) - _added(asset, state, found) - found.held.accepted
    waiting = unready(context, asset, verdict, rest, found)
    uses = uses_of(context, schedule.condition, state, times, verdict)
    return _Asked(blocks, waiting, None, uses, triggered=blocks & found.by_trigger - found.due)


def _by_timetable(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, found: Pending
) -> _Asked:
    """All at a tick; before it what failed is tried once more by each invocation, whenever the next tick is."""
    ticks = due_ticks(context, asset, timetable, state)
    by_trigger = is_due_by_trigger(context, asset)
    if not isinstance(ticks, Waiting):
        tick = ticks[0] if by_trigger else _spanning(ticks)  # each is a cause by itself
        again = unanswered(asset, state, tick, found.by_trigger) - found.due
        asked = found.due | again
        uses = _of_tick(context, state, tick.run_after if by_trigger else None, asked)
        return _Asked(asked, (), tick, uses, triggered=again)
    others = [item.blocks for item in state.failed if item.invocation != context.invocation]
    tried = asset.partitioning.cover(PartitionSet.union([*others, *(each.blocks for each in found.suspects)]))
    left = left_open(asset, state, found.due | found.by_trigger)
    retried = (found.due & tried) | left
    used = state.ticks.get(TIMETABLE) if by_trigger else None
    before = _tick_before(timetable, state, used) if left or _added(asset, state, found) else None
    uses = _of_tick(context, state, used, retried)
    return _Asked(retried, (ticks,), before, uses, open=False, triggered=left - found.due)


def _tick_before(timetable: Timetable, state: AssetState, used: int | None) -> Tick | None:
    """The tick whose runs are followed by one of what they left or added."""
    if used is not None:
        return tick_at(timetable, used, state)
    return Tick(state.cursor[1], state.cursor, state.cursor) if state.cursor is not None else None


def _of_tick(context: PlanningContext, state: AssetState, tick: int | None, asked: PartitionSet) -> Uses:
    """What a run for a timetable uses up: all events, and of a tick that is a cause by itself what it answers."""
    if tick is None:
        return Uses({}, everything(context, state))
    return Uses({}, replace(everything(context, state), ticks={TIMETABLE: tick}), {TIMETABLE: asked})


def _by_rounds(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, found: Pending
) -> _Asked:
    """Each segment at each tick that it has not answered; what nobody has computed yet joins the last tick."""
    answering = rounds(context, asset, timetable, state, found.due | found.by_trigger)
    asked = PartitionSet.union([parts for _, parts in answering])
    late, newest = found.missing - asked, instance_tick(context, timetable)
    if late and newest is not None:
        answering.append((newest, late))
        asked = asked | late
    if not answering:
        coming = due_ticks(context, asset, timetable, state)
        return _Asked(NOTHING, (coming,) if isinstance(coming, Waiting) else (), open=False)
    waiting = _not_asked(context, asset, timetable, skipped=NOTHING, later=found.due - asked)
    first = answering[0][0]
    uses = _of_tick(context, state, first.run_after, asked)
    again = asked - found.due
    return _Asked(asked, waiting, first, uses, open=False, triggered=again, rounds=tuple(answering))


def _by_interval(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, found: Pending
) -> _Asked:
    """What is missing and ended within an interval whose tick has passed; what is stale is computed again at a tick."""
    tick = instance_tick(context, timetable)
    if tick is None:
        coming = due_ticks(context, asset, timetable, state)
        return _Asked(NOTHING, (coming,) if isinstance(coming, Waiting) else (), open=False)
    reached, skipped = found.due & asset.partitioning.over(tick.interval[1]), NOTHING
    if timetable.catchup == "latest":
        skipped = found.missing & asset.partitioning.over(before_tick(timetable, tick))
        reached = reached - skipped
    known = state.ticks.get(TIMETABLE)
    anew = known is None or (known < tick.run_after and not isinstance(timetable, Once))
    asked = reached if anew else reached & (found.missing | state.unanswered(TIMETABLE))
    consumption = replace(everything(context, state), ticks={TIMETABLE: tick.run_after if anew else known or 0})
    waiting = _not_asked(context, asset, timetable, skipped=skipped, later=found.due - asked - skipped)
    return _Asked(asked, waiting, tick, Uses({}, consumption, {TIMETABLE: asked}), open=False)


def _not_asked(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, *, skipped: PartitionSet, later: PartitionSet
) -> tuple[Waiting, ...]:
    """Why a timetable asks for no run of blocks that are due."""
    waiting = []
    if skipped:
        reason = "skipped: earlier than the newest interval (catchup: latest)"
        waiting.append(Waiting(asset.name, reason, None, skipped, quiet=True))
    if later:
        coming = timetable.first_after(instant(context.now))
        until = unix(coming.run_after) if coming is not None else None
        said = f"not before {context.when(until)}" if until is not None else "it has no more runs"
        waiting.append(Waiting(asset.name, f"{asset.schedule.text}: {said}", until, later, quiet=True))
    return tuple(waiting)


def _by_default(context: PlanningContext, condition: Condition, state: AssetState, found: Pending) -> _Asked:
    """All that any update of an inlet made missing or stale."""
    if not found.due and not state.chain:
        return _Asked(found.due)
    named = {context.uri(state.name, leaf): leaf.ref for leaf in condition.leaves()}
    uses = Uses(named, everything(context, state), blocks=dict.fromkeys(named, found.due))
    return _Asked(found.due, uses=uses)


def _spanning(ticks: tuple[Tick, ...]) -> Tick:
    """One tick for all that are due: blocks fuse, whatever was missed."""
    newest = ticks[-1]
    return replace(newest, interval=(ticks[0].interval[0], newest.interval[1]))
