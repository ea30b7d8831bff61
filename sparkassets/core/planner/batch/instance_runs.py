"""Makes the runs of `every_instance`: one for each due partition, as many as there are free slots."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.run_reasons import redo_reasons, stale_causes, trigger_reasons
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DueRun
from sparkassets.core.planner.due.due_ticks import MOST_RUNS
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.due.withheld_partitions import describe_retry
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.run_slots import (
    RunSlotAssigner,
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
from sparkassets.frozen import replace

MOST_LISTED = 1000
"""Most partitions that a claim lists one by one as those that have still to answer its events."""
PartitionsAndSlot = tuple[PartitionSet, int]
"""The partitions of one run, and its slot."""


def plan_instances(case: DecisionInput, progress: DecisionProgress, pending: PendingPartitions) -> DecisionProgress:
    """Step for parallel runs: makes a run for each due partition, and one to settle each unfinished claim left over.

    Where runs must go one at a time for now (`exclusive_reason`), it plans nothing beside a live run, and at most one
    run: of a partition, or to settle a claim.
    """
    context, asset, state = case.context, case.asset, case.state
    expected = progress.expected | progress.partitions | busy_partitions(context, asset, state)
    waiting = (*progress.waiting, *describe_live_runs(context, asset, state))
    exclusive = exclusive_reason(asset, state)
    slots = RunSlotAssigner(asset.partitioning, state, find_held_slots(context, state))
    if exclusive and context.live_claims(state):
        exclusive_waits = (
            (Waiting(asset.name, f"waits for the previous run: {exclusive}", None, progress.partitions),)
            if progress.partitions
            else ()
        )
        return replace(progress, waiting=(*waiting, *exclusive_waits), expected=expected)
    planned, slot_waits = assign_slots(asset, state, progress.partitions, slots)
    leaves_many = (
        bool(planned) and asset.schedule.default and asset.partitioning.count(pending.due_partitions) > MOST_LISTED
    )
    runs = [
        _build_instance_run(
            case, pending, _due_run_of_partition(progress, partition), partition, slot, leaves_many=leaves_many
        )
        for partition, slot in planned
    ]
    slots_to_settle = (
        slots.unused_open_slots()[:1] if exclusive and not runs else [] if exclusive else slots.unused_open_slots()
    )
    runs += build_settling_runs(context, asset, state, slots_to_settle)
    return replace(progress, runs=tuple(runs), waiting=(*waiting, *slot_waits), expected=expected)


def assign_slots(
    asset: AssetSpec, state: AssetState, ready: PartitionSet, slots: RunSlotAssigner
) -> tuple[list[PartitionsAndSlot], list[Waiting]]:
    """Assigns a run slot to each of the oldest ``ready`` partitions; the second result says why the others wait.

    If parallel runs must go one at a time for now (`exclusive_reason`), at most one partition gets a slot.
    """
    exclusive = exclusive_reason(asset, state)
    run_limit = MOST_RUNS if not exclusive else 0 if slots.taken else 1
    planned: list[PartitionsAndSlot] = []
    waiting: list[Waiting] = []
    for partition in asset.partitioning.each_partition(asset.partitioning.oldest(ready, run_limit)) if ready else ():
        slot = slots.assign_slot(partition)
        if slot is not None:
            planned.append((partition, slot))
            continue
        waiting.append(Waiting(asset.name, slots.explain_wait(partition), None, partition))
    handled = PartitionSet.union([*(partition for partition, _ in planned), *(each.partitions for each in waiting)])
    if unassigned := ready - handled:
        reason = f"left for the next runs: {exclusive or f'a plan holds at most {run_limit} of them'}"
        waiting.append(Waiting(asset.name, reason, None, unassigned))
    return planned, waiting


def _due_run_of_partition(progress: DecisionProgress, partition: PartitionSet) -> DueRun:
    """The due run that contains ``partition``, with the timetable's tick that this partition answers.

    A due run can stand for several ticks (its rounds); then the run of one partition uses up only its own tick.
    """
    due_run = next(each for each in progress.due_runs if each.partitions.overlaps(partition))
    tick = next((tick for tick, parts in due_run.rounds if parts.overlaps(partition)), None)
    if tick is None or TIMETABLE not in due_run.uses.consumption.ticks:
        return due_run
    consumption = replace(due_run.uses.consumption, ticks={TIMETABLE: tick.run_after})
    return replace(
        due_run,
        schedule_date=tick.run_after,
        uses=replace(due_run.uses, consumption=consumption),
        tick=tick,
        interval=tick.interval,
        cursor=tick.cursor,
    )


def _build_instance_run(
    case: DecisionInput,
    pending: PendingPartitions,
    due_run: DueRun,
    partition: PartitionSet,
    slot: int,
    *,
    leaves_many: bool,
) -> PlannedRun:
    """The run of one ``partition`` in its ``slot``; it takes over the slot's unfinished claims.

    If only such a claim makes it due, it keeps that claim's kind, and restores the same iteration if that was a
    rollback. If the schedule does not ask for it, it uses up no events and ticks.
    """
    context, asset, state = case.context, case.asset, case.state
    uses = due_run.uses if partition & due_run.asked_partitions else ConditionUsage()
    events = context.answered_events(
        asset, state, {uri: partition & uses.partitions.get(uri, NOTHING) for uri in uses.leaf_names}
    )
    chain = state.chains.get(slot, ())
    is_recovery = bool(chain) and not partition & (pending.due_partitions | due_run.triggered_partitions)
    restores = chain[-1].entry.request.restores if is_recovery and chain[-1].entry.partitions == partition else ""
    request = RunRequest(
        asset=asset.name,
        kind=chain[-1].entry.kind if is_recovery else due_run.kind,
        partitions=partition,
        schedule_date=due_run.schedule_date,
        reason=", ".join(
            filter(
                None,
                [describe_takeover(chain), _instance_reason(case, pending, due_run, partition), *due_run.notes],
            )
        ),
        interval=asset.partitioning.interval(partition) or due_run.interval or context.interval_of_events(events),
        cursor=due_run.cursor,
        pins={} if restores else {**context.pins(asset, state, partition), **due_run.pins},
        consumption=_instance_consumption(pending, due_run, uses, partition, leaves_many=leaves_many),
        run_slot=slot,
        restores=restores,
        accepted=pending.withheld.accepted & partition,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=events)


def _instance_consumption(
    pending: PendingPartitions,
    due_run: DueRun,
    uses: ConditionUsage,
    partition: PartitionSet,
    *,
    leaves_many: bool,
) -> RunConsumption:
    """The consumption of a run of one partition: it records which others have still to use each event, or the tick.

    With ``leaves_many``, as very many are due under the default condition, the claim records "all others" instead of
    listing them, which keeps entries small; later claims list the few that are left.
    """
    if leaves_many:
        return replace(uses.consumption, remaining=dict.fromkeys(uses.partitions, EVERYTHING - partition))
    due = due_run.asked_partitions if due_run.tick is not None else pending.due_partitions | pending.later
    answering = partition & due
    remaining = {key: (due - partition) | (answering - answered) for key, answered in uses.partitions.items()}
    remaining |= {key: due - partition for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: parts for key, parts in remaining.items() if parts})


def _instance_reason(case: DecisionInput, pending: PendingPartitions, due_run: DueRun, partition: PartitionSet) -> str:
    """The sentence why one partition runs: missing, stale, requested, accepted, or due by its trigger alone.

    It is empty for a partition that only an unfinished run left: `describe_takeover` says so.
    """
    causes = stale_causes(pending, partition)
    state_text = (
        "missing" if pending.missing.overlaps(partition) else f"stale: {listing(causes)} changed" if causes else ""
    )
    failed_text = "failed before" if case.state.failed_partitions.overlaps(partition) else ""
    redo_texts = [text for text, _ in redo_reasons(case.asset, case.state, partition)]
    request_text = "backfill of 1 partition" if due_run.kind == "backfill" else ""
    reason = ", ".join(
        filter(
            None,
            [
                state_text,
                *redo_texts,
                request_text,
                failed_text,
                *describe_retry(case.asset, pending.withheld, partition),
            ],
        )
    )
    if not reason and partition & due_run.triggered_partitions:
        reason = trigger_reasons(case.asset)
    ticked_at = due_run.tick.run_after if due_run.tick is not None else None
    return (
        f"{case.asset.schedule.text} at {case.context.format_instant(ticked_at)}: {reason}"
        if ticked_at is not None
        else reason
    )
