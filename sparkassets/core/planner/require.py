"""How many of the inlet partitions that a block needs must be there (``require``), and until when (``tolerance``)."""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.partitions import PartitionMapping, RangeSet, TimePartition
from sparkassets.core.planner.bounds import possible
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.counted import having
from sparkassets.core.spec.model import AssetSpec, InletSpec


def refused_blocks(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    blocks: RangeSet,
    due: int | None = None,
    *,
    emptied: bool = False,
) -> tuple[RangeSet, RangeSet]:
    """Those of ``blocks`` that ``require`` keeps from running, and those that it would but for the tolerance."""
    lacking = lacking_blocks(context, asset, inlet, blocks, emptied=emptied)
    tolerated = _tolerated(context, asset, inlet, lacking, due)
    return lacking - tolerated, tolerated


def _tolerated(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: RangeSet, due: int | None
) -> RangeSet:
    """Those of ``refused`` that were waited for long enough, and of which something is there."""
    if not refused or inlet.tolerance is None or asset.partition is None or not context.dataset(inlet).seq:
        return RangeSet()
    if due is not None:
        over = tolerated_until(inlet, due, asset)
        return refused if over is not None and context.now >= over else RangeSet()
    return refused.clip(None, asset.partition.floor((-inlet.tolerance).add_to(context.now, asset.timezone)))


def lacking_blocks(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet, *, emptied: bool = False
) -> RangeSet:
    """Those of ``blocks`` for which ``inlet`` does not have what ``require`` asks.

    What the inlet can never have, by the declared bounds of all before it, is not required of it.
    """
    down, up = asset.partition, context.project.assets[inlet.name].partition
    if inlet.require.kind == "none" or inlet.aligned:  # an aligned inlet waits for its own run
        return RangeSet()
    if inlet.mapping is None or up is None or down is None:
        return RangeSet() if context.dataset(inlet).seq else blocks
    there = counted(context, inlet, up, emptied=emptied)
    mapped = inlet.mapping.up(blocks, down=down, up=up)
    able = mapped & possible(context.project, inlet.name)
    if inlet.require.kind == "all":
        lacking = able - there
        return inlet.mapping.down(lacking, down=down, up=up) & blocks if lacking else RangeSet()
    asked = inlet.mapping.down(able, down=down, up=up) & blocks
    cut = inlet.mapping.down(mapped - able, down=down, up=up) & asked if able != mapped else RangeSet()
    least = max(1, inlet.require.count)
    few = RangeSet.of(_fewer(inlet.mapping, cut, able, there, least, down=down, up=up))
    inner = asked - cut
    return (inner - having(inner, there, least=least, mapping=inlet.mapping, down=down, up=up)) | few


def _fewer(
    mapping: PartitionMapping,
    blocks: RangeSet,
    able: RangeSet,
    there: RangeSet,
    least: int,
    *,
    down: TimePartition,
    up: TimePartition,
) -> Iterator[tuple[int, int]]:
    """Those of the blocks at the inlet's bounds that lack ``least``, or all where it can have fewer."""
    for slot in down.slots(blocks):
        mapped = mapping.up(RangeSet.of([slot]), down=down, up=up) & able
        if up.count(mapped & there) < min(least, up.count(mapped)):
            yield slot


def counted(context: PlanningContext, inlet: InletSpec, up: TimePartition, *, emptied: bool = False) -> RangeSet:
    """Inlet time that counts: it is there, or was removed and does not matter, and its partition is over."""
    dataset = context.dataset(inlet)
    counts = dataset.ever if emptied or inlet.on_removed == "rerun" else dataset.coverage
    return counts.clip(None, context.over(up))


def required(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> RangeSet:
    """The time of a mapped inlet that ``blocks`` need and that it can ever have."""
    down, up = asset.partition, context.project.assets[inlet.name].partition
    if inlet.mapping is None or down is None or up is None:
        return RangeSet()
    return inlet.mapping.up(blocks, down=down, up=up) & possible(context.project, inlet.name)


def updated(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> RangeSet:
    """Those of ``blocks`` for which something of a mapped inlet is there."""
    down, up = asset.partition, context.project.assets[inlet.name].partition
    if inlet.mapping is None or down is None or up is None:
        return RangeSet()
    there = counted(context, inlet, up) & required(context, asset, inlet, blocks)
    return inlet.mapping.down(there, down=down, up=up) & blocks


def newest(context: PlanningContext, asset: AssetSpec) -> int | None:
    """The end of the newest partition that is or was there of any mapped inlet; None before the first."""
    datasets = (context.dataset(inlet) for inlet in asset.inlets.values() if inlet.mapping is not None)
    return max((ranges.last for each in datasets for ranges in (each.coverage, each.gone) if ranges), default=None)


def tolerated_until(inlet: InletSpec, due: int, asset: AssetSpec) -> int | None:
    """When the inlet has been waited for long enough, Unix seconds; None where it is waited for without end."""
    return None if inlet.tolerance is None else inlet.tolerance.add_to(due, asset.timezone)
