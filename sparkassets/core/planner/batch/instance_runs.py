"""Plans parallel runs of ``every_instance``: each due partition is a run of its own, oldest first."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.recompute_reasons import redo_reasons, stale_causes, trigger_reasons
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, RunCandidate
from sparkassets.core.planner.due.due_ticks import MOST_RUNS
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.due.withheld_partitions import describe_retry
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.run_slots import (
    RunSlots,
    build_settling_runs,
    busy_partitions,
    describe_live_runs,
    describe_takeover,
    exclusive_reason,
    find_held_slots,
)
from sparkassets.core.planner.wording import listing
from sparkassets.core.runs import TIMETABLE, RunConsumption, RunRequest
from sparkassets.core.spec.model import AssetSpec

MOST_LEFT = 1000
"""Most partitions that a claim lists one by one as those that have still to answer its events."""

PartitionSlot = tuple[PartitionSet, int]
"""The partitions of one run, and its slot."""


def plan_instances(case: DecisionInput, course: DecisionProgress, found: PendingPartitions) -> DecisionProgress:
    """Step that makes a run for each due partition, and one for each unfinished claim that none of these settles."""
    context, asset, state = case.context, case.asset, case.state
    coming = course.coming | course.blocks | busy_partitions(context, asset, state)
    waiting = (*course.waiting, *describe_live_runs(context, asset, state))
    lone, slots = exclusive_reason(asset, state), RunSlots(asset.partitioning, state, find_held_slots(context, state))
    if lone and context.live_claims(state):
        said = (Waiting(asset.name, f"waits for the run before: {lone}", None, course.blocks),) if course.blocks else ()
        return replace(course, waiting=(*waiting, *said), coming=coming)
    planned, told = assign_slots(asset, state, course.blocks, slots)
    many = bool(planned) and asset.schedule.default and asset.partitioning.count(found.due_partitions) > MOST_LEFT
    runs = [
        _build_instance_run(case, found, _candidate(course, block), block, slot, many=many) for block, slot in planned
    ]
    settled = slots.unused_open_slots()[:1] if lone and not runs else [] if lone else slots.unused_open_slots()
    runs += build_settling_runs(context, asset, state, settled)
    return replace(course, runs=tuple(runs), waiting=(*waiting, *told), coming=coming)


def assign_slots(
    asset: AssetSpec, state: AssetState, ready: PartitionSet, slots: RunSlots
) -> tuple[list[PartitionSlot], list[Waiting]]:
    """Assigns slots to the oldest of the ``ready`` partitions, and says why the others wait."""
    lone = exclusive_reason(asset, state)
    most = MOST_RUNS if not lone else 0 if slots.taken else 1
    planned: list[PartitionSlot] = []
    waiting: list[Waiting] = []
    for block in asset.partitioning.each_partition(asset.partitioning.oldest(ready, most)) if ready else ():
        slot = slots.assign_slot(block)
        if slot is not None:
            planned.append((block, slot))
            continue
        waiting.append(Waiting(asset.name, slots.explain_wait(block), None, block))
    said = PartitionSet.union([*(block for block, _ in planned), *(each.blocks for each in waiting)])
    if left := ready - said:
        reason = f"left for the next runs: {lone or f'a plan names {most} of them'}"
        waiting.append(Waiting(asset.name, reason, None, left))
    return planned, waiting


def _candidate(course: DecisionProgress, block: PartitionSet) -> RunCandidate:
    """The candidate that contains the partition, for the tick that the partition answers."""
    found = next(each for each in course.candidates if each.blocks.overlaps(block))
    tick = next((tick for tick, parts in found.rounds if parts.overlaps(block)), None)
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
    block: PartitionSet,
    slot: int,
    *,
    many: bool,
) -> PlannedRun:
    context, asset, state = case.context, case.asset, case.state
    uses = candidate.uses if block & candidate.asked_partitions else ConditionUsage()
    events = context.answered_events(
        asset, state, {uri: block & uses.blocks.get(uri, NOTHING) for uri in uses.leaf_names}
    )
    chain = state.chains.get(slot, ())
    rescues = bool(chain) and not block & (found.due_partitions | candidate.triggered_partitions)
    restores = chain[-1].entry.request.restores if rescues and chain[-1].entry.blocks == block else ""
    request = RunRequest(
        asset=asset.name,
        kind=chain[-1].entry.kind if rescues else candidate.kind,
        blocks=block,
        schedule_date=candidate.schedule_date,
        reason=", ".join(
            filter(None, [describe_takeover(chain), _instance_reason(case, found, candidate, block), *candidate.notes])
        ),
        interval=asset.partitioning.interval(block) or candidate.interval or context.interval_of_events(events),
        cursor=candidate.cursor,
        pins={} if restores else {**context.pins(asset, state, block), **candidate.pins},
        consumption=_consumption(found, candidate, uses, block, many=many),
        slot=slot,
        restores=restores,
        accepted=found.held.accepted & block,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=events)


def _consumption(
    found: PendingPartitions, candidate: RunCandidate, uses: ConditionUsage, block: PartitionSet, *, many: bool
) -> RunConsumption:
    """The consumption of a run of one partition; the others have still to answer each event, or the tick.

    If ``many`` are due under the default condition, the claim records "all others" instead of listing them, which
    keeps entries small; later claims list the few that are left.
    """
    if many:
        return replace(uses.consumption, remaining=dict.fromkeys(uses.blocks, EVERYTHING - block))
    due = candidate.asked_partitions if candidate.tick is not None else found.due_partitions | found.later
    asked = block & due
    remaining = {key: (due - block) | (asked - used) for key, used in uses.blocks.items()}
    remaining |= {key: due - block for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: parts for key, parts in remaining.items() if parts})


def _instance_reason(
    case: DecisionInput, found: PendingPartitions, candidate: RunCandidate, block: PartitionSet
) -> str:
    causes = stale_causes(found, block)
    state = "missing" if found.missing.overlaps(block) else f"stale: {listing(causes)} changed" if causes else ""
    failed = "failed before" if case.state.failed_blocks.overlaps(block) else ""
    again = [text for text, _ in redo_reasons(case.asset, case.state, block)]
    asked = "backfill of 1 partition" if candidate.kind == "backfill" else ""
    said = ", ".join(filter(None, [state, *again, asked, failed, *describe_retry(case.asset, found.held, block)]))
    if not said and block & candidate.triggered_partitions:
        said = trigger_reasons(case.asset)
    at = candidate.tick.run_after if candidate.tick is not None else None
    return f"{case.asset.schedule.text} at {case.context.format_instant(at)}: {said}" if at is not None else said
