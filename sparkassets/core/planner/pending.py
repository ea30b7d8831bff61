"""What is known of an asset's blocks: wanted, missing, stale, failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.state import AssetState, FailedBlocks
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.bounds import within
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.wanted import wanted
from sparkassets.core.spec.model import AssetSpec


@dataclass(frozen=True, slots=True)
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

    wanted: RangeSet
    later: RangeSet
    missing: RangeSet
    holes: RangeSet
    ahead: RangeSet
    stale: Mapping[str, RangeSet]
    all_stale: RangeSet
    failed: RangeSet
    error: str

    @property
    def due(self) -> RangeSet:
        """What is missing or stale."""
        return self.missing | self.all_stale


def pending(context: PlanningContext, asset: AssetSpec, partition: TimePartition, state: AssetState) -> Pending:
    """What is wanted of the asset now, and what of it is missing or stale."""
    over = context.over(partition)
    all_wanted = wanted(context, asset, partition, state)
    blocks, later = all_wanted.blocks.clip(None, over), all_wanted.blocks.clip(over, None)
    have = partition.inside(state.coverage)
    bounded = have & within(asset, partition)
    rerun = [inlet.name for inlet in asset.inlets.values() if inlet.on_update == "rerun" and inlet.name in state.stale]
    stale = {name: partition.cover(state.stale[name].ranges() & bounded) for name in rerun}
    failed, error = RangeSet(), ""
    tried = [item for item in state.failed if item.invocation == context.invocation]
    marks = [mark for stamped in state.stale.values() for mark in stamped.items()] if tried else []
    for item in tried:
        if item.ranges is not None:
            fresh = RangeSet.of((start, end) for start, end, seq in marks if seq > item.token)
            still = RangeSet() if _newer(context, asset, state, item) else partition.cover(item.ranges - fresh)
            failed, error = failed | still, error or item.error
    stale = {name: blocks for name, blocks in stale.items() if blocks}
    missing = blocks - have
    holes, all_stale = all_wanted.holes & missing, RangeSet.union(stale.values())
    return Pending(blocks, later, missing, holes, all_wanted.ahead, stale, all_stale, failed, error)


def _newer(context: PlanningContext, asset: AssetSpec, state: AssetState, failed: FailedBlocks) -> bool:
    """Whether all that failed has a cause that the failed run did not have: a tick, or an update of everything."""
    mapped = {inlet.uri for inlet in asset.inlets.values() if inlet.mapping is not None}
    for uri in state.spec.named:
        newest = context.state.dataset(uri).recent[-1:]
        if newest and newest[0].seq > failed.token and not (uri in mapped and newest[0].ranges):
            return True
    condition, timetable = asset.schedule.condition, asset.schedule.timetable
    clocks = [leaf.timetable for leaf in condition.times()] if condition is not None else []
    ticks = (each.last_at(instant(context.now)) for each in (*clocks, *([timetable] if timetable is not None else [])))
    return any(tick is not None and unix(tick.run_after) > failed.planned for tick in ticks)
