"""What an update reaches: the assets after it, and their partitions that it makes stale, all the way down."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec

Reached = dict[str, RangeSet | None]
"""Asset to its partitions; None for the whole of one, or where which ones cannot be told."""


def impact(context: PlanningContext, updated: Mapping[str, RangeSet | None]) -> Reached:
    """What comes after an update of these partitions (None: of the whole asset), upstream first; without themselves.

    An inlet with ``on_update: ignore`` ends the way, and so does a timetable of an asset without partitions. Only
    partitions that are over, within the asset's bounds.
    """
    reached: Reached = dict(updated)
    for asset in context.project.assets.values():
        if asset.name in updated or asset.source is not None:
            continue
        uris = {context.project.assets[name].uri for name in reached}
        causes = [inlet for inlet in asset.inlets.values() if inlet.uri in uris and inlet.on_update == "rerun"]
        if asset.partition is None:
            if asset.schedule.timetable is None and (causes or _awaits(context, asset, uris)):
                reached[asset.name] = None
        elif causes:
            blocks = _blocks(context, asset.partition, causes, reached)
            if blocks is None or blocks:
                reached[asset.name] = blocks and asset.partition.inside(blocks.clip(asset.start, asset.end))
    return {name: blocks for name, blocks in reached.items() if name not in updated}


def _blocks(
    context: PlanningContext, down: TimePartition, causes: list[InletSpec], reached: Reached
) -> RangeSet | None:
    found = RangeSet()
    for inlet in causes:
        changed, up = reached.get(inlet.name), context.project.assets[inlet.name].partition
        if inlet.mapping is None or up is None or changed is None:
            return None
        found = found | inlet.mapping.down(changed, down=down, up=up)
    return found.clip(None, context.over(down))


def _awaits(context: PlanningContext, asset: AssetSpec, uris: set[str]) -> bool:
    """Whether its condition names one of these datasets."""
    condition = asset.schedule.condition
    return condition is not None and any(context.uri(leaf) in uris for leaf in condition.leaves())
