"""Makes runs of due partitions: batches up to the limit with their lookback, or one run an instance.

The lookback of a date range: the partitions before each filled gap are computed again, once.

A gap stays one gap when `max_partitions_per_run` cuts it into several runs. Lookback that a run leaves is owed and
recorded in its claim, so the journal says which gaps are being filled (`AssetState.gaps`).
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, RunCandidate
from sparkassets.core.planner.due.due_ticks import MOST_RUNS, DueTick
from sparkassets.core.planner.due.pending_partitions import PendingPartitions, choose_next_partitions
from sparkassets.core.planner.due.withheld_partitions import describe_retry
from sparkassets.core.planner.gates.inlet_gates import check_gates
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import (
    RunSlots,
    build_settling_runs,
    busy_partitions,
    describe_live_runs,
    describe_takeover,
    exclusive_reason,
    find_held_slots,
    has_parallel_runs,
)
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.runs import TIMETABLE, RunConsumption, RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, EveryInstance, SegmentBatches
from sparkassets.frozen import frozen, replace


@frozen
class GapLookback:
    """The lookback of the gaps that a run fills.

    Attributes:
        partitions: Partitions before the gaps that are computed again.
        gaps: The filled gaps; empty without a lookback.
    """

    partitions: PartitionSet
    gaps: PartitionSet


NO_LOOKBACK = GapLookback(NOTHING, NOTHING)


def plan_lookback(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    ready: PartitionSet,
    *,
    barred: PartitionSet,
) -> GapLookback:
    """The lookback of the missing partitions in ``ready``; empty without a lookback.

    It has the computed partitions before them whose gates are open, without those ``barred`` by failed or withheld
    inputs.
    """
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NO_LOOKBACK
    gaps = ready - state.coverage
    behind = partitions_before_gaps(asset, state, gaps) - barred
    return GapLookback(check_gates(context, asset, behind).ready if behind else behind, gaps)


def partitions_before_gaps(asset: AssetSpec, state: AssetState, gaps: PartitionSet) -> PartitionSet:
    """Computed partitions within the lookback before ``gaps``, to be computed again because the gap is filled.

    Gaps whose lookback was recorded as done or owed are left out, and so are skipped partitions.
    """
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    gap = ((gaps | state.gaps) - state.coverage).heads() - state.gaps
    behind = asset.partitioning.partitions_before(gap, asset.strategy.lookback)
    return (behind & asset.partitioning.inside(state.coverage)) - state.skipped_partitions


def stale_causes(found: PendingPartitions, partitions: PartitionSet) -> list[str]:
    """The inlets, and the code, that made some of the partitions stale."""
    causes = [name for name, ranges in found.stale.items() if ranges.overlaps(partitions)]
    return [*causes, "its code"] if found.redefined.overlaps(partitions) else causes


def redo_reasons(asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> list[tuple[str, PartitionSet]]:
    """Partitions of ``partitions`` that a person marked as missing or accepted, each with the text of that mark."""
    marks = (mark for mark in state.marks if mark.kind in ("missing", "accept"))
    return [(mark.text, again) for mark in marks if (again := asset.partitioning.cover(mark.partitions) & partitions)]


def trigger_reasons(asset: AssetSpec) -> str:
    """Reason of partitions that are due by each tick or event because no inlet shows that they are out of date."""
    return "due at every tick" if asset.schedule.timetable is not None else f"due for {asset.schedule.text}"


MOST_LEFT = 1000
"""Most partitions that a claim lists one by one as those that have still to answer its events."""

PartitionSlot = tuple[PartitionSet, int]
"""The partitions of one run, and its slot."""


def plan_instances(case: DecisionInput, course: DecisionProgress, found: PendingPartitions) -> DecisionProgress:
    """Step for parallel runs: makes a run for each due partition, and one to settle each unfinished claim left over."""
    context, asset, state = case.context, case.asset, case.state
    coming = course.coming | course.partitions | busy_partitions(context, asset, state)
    waiting = (*course.waiting, *describe_live_runs(context, asset, state))
    lone, slots = exclusive_reason(asset, state), RunSlots(asset.partitioning, state, find_held_slots(context, state))
    if lone and context.live_claims(state):
        said = (
            (Waiting(asset.name, f"waits for the run before: {lone}", None, course.partitions),)
            if course.partitions
            else ()
        )
        return replace(course, waiting=(*waiting, *said), coming=coming)
    planned, told = assign_slots(asset, state, course.partitions, slots)
    many = bool(planned) and asset.schedule.default and asset.partitioning.count(found.due_partitions) > MOST_LEFT
    runs = [
        _build_instance_run(case, found, _candidate(course, partition), partition, slot, many=many)
        for partition, slot in planned
    ]
    settled = slots.unused_open_slots()[:1] if lone and not runs else [] if lone else slots.unused_open_slots()
    runs += build_settling_runs(context, asset, state, settled)
    return replace(course, runs=tuple(runs), waiting=(*waiting, *told), coming=coming)


def assign_slots(
    asset: AssetSpec, state: AssetState, ready: PartitionSet, slots: RunSlots
) -> tuple[list[PartitionSlot], list[Waiting]]:
    """Assigns a run slot to each of the oldest ``ready`` partitions; the second result says why the others wait.

    If parallel runs must go one at a time for now (`exclusive_reason`), at most one partition gets a slot.
    """
    lone = exclusive_reason(asset, state)
    most = MOST_RUNS if not lone else 0 if slots.taken else 1
    planned: list[PartitionSlot] = []
    waiting: list[Waiting] = []
    for partition in asset.partitioning.each_partition(asset.partitioning.oldest(ready, most)) if ready else ():
        slot = slots.assign_slot(partition)
        if slot is not None:
            planned.append((partition, slot))
            continue
        waiting.append(Waiting(asset.name, slots.explain_wait(partition), None, partition))
    said = PartitionSet.union([*(partition for partition, _ in planned), *(each.partitions for each in waiting)])
    if left := ready - said:
        reason = f"left for the next runs: {lone or f'a plan names {most} of them'}"
        waiting.append(Waiting(asset.name, reason, None, left))
    return planned, waiting


def _candidate(course: DecisionProgress, partition: PartitionSet) -> RunCandidate:
    """The candidate run that contains ``partition``, with the timetable's tick that this partition answers.

    A candidate can stand for several ticks; then the run of one partition uses up only its own tick.
    """
    found = next(each for each in course.candidates if each.partitions.overlaps(partition))
    tick = next((tick for tick, parts in found.rounds if parts.overlaps(partition)), None)
    if tick is None or TIMETABLE not in found.uses.consumption.ticks:
        return found
    consumption = replace(found.uses.consumption, ticks={TIMETABLE: tick.run_after})
    return replace(
        found,
        schedule_date=tick.run_after,
        uses=replace(found.uses, consumption=consumption),
        tick=tick,
        interval=tick.interval,
        cursor=tick.cursor,
    )


def _build_instance_run(
    case: DecisionInput,
    found: PendingPartitions,
    candidate: RunCandidate,
    partition: PartitionSet,
    slot: int,
    *,
    many: bool,
) -> PlannedRun:
    """The run of one ``partition`` in its ``slot``; it takes over the slot's unfinished claims.

    If only such a claim makes it due, it keeps that claim's kind, and restores the same iteration if that was a
    rollback.
    """
    context, asset, state = case.context, case.asset, case.state
    uses = candidate.uses if partition & candidate.asked_partitions else ConditionUsage()
    events = context.answered_events(
        asset, state, {uri: partition & uses.partitions.get(uri, NOTHING) for uri in uses.leaf_names}
    )
    chain = state.chains.get(slot, ())
    rescues = bool(chain) and not partition & (found.due_partitions | candidate.triggered_partitions)
    restores = chain[-1].entry.request.restores if rescues and chain[-1].entry.partitions == partition else ""
    request = RunRequest(
        asset=asset.name,
        kind=chain[-1].entry.kind if rescues else candidate.kind,
        partitions=partition,
        schedule_date=candidate.schedule_date,
        reason=", ".join(
            filter(
                None, [describe_takeover(chain), _instance_reason(case, found, candidate, partition), *candidate.notes]
            )
        ),
        interval=asset.partitioning.interval(partition) or candidate.interval or context.interval_of_events(events),
        cursor=candidate.cursor,
        pins={} if restores else {**context.pins(asset, state, partition), **candidate.pins},
        consumption=_instance_consumption(found, candidate, uses, partition, many=many),
        slot=slot,
        restores=restores,
        accepted=found.held.accepted & partition,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=events)


def _instance_consumption(
    found: PendingPartitions, candidate: RunCandidate, uses: ConditionUsage, partition: PartitionSet, *, many: bool
) -> RunConsumption:
    """The consumption of a run of one partition: it records which others have still to use each event, or the tick.

    If ``many`` are due under the default condition, the claim records "all others" instead of listing them, which keeps
    entries small; later claims list the few that are left.
    """
    if many:
        return replace(uses.consumption, remaining=dict.fromkeys(uses.partitions, EVERYTHING - partition))
    due = candidate.asked_partitions if candidate.tick is not None else found.due_partitions | found.later
    asked = partition & due
    remaining = {key: (due - partition) | (asked - used) for key, used in uses.partitions.items()}
    remaining |= {key: due - partition for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: parts for key, parts in remaining.items() if parts})


def _instance_reason(
    case: DecisionInput, found: PendingPartitions, candidate: RunCandidate, partition: PartitionSet
) -> str:
    """The sentence why one partition runs: missing, stale, requested, accepted, or due by its trigger alone."""
    causes = stale_causes(found, partition)
    state = "missing" if found.missing.overlaps(partition) else f"stale: {listing(causes)} changed" if causes else ""
    failed = "failed before" if case.state.failed_partitions.overlaps(partition) else ""
    again = [text for text, _ in redo_reasons(case.asset, case.state, partition)]
    asked = "backfill of 1 partition" if candidate.kind == "backfill" else ""
    said = ", ".join(filter(None, [state, *again, asked, failed, *describe_retry(case.asset, found.held, partition)]))
    if not said and partition & candidate.triggered_partitions:
        said = trigger_reasons(case.asset)
    at = candidate.tick.run_after if candidate.tick is not None else None
    return f"{case.asset.schedule.text} at {case.context.format_instant(at)}: {said}" if at is not None else said


def batch_candidates(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step that makes runs of the candidates, in order, and says what is left for later runs."""
    if case.pending is not None and has_parallel_runs(case.asset):
        return plan_instances(case, course, case.pending)
    if case.pending is not None:
        return _of_partitions(case, course, case.pending)
    runs = tuple(_of_events(case, each) for each in course.candidates)
    return replace(course, runs=runs, coming=EVERYTHING if runs else course.coming)


