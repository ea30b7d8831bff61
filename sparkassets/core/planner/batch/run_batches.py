"""Makes runs of the candidates: limited to ``max_partitions_per_run``, with the lookback of the gaps that they fill."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.instance_runs import plan_instances
from sparkassets.core.planner.batch.lookback import NO_LOOKBACK, plan_lookback
from sparkassets.core.planner.batch.recompute_reasons import redo_reasons, stale_causes, trigger_reasons
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, RunCandidate
from sparkassets.core.planner.due.due_ticks import DueTick
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.due.suspects import choose_next_partitions
from sparkassets.core.planner.due.withheld_partitions import describe_retry
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.run_slots import describe_takeover, has_parallel_runs
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.runs import RunConsumption, RunRequest
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import DateRange, EveryInstance, SegmentBatches
from sparkassets.frozen import frozen


def batch_candidates(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step that makes runs of the candidates, in order, and says what is left for later runs."""
    if case.pending is not None and has_parallel_runs(case.asset):
        return plan_instances(case, course, case.pending)
    if case.pending is not None:
        return _of_blocks(case, course, case.pending)
    runs = tuple(_of_events(case, each) for each in course.candidates)
    return replace(course, runs=runs, coming=EVERYTHING if runs else course.coming)


def partition_limit(asset: AssetSpec) -> int:
    """Most partitions that one run computes."""
    if has_parallel_runs(asset):
        return 1
    return asset.strategy.max_partitions_per_run if isinstance(asset.strategy, DateRange | SegmentBatches) else 1 << 62


def _of_blocks(case: DecisionInput, course: DecisionProgress, found: PendingPartitions) -> DecisionProgress:
    if not course.blocks and not case.state.chain:
        return course
    name, waiting = case.asset.name, list(course.waiting)
    runs: list[PlannedRun] = []
    taken, coming = NOTHING, course.coming | course.blocks
    for candidate in course.candidates:
        cut = _cut_batch(case, candidate, barred=course.barred, found=found)
        if cut.rest:
            reason = f"left for the next run: more than max_partitions_per_run ({partition_limit(case.asset)})"
            waiting.append(Waiting(name, reason, None, cut.rest))
        if cut.apart:
            waiting.append(Waiting(name, _explain_separate_runs(found, cut.apart), None, cut.apart))
        run, left = _build_run(case, found, candidate, cut), cut.rest | cut.apart
        taken, coming = taken | cut.blocks, coming | cut.blocks | left
        waits = (course.due | course.barred) - taken
        last = candidate is course.candidates[-1] and not left and not _holds(candidate.tick, waits)
        if not last and candidate.cursor is not None:
            run = replace(run, request=replace(run.request, cursor=None))
        runs.append(run)
    return replace(course, runs=tuple(runs), waiting=tuple(waiting), coming=coming)


def _holds(tick: DueTick | None, rest: PartitionSet) -> bool:
    """Whether partitions of the tick's own interval are left over, so that the tick stays open; older holes wait."""
    return tick is not None and bool(rest.clip(*tick.interval))


@frozen
class _BatchCut:
    """The partitions of one run and those that it leaves.

    Attributes:
        blocks: Partitions of the run, at most `partition_limit`, the oldest first.
        rest: Partitions left for another run.
        apart: Partitions left for runs of their own because they failed before.
        owes, gaps: As in `RunRequest`.
        note: Remark for the run's reason.
    """

    blocks: PartitionSet
    rest: PartitionSet
    apart: PartitionSet
    owes: PartitionSet
    gaps: PartitionSet
    note: str


def _limit_partitions(asset: AssetSpec, todo: PartitionSet, *, newest_first: bool) -> PartitionSet:
    """Limits the partitions to as many as one run may compute."""
    if newest_first:
        return asset.partitioning.split_into_chunks(todo, partition_limit(asset))[-1]
    return asset.partitioning.oldest(todo, partition_limit(asset))


def _cut_batch(
    case: DecisionInput, candidate: RunCandidate, *, barred: PartitionSet, found: PendingPartitions
) -> _BatchCut:
    """Cuts the partitions of the next run, with lookback; failed partitions of the lookback are owed to a later run."""
    next_ones = choose_next_partitions(case.asset.partitioning, candidate.blocks, found.suspects)
    back = NO_LOOKBACK  # a backfill computes what it names
    if candidate.kind == "scheduled":
        back = plan_lookback(case.context, case.asset, case.state, next_ones.blocks, barred=barred)
    failed = PartitionSet.union([found.failed, found.held.resting, *(each.blocks for each in found.suspects)])
    todo = next_ones.blocks | (back.blocks - failed)
    blocks = _limit_partitions(case.asset, todo, newest_first=candidate.newest_first) if todo else todo
    rest, apart = todo - blocks, candidate.blocks - next_ones.blocks
    return _BatchCut(blocks, rest, apart, back.blocks - blocks, back.gaps, next_ones.note)


