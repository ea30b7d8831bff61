"""Finds the due partitions of a partitioned asset: those that its schedule lets through, and those that it owes.

A partition *answers* a tick or an event when a run that the tick or the event asked for computes it.
"""

from __future__ import annotations

from dataclasses import field

from sparkassets.core.conditions import Condition
from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import (
    ConditionUsage,
    condition_usage,
    consume_everything,
    find_passed_ticks,
)
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DueRun
from sparkassets.core.planner.due.due_ticks import DueTick, before_tick, find_due_ticks, instance_tick, tick_at
from sparkassets.core.planner.due.pending_partitions import (
    PendingPartitions,
    TickRound,
    is_due_by_trigger,
    is_instance_of_tick,
    partly_answered_partitions,
    unanswered_partitions,
    unanswered_rounds,
)
from sparkassets.core.planner.due.ready_partitions import evaluate_readiness, explain_unready
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import abandoned_partitions, allows_parallel_runs, busy_partitions
from sparkassets.core.runs import TIMETABLE
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, FullRefresh
from sparkassets.core.timetables import OnceTimetable, Timetable
from sparkassets.frozen import frozen, replace

_ADDED_IN_TURN = "left for the next invocation: added by the run of a partition that this one had added"


@frozen
class _ScheduledPartitions:
    """The partitions that the schedule selects.

    Attributes:
        partitions: Partitions that it lets through.
        waiting: Why it holds back others.
        tick: The due tick of a timetable; None without one.
        uses: Events and ticks that a run uses up; for a tick, all events.
        lookback_allowed: Whether lookback that an earlier run could not finish may run now.
        triggered: Partitions that are due by the tick or the event alone.
        rounds: Each tick with the partitions that answer it; only for segments without time under ``every_instance``.
    """

    partitions: PartitionSet
    waiting: tuple[Waiting, ...] = ()
    tick: DueTick | None = None
    uses: ConditionUsage = field(default_factory=ConditionUsage)
    lookback_allowed: bool = True
    triggered: PartitionSet = NOTHING
    rounds: tuple[TickRound, ...] = ()


def find_due_partitions(case: DecisionInput, pending: PendingPartitions) -> DecisionProgress:
    """Returns one due run with all partitions that may run now, whatever made them due.

    They come from the schedule, an unfinished run, unfinished lookback (owed), a person's mark (missing or accept), or
    a run that discovered segments (added). Partitions that a parallel run computes now are left out. So are segments
    that a run of discovered segments discovered in its turn: they wait for the next invocation.
    """
    context, asset, state = case.context, case.asset, case.state
    scheduled = _select_scheduled(context, asset, state, pending)
    partitions = scheduled.partitions | _partitions_left_unfinished(context, asset, state)
    owed = _owed_partitions(asset, state) - pending.withheld.resting if scheduled.lookback_allowed else NOTHING
    added = _added_partitions(asset, state, pending)
    due = partitions | owed | _redo_partitions(asset, state, pending) | added | pending.withheld.accepted
    added_in_turn = _additions_in_turn(context, asset, state, pending) & due
    due = due - busy_partitions(context, asset, state) - added_in_turn
    tick = scheduled.tick
    due_run = DueRun(
        due,
        tick.run_after if tick else context.now,
        scheduled.uses,
        asked_partitions=partitions,
        triggered_partitions=scheduled.triggered | (added & pending.by_trigger - pending.due_partitions),
        rounds=scheduled.rounds,
        due_since=tick.run_after if tick else None,
        tick=tick,
        interval=tick.interval if tick else None,
        cursor=tick.cursor if tick else None,
    )
    in_turn_waits = (Waiting(asset.name, _ADDED_IN_TURN, None, added_in_turn),) if added_in_turn else ()
    return DecisionProgress((due_run,), due, waiting=(*scheduled.waiting, *in_turn_waits))


def find_triggered_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions
) -> PartitionSet:
    """Present partitions that a tick or an event alone makes due, although no inlet shows that they are out of date."""
    return _select_scheduled(context, asset, state, pending).triggered if pending.by_trigger else NOTHING


