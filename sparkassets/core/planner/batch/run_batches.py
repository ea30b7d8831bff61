"""Makes runs of due partitions: batches up to the limit with their lookback, or one run an instance.

The lookback of a date range: the partitions before each filled gap are computed again, once.

A gap stays one gap when `max_partitions_per_run` cuts it into several runs. Lookback that a run leaves is owed and
recorded in its claim, so the journal says which gaps are being filled (`AssetState.gaps`).
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.batch.instance_runs import plan_instances
from sparkassets.core.planner.batch.run_reasons import redo_reasons, stale_causes, trigger_reasons
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DueRun
from sparkassets.core.planner.due.due_ticks import DueTick
from sparkassets.core.planner.due.pending_partitions import PendingPartitions, choose_next_partitions
from sparkassets.core.planner.due.withheld_partitions import describe_retry
from sparkassets.core.planner.gates.inlet_gates import check_gates
from sparkassets.core.planner.plan import PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import (
    allows_parallel_runs,
    describe_takeover,
)
from sparkassets.core.planner.wording import listing, plural
from sparkassets.core.runs import RunConsumption, RunRequest
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
    unready: PartitionSet,
) -> GapLookback:
    """The lookback of the missing partitions in ``ready``; empty without a lookback.

    It has the computed partitions before them whose gates are open, without those ``unready`` by failed or withheld
    inputs.
    """
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NO_LOOKBACK
    gaps = ready - state.coverage
    before_gaps = partitions_before_gaps(asset, state, gaps) - unready
    return GapLookback(check_gates(context, asset, before_gaps).ready if before_gaps else before_gaps, gaps)


def partitions_before_gaps(asset: AssetSpec, state: AssetState, gaps: PartitionSet) -> PartitionSet:
    """Computed partitions within the lookback before ``gaps``, to be computed again because the gap is filled.

    A gap is a range of partitions that are not computed. Gaps whose lookback was recorded as done or owed are left out,
    and so are skipped partitions.
    """
    if not isinstance(asset.strategy, DateRange) or asset.strategy.lookback is None:
        return NOTHING
    # `max_partitions_per_run` may cut a gap (`state.gaps`): only the begin of a whole gap has a lookback
    new_gap_heads = ((gaps | state.gaps) - state.coverage).range_heads() - state.gaps
    lookback = asset.partitioning.partitions_before(new_gap_heads, asset.strategy.lookback)
    return (lookback & asset.partitioning.inside(state.coverage)) - state.skipped_partitions


def batch_due_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that makes planned runs of the due runs, in order, and says what is left for later runs.

    Without partitions, a run brings everything, so consumers wait for all of it (``expected``).
    """
    if case.pending is not None and allows_parallel_runs(case.asset):
        return plan_instances(case, progress, case.pending)
    if case.pending is not None:
        return _batch_partitions(case, progress, case.pending)
    runs = tuple(_build_unpartitioned_run(case, each) for each in progress.due_runs)
    return replace(progress, runs=runs, expected=EVERYTHING if runs else progress.expected)


def partition_limit(asset: AssetSpec) -> int:
    """Most partitions that one run computes; a number beyond any count where there is no limit."""
    if allows_parallel_runs(asset):
        return 1
    return asset.strategy.max_partitions_per_run if isinstance(asset.strategy, DateRange | SegmentBatches) else 1 << 62


def _batch_partitions(case: DecisionInput, progress: DecisionProgress, pending: PendingPartitions) -> DecisionProgress:
    """The batches of a partitioned asset whose runs go one at a time: one run for each due run.

    The last run moves the asset's cursor past the tick. While partitions of the tick's interval are left over, no run
    does (its cursor is None): the tick stays open.
    """
    name, waiting = case.asset.name, list(progress.waiting)
    runs: list[PlannedRun] = []
    planned, expected = NOTHING, progress.expected | progress.partitions
    for due_run in progress.due_runs:
        batch = _cut_batch(case, due_run, unready=progress.unready, pending=pending)
        if batch.rest:
            reason = f"left for the next run: more than max_partitions_per_run ({partition_limit(case.asset)})"
            waiting.append(Waiting(name, reason, None, batch.rest))
        if batch.separate:
            waiting.append(Waiting(name, _explain_separate_runs(pending, batch.separate), None, batch.separate))
        run, left_over = _build_run(case, pending, due_run, batch), batch.rest | batch.separate
        planned, expected = planned | batch.partitions, expected | batch.partitions | left_over
        waiting_partitions = (progress.due | progress.unready) - planned
        is_last = (
            due_run is progress.due_runs[-1]
            and not left_over
            and not _keeps_tick_open(due_run.tick, waiting_partitions)
        )
        if not is_last and due_run.cursor is not None:
            run = replace(run, request=replace(run.request, cursor=None))
        runs.append(run)
    return replace(progress, runs=tuple(runs), waiting=tuple(waiting), expected=expected)


