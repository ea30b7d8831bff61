"""What is known of an asset's blocks: wanted, missing, stale, failed, withheld."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.state import AssetState, FailedBlocks
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.outdated_code import outdated_partitions
from sparkassets.core.planner.due.suspects import SuspectPartitions
from sparkassets.core.planner.due.triggers import is_due_by_trigger, is_instance_of_tick
from sparkassets.core.planner.due.wanted_partitions import find_wanted
from sparkassets.core.planner.due.withheld_partitions import NOTHING_WITHHELD, WithheldStatus, find_withheld
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen


@frozen
class PendingPartitions:
    """What is known of an asset's blocks.

    Attributes:
        wanted: All that should be there and is over.
        later: Wanted, but not over yet.
        missing: Wanted and never published.
        holes: Missing, and all that it needs never was there.
        ahead: Not wanted before more comes than is there.
        stale: Per inlet, computed from something that changed since.
        redefined: Computed by older code, which `on_code_change` makes stale.
        all_stale: Stale for any reason, which is one of these two or that what took its place is withheld and tried
            again.
        skipped: Not wanted, as somebody said so, of it or of all that it is made of.
        failed: Failed in this invocation, without a new cause since, and is not tried in parts.
        suspects: Failed of its data, without a new cause since, and is tried again.
        held: What was computed and is withheld; what of it rests is neither missing nor stale.
        by_trigger: There, or withheld, and no inlet tells when it is out of date: each tick, or event, makes it due.
    """

    wanted: PartitionSet
    later: PartitionSet
    missing: PartitionSet
    holes: PartitionSet
    beyond_newest: PartitionSet
    stale: Mapping[str, PartitionSet]
    all_stale: PartitionSet
    failed: PartitionSet
    error: str
    suspects: tuple[SuspectPartitions, ...] = ()
    redefined: PartitionSet = NOTHING
    skipped: PartitionSet = NOTHING
    held: WithheldStatus = NOTHING_WITHHELD
    by_trigger: PartitionSet = NOTHING

    @property
    def changed_partitions(self) -> PartitionSet:
        """Stale as an inlet or the code changed, and not only as it was withheld since."""
        return PartitionSet.union([*self.stale.values(), self.redefined])

    @property
    def due_partitions(self) -> PartitionSet:
        """What is missing or stale."""
        return self.missing | self.all_stale


def find_pending(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PendingPartitions:
    """What is wanted of the asset now, and what of it is missing or stale."""
    partitioning = asset.partitioning
    bounds, over = context.allowed_partitions(asset), context.finished_partitions(partitioning)
    all_wanted = find_wanted(context, asset, state, bounds)
    blocks, later = all_wanted.blocks & over, all_wanted.blocks - over
    have, found = partitioning.inside(state.coverage), find_withheld(context, asset, state)
    missing, mine = blocks - have, have & bounds
    if state.withheld:
        missing, mine = missing - found.resting, mine - found.resting
    stale = _stale(asset, state, mine)
    redefined = outdated_partitions(asset, state) & mine
    suspects = _suspects(context, asset, state)
    tried = tuple(each for each in suspects if each.is_tried(partitioning))
    failed = [each for each in suspects if not each.is_retried_whole and not each.is_tried(partitioning)]
    return PendingPartitions(
        wanted=blocks,
        later=later,
        missing=missing,
        holes=all_wanted.holes & missing,
        beyond_newest=all_wanted.ahead,
        stale=stale,
        all_stale=PartitionSet.union(
            [*stale.values(), redefined, found.retried_partitions & mine if state.withheld else NOTHING]
        ),
        held=found,
        failed=PartitionSet.union([each.blocks for each in failed]),
        error=next((each.failure.error for each in failed), ""),
        suspects=tried,
        redefined=redefined,
        skipped=_skipped_partitions(context, asset, state),
        by_trigger=_trigger_due_partitions(context, asset, (have & bounds) | found.resting),
    )


def _trigger_due_partitions(context: PlanningContext, asset: AssetSpec, there: PartitionSet) -> PartitionSet:
    """What of it is there, or withheld, and no inlet tells when it is out of date."""
    return (
        there & context.finished_partitions(asset.partitioning)
        if there and is_due_by_trigger(context, asset)
        else NOTHING
    )


def _skipped_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What of it is skipped, by itself or with all that it is made of."""
    own, partitioning, cut = state.skipped_partitions, asset.partitioning, cut_off_partitions(context, asset, state)
    return (partitioning.inside(own) & partitioning.known_partitions) | cut if own else cut