def partition_limit(asset: AssetSpec) -> int:
    """Most partitions that one run computes."""
    if has_parallel_runs(asset):
        return 1
    return asset.strategy.max_partitions_per_run if isinstance(asset.strategy, DateRange | SegmentBatches) else 1 << 62


def _of_partitions(case: DecisionInput, course: DecisionProgress, found: PendingPartitions) -> DecisionProgress:
    """The batches of a partitioned asset whose runs go one at a time: one run for each candidate.

    A tick stays open, so the run leaves the cursor where it is, while partitions of the tick's interval are left over.
    """
    if not course.partitions and not case.state.chain:
        return course
    name, waiting = case.asset.name, list(course.waiting)
    runs: list[PlannedRun] = []
    taken, coming = NOTHING, course.coming | course.partitions
    for candidate in course.candidates:
        cut = _cut_batch(case, candidate, barred=course.barred, found=found)
        if cut.rest:
            reason = f"left for the next run: more than max_partitions_per_run ({partition_limit(case.asset)})"
            waiting.append(Waiting(name, reason, None, cut.rest))
        if cut.apart:
            waiting.append(Waiting(name, _explain_separate_runs(found, cut.apart), None, cut.apart))
        run, left = _build_run(case, found, candidate, cut), cut.rest | cut.apart
        taken, coming = taken | cut.partitions, coming | cut.partitions | left
        waits = (course.due | course.barred) - taken
        last = candidate is course.candidates[-1] and not left and not _holds(candidate.tick, waits)
        if not last and candidate.cursor is not None:
            run = replace(run, request=replace(run.request, cursor=None))
        runs.append(run)
    return replace(course, runs=tuple(runs), waiting=tuple(waiting), coming=coming)


