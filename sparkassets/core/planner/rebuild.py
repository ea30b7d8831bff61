"""A rebuild: all of a partitioned table computed in one run, whose columns take the place of the table's.

Readers see the old table or the new one, so it is one commit, however many blocks there are.
"""

from __future__ import annotations

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.alignment import groups
from sparkassets.core.planner.batch import limit_of
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.gates import gate
from sparkassets.core.planner.pending import pending
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec


def plan_rebuild(context: PlanningContext, asset: AssetSpec, partition: TimePartition, *, force: bool) -> Plan:
    """The one run that computes every block that the table has or should have, or why there can be none.

    A block that the table has and that could not be computed now, as what it was computed from is no longer there,
    would lose its rows: that is refused, unless by ``force``. A block that it never had waits as ever.
    """
    state = context.state_of(asset)
    chain = context.chain(state)
    have = partition.inside(state.coverage)
    if chain:
        reason = f"running: {chain[-1].entry.run} since {context.when(chain[-1].at)}"
        return Plan(context.now, (), (Waiting(asset.name, reason, None, have),))
    found = pending(context, asset, partition, state)
    gated = gate(context, asset, have | (found.wanted - found.holes))
    lost = have - gated.ready
    if lost and not force:
        return Plan(context.now, (), (_refusal(asset, partition, lost, gated.waiting),))
    blocks = have | gated.ready
    if not blocks:
        return Plan(context.now, (), gated.waiting)
    shared = groups(context, asset, partition, blocks)
    waiting = [wait for group in shared for wait in group.aligned.waiting]
    if len(shared) > 1:
        reason = f"cannot be rebuilt in one run: its blocks read {len(shared)} different runs of an aligned inlet"
        waiting.append(Waiting(asset.name, reason, None, blocks))
    if waiting:
        return Plan(context.now, (), tuple(waiting))
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        blocks=blocks,
        schedule_date=context.now,
        reason=", ".join([_reason(asset, partition, blocks, lost), *shared[0].aligned.notes]),
        interval=(blocks.first, blocks.last),
        pins={**context.pins(asset, state, blocks), **shared[0].aligned.pins},
        rebuilds=True,
    )
    left = tuple(wait for wait in gated.waiting if wait.blocks is not None and wait.blocks - blocks)
    return Plan(context.now, (PlannedRun.of(request, asset=asset, state=state),), left)


def _reason(asset: AssetSpec, partition: TimePartition, blocks: RangeSet, lost: RangeSet) -> str:
    count = partition.count(blocks)
    said = f"rebuild of {plural(count, 'partition')} in one commit"
    if count > limit_of(asset):
        said += f", whatever max_partitions_per_run ({limit_of(asset)})"
    if lost:
        said += f"; {labels(lost, partition)} from what is left of the inlets"
    return said


def _refusal(asset: AssetSpec, partition: TimePartition, lost: RangeSet, waiting: tuple[Waiting, ...]) -> Waiting:
    why = next((wait.reason for wait in waiting if wait.blocks is not None and wait.blocks & lost), "")
    reason = f"a rebuild would lose {labels(lost, partition)}, which cannot be computed again: {why}"
    return Waiting(asset.name, f"{reason} (--force computes them from what is left)", None, lost)