def _keeps_tick_open(tick: DueTick | None, left_over: PartitionSet) -> bool:
    """Whether partitions of the tick's own interval are among ``left_over``, so that the tick stays open.

    Older holes do not keep it open: they wait by themselves.
    """
    return tick is not None and bool(left_over.clip(*tick.interval))


@frozen
class _BatchCut:
    """The partitions of one run and those that it leaves.

    Attributes:
        partitions: Partitions of the run, at most `partition_limit`, the oldest first.
        rest: Partitions left for another run.
        separate: Partitions left for runs of their own because they failed before.
        owes, gaps: As in `RunRequest`.
        note: Remark for the run's reason.
    """

    partitions: PartitionSet
    rest: PartitionSet
    separate: PartitionSet
    owes: PartitionSet
    gaps: PartitionSet
    note: str


def _limit_partitions(asset: AssetSpec, partitions: PartitionSet, *, newest_first: bool) -> PartitionSet:
    """The oldest partitions that one run may compute, or the newest ones with ``newest_first``."""
    if newest_first:
        return asset.partitioning.split_into_chunks(partitions, partition_limit(asset))[-1]
    return asset.partitioning.oldest(partitions, partition_limit(asset))


def _cut_batch(case: DecisionInput, due_run: DueRun, *, unready: PartitionSet, pending: PendingPartitions) -> _BatchCut:
    """Cuts the partitions of the next run from the due run, with the lookback of the gaps that it fills.

    Lookback partitions that failed or are withheld are not computed again now; they are owed to a later run.
    """
    chosen = choose_next_partitions(case.asset.partitioning, due_run.partitions, pending.suspects)
    lookback = NO_LOOKBACK  # a backfill computes what it names
    if due_run.kind == "scheduled":
        lookback = plan_lookback(case.context, case.asset, case.state, chosen.partitions, unready=unready)
    not_now = PartitionSet.union(
        [pending.failed, pending.withheld.resting, *(each.partitions for each in pending.suspects)]
    )
    computable = chosen.partitions | (lookback.partitions - not_now)
    partitions = (
        _limit_partitions(case.asset, computable, newest_first=due_run.newest_first) if computable else computable
    )
    rest, separate = computable - partitions, due_run.partitions - chosen.partitions
    return _BatchCut(partitions, rest, separate, lookback.partitions - partitions, lookback.gaps, chosen.note)


def _explain_separate_runs(pending: PendingPartitions, partitions: PartitionSet) -> str:
    """Why partitions are computed by runs of their own."""
    error = next((each.failure.error for each in pending.suspects if each.partitions.overlaps(partitions)), "")
    return f"left for a separate run, because it failed before: {error}"


def _build_run(case: DecisionInput, pending: PendingPartitions, due_run: DueRun, batch: _BatchCut) -> PlannedRun:
    """The run of one batch; it takes over an unfinished run of the asset.

    If none of its partitions is due by itself, it keeps the kind of the run that it takes over. If the schedule asks
    for none of them, as for lookback alone, it uses up no events and ticks.
    """
    context, asset, state, partitions = case.context, case.asset, case.state, batch.partitions
    uses = due_run.uses if partitions & due_run.asked_partitions else ConditionUsage()
    events = context.answered_events(
        asset, state, {uri: partitions & uses.partitions.get(uri, NOTHING) for uri in uses.leaf_names}
    )
    reasons = [*filter(None, [_batch_reason(case, pending, due_run, partitions), batch.note]), *due_run.notes]
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind
        if state.chain and not partitions & _due_partitions(pending, due_run)
        else due_run.kind,
        partitions=partitions,
        schedule_date=due_run.schedule_date,
        reason=", ".join(reasons),
        interval=due_run.interval
        if due_run.tick
        else context.interval_of_events(events) or asset.partitioning.interval(partitions),
        cursor=due_run.cursor,
        pins={**context.pins(asset, state, partitions), **due_run.pins},
        consumption=_batch_consumption(pending, uses, partitions),
        owed_lookback=batch.owes,
        gaps=batch.gaps,
        accepted=pending.withheld.accepted & partitions,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=events)


