"""Finds the due partitions of a partitioned asset, its ready conditions, and ticks with nothing to do.

A condition is evaluated for each partition: for which ones each of its leaves holds, and what the others wait for. A
leaf holds for a partition when its dataset was updated for it: a needed inlet partition is present and the partition is
missing, or the inlet partition changed since. Where the declared bounds leave the dataset nothing for a partition, the
leaf counts neither way.

Ticks at which nothing was out of date are recorded, so that later changes wait for the next tick. This concerns only
assets with segments and no time whose inlets show which segments changed. An asset by time waits for its tick's own
partitions, which may come after the tick. An asset whose inlets do not show it runs at each tick.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from sparkassets.core.conditions import Condition, ConditionResult, TimeLeaf, UpdateLeaf, evaluate_condition
from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.entries import TickPassedEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import (
    ConditionUsage,
    PassedTick,
    condition_usage,
    consume_everything,
    find_passed_ticks,
    has_news,
    next_tick,
)
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, RunCandidate
from sparkassets.core.planner.due.due_ticks import DueTick, before_tick, find_due_ticks, instance_tick, tick_at
from sparkassets.core.planner.due.pending_partitions import (
    PendingPartitions,
    TickRound,
    find_pending,
    is_due_by_trigger,
    is_instance_of_tick,
    partly_answered_partitions,
    unanswered_partitions,
    unanswered_rounds,
)
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import (
    explain_refused,
    feedable_partitions,
    partitions_with_input,
    split_refused_partitions,
)
from sparkassets.core.planner.run_slots import abandoned_partitions, busy_partitions, has_parallel_runs
from sparkassets.core.planner.wording import describe_unmet
from sparkassets.core.runs import TIMETABLE
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec
from sparkassets.core.strategies import DateRange, FullRefresh, SegmentBatches
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable, Timetable
from sparkassets.frozen import frozen, replace


def evaluate_readiness(
    context: PlanningContext,
    asset: AssetSpec,
    condition: Condition,
    state: AssetState,
    found: PendingPartitions,
    ticks: Mapping[TimeLeaf, PassedTick | None],
) -> ConditionResult[PartitionSet]:
    """Evaluates the condition for each partition: for which partitions the whole and each of its leaves hold.

    A time leaf that ticked holds for all due partitions. Before that it holds for those that have still to answer an
    earlier tick, such as partitions that failed then.
    """
    due = found.due_partitions | found.by_trigger

    def ready(leaf: UpdateLeaf | TimeLeaf) -> PartitionSet:
        if isinstance(leaf, TimeLeaf):
            return due if ticks[leaf] is not None else _unanswered_partitions(asset, state, leaf.source_text, due)
        return _ready(context, asset, state, found, leaf)

    return evaluate_condition(condition, ready, lambda leaf: _never_fed_partitions(context, asset, leaf, due))


def explain_unready(
    context: PlanningContext,
    asset: AssetSpec,
    verdict: ConditionResult[PartitionSet],
    partitions: PartitionSet,
    found: PendingPartitions,
) -> tuple[Waiting, ...]:
    """Why ``partitions``, for which the condition does not hold, wait; quietly where their input never existed.

    Partitions that lack the same leaves share one reason.
    """
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values():
        refused = NOTHING
        if context.dependency(asset, inlet).is_mapped:
            refused = split_refused_partitions(context, asset, inlet, partitions & (found.missing - found.holes))[0]
        quiet = [said for said in explain_refused(context, asset, inlet, refused) if said.quiet] if refused else []
        waiting += quiet
        partitions = partitions - PartitionSet.union(said.partitions for said in quiet)
    return (*waiting, *_group_by_lacking(context, asset, verdict, partitions))


def _group_by_lacking(
    context: PlanningContext, asset: AssetSpec, verdict: ConditionResult[PartitionSet], partitions: PartitionSet
) -> tuple[Waiting, ...]:
    """Waiting reasons for ``partitions``, one for each group that lacks the same leaves."""
    parts: list[tuple[PartitionSet, tuple[UpdateLeaf | TimeLeaf, ...]]] = [(partitions, ())]
    for leaf, ready in _leaves(verdict):
        split = [(part & ready, wanted) for part, wanted in parts]
        parts = split + [(part - ready, (*wanted, leaf)) for part, wanted in parts]
        parts = [(part, wanted) for part, wanted in parts if part]
    waiting = []
    for part, wanted in sorted(parts, key=lambda each: each[0].first):
        until = next_tick(context, context.state_of(asset), [leaf for leaf in wanted if isinstance(leaf, TimeLeaf)])
        said = describe_unmet(verdict.node, set(wanted).__contains__)
        waiting.append(Waiting(asset.name, f"waits for {said} ({asset.schedule.text})", until, part))
    return tuple(waiting)


def _leaves(verdict: ConditionResult[PartitionSet]) -> Iterator[tuple[UpdateLeaf | TimeLeaf, PartitionSet]]:
    """Yields each leaf of the condition with the partitions for which it holds, or that it can never decide."""
    if isinstance(verdict.node, UpdateLeaf | TimeLeaf):
        yield verdict.node, verdict.value | (verdict.never_decidable or NOTHING)
    for child in verdict.children:
        yield from _leaves(child)


def _mapped_inlets(context: PlanningContext, asset: AssetSpec, leaf: UpdateLeaf) -> list[InletSpec]:
    """Inlets that read the leaf's dataset and map its time to partitions, so that readiness differs by partition."""
    uri = context.uri(asset.name, leaf)
    own = (inlet for inlet in asset.inlets.values() if inlet.uri == uri)
    needs = ((inlet, context.dependency(asset, inlet)) for inlet in own)
    return [inlet for inlet, need in needs if need.is_mapped and need.tells_time]


