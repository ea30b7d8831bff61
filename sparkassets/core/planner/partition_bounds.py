"""Finds which partitions an asset can ever have, by declared bounds alone: no inferred bound waives a requirement.

A declared ``start`` or ``end`` carries on through the mappings: partitions that an asset can never have, by the bounds
of its upstream assets, are not required of it. Each of several inlets makes possible the partitions that it can feed
(docs/design/planning.md#what-a-declared-start-waives).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.partitions.memoization import IdentityKey
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec


def partitions_in_bounds(asset: AssetSpec) -> PartitionSet:
    """The partitions that the asset's own bounds allow: they begin at ``start`` or after, before ``end``.

    The rule of schedules: no interval begins before ``start``, and none at ``end`` or after.
    """
    return asset.partitioning.partitions_between(asset.start, asset.end) & asset.reach


def possible_partitions(
    project: ProjectSpec, without: Mapping[str, PartitionSet] = MappingProxyType({})
) -> Mapping[str, PartitionSet]:
    """The partitions that each bounded asset can ever have; an unbounded asset has no entry.

    Args:
        project: The assets with their declared bounds.
        without: By asset, further partitions that it will not have.
    """
    return _possible(IdentityKey(project), tuple(sorted(without.items(), key=lambda item: item[0])))


def _possible_in_bounds(asset: AssetSpec) -> PartitionSet:
    """Partitions within the asset's own bounds; the known ones of discovered segments are no bound."""
    return asset.partitioning.without_open_segments.partitions_between(asset.start, asset.end) & asset.reach


def _brought(inlet: InletSpec, able: Mapping[str, PartitionSet]) -> PartitionSet:
    return EVERYTHING if inlet.view is not None else able.get(inlet.name, EVERYTHING)


@lru_cache(maxsize=4)
def _possible(
    same: IdentityKey[ProjectSpec], without: tuple[tuple[str, PartitionSet], ...]
) -> Mapping[str, PartitionSet]:
    """Possible partitions of the bounded assets, upstream first.

    An asset that can do without an inlet ignores what is skipped of it.
    """
    found: dict[str, PartitionSet] = {}
    skipped = dict(without)
    declared = _possible(same, ()) if skipped else found
    for asset in same.value.assets.values():
        able = _possible_in_bounds(asset) & found.get(asset.maker, EVERYTHING)
        needs = [same.value.dependency(asset, inlet) for inlet in asset.inlets.values()]
        brought = [
            need.affected_partitions(_brought(inlet, declared if inlet.is_dispensable else found))
            for inlet, need in zip(asset.inlets.values(), needs, strict=True)
            if need.is_mapped
        ]
        if brought:
            able = able & PartitionSet.union(brought)
        if asset.name in skipped:
            able = able - skipped[asset.name]
        if not able.is_everything:
            found[asset.name] = able
    return found