def _due_partitions(pending: PendingPartitions, due_run: DueRun) -> PartitionSet:
    """Partitions that are missing, stale, or due by the trigger alone."""
    return pending.due_partitions | due_run.triggered_partitions


def _batch_consumption(pending: PendingPartitions, uses: ConditionUsage, partitions: PartitionSet) -> RunConsumption:
    """The consumption of a run of ``partitions``: it records which others have still to use the events and ticks.

    A leaf of the condition may hold for some partitions of the run only: the others have still to use it too.
    """
    unanswered = (pending.due_partitions | pending.by_trigger | pending.later) - partitions
    answering = partitions & pending.due_partitions
    remaining = {key: unanswered | (answering - answered) for key, answered in uses.partitions.items()}
    # a time leaf that did not make the condition true: no partition uses its tick
    remaining |= {key: EVERYTHING for key in uses.consumption.ticks if key not in remaining}
    return replace(uses.consumption, remaining={key: ranges for key, ranges in remaining.items() if ranges})


def _batch_reason(case: DecisionInput, pending: PendingPartitions, due_run: DueRun, partitions: PartitionSet) -> str:
    """The sentence why a batch runs: how many of its partitions are missing, stale, requested, retried and so on.

    Partitions that nothing makes due are there by lookback, or by the backfill that names them.
    """
    clauses, count = [*filter(None, [describe_takeover(case.state.chain)])], case.asset.partitioning.count
    if missing := count(partitions & pending.missing):
        clauses.append(f"{plural(missing, 'partition')} missing")
    if changed := partitions & pending.changed_partitions:
        clauses.append(f"{count(changed)} stale: {listing(stale_causes(pending, partitions))} changed")
    clauses += [f"{count(other)} {text}" for text, other in redo_reasons(case.asset, case.state, partitions)]
    if triggered := count(partitions & due_run.triggered_partitions):
        clauses.append(f"{triggered} {trigger_reasons(case.asset)}")
    if (other := count(partitions - _due_partitions(pending, due_run))) and not case.state.chain:
        clauses.append(
            f"{other} by lookback" if due_run.kind == "scheduled" else f"backfill of {plural(other, 'partition')}"
        )
    if failed := count(case.state.failed_partitions & partitions):  # zero after a change of the partitioning
        clauses.append(f"{failed} failed before")
    clauses += describe_retry(case.asset, pending.withheld, partitions)
    tick = due_run.tick
    schedule = f"{case.asset.schedule.text} at {case.context.format_instant(tick.run_after)}: " if tick else ""
    return schedule + ", ".join(clauses)


def _build_unpartitioned_run(case: DecisionInput, due_run: DueRun) -> PlannedRun:
    """The run of a due run without partitions.

    If it takes over an unfinished rollback, it restores the same iteration and reads nothing.
    """
    context, asset, state = case.context, case.asset, case.state
    answered_seqs = {ref.seq for ref in due_run.events}
    reasons = [*filter(None, [describe_takeover(state.chain), due_run.reason, *due_run.notes])]
    # a failed run without events is of the whole asset, so it is repeated too
    if any(answered_seqs.issuperset(item.events) for item in state.failed):
        reasons.append("failed before")
    restores = state.chain[-1].entry.request.restores if due_run.is_recovery else ""
    request = RunRequest(
        asset=asset.name,
        kind=state.chain[-1].entry.kind if due_run.is_recovery else "scheduled",
        partitions=EVERYTHING,
        schedule_date=due_run.schedule_date,
        reason=", ".join(reasons),
        interval=due_run.interval,
        cursor=due_run.cursor,
        pins={} if restores else {**context.pins(asset, state, EVERYTHING, again=due_run.rereads_all), **due_run.pins},
        rebuilds=due_run.rebuilds,
        consumption=due_run.uses.consumption,
        restores=restores,
        accepted=due_run.accepted,
        is_instance=isinstance(asset.strategy, EveryInstance),
        repeated_run=due_run.retried_record,
    )
    return PlannedRun.from_request(request, asset=asset, state=state, events=due_run.events)