def cut_off_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What the asset does not have and cannot have, as all that it would be made of is skipped."""
    inherited = context.inherited_skips(asset) if context.waived_partitions else NOTHING
    return (inherited & context.allowed_partitions(asset)) - state.coverage if inherited else inherited


def resolve_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, blocks: PartitionSet
) -> PartitionSet:
    """The blocks that keys mean: ``blocks``, of which ``*`` in place of time are those that are wanted or there.

    Everything, which no key means, stays, and so does what is of a source.
    """
    return (
        blocks
        if blocks.is_everything or asset.source is not None
        else limit_open_partitions(context, asset, state, blocks)
    )


def limit_open_partitions(
    context: PlanningContext, asset: AssetSpec, state: AssetState, blocks: PartitionSet
) -> PartitionSet:
    """The blocks; of what is open in time those that are wanted or there."""
    if asset.partitioning.can_list(blocks):
        return blocks
    found = find_pending(context, asset, state)
    return blocks & (found.wanted | found.later | asset.partitioning.inside(state.coverage))


def _stale(asset: AssetSpec, state: AssetState, have: PartitionSet) -> dict[str, PartitionSet]:
    """Per inlet, those of the blocks that are there which were computed from something that changed since.

    What was appended is never computed again; an instance of segments alone that an update asks for adds to it.
    """
    if not state.stale or not is_computed_again(asset):
        return {}
    names = [inlet.name for inlet in asset.inlets.values() if inlet.on_update == "rerun" and inlet.name in state.stale]
    found = {name: asset.partitioning.cover(state.stale[name].stamped_partitions() & have) for name in names}
    return {name: blocks for name, blocks in found.items() if blocks}


def is_computed_again(asset: AssetSpec) -> bool:
    """Whether what is there is computed again once it is out of date; rows that were appended stay as they are."""
    return asset.write is None or asset.write.recomputable or is_instance_of_tick(asset)


def _suspects(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[SuspectPartitions, ...]:
    """The same at once, of few assets any."""
    return tuple(_failed_suspects(context, asset, state)) if state.failed else ()


def _failed_suspects(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Iterator[SuspectPartitions]:
    """What failed and has no new cause since."""
    for item in state.failed:
        if not item.blocks.is_everything and not _is_updated_since(context, asset, state, item):
            again = item.invocation != context.invocation or _has_ticked_since(asset, item, context.now)
            yield SuspectPartitions(item, _without_cause(asset, state, item), again)


def _without_cause(asset: AssetSpec, state: AssetState, failed: FailedBlocks) -> PartitionSet:
    """Those of what failed that nothing was updated for since."""
    fresh = PartitionSet.union(marks.stamped_after(failed.token).stamped_partitions() for marks in state.stale.values())
    return asset.partitioning.cover(failed.blocks - fresh) & asset.partitioning.known_partitions


def _is_updated_since(context: PlanningContext, asset: AssetSpec, state: AssetState, failed: FailedBlocks) -> bool:
    """Whether all that failed has data that the failed run did not have: after an update of everything."""
    mapped = {inlet.uri for inlet in asset.inlets.values() if context.dependency(asset, inlet).is_mapped}
    for uri in state.spec.named:
        newest = context.state.dataset(uri).recent.newest
        if newest and newest.seq > failed.token and not (uri in mapped and not newest.parts.is_everything):
            return True
    return False


def _has_ticked_since(asset: AssetSpec, failed: FailedBlocks, now: int) -> bool:
    """Whether the schedule asked again since."""
    ticks = (each.last_at(from_unix(now)) for each in asset.schedule.timetables())
    return any(tick is not None and to_unix(tick.run_after) > failed.planned for tick in ticks)
