"""What is known of an asset's blocks: wanted, missing, stale, failed."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.state import AssetState, FailedBlocks
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.bounds import within
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.wanted import wanted
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen


@frozen
class Pending:
    """What is known of an asset's blocks.

    Attributes:
        wanted: All that should be there and is over.
        later: Wanted, but not over yet.
        missing: Wanted and never computed.
        holes: Missing, and all that it needs never was there.
        ahead: Not wanted before more comes than is there.
        stale: Per inlet, computed from something that changed since.
        all_stale: Stale for any reason.
        failed: Failed in this invocation, without a new cause since.
    """

    wanted: PartitionSet
    later: PartitionSet
    missing: PartitionSet
    holes: PartitionSet
    ahead: PartitionSet
    stale: Mapping[str, PartitionSet]
    all_stale: PartitionSet
    failed: PartitionSet
    error: str

    @property
    def due(self) -> PartitionSet:
        """What is missing or stale."""
        return self.missing | self.all_stale


def pending(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Pending:
    """What is wanted of the asset now, and what of it is missing or stale."""
    partitioning = asset.partitioning
    all_wanted, over = wanted(context, asset, state), context.over(partitioning)
    blocks, later = all_wanted.blocks & over, all_wanted.blocks - over
    have = partitioning.inside(state.coverage)
    missing = blocks - have
    stale = _stale(asset, state, have & within(asset)) if state.stale else {}
    failed, error = _failed(context, asset, state)
    all_stale = PartitionSet.union(stale.values())
    return Pending(
        blocks, later, missing, all_wanted.holes & missing, all_wanted.ahead, stale, all_stale, failed, error
    )


def meant(context: PlanningContext, asset: AssetSpec, state: AssetState, blocks: PartitionSet) -> PartitionSet:
    """The blocks that keys mean: ``blocks``, of which ``*`` in place of time are those that are wanted or there.

    Everything, which no key means, stays, and so does what is of a source.
    """
    if blocks.is_everything or asset.source is not None or asset.partitioning.can_list(blocks):
        return blocks
    found = pending(context, asset, state)
    return blocks & (found.wanted | found.later | asset.partitioning.inside(state.coverage))


def _stale(asset: AssetSpec, state: AssetState, have: PartitionSet) -> dict[str, PartitionSet]:
    """Per inlet, those of the blocks that are there which were computed from something that changed since."""
    names = [inlet.name for inlet in asset.inlets.values() if inlet.on_update == "rerun" and inlet.name in state.stale]
    found = {name: asset.partitioning.cover(state.stale[name].parts() & have) for name in names}
    return {name: blocks for name, blocks in found.items() if blocks}


def _failed(context: PlanningContext, asset: AssetSpec, state: AssetState) -> tuple[PartitionSet, str]:
    """What failed in this invocation and has no new cause since, and why the first of that did."""
    failed, error = NOTHING, ""
    for item in state.failed:
        if item.invocation == context.invocation and not item.blocks.is_everything:
            fresh = PartitionSet.union(marks.since(item.token).parts() for marks in state.stale.values())
            newer = _newer(context, asset, state, item)
            failed = failed | (NOTHING if newer else asset.partitioning.cover(item.blocks - fresh))
            error = error or item.error
    return failed, error


def _newer(context: PlanningContext, asset: AssetSpec, state: AssetState, failed: FailedBlocks) -> bool:
    """Whether all that failed has a cause that the failed run did not have: a tick, or an update of everything."""
    mapped = {inlet.uri for inlet in asset.inlets.values() if context.dependency(asset, inlet).is_mapped}
    for uri in state.spec.named:
        newest = context.state.dataset(uri).recent[-1:]
        if newest and newest[0].seq > failed.token and not (uri in mapped and not newest[0].parts.is_everything):
            return True
    ticks = (each.last_at(instant(context.now)) for each in asset.schedule.clocks())
    return any(tick is not None and unix(tick.run_after) > failed.planned for tick in ticks)