def _partitions_left_unfinished(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that an unfinished run was to compute and that still exist: due again, whatever the schedule.

    A claim from before ``placed_since`` counts for nothing: it wrote to another location or by other partitions. Left
    out are partitions that a person marked as done or skipped since the claim, and segments that are no longer known;
    a claim of all segments stands for those that are known by now.
    """
    if allows_parallel_runs(asset):
        return abandoned_partitions(context, asset, state)
    if not state.chain or state.chain[-1].token < state.placed_since:
        return NOTHING
    if state.chain[-1].entry.request.rebuilds:
        return NOTHING  # an unfinished rebuild left the old table whole; a person has to request it again
    unfinished = state.chain[-1].entry.partitions - state.settled_partitions_since(state.chain[-1].token)
    return (
        asset.partitioning.cover(asset.partitioning.resolve_known_whole(unfinished))
        & asset.partitioning.known_partitions
    )


def _redo_partitions(asset: AssetSpec, state: AssetState, pending: PendingPartitions) -> PartitionSet:
    """Missing partitions that a person marked as missing; they wait for no tick and no event.

    Empty for an asset that runs by hand: only a backfill computes it.
    """
    if not state.marks or (asset.schedule.timetable is None and asset.schedule.condition is None):
        return NOTHING
    return asset.partitioning.cover(state.redo_partitions) & pending.missing


def _added_partitions(asset: AssetSpec, state: AssetState, pending: PendingPartitions) -> PartitionSet:
    """Missing partitions of segments that a run discovered and did not compute; they wait for no tick.

    Under ``full_refresh`` they bring all partitions along, as a run replaces the whole table.
    """
    if not state.additions or (asset.schedule.timetable is None and asset.schedule.condition is None):
        return NOTHING
    added = asset.partitioning.inside(state.additions.due) & pending.missing
    return added | pending.by_trigger if added and isinstance(asset.strategy, FullRefresh) else added


def _additions_in_turn(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions
) -> PartitionSet:
    """Partitions of segments that a run of discovered segments discovered in turn.

    This invocation leaves them to the next, or a query that finds a new segment on every run would never end.
    """
    if not state.additions or state.additions.invocation != context.invocation:
        return NOTHING
    return asset.partitioning.inside(state.additions.added_in_turn) & pending.missing


def _select_scheduled(
    context: PlanningContext, asset: AssetSpec, state: AssetState, pending: PendingPartitions
) -> _ScheduledPartitions:
    """Selects the missing and stale partitions that the schedule lets through: a timetable, or a condition.

    A manual asset lets none through. The default condition (any update of an inlet) needs no evaluation.
    """
    schedule = asset.schedule
    if schedule.timetable is not None and is_instance_of_tick(asset):
        return _select_by_rounds(context, asset, schedule.timetable, state, pending)
    if schedule.timetable is not None and allows_parallel_runs(asset):
        return _select_by_interval(context, asset, schedule.timetable, state, pending)
    if schedule.timetable is not None:
        return _select_by_timetable(context, asset, schedule.timetable, state, pending)
    if schedule.condition is None:
        manual = Waiting(asset.name, "manual: runs only by `sparkassets backfill`", quiet=True)
        return _ScheduledPartitions(
            NOTHING, (manual,), None, ConditionUsage({}, consume_everything(context, state)), lookback_allowed=False
        )
    if schedule.default:
        return _select_by_default(context, schedule.condition, state, pending)
    passed_ticks = find_passed_ticks(context, schedule.condition, state)
    verdict = evaluate_readiness(context, asset, schedule.condition, state, pending, passed_ticks)
    partitions = (
        verdict.value | pending.outdated | pending.withheld.rejudged
    )  # changed code or rules are no update that a condition could name, so they make partitions due at once
    unready = (
        pending.due_partitions
        - partitions
        - _redo_partitions(asset, state, pending)
        - _added_partitions(asset, state, pending)
        - pending.withheld.accepted
    )
    waiting = explain_unready(context, asset, verdict, unready, pending)
    uses = condition_usage(context, schedule.condition, state, passed_ticks, verdict)
    return _ScheduledPartitions(
        partitions, waiting, None, uses, triggered=partitions & pending.by_trigger - pending.due_partitions
    )


def _select_by_timetable(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, pending: PendingPartitions
) -> _ScheduledPartitions:
    """Selects all due partitions at a tick; until the next one, each invocation only retries what failed at it.

    Ticks that were missed run together as one interval. Where each tick makes all partitions due by itself
    (`is_due_by_trigger`), they run one by one, the oldest first.
    """
    ticks = find_due_ticks(context, asset, timetable, state)
    by_trigger = is_due_by_trigger(context, asset)
    if not isinstance(ticks, Waiting):
        tick = ticks[0] if by_trigger else _span_ticks(ticks)
        due_by_tick = unanswered_partitions(asset, state, tick, pending.by_trigger) - pending.due_partitions
        answering = pending.due_partitions | due_by_tick
        uses = _usage_of_tick(context, state, tick.run_after if by_trigger else None, answering)
        return _ScheduledPartitions(answering, (), tick, uses, triggered=due_by_tick)
    # failures of this invocation are not retried, but for suspects, which it retries in parts
    earlier_failures = [item.partitions for item in state.failed if item.invocation != context.invocation]
    failed_before = asset.partitioning.cover(
        PartitionSet.union([*earlier_failures, *(each.partitions for each in pending.suspects)])
    )
    unanswered = partly_answered_partitions(asset, state, pending.due_partitions | pending.by_trigger)
    retried = (pending.due_partitions & failed_before) | unanswered
    used_tick = state.ticks.get(TIMETABLE) if by_trigger else None
    leftover_tick = (
        _tick_of_leftovers(timetable, state, used_tick)
        if unanswered or _added_partitions(asset, state, pending)
        else None
    )
    uses = _usage_of_tick(context, state, used_tick, retried)
    return _ScheduledPartitions(
        retried, (ticks,), leftover_tick, uses, lookback_allowed=False, triggered=unanswered - pending.due_partitions
    )


def _tick_of_leftovers(timetable: Timetable, state: AssetState, used_tick: int | None) -> DueTick | None:
    """The tick to which partitions belong that its earlier runs left or added; None before the first tick.

    The state has no instant for the cursor's tick, so the end of its interval stands for that.

    Args:
        timetable: The asset's timetable.
        state: The asset's state.
        used_tick: The last used tick, Unix seconds; None where ticks are no cause, so that the asset's cursor stands
            for it.
    """
    if used_tick is not None:
        return tick_at(timetable, used_tick, state)
    return DueTick(state.cursor[1], state.cursor, state.cursor) if state.cursor is not None else None


def _usage_of_tick(
    context: PlanningContext, state: AssetState, tick: int | None, answering: PartitionSet
) -> ConditionUsage:
    """The events and ticks that a run of a timetable uses up: all events, and ``tick`` for ``answering`` partitions.

    ``tick`` is None where a tick alone makes nothing due: then no partition has to answer it.
    """
    if tick is None:
        return ConditionUsage({}, consume_everything(context, state))
    return ConditionUsage(
        {}, replace(consume_everything(context, state), ticks={TIMETABLE: tick}), {TIMETABLE: answering}
    )


def _select_by_rounds(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, pending: PendingPartitions
) -> _ScheduledPartitions:
    """Selects segments at each tick that they have not answered: each segment and tick is an instance of its own.

    A round is a tick with the segments that answer it. A segment that was never computed and has no unanswered tick
    joins the newest one.
    """
    rounds = unanswered_rounds(context, asset, timetable, state, pending.due_partitions | pending.by_trigger)
    answering = PartitionSet.union([partitions for _, partitions in rounds])
    without_round, newest = pending.missing - answering, instance_tick(context, timetable)
    if without_round and newest is not None:
        rounds.append((newest, without_round))
        answering = answering | without_round
    if not rounds:
        next_ticks = find_due_ticks(context, asset, timetable, state)
        return _ScheduledPartitions(
            NOTHING, (next_ticks,) if isinstance(next_ticks, Waiting) else (), lookback_allowed=False
        )
    waiting = _explain_not_scheduled(
        context, asset, timetable, skipped=NOTHING, later=pending.due_partitions - answering
    )
    oldest_tick = rounds[0][0]
    uses = _usage_of_tick(context, state, oldest_tick.run_after, answering)
    triggered = answering - pending.due_partitions
    return _ScheduledPartitions(
        answering, waiting, oldest_tick, uses, lookback_allowed=False, triggered=triggered, rounds=tuple(rounds)
    )


def _select_by_interval(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, pending: PendingPartitions
) -> _ScheduledPartitions:
    """Selects missing partitions that ended in an interval whose tick has passed; stale ones wait for a new tick.

    For assets whose partitions run side by side. ``catchup: latest`` skips missing partitions before the newest
    interval. A ``once`` timetable has no new tick after its first.
    """
    tick = instance_tick(context, timetable)
    if tick is None:
        next_ticks = find_due_ticks(context, asset, timetable, state)
        return _ScheduledPartitions(
            NOTHING, (next_ticks,) if isinstance(next_ticks, Waiting) else (), lookback_allowed=False
        )
    ended, skipped = pending.due_partitions & asset.partitioning.finished_partitions(tick.interval[1]), NOTHING
    if timetable.catchup == "latest":
        skipped = pending.missing & asset.partitioning.finished_partitions(before_tick(timetable, tick))
        ended = ended - skipped
    used_tick = state.ticks.get(TIMETABLE)
    is_new_tick = used_tick is None or (used_tick < tick.run_after and not isinstance(timetable, OnceTimetable))
    selected = ended if is_new_tick else ended & (pending.missing | state.unanswered_partitions(TIMETABLE))
    consumption = replace(
        consume_everything(context, state), ticks={TIMETABLE: tick.run_after if is_new_tick else used_tick or 0}
    )
    waiting = _explain_not_scheduled(
        context, asset, timetable, skipped=skipped, later=pending.due_partitions - selected - skipped
    )
    return _ScheduledPartitions(
        selected, waiting, tick, ConditionUsage({}, consumption, {TIMETABLE: selected}), lookback_allowed=False
    )


def _explain_not_scheduled(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, *, skipped: PartitionSet, later: PartitionSet
) -> tuple[Waiting, ...]:
    """Why a timetable asks for no run of due partitions: skipped by ``catchup``, or due at a later tick."""
    waiting = []
    if skipped:
        reason = "skipped: older than the newest interval (catchup: latest)"
        waiting.append(Waiting(asset.name, reason, None, skipped, quiet=True))
    if later:
        next_slot = timetable.first_after(from_unix(context.now))
        until = to_unix(next_slot.run_after) if next_slot is not None else None
        when_text = f"not before {context.format_instant(until)}" if until is not None else "it has no more runs"
        waiting.append(Waiting(asset.name, f"{asset.schedule.text}: {when_text}", until, later, quiet=True))
    return tuple(waiting)


def _select_by_default(
    context: PlanningContext, condition: Condition, state: AssetState, pending: PendingPartitions
) -> _ScheduledPartitions:
    """Selects all missing and stale partitions, as the default condition is any update of an inlet.

    The run that settles an unfinished one uses up the events even where nothing else is due.
    """
    if not pending.due_partitions and not state.chain:
        return _ScheduledPartitions(pending.due_partitions)
    leaf_names = {context.uri(state.name, leaf): leaf.ref for leaf in condition.leaves()}
    uses = ConditionUsage(
        leaf_names, consume_everything(context, state), partitions=dict.fromkeys(leaf_names, pending.due_partitions)
    )
    return _ScheduledPartitions(pending.due_partitions, uses=uses)


def _span_ticks(ticks: tuple[DueTick, ...]) -> DueTick:
    """One tick that spans all due ones: the partitions of missed ticks run together."""
    newest = ticks[-1]
    return replace(newest, interval=(ticks[0].interval[0], newest.interval[1]))


def _owed_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Lookback that an earlier run could not finish (``owed``): present partitions that are computed once more."""
    if not state.owed_lookback or not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    owed = asset.partitioning.cover(state.owed_lookback) & asset.partitioning.known_partitions
    return owed & asset.partitioning.inside(state.coverage)
