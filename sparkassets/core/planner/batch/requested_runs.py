"""Plans runs that a person asks for by themselves: rebuilds and attended runs.

A rebuild: one run computes a whole partitioned table and replaces its columns. It is one commit, however many
partitions there are, so readers see either the old table or the new one.
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.batch.run_batches import partition_limit
from sparkassets.core.planner.due.pending_partitions import find_pending
from sparkassets.core.planner.gates.aligned_inlets import AlignedGroup, group_by_upstream_runs
from sparkassets.core.planner.gates.inlet_gates import check_gates
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import (
    explain_obstacles,
)
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec


def plan_rebuild(context: PlanningContext, asset: AssetSpec, *, force: bool) -> Plan:
    """Plans the run that computes every stored or wanted partition in one commit, or says why there is none.

    A stored partition that cannot be computed now, because its input is gone or its segment is unlisted, would lose its
    rows: that is refused without ``force``. A partition that was never stored waits as ever.
    """
    state = context.state_of(asset)
    stored = asset.partitioning.inside(stored_time(state))
    if (obstacle := explain_obstacles(context, asset, state, stored, rebuilds=True)) is not None:
        return obstacle
    pending, unlisted = find_pending(context, asset, state), asset.partitioning.unknown_partitions(stored)
    gated = check_gates(context, asset, (stored - unlisted) | (pending.wanted - pending.holes))
    not_computable, partitions = stored - gated.ready, stored | gated.ready
    if not_computable and not force:
        return Plan(context.now, (), (_refuse_lossy_rebuild(asset, not_computable, gated.waiting),))
    if not partitions:
        return Plan(context.now, (), gated.waiting)
    groups = group_by_upstream_runs(context, asset, partitions)
    if waiting := _explain_unaligned(asset, groups, partitions):
        return Plan(context.now, (), waiting)
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason=", ".join([_rebuild_reason(asset, partitions, not_computable), *groups[0].inlet_alignment.notes]),
        interval=asset.partitioning.interval(partitions),
        pins={**context.pins(asset, state, partitions), **groups[0].inlet_alignment.pins},
        rebuilds=True,
        accepted=pending.withheld.accepted & partitions,
    )
    remaining_waits = tuple(wait for wait in gated.waiting if wait.partitions - partitions)
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),), remaining_waits)


def stored_time(state: AssetState) -> PartitionSet:
    """The stored partitions, and those of an earlier partitioning whose keys can be compared with the present ones."""
    former = state.former
    if former is None or former.coverage.is_everything or not state.spec.partitioning.understands(former.partitioning):
        return state.coverage
    return state.coverage | former.coverage


def _explain_unaligned(
    asset: AssetSpec, groups: tuple[AlignedGroup, ...], partitions: PartitionSet
) -> tuple[Waiting, ...]:
    """Why aligned inlets keep ``partitions`` from being one run; empty where one run can compute all of them.

    A run reads one version of an inlet, so groups that need different upstream runs cannot share one.
    """
    waiting = [wait for group in groups for wait in group.inlet_alignment.waiting]
    if len(groups) > 1:
        reason = f"cannot be rebuilt in one run: its partitions read {len(groups)} different runs of an aligned inlet"
        waiting.append(Waiting(asset.name, reason, None, partitions))
    return tuple(waiting)


def _rebuild_reason(asset: AssetSpec, partitions: PartitionSet, not_computable: PartitionSet) -> str:
    """The sentence for a rebuild's run; ``not_computable`` partitions come from what is left of the inlets."""
    count = asset.partitioning.count(partitions)
    reason = f"rebuild of {plural(count, 'partition')} in one commit"
    if count > partition_limit(asset):
        reason += f", more than max_partitions_per_run ({partition_limit(asset)})"
    if not_computable:
        reason += f"; {label_partitions(not_computable, asset.partitioning)} from the data that its inlets still have"
    return reason


def _refuse_lossy_rebuild(asset: AssetSpec, lost: PartitionSet, waiting: tuple[Waiting, ...]) -> Waiting:
    """The waiting reason of a rebuild that would lose the rows of the partitions ``lost``.

    Where no gate holds them back, their segment is no longer listed.
    """
    cause = next((wait.reason for wait in waiting if wait.partitions.overlaps(lost)), "it is no longer listed")
    lost_text = label_partitions(lost, asset.partitioning)
    reason = f"a rebuild would lose {lost_text}, which cannot be recomputed: {cause}"
    return Waiting(asset.name, f"{reason} (--force computes it from the data that is left)", None, lost)


def plan_attended(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet, interval: tuple[int, int] | None
) -> Plan:
    """Plans a run that the asset's own job executes and that reads the inlets as they are now.

    Where a live run or an unfinished one keeps it from being claimed, the plan says so instead.

    Args:
        context: The view of the moment.
        asset: The asset of the run.
        partitions: Partitions that it computes; everything for an asset without partitions.
        interval: Its data interval, Unix seconds; by default that of its partitions.
    """
    state = context.state_of(asset)
    if (obstacle := explain_obstacles(context, asset, state, partitions)) is not None:
        return obstacle
    run = request_by_hand(context, asset, partitions, interval, reason="its own job runs it")
    return Plan(context.now, (run,), ())


def request_by_hand(
    context: PlanningContext,
    asset: AssetSpec,
    partitions: PartitionSet,
    interval: tuple[int, int] | None,
    *,
    reason: str,
) -> PlannedRun:
    """A run of these partitions that reads the inlets as they are now, whatever is due; arguments as `plan_attended`.

    ``reason`` says why it runs, for people.
    """
    state = context.state_of(asset)
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        partitions=partitions,
        schedule_date=context.now,
        reason=reason,
        interval=interval or (asset.partitioning.interval(partitions) if asset.partitioning.is_partitioned else None),
        pins=context.pins(asset, state, partitions),
    )
    return PlannedRun.from_request(request, asset=asset, state=state)
