"""Plans a rebuild: one run computes a whole partitioned table and replaces its columns.

It is one commit, however many partitions there are, so readers see either the old table or the new one.
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
from sparkassets.core.planner.run_slots import explain_obstacles
from sparkassets.core.planner.wording import label_partitions, plural
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec


def plan_rebuild(context: PlanningContext, asset: AssetSpec, *, force: bool) -> Plan:
    """Plans the run that computes every partition that the table has or should have, or says why there is none.

    A stored partition that cannot be computed now, because its input is gone or its segment is unlisted, would lose its
    rows: that is refused without ``force``. A partition that was never stored waits as ever.
    """
    state = context.state_of(asset)
    have = asset.partitioning.inside(stored_time(state))
    if (before := explain_obstacles(context, asset, state, have, whole=True)) is not None:
        return before
    found, unlisted = find_pending(context, asset, state), asset.partitioning.unknown_partitions(have)
    gated = check_gates(context, asset, (have - unlisted) | (found.wanted - found.holes))
    lost, blocks = have - gated.ready, have | gated.ready
    if lost and not force:
        return Plan(context.now, (), (_refusal(asset, lost, gated.waiting),))
    if not blocks:
        return Plan(context.now, (), gated.waiting)
    shared = group_by_upstream_runs(context, asset, blocks)
    if waiting := _explain_unaligned(asset, shared, blocks):
        return Plan(context.now, (), waiting)
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        blocks=blocks,
        schedule_date=context.now,
        reason=", ".join([_reason(asset, blocks, lost), *shared[0].inlet_alignment.notes]),
        interval=asset.partitioning.interval(blocks),
        pins={**context.pins(asset, state, blocks), **shared[0].inlet_alignment.pins},
        rebuilds=True,
        accepted=found.held.accepted & blocks,
    )
    left = tuple(wait for wait in gated.waiting if wait.blocks - blocks)
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),), left)


def stored_time(state: AssetState) -> PartitionSet:
    """The stored partitions, also those of an earlier partitioning as far as they are comparable."""
    former = state.former
    if former is None or former.coverage.is_everything or not state.spec.partitioning.understands(former.partitioning):
        return state.coverage
    return state.coverage | former.coverage


def _explain_unaligned(asset: AssetSpec, shared: tuple[AlignedGroup, ...], blocks: PartitionSet) -> tuple[Waiting, ...]:
    """Why aligned inlets keep all partitions from being one run; empty where they do not."""
    waiting = [wait for group in shared for wait in group.inlet_alignment.waiting]
    if len(shared) > 1:
        reason = f"cannot be rebuilt in one run: its blocks read {len(shared)} different runs of an aligned inlet"
        waiting.append(Waiting(asset.name, reason, None, blocks))
    return tuple(waiting)


def _reason(asset: AssetSpec, blocks: PartitionSet, lost: PartitionSet) -> str:
    count = asset.partitioning.count(blocks)
    said = f"rebuild of {plural(count, 'partition')} in one commit"
    if count > partition_limit(asset):
        said += f", whatever max_partitions_per_run ({partition_limit(asset)})"
    if lost:
        said += f"; {label_partitions(lost, asset.partitioning)} from what is left of the inlets"
    return said


def _refusal(asset: AssetSpec, lost: PartitionSet, waiting: tuple[Waiting, ...]) -> Waiting:
    why = next((wait.reason for wait in waiting if wait.blocks.overlaps(lost)), "it is not listed any more")
    which = label_partitions(lost, asset.partitioning)
    reason = f"a rebuild would lose {which}, which cannot be computed again: {why}"
    return Waiting(asset.name, f"{reason} (--force computes them from what is left)", None, lost)