def _holds(tick: DueTick | None, rest: PartitionSet) -> bool:
    """Whether partitions of the tick's own interval are among ``rest``, so that the tick stays open.

    Older holes do not keep it open: they wait by themselves.
    """
    return tick is not None and bool(rest.clip(*tick.interval))


@frozen
class _BatchCut:
    """The partitions of one run and those that it leaves.

    Attributes:
        partitions: Partitions of the run, at most `partition_limit`, the oldest first.
        rest: Partitions left for another run.
        apart: Partitions left for runs of their own because they failed before.
        owes, gaps: As in `RunRequest`.
        note: Remark for the run's reason.
    """

    partitions: PartitionSet
    rest: PartitionSet
    apart: PartitionSet
    owes: PartitionSet
    gaps: PartitionSet
    note: str


def _limit_partitions(asset: AssetSpec, todo: PartitionSet, *, newest_first: bool) -> PartitionSet:
    """The oldest partitions that one run may compute, or the newest ones with ``newest_first``."""
    if newest_first:
        return asset.partitioning.split_into_chunks(todo, partition_limit(asset))[-1]
    return asset.partitioning.oldest(todo, partition_limit(asset))


def _cut_batch(
    case: DecisionInput, candidate: RunCandidate, *, barred: PartitionSet, found: PendingPartitions
) -> _BatchCut:
    """Cuts the partitions of the next run from the candidate, with the lookback of the gaps that it fills.

    Lookback partitions that failed or are withheld are not computed again now; they are owed to a later run.
    """
    next_ones = choose_next_partitions(case.asset.partitioning, candidate.partitions, found.suspects)
    back = NO_LOOKBACK  # a backfill computes what it names
    if candidate.kind == "scheduled":
        back = plan_lookback(case.context, case.asset, case.state, next_ones.partitions, barred=barred)
    failed = PartitionSet.union([found.failed, found.held.resting, *(each.partitions for each in found.suspects)])
    todo = next_ones.partitions | (back.partitions - failed)
    partitions = _limit_partitions(case.asset, todo, newest_first=candidate.newest_first) if todo else todo
    rest, apart = todo - partitions, candidate.partitions - next_ones.partitions
    return _BatchCut(partitions, rest, apart, back.partitions - partitions, back.gaps, next_ones.note)


