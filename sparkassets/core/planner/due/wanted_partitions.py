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
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirement_reasons import describe_lacking, explain_refused
from sparkassets.core.planner.requirements import newest_input_end, required_partitions, split_refused_partitions
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.frozen import frozen


@frozen
class WantedPartitions:
    """The blocks that should be there.

    Attributes:
        blocks: All, whether they are over or not.
        holes: Those of them that need nothing which ever was there, but lie between others that do.
        ahead: Blocks that need something which is there and lack what is newer than all that is; not among the others.
    """

    blocks: PartitionSet
    holes: PartitionSet = NOTHING
    ahead: PartitionSet = NOTHING


def find_wanted(
    context: PlanningContext, asset: AssetSpec, state: AssetState, bounds: PartitionSet
) -> WantedPartitions:
    """All that should be there, of what the asset's own bounds allow."""
    needs = [(inlet, context.dependency(asset, inlet)) for inlet in asset.inlets.values()]
    telling = [
        _TimingInlet(inlet, need, _partitions_needing(context, inlet, need) & bounds)
        for inlet, need in needs
        if need.tells_time
    ]
    if not telling:
        whose = [_partitions_needing(context, inlet, need) for inlet, need in needs if need.is_mapped] or [bounds]
        return WantedPartitions(_by_time(context, asset, state) & bounds & PartitionSet.union(whose))
    needing = PartitionSet.union([each.parts for each in telling])
    needing = needing | (_without_inlets(context, asset, state, telling) & bounds)
    missing = needing - state.coverage
    ahead = _ahead(context, asset, missing)
    if needing.is_one_stretch:  # nothing is between
        return WantedPartitions(needing - ahead, ahead=ahead)
    between = _between(telling) & bounds & _fillable(context, telling)
    holes = between - needing
    return WantedPartitions((needing | holes) - ahead, holes, ahead)


@frozen
class _TimingInlet:
    """An inlet that tells the time of blocks, how they depend on it, and those that need something of it."""

    inlet: InletSpec
    need: Dependency
    parts: PartitionSet


def _without_inlets(
    context: PlanningContext, asset: AssetSpec, state: AssetState, telling: Sequence[_TimingInlet]
) -> PartitionSet:
    """The blocks that are over and that the gates of all inlets which tell their time let run without these.

    From the asset's start on, or from the first block that was computed or needs something which is there.
    """
    inlets = [each.inlet for each in telling]
    if asset.partitioning.time is None or not all(each.is_dispensable for each in inlets):
        return NOTHING
    known = state.ever_computed | PartitionSet.union([each.parts for each in telling])
    since = asset.start if asset.start is not None else known.first if known else None
    if since is None:
        return NOTHING
    blocks = asset.partitioning.partitions_between(since, None) & context.finished_partitions(asset.partitioning)
    for inlet in inlets:
        blocks = blocks - split_refused_partitions(context, asset, inlet, blocks)[0]
    return blocks


def _between(telling: Sequence[_TimingInlet]) -> PartitionSet:
    """All from the first block to the last that needs something of an inlet; rows by values leave no gaps."""
    return PartitionSet.union([each.need.hull(each.parts) for each in telling if each.inlet.view is None])


def _fillable(context: PlanningContext, telling: Sequence[_TimingInlet]) -> PartitionSet:
    """The blocks that need something of these inlets which is not skipped; everything where nothing is."""
    if not context.waived_partitions:
        return EVERYTHING
    return PartitionSet.union(
        [each.need.affected_partitions(context.possible_partitions(each.inlet.name)) for each in telling]
    )


def mapped_inlets(context: PlanningContext, asset: AssetSpec) -> list[InletSpec]:
    """The inlets of which each block needs some partitions."""
    return [inlet for inlet in asset.inlets.values() if context.dependency(asset, inlet).is_mapped]


def _by_time(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """From the start on, or from what was computed first (and may be lost), or the last partition that is over."""
    partitioning, over = asset.partitioning, context.finished_partitions(asset.partitioning)
    if asset.start is not None:
        return partitioning.partitions_between(asset.start, None) & over
    since = partitioning.cover(state.ever_computed or partitioning.newest_finished(context.now))
    return partitioning.partitions_between(since.first, None) & over if since else NOTHING  # no segment is known yet


def _partitions_needing(context: PlanningContext, inlet: InletSpec, need: Dependency) -> PartitionSet:
    """The blocks that need a partition of the inlet which is or was there."""
    return need.affected_partitions(context.dataset(inlet).ever_present & context.possible_inlet_partitions(inlet))


def _ahead(context: PlanningContext, asset: AssetSpec, missing: PartitionSet) -> PartitionSet:
    """Those of the blocks after the newest partition of all inlets that ``require`` keeps from running."""
    last = newest_input_end(context, asset) if missing else None
    blocks = missing & asset.partitioning.partitions_between(last, None) if last is not None else NOTHING
    ahead = NOTHING
    for inlet in mapped_inlets(context, asset) if blocks else ():
        ahead = ahead | split_refused_partitions(context, asset, inlet, blocks - ahead)[0]
    return ahead


def explain_beyond_newest(context: PlanningContext, asset: AssetSpec, ahead: PartitionSet) -> tuple[Waiting, ...]:
    """Why blocks that are ahead wait, quietly."""
    waiting: list[Waiting] = []
    for inlet in mapped_inlets(context, asset) if ahead else ():
        refused = split_refused_partitions(context, asset, inlet, ahead)[0]
        waiting += [replace(said, quiet=True) for said in explain_refused(context, asset, inlet, refused) if refused]
        ahead = ahead - refused
    return tuple(waiting)


def explain_hole(context: PlanningContext, asset: AssetSpec, holes: PartitionSet) -> tuple[Waiting, ...]:
    """Why a hole waits: nothing that it needs ever was there."""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values() if holes else ():
        lacking = required_partitions(context, asset, inlet, holes) - context.dataset(inlet).coverage
        if lacking:
            behind = context.dependency(asset, inlet).affected_partitions(lacking) & holes
            waiting.append(describe_lacking(context, asset, inlet, behind))
            holes = holes - behind
    return tuple(waiting)


def explain_left_out(context: PlanningContext, asset: AssetSpec, blocks: PartitionSet) -> tuple[Waiting, ...]:
    """What the asset's start asks for although no inlet has anything of it: nothing could be computed from nothing."""
    if asset.start is None:
        return ()
    inlets = [inlet.name for inlet in mapped_inlets(context, asset)] if blocks else []
    before = asset.partitioning.partitions_between(asset.start, None) & blocks.before_first() if inlets else NOTHING
    before = before & context.possible_partitions(asset.name)
    if not before:
        return ()
    names = listing(inlets)
    begins = "begins" if len(inlets) == 1 else "begin"
    reason = f"before the first partition of {names}; declare `start` where {names} {begins}"
    return (Waiting(asset.name, reason, None, before, quiet=True),)