def _ready(
    context: PlanningContext, asset: AssetSpec, state: AssetState, found: PendingPartitions, leaf: UpdateLeaf
) -> PartitionSet:
    """The due partitions for which an update leaf holds.

    With mapped inlets, a missing partition is ready once its input is present, and a present one once it is stale.
    Without any, an unused update makes all due partitions ready; else only those that have still to answer an earlier
    update.
    """
    due, mapped = found.due_partitions | found.by_trigger, _mapped_inlets(context, asset, leaf)
    if not mapped:
        return (
            due
            if has_news(context, leaf, state)
            else _unanswered_partitions(asset, state, context.uri(asset.name, leaf), due)
        )
    ready = NOTHING
    for inlet in mapped:
        there = partitions_with_input(context, asset, inlet, found.missing)
        there = there - split_refused_partitions(context, asset, inlet, there)[0]
        ready = ready | there | found.stale.get(inlet.name, NOTHING)
    return ready


def _never_fed_partitions(
    context: PlanningContext, asset: AssetSpec, leaf: UpdateLeaf | TimeLeaf, due: PartitionSet
) -> PartitionSet:
    """The ``due`` partitions for which a leaf's dataset can never have data, by the declared bounds of its inlets."""
    mapped = _mapped_inlets(context, asset, leaf) if isinstance(leaf, UpdateLeaf) else []
    never = due if mapped else NOTHING
    for inlet in mapped:
        never = never - feedable_partitions(context, asset, inlet, never)
    return never


def _unanswered_partitions(asset: AssetSpec, state: AssetState, key: str, due: PartitionSet) -> PartitionSet:
    """The ``due`` partitions that have still to answer an event or a tick that a run used for others only.

    ``key`` is the dataset's URI or the text of the time leaf.
    """
    return asset.partitioning.cover(due & state.unanswered_partitions(key)) & due


_FURTHER = "left for the next invocation: added by a run of what another run had added"


@frozen
class _ScheduledPartitions:
    """The partitions that the schedule selects.

    Attributes:
        partitions: Partitions that it lets through.
        waiting: Why it holds back others.
        tick: The due tick of a timetable; None without one.
        uses: Events and ticks that a run uses up; for a tick, all events.
        open: Whether lookback that an earlier run could not finish may run now.
        triggered: Partitions that are due by the tick or the event alone.
        rounds: Each tick with the partitions that answer it; only for segments without time under ``every_instance``.
    """

    partitions: PartitionSet
    waiting: tuple[Waiting, ...] = ()
    tick: DueTick | None = None
    uses: ConditionUsage = field(default_factory=ConditionUsage)
    open: bool = True
    triggered: PartitionSet = NOTHING
    rounds: tuple[TickRound, ...] = ()


