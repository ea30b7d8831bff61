"""A rebuild: all of a partitioned table computed in one run, whose columns take the place of the table's.

Readers see the old table or the new one, so it is one commit, however many blocks there are.
"""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.alignment import Group, groups
from sparkassets.core.planner.batch import limit_of
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.gates import gate
from sparkassets.core.planner.pending import pending
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.slots import in_the_way
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec


def plan_rebuild(context: PlanningContext, asset: AssetSpec, *, force: bool) -> Plan:
    """The one run that computes every block that the table has or should have, or why there can be none.

    A block that the table has and that could not be computed now, as what it was computed from is no longer there, or
    its segment not listed any more, would lose its rows: that is refused, unless by ``force``. A block that it never
    had waits as ever.
    """
    state = context.state_of(asset)
    have = asset.partitioning.inside(held_time(state))
    if (before := in_the_way(context, asset, state, have, whole=True)) is not None:
        return before
    found, unlisted = pending(context, asset, state), asset.partitioning.unknown(have)
    gated = gate(context, asset, (have - unlisted) | (found.wanted - found.holes))
    lost, blocks = have - gated.ready, have | gated.ready
    if lost and not force:
        return Plan(context.now, (), (_refusal(asset, lost, gated.waiting),))
    if not blocks:
        return Plan(context.now, (), gated.waiting)
    shared = groups(context, asset, blocks)
    if waiting := _apart(asset, shared, blocks):
        return Plan(context.now, (), waiting)
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        blocks=blocks,
        schedule_date=context.now,
        reason=", ".join([_reason(asset, blocks, lost), *shared[0].aligned.notes]),
        interval=asset.partitioning.interval(blocks),
        pins={**context.pins(asset, state, blocks), **shared[0].aligned.pins},
        rebuilds=True,
        accepted=found.held.accepted & blocks,
    )
    left = tuple(wait for wait in gated.waiting if wait.blocks - blocks)
    return Plan(context.now, (PlannedRun.of(request, asset=asset, state=state),), left)


def held_time(state: AssetState) -> PartitionSet:
    """The time that the table has rows of, by whichever partitions they were computed, as far as it can be told."""
    former = state.former
    if former is None or former.coverage.is_everything or not state.spec.partitioning.understands(former.partitioning):
        return state.coverage
    return state.coverage | former.coverage


def _apart(asset: AssetSpec, shared: tuple[Group, ...], blocks: PartitionSet) -> tuple[Waiting, ...]:
    """Why aligned inlets keep all blocks from being one run; nothing where they do not."""
    waiting = [wait for group in shared for wait in group.aligned.waiting]
    if len(shared) > 1:
        reason = f"cannot be rebuilt in one run: its blocks read {len(shared)} different runs of an aligned inlet"
        waiting.append(Waiting(asset.name, reason, None, blocks))
    return tuple(waiting)


def _reason(asset: AssetSpec, blocks: PartitionSet, lost: PartitionSet) -> str:
    count = asset.partitioning.count(blocks)
    said = f"rebuild of {plural(count, 'partition')} in one commit"
    if count > limit_of(asset):
        said += f", whatever max_partitions_per_run ({limit_of(asset)})"
    if lost:
        said += f"; {labels(lost, asset.partitioning)} from what is left of the inlets"
    return said


def _refusal(asset: AssetSpec, lost: PartitionSet, waiting: tuple[Waiting, ...]) -> Waiting:
    why = next((wait.reason for wait in waiting if wait.blocks.overlaps(lost)), "it is not listed any more")
    which = labels(lost, asset.partitioning)
    reason = f"a rebuild would lose {which}, which cannot be computed again: {why}"
    return Waiting(asset.name, f"{reason} (--force computes them from what is left)", None, lost)
