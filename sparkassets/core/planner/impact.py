"""What an update reaches: the assets after it, and their partitions that it makes stale, all the way down."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.spec.model import AssetSpec

Reached = dict[str, PartitionSet]
"""Asset to its partitions; everything for the whole of one, or where which ones cannot be told."""


def impact(context: PlanningContext, updated: Mapping[str, PartitionSet]) -> Reached:
    """What comes after an update of these partitions, upstream first; without themselves.

    An inlet with ``on_update: ignore`` ends the way, and so does a timetable of an asset without partitions. Only
    partitions that are over, within the asset's bounds.
    """
    reached: Reached = dict(updated)
    for asset in context.project.assets.values():
        if asset.name not in updated and asset.source is None:
            blocks = _reached(context, asset, reached)
            if blocks:
                reached[asset.name] = blocks
    return {name: blocks for name, blocks in reached.items() if name not in updated}


def _reached(context: PlanningContext, asset: AssetSpec, reached: Reached) -> PartitionSet:
    """What of an asset is out of date after all that came before it."""
    uris = {context.project.assets[name].uri for name in reached}
    causes = [inlet for inlet in asset.inlets.values() if inlet.uri in uris and inlet.on_update == "rerun"]
    if not asset.partitioning.is_partitioned:
        follows = asset.schedule.timetable is None and (causes or _awaits(context, asset, uris))
        return EVERYTHING if follows else NOTHING
    needs = [(context.dependency(asset, inlet), reached.get(inlet.name, EVERYTHING)) for inlet in causes]
    if any(not needed.is_mapped or changed.is_everything for needed, changed in needs):
        return EVERYTHING
    blocks = PartitionSet.union(needed.down(changed) for needed, changed in needs) & context.over(asset.partitioning)
    return asset.partitioning.inside(blocks.clip(asset.start, asset.end))


def _awaits(context: PlanningContext, asset: AssetSpec, uris: set[str]) -> bool:
    """Whether its condition names one of these datasets."""
    condition = asset.schedule.condition
    return condition is not None and any(context.uri(leaf) in uris for leaf in condition.leaves())