def find_due_partitions(case: DecisionInput, found: PendingPartitions) -> DecisionProgress:
    """Returns one candidate with all partitions that may run now, whatever made them due.

    They come from the schedule, an unfinished run, unfinished lookback, a person's mark (missing or accept), or a run
    that discovered segments. Partitions that a running sibling computes are left out, and so are segments that a run of
    discovered segments discovered in its turn: they wait for the next invocation.
    """
    context, asset, state = case.context, case.asset, case.state
    scheduled = _select_scheduled(context, asset, state, found)
    partitions = scheduled.partitions | _abandoned_partitions(context, asset, state)
    owed = _owed_partitions(asset, state) - found.held.resting if scheduled.open else NOTHING
    added = _added_partitions(asset, state, found)
    due = partitions | owed | _redo_partitions(asset, state, found) | added | found.held.accepted
    further = _further_additions(context, asset, state, found) & due
    due = due - busy_partitions(context, asset, state) - further
    tick = scheduled.tick
    candidate = RunCandidate(
        due,
        tick.run_after if tick else context.now,
        scheduled.uses,
        asked_partitions=partitions,
        triggered_partitions=scheduled.triggered | (added & found.by_trigger - found.due_partitions),
        rounds=scheduled.rounds,
        due_since=tick.run_after if tick else None,
        tick=tick,
        interval=tick.interval if tick else None,
        cursor=tick.cursor if tick else None,
    )
    waits = (Waiting(asset.name, _FURTHER, None, further),) if further else ()
    return DecisionProgress((candidate,), due, waiting=(*scheduled.waiting, *waits))


def find_triggered_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, found: PendingPartitions
) -> PartitionSet:
    """Present partitions that a tick or an event alone makes due, although no inlet shows that they are out of date."""
    return _select_scheduled(context, asset, state, found).triggered if found.by_trigger else NOTHING


