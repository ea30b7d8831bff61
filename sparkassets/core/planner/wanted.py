"""What is wanted of a partitioned asset: every block that needs, by its mapping, something that is or was there.

All within the asset's bounds. Without mapped inlets it is the time from the last complete interval to now (DESIGN
section 4, Defaults).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.bounds import possible, within
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.refusals import refusals, said_of
from sparkassets.core.planner.require import newest, refused_blocks, required
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec, InletSpec


@dataclass(frozen=True, slots=True)
class Wanted:
    """The blocks that should be there.

    Attributes:
        blocks: All, whether they are over or not.
        holes: Those of them that need nothing which ever was there, but lie between others that do.
        ahead: Blocks that need something which is there and lack what is newer than all that is; not among the others.
    """

    blocks: RangeSet
    holes: RangeSet = RangeSet()  # noqa: RUF009 - immutable
    ahead: RangeSet = RangeSet()  # noqa: RUF009


def wanted(context: PlanningContext, asset: AssetSpec, partition: TimePartition, state: AssetState) -> Wanted:
    """All that should be there."""
    inlets = [inlet for inlet in asset.inlets.values() if inlet.mapping is not None]
    bounds = within(asset, partition)
    if not inlets:
        return Wanted(_by_time(context, asset, partition, state) & bounds)
    parts = [_needing(context, inlet, partition) & bounds for inlet in inlets]
    needing = RangeSet.union(parts)
    missing = needing - state.coverage
    ahead = _ahead(context, asset, partition, missing) if missing else missing
    if all(len(blocks.starts) <= 1 for blocks in parts):
        return Wanted(needing - ahead, RangeSet(), ahead)
    between = RangeSet.of((blocks.first, blocks.last) for blocks in parts if len(blocks) > 1)
    return Wanted((needing | between) - ahead, between - needing, ahead)


def _by_time(context: PlanningContext, asset: AssetSpec, partition: TimePartition, state: AssetState) -> RangeSet:
    """From the start on, or from what was computed first (and may be lost), or the last partition that is over."""
    over = context.over(partition)
    if asset.start is not None:
        return RangeSet.span(partition.ceil(asset.start), over)
    ever = state.coverage if state.loss is None else state.coverage | (state.loss.ranges or RangeSet())
    first = partition.floor(ever.first) if ever else partition.previous(over)
    return RangeSet.span(first, over)


def _needing(context: PlanningContext, inlet: InletSpec, partition: TimePartition) -> RangeSet:
    """The blocks that need a partition of the inlet which is or was there."""
    up = context.project.assets[inlet.name].partition
    ever = context.dataset(inlet).ever & possible(context.project, inlet.name)
    if inlet.mapping is None or up is None or not ever:
        return RangeSet()
    return inlet.mapping.down(ever, down=partition, up=up)


def _ahead(context: PlanningContext, asset: AssetSpec, partition: TimePartition, missing: RangeSet) -> RangeSet:
    """Those of the blocks after the newest partition of all inlets that ``require`` keeps from running."""
    last = newest(context, asset)
    blocks = missing.clip(partition.ceil(last), None) if last is not None else RangeSet()
    ahead = RangeSet()
    for inlet in asset.inlets.values() if blocks else ():
        if inlet.mapping is not None:
            ahead = ahead | refused_blocks(context, asset, inlet, blocks - ahead)[0]
    return ahead


def lacks_the_newest(context: PlanningContext, asset: AssetSpec, ahead: RangeSet) -> tuple[Waiting, ...]:
    """Why blocks that are ahead wait, quietly."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values() if ahead else ():
        if inlet.mapping is not None:
            refused = refused_blocks(context, asset, inlet, ahead)[0]
            waiting += [replace(said, quiet=True) for said in refusals(context, asset, inlet, refused) if refused]
            ahead = ahead - refused
    return tuple(waiting)


def fills_nothing(context: PlanningContext, asset: AssetSpec, holes: RangeSet) -> tuple[Waiting, ...]:
    """Why a hole waits: nothing that it needs ever was there."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values() if holes else ():
        lacking = required(context, asset, inlet, holes) - context.dataset(inlet).coverage
        down, up = asset.partition, context.project.assets[inlet.name].partition
        if lacking and inlet.mapping is not None and down is not None and up is not None:
            behind = inlet.mapping.down(lacking, down=down, up=up) & holes
            waiting.append(said_of(context, asset, inlet, behind))
            holes = holes - behind
    return tuple(waiting)


def left_out(
    context: PlanningContext, asset: AssetSpec, partition: TimePartition, blocks: RangeSet
) -> tuple[Waiting, ...]:
    """What the asset's start asks for although no inlet has anything of it: nothing could be computed from nothing."""
    if asset.start is None or not blocks:
        return ()
    before = RangeSet.span(partition.ceil(asset.start), blocks.first) & possible(context.project, asset.name)
    inlets = [inlet.name for inlet in asset.inlets.values() if inlet.mapping is not None]
    if not before or not inlets:
        return ()
    names = listing(inlets)
    begins = "begins" if len(inlets) == 1 else "begin"
    reason = f"before the first partition of {names}; declare `start` where {names} {begins}"
    return (Waiting(asset.name, reason, None, before, quiet=True),)