def _explain_separate_runs(found: PendingPartitions, blocks: PartitionSet) -> str:
    """Why partitions are computed by runs of their own."""
    error = next((each.failure.error for each in found.suspects if each.blocks.overlaps(blocks)), "")
    return f"left for runs of their own: failed before: {error}"


def _build_run(case: DecisionInput, found: PendingPartitions, candidate: RunCandidate, cut: _BatchCut) -> PlannedRun:
    context, asset, state, blocks = case.context, case.asset, case.state, cut.blocks
    uses = candidate.uses if blocks & candidate.asked_partitions else ConditionUsage()
    events = context.answered_events(
        asset, state, {uri: blocks & uses.blocks.get(uri, NOTHING) for uri in uses.leaf_names}
    )
    reasons = [*filter(None, [_reason(case, found, candidate, blocks), cut.note]), *candidate.notes]
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind
        if state.chain and not blocks & _due_partitions(found, candidate)
        else candidate.kind,
        blocks=blocks,
        schedule_date=candidate.schedule_date,
        reason=", ".join(reasons),
        interval=candidate.interval
        if candidate.tick
        else context.interval_of_events(events) or asset.partitioning.interval(blocks),
        cursor=candidate.cursor,
        pins={**context.pins(asset, state, blocks), **candidate.pins},
        consumption=_consumption(found, uses, blocks),
        owes=cut.owes,
        gaps=cut.gaps,
        accepted=found.held.accepted & blocks,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=events)


def _due_partitions(found: PendingPartitions, candidate: RunCandidate) -> PartitionSet:
    """Partitions that are missing, stale, or due by the trigger alone."""
    return found.due_partitions | candidate.triggered_partitions


def _consumption(found: PendingPartitions, uses: ConditionUsage, blocks: PartitionSet) -> RunConsumption:
    """The consumption of a run of ``blocks``; every other partition has still to answer the events and ticks."""
    rest, asked = (found.due_partitions | found.by_trigger | found.later) - blocks, blocks & found.due_partitions
    remaining = {key: rest | (asked - used) for key, used in uses.blocks.items()}
    remaining |= {key: EVERYTHING for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: ranges for key, ranges in remaining.items() if ranges})


def _reason(case: DecisionInput, found: PendingPartitions, candidate: RunCandidate, blocks: PartitionSet) -> str:
    parts, count = [*filter(None, [describe_takeover(case.state.chain)])], case.asset.partitioning.count
    if missing := count(blocks & found.missing):
        parts.append(f"{plural(missing, 'partition')} missing")
    if changed := blocks & found.changed_partitions:
        parts.append(f"{count(changed)} stale: {listing(stale_causes(found, blocks))} changed")
    parts += [f"{count(again)} {text}" for text, again in redo_reasons(case.asset, case.state, blocks)]
    if triggered := count(blocks & candidate.triggered_partitions):
        parts.append(f"{triggered} {trigger_reasons(case.asset)}")
    if (again := count(blocks - _due_partitions(found, candidate))) and not case.state.chain:
        parts.append(
            f"{again} by lookback" if candidate.kind == "scheduled" else f"backfill of {plural(again, 'partition')}"
        )
    if failed := count(case.state.failed_blocks & blocks):  # zero after a change of the partitioning
        parts.append(f"{failed} failed before")
    parts += describe_retry(case.asset, found.held, blocks)
    tick = candidate.tick
    schedule = f"{case.asset.schedule.text} at {case.context.format_instant(tick.run_after)}: " if tick else ""
    return schedule + ", ".join(parts)


def _of_events(case: DecisionInput, candidate: RunCandidate) -> PlannedRun:
    context, asset, state = case.context, case.asset, case.state
    answered = {ref.seq for ref in candidate.events}
    reasons = [*filter(None, [describe_takeover(state.chain), candidate.reason, *candidate.notes])]
    if any(answered.issuperset(item.events) for item in state.failed):
        reasons.append("failed before")
    restores = state.chain[-1].entry.request.restores if candidate.is_recovery else ""
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind if candidate.is_recovery else "scheduled",
        blocks=EVERYTHING,
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