def _abandoned_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that an unfinished run was to compute and that still exist: due again, whatever the schedule.

    ``placed`` is the entry since which the asset stands where it is: older claims wrote to another place.
    """
    if has_parallel_runs(asset):
        return abandoned_partitions(context, asset, state)
    if not state.chain or state.chain[-1].token < state.placed:
        return NOTHING
    if state.chain[-1].entry.request.rebuilds:
        return NOTHING  # an unfinished rebuild left the old table whole; a person has to request it again
    begun = state.chain[-1].entry.partitions - state.settled_partitions_since(state.chain[-1].token)
    return asset.partitioning.cover(asset.partitioning.resolve_known_whole(begun)) & asset.partitioning.known_partitions


def _redo_partitions(asset: AssetSpec, state: AssetState, found: PendingPartitions) -> PartitionSet:
    """Missing partitions that a person marked as missing; they wait for no tick and no event.

    Empty for an asset that runs by hand.
    """
    if not state.marks or (asset.schedule.timetable is None and asset.schedule.condition is None):
        return NOTHING
    return asset.partitioning.cover(state.redo_partitions) & found.missing


def _added_partitions(asset: AssetSpec, state: AssetState, found: PendingPartitions) -> PartitionSet:
    """Missing partitions of segments that a run discovered and did not compute; they wait for no tick.

    Under ``full_refresh`` they bring all partitions along, as a run replaces the whole table.
    """
    if not state.additions or (asset.schedule.timetable is None and asset.schedule.condition is None):
        return NOTHING
    added = asset.partitioning.inside(state.additions.due) & found.missing
    return added | found.by_trigger if added and isinstance(asset.strategy, FullRefresh) else added


def _further_additions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, found: PendingPartitions
) -> PartitionSet:
    """Partitions of segments that a run of discovered segments discovered in turn.

    This invocation leaves them to the next, or a query that finds a new segment on every run would never end.
    """
    if not state.additions or state.additions.invocation != context.invocation:
        return NOTHING
    return asset.partitioning.inside(state.additions.further) & found.missing


def _select_scheduled(
    context: PlanningContext, asset: AssetSpec, state: AssetState, found: PendingPartitions
) -> _ScheduledPartitions:
    """Selects the missing and stale partitions that the schedule lets through: a timetable, or a condition."""
    schedule = asset.schedule
    if schedule.timetable is not None and is_instance_of_tick(asset):
        return _by_rounds(context, asset, schedule.timetable, state, found)
    if schedule.timetable is not None and has_parallel_runs(asset):
        return _by_interval(context, asset, schedule.timetable, state, found)
    if schedule.timetable is not None:
        return _by_timetable(context, asset, schedule.timetable, state, found)
    if schedule.condition is None:
        manual = Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
        return _ScheduledPartitions(
            NOTHING, (manual,), None, ConditionUsage({}, consume_everything(context, state)), open=False
        )
    if schedule.default:
        return _by_default(context, schedule.condition, state, found)
    times = find_passed_ticks(context, schedule.condition, state)
    verdict = evaluate_readiness(context, asset, schedule.condition, state, found, times)
    partitions = verdict.value | found.redefined | found.held.rejudged  # code is nothing that a condition could name
    rest = (
        found.due_partitions
        - partitions
        - _redo_partitions(asset, state, found)
        - _added_partitions(asset, state, found)
        - found.held.accepted
    )
    waiting = explain_unready(context, asset, verdict, rest, found)
    uses = condition_usage(context, schedule.condition, state, times, verdict)
    return _ScheduledPartitions(
        partitions, waiting, None, uses, triggered=partitions & found.by_trigger - found.due_partitions
    )


def _by_timetable(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, found: PendingPartitions
) -> _ScheduledPartitions:
    """Selects all due partitions at a tick; until the next one, each invocation only retries what failed at it.

    Ticks that were missed run together as one interval, unless each tick is a cause by itself.
    """
    ticks = find_due_ticks(context, asset, timetable, state)
    by_trigger = is_due_by_trigger(context, asset)
    if not isinstance(ticks, Waiting):
        tick = ticks[0] if by_trigger else _span_ticks(ticks)  # each is a cause by itself
        again = unanswered_partitions(asset, state, tick, found.by_trigger) - found.due_partitions
        asked = found.due_partitions | again
        uses = _of_tick(context, state, tick.run_after if by_trigger else None, asked)
        return _ScheduledPartitions(asked, (), tick, uses, triggered=again)
    others = [item.partitions for item in state.failed if item.invocation != context.invocation]
    tried = asset.partitioning.cover(PartitionSet.union([*others, *(each.partitions for each in found.suspects)]))
    left = partly_answered_partitions(asset, state, found.due_partitions | found.by_trigger)
    retried = (found.due_partitions & tried) | left
    used = state.ticks.get(TIMETABLE) if by_trigger else None
    before = _tick_before(timetable, state, used) if left or _added_partitions(asset, state, found) else None
    uses = _of_tick(context, state, used, retried)
    return _ScheduledPartitions(retried, (ticks,), before, uses, open=False, triggered=left - found.due_partitions)


def _tick_before(timetable: Timetable, state: AssetState, used: int | None) -> DueTick | None:
    """The tick to which partitions belong that its earlier runs left or added; None before the first tick.

    Args:
        timetable: The asset's timetable.
        state: The asset's state.
        used: The last used tick, Unix seconds; None where ticks are no cause, so that the asset's cursor stands for it.
    """
    if used is not None:
        return tick_at(timetable, used, state)
    return DueTick(state.cursor[1], state.cursor, state.cursor) if state.cursor is not None else None


def _of_tick(context: PlanningContext, state: AssetState, tick: int | None, asked: PartitionSet) -> ConditionUsage:
    """The events and ticks that a run of a timetable uses up: all events, and ``tick`` for the ``asked`` partitions.

    ``tick`` is None where a tick alone makes nothing due: then no partition has to answer it.
    """
    if tick is None:
        return ConditionUsage({}, consume_everything(context, state))
    return ConditionUsage({}, replace(consume_everything(context, state), ticks={TIMETABLE: tick}), {TIMETABLE: asked})


def _by_rounds(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, found: PendingPartitions
) -> _ScheduledPartitions:
    """Selects segments at each tick that they have not answered: each segment and tick is an instance of its own.

    A segment that was never computed and has no unanswered tick joins the newest one.
    """
    answering = unanswered_rounds(context, asset, timetable, state, found.due_partitions | found.by_trigger)
    asked = PartitionSet.union([parts for _, parts in answering])
    late, newest = found.missing - asked, instance_tick(context, timetable)
    if late and newest is not None:
        answering.append((newest, late))
        asked = asked | late
    if not answering:
        coming = find_due_ticks(context, asset, timetable, state)
        return _ScheduledPartitions(NOTHING, (coming,) if isinstance(coming, Waiting) else (), open=False)
    waiting = _explain_not_scheduled(context, asset, timetable, skipped=NOTHING, later=found.due_partitions - asked)
    first = answering[0][0]
    uses = _of_tick(context, state, first.run_after, asked)
    again = asked - found.due_partitions
    return _ScheduledPartitions(asked, waiting, first, uses, open=False, triggered=again, rounds=tuple(answering))


def _by_interval(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, found: PendingPartitions
) -> _ScheduledPartitions:
    """Selects missing partitions that ended in an interval whose tick has passed; stale ones wait for a new tick.

    For assets whose partitions run side by side. ``catchup: latest`` skips missing partitions before the newest
    interval.
    """
    tick = instance_tick(context, timetable)
    if tick is None:
        coming = find_due_ticks(context, asset, timetable, state)
        return _ScheduledPartitions(NOTHING, (coming,) if isinstance(coming, Waiting) else (), open=False)
    reached, skipped = found.due_partitions & asset.partitioning.finished_partitions(tick.interval[1]), NOTHING
    if timetable.catchup == "latest":
        skipped = found.missing & asset.partitioning.finished_partitions(before_tick(timetable, tick))
        reached = reached - skipped
    known = state.ticks.get(TIMETABLE)
    anew = known is None or (known < tick.run_after and not isinstance(timetable, OnceTimetable))
    asked = reached if anew else reached & (found.missing | state.unanswered_partitions(TIMETABLE))
    consumption = replace(consume_everything(context, state), ticks={TIMETABLE: tick.run_after if anew else known or 0})
    waiting = _explain_not_scheduled(
        context, asset, timetable, skipped=skipped, later=found.due_partitions - asked - skipped
    )
    return _ScheduledPartitions(asked, waiting, tick, ConditionUsage({}, consumption, {TIMETABLE: asked}), open=False)


def _explain_not_scheduled(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, *, skipped: PartitionSet, later: PartitionSet
) -> tuple[Waiting, ...]:
    """Why a timetable asks for no run of due partitions: skipped by ``catchup``, or due at a later tick."""
    waiting = []
    if skipped:
        reason = "skipped: earlier than the newest interval (catchup: latest)"
        waiting.append(Waiting(asset.name, reason, None, skipped, quiet=True))
    if later:
        coming = timetable.first_after(from_unix(context.now))
        until = to_unix(coming.run_after) if coming is not None else None
        said = f"not before {context.format_instant(until)}" if until is not None else "it has no more runs"
        waiting.append(Waiting(asset.name, f"{asset.schedule.text}: {said}", until, later, quiet=True))
    return tuple(waiting)


def _by_default(
    context: PlanningContext, condition: Condition, state: AssetState, found: PendingPartitions
) -> _ScheduledPartitions:
    """Selects all missing and stale partitions, as the default condition is any update of an inlet.

    An unfinished run uses up the events even where nothing else is due.
    """
    if not found.due_partitions and not state.chain:
        return _ScheduledPartitions(found.due_partitions)
    named = {context.uri(state.name, leaf): leaf.ref for leaf in condition.leaves()}
    uses = ConditionUsage(
        named, consume_everything(context, state), partitions=dict.fromkeys(named, found.due_partitions)
    )
    return _ScheduledPartitions(found.due_partitions, uses=uses)


def _span_ticks(ticks: tuple[DueTick, ...]) -> DueTick:
    """One tick that spans all due ones: the partitions of missed ticks run together."""
    newest = ticks[-1]
    return replace(newest, interval=(ticks[0].interval[0], newest.interval[1]))


def _owed_partitions(asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Lookback that an earlier run could not finish (``owed``): present partitions that are computed once more."""
    if not state.owed or not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    listed = asset.partitioning.cover(state.owed) & asset.partitioning.known_partitions
    return listed & asset.partitioning.inside(state.coverage)


