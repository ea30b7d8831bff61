"""What is wanted of a partitioned asset: every block that needs, by its mapping, something that is or was there.

All within the asset's bounds. Without inlets that tell its time it is that from the last complete interval to now
(DESIGN section 4, Defaults), of the segments that its inlets tell. Where the gates of all these inlets let a block run
without them (``require: none``, or a ``tolerance`` that is over), it is wanted once its own interval is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, Dependency, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.refusals import refusals, said_of
from sparkassets.core.planner.require import newest, refused_blocks, required
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen


@frozen
class Wanted:
    """The blocks that should be there.

    Attributes:
        blocks: All, whether they are over or not.
        holes: Those of them that need nothing which ever was there, but lie between others that do.
        ahead: Blocks that need something which is there and lack what is newer than all that is; not among the others.
    """

    blocks: PartitionSet
    holes: PartitionSet = NOTHING
    ahead: PartitionSet = NOTHING


def wanted(context: PlanningContext, asset: AssetSpec, state: AssetState, bounds: PartitionSet) -> Wanted:
    """All that should be there, of what the asset's own bounds allow."""
    needs = [(inlet, context.dependency(asset, inlet)) for inlet in asset.inlets.values()]
    telling = [
        _Telling(inlet, need, _needing(context, inlet, need) & bounds) for inlet, need in needs if need.tells_time
    ]
    if not telling:
        whose = [_needing(context, inlet, need) for inlet, need in needs if need.is_mapped] or [bounds]
        return Wanted(_by_time(context, asset, state) & bounds & PartitionSet.union(whose))
    needing = PartitionSet.union([each.parts for each in telling])
    needing = needing | (_without_inlets(context, asset, state, telling) & bounds)
    missing = needing - state.coverage
    ahead = _ahead(context, asset, missing)
    if needing.is_one_stretch:  # nothing is between
        return Wanted(needing - ahead, ahead=ahead)
    between = _between(telling) & bounds & _fillable(context, telling)
    holes = between - needing
    return Wanted((needing | holes) - ahead, holes, ahead)


@frozen
class _Telling:
    """An inlet that tells the time of blocks, how they depend on it, and those that need something of it."""

    inlet: InletSpec
    need: Dependency
    parts: PartitionSet


def _without_inlets(
    context: PlanningContext, asset: AssetSpec, state: AssetState, telling: Sequence[_Telling]
) -> PartitionSet:
    """The blocks that are over and that the gates of all inlets which tell their time let run without these.

    From the asset's start on, or from the first block that was computed or needs something which is there.
    """
    inlets = [each.inlet for each in telling]
    if asset.partitioning.time is None or not all(each.is_dispensable for each in inlets):
        return NOTHING
    known = state.ever | PartitionSet.union([each.parts for each in telling])
    since = asset.start if asset.start is not None else known.first if known else None
    if since is None:
        return NOTHING
    blocks = asset.partitioning.between(since, None) & context.over(asset.partitioning)
    for inlet in inlets:
        blocks = blocks - refused_blocks(context, asset, inlet, blocks)[0]
    return blocks


def _between(telling: Sequence[_Telling]) -> PartitionSet:
    """All from the first block to the last that needs something of an inlet; rows by values leave no gaps."""
    return PartitionSet.union([each.need.hull(each.parts) for each in telling if each.inlet.view is None])


def _fillable(context: PlanningContext, telling: Sequence[_Telling]) -> PartitionSet:
    """The blocks that need something of these inlets which is not skipped; everything where nothing is."""
    if not context.waived:
        return EVERYTHING
    return PartitionSet.union([each.need.down(context.possible(each.inlet.name)) for each in telling])


def mapped_inlets(context: PlanningContext, asset: AssetSpec) -> list[InletSpec]:
    """The inlets of which each block needs some partitions."""
    return [inlet for inlet in asset.inlets.values() if context.dependency(asset, inlet).is_mapped]


def _by_time(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """From the start on, or from what was computed first (and may be lost), or the last partition that is over."""
    partitioning, over = asset.partitioning, context.over(asset.partitioning)
    if asset.start is not None:
        return partitioning.between(asset.start, None) & over
    since = partitioning.cover(state.ever or partitioning.last_over(context.now))
    return partitioning.between(since.first, None) & over if since else NOTHING  # no segment is known yet


def _needing(context: PlanningContext, inlet: InletSpec, need: Dependency) -> PartitionSet:
    """The blocks that need a partition of the inlet which is or was there."""
    return need.down(context.dataset(inlet).ever & context.possible_of(inlet))


def _ahead(context: PlanningContext, asset: AssetSpec, missing: PartitionSet) -> PartitionSet:
    """Those of the blocks after the newest partition of all inlets that ``require`` keeps from running."""
    last = newest(context, asset) if missing else None
    blocks = missing & asset.partitioning.between(last, None) if last is not None else NOTHING
    ahead = NOTHING
    for inlet in mapped_inlets(context, asset) if blocks else ():
        ahead = ahead | refused_blocks(context, asset, inlet, blocks - ahead)[0]
    return ahead


def lacks_the_newest(context: PlanningContext, asset: AssetSpec, ahead: PartitionSet) -> tuple[Waiting, ...]:
    """Why blocks that are ahead wait, quietly."""
    waiting: list[Waiting] = []
    for inlet in mapped_inlets(context, asset) if ahead else ():
        refused = refused_blocks(context, asset, inlet, ahead)[0]
        waiting += [replace(said, quiet=True) for said in refusals(context, asset, inlet, refused) if refused]
        ahead = ahead - refused
    return tuple(waiting)


def fills_nothing(context: PlanningContext, asset: AssetSpec, holes: PartitionSet) -> tuple[Waiting, ...]:
    """Why a hole waits: nothing that it needs ever was there."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values() if holes else ():
        lacking = required(context, asset, inlet, holes) - context.dataset(inlet).coverage
        if lacking:
            behind = context.dependency(asset, inlet).down(lacking) & holes
            waiting.append(said_of(context, asset, inlet, behind))
            holes = holes - behind
    return tuple(waiting)


def left_out(context: PlanningContext, asset: AssetSpec, blocks: PartitionSet) -> tuple[Waiting, ...]:
    """What the asset's start asks for although no inlet has anything of it: nothing could be computed from nothing."""
    if asset.start is None:
        return ()
    inlets = [inlet.name for inlet in mapped_inlets(context, asset)] if blocks else []
    before = asset.partitioning.between(asset.start, None) & blocks.prior() if inlets else NOTHING
    before = before & context.possible(asset.name)
    if not before:
        return ()
    names = listing(inlets)
    begins = "begins" if len(inlets) == 1 else "begin"
    reason = f"before the first partition of {names}; declare `start` where {names} {begins}"
    return (Waiting(asset.name, reason, None, before, quiet=True),)