def _explain_separate_runs(found: PendingPartitions, partitions: PartitionSet) -> str:
    """Why partitions are computed by runs of their own."""
    error = next((each.failure.error for each in found.suspects if each.partitions.overlaps(partitions)), "")
    return f"left for runs of their own: failed before: {error}"


def _build_run(case: DecisionInput, found: PendingPartitions, candidate: RunCandidate, cut: _BatchCut) -> PlannedRun:
    """The run of one batch; it takes over an unfinished run of the asset.

    If none of its partitions is due by itself, it keeps the kind of the run that it takes over.
    """
    context, asset, state, partitions = case.context, case.asset, case.state, cut.partitions
    uses = candidate.uses if partitions & candidate.asked_partitions else ConditionUsage()
    events = context.answered_events(
        asset, state, {uri: partitions & uses.partitions.get(uri, NOTHING) for uri in uses.leaf_names}
    )
    reasons = [*filter(None, [_reason(case, found, candidate, partitions), cut.note]), *candidate.notes]
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind
        if state.chain and not partitions & _due_partitions(found, candidate)
        else candidate.kind,
        partitions=partitions,
        schedule_date=candidate.schedule_date,
        reason=", ".join(reasons),
        interval=candidate.interval
        if candidate.tick
        else context.interval_of_events(events) or asset.partitioning.interval(partitions),
        cursor=candidate.cursor,
        pins={**context.pins(asset, state, partitions), **candidate.pins},
        consumption=_consumption(found, uses, partitions),
        owes=cut.owes,
        gaps=cut.gaps,
        accepted=found.held.accepted & partitions,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=events)