def assets_with_idle_ticks(project: ProjectSpec) -> list[AssetSpec]:
    """Assets under ``segments`` whose ticks may find nothing to do; not with a continuous or one-time timetable."""
    return [
        asset
        for asset in project.assets.values()
        if isinstance(asset.strategy, SegmentBatches)
        and asset.schedule.timetable is not None
        and not isinstance(asset.schedule.timetable, ContinuousTimetable | OnceTimetable)
    ]


def find_idle_ticks(context: PlanningContext) -> Iterator[TickPassedEntry]:
    """Yields an entry for each tick that has come and found nothing to do.

    The context must be planned, with no run planned or expected. Recording the tick makes what changes later wait for
    the next one.
    """
    for asset in assets_with_idle_ticks(context.project):
        state, timetable = context.state_of(asset), asset.schedule.timetable
        if timetable is not None and _has_nothing_to_do(context, asset, state):
            ticks = find_due_ticks(context, asset, timetable, state)
            if not isinstance(ticks, Waiting):
                yield TickPassedEntry(asset.name, ticks[-1].cursor)


def _has_nothing_to_do(context: PlanningContext, asset: AssetSpec, state: AssetState) -> bool:
    """Whether the asset could run now, and neither its partitions nor the decisions upstream give it anything to do."""
    decided = context.decisions.get(asset.name)
    if decided is None or decided.runs or decided.coming or decided.barriers or state.chain:
        return False
    if asset.paused or state.paused or not context.is_selected(asset) or is_due_by_trigger(context, asset):
        return False
    return not find_pending(context, asset, state).due_partitions