def _due_partitions(found: PendingPartitions, candidate: RunCandidate) -> PartitionSet:
    """Partitions that are missing, stale, or due by the trigger alone."""
    return found.due_partitions | candidate.triggered_partitions


def _consumption(found: PendingPartitions, uses: ConditionUsage, partitions: PartitionSet) -> RunConsumption:
    """The consumption of a run of ``partitions``: it records which others have still to use the events and ticks."""
    rest, asked = (
        (found.due_partitions | found.by_trigger | found.later) - partitions,
        partitions & found.due_partitions,
    )
    remaining = {key: rest | (asked - used) for key, used in uses.partitions.items()}
    remaining |= {key: EVERYTHING for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: ranges for key, ranges in remaining.items() if ranges})


def _reason(case: DecisionInput, found: PendingPartitions, candidate: RunCandidate, partitions: PartitionSet) -> str:
    """The sentence why a batch runs: how many of its partitions are missing, stale, requested, retried and so on."""
    parts, count = [*filter(None, [describe_takeover(case.state.chain)])], case.asset.partitioning.count
    if missing := count(partitions & found.missing):
        parts.append(f"{plural(missing, 'partition')} missing")
    if changed := partitions & found.changed_partitions:
        parts.append(f"{count(changed)} stale: {listing(stale_causes(found, partitions))} changed")
    parts += [f"{count(again)} {text}" for text, again in redo_reasons(case.asset, case.state, partitions)]
    if triggered := count(partitions & candidate.triggered_partitions):
        parts.append(f"{triggered} {trigger_reasons(case.asset)}")
    if (again := count(partitions - _due_partitions(found, candidate))) and not case.state.chain:
        parts.append(
            f"{again} by lookback" if candidate.kind == "scheduled" else f"backfill of {plural(again, 'partition')}"
        )
    if failed := count(case.state.failed_partitions & partitions):  # zero after a change of the partitioning
        parts.append(f"{failed} failed before")
    parts += describe_retry(case.asset, found.held, partitions)
    tick = candidate.tick
    schedule = f"{case.asset.schedule.text} at {case.context.format_instant(tick.run_after)}: " if tick else ""
    return schedule + ", ".join(parts)


def _of_events(case: DecisionInput, candidate: RunCandidate) -> PlannedRun:
    """The run of a candidate without partitions.

    If it takes over an unfinished rollback, it restores the same iteration and reads nothing.
    """
    context, asset, state = case.context, case.asset, case.state
    answered = {ref.seq for ref in candidate.events}
    reasons = [*filter(None, [describe_takeover(state.chain), candidate.reason, *candidate.notes])]
    if any(answered.issuperset(item.events) for item in state.failed):
        reasons.append("failed before")
    restores = state.chain[-1].entry.request.restores if candidate.is_recovery else ""
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind if candidate.is_recovery else "scheduled",
        partitions=EVERYTHING,
        schedule_date=candidate.schedule_date,
        reason=", ".join(reasons),
        interval=candidate.interval,
        cursor=candidate.cursor,
        pins={}
        if restores
        else {**context.pins(asset, state, EVERYTHING, anew=candidate.rereads_all), **candidate.pins},
        rebuilds=candidate.rebuilds,
        consumption=candidate.uses.consumption,
        restores=restores,
        accepted=candidate.accepted,
        apart=isinstance(asset.strategy, EveryInstance),
        again=candidate.retried_record,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=candidate.events)
