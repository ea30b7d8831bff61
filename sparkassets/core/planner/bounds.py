"""What an asset can ever have, by what is declared: nothing that is inferred waives a requirement.

A declared ``start`` or ``end`` carries on through the mappings: what an asset can never have, by the bounds of all
before it, is not required of it. Of several inlets each makes possible what it can bring (DESIGN section 4, Defaults).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sparkassets.core.instants import DAY
from sparkassets.core.partitions import PartitionMapping, RangeSet, TimePartition
from sparkassets.core.spec.model import AssetSpec, ProjectSpec

_ALWAYS = RangeSet.always()
_FAR = 20 * 366 * DAY
"""So much time behind an edge stands for all of it: where blocks begin or end to map follows from the edge alone."""


def within(asset: AssetSpec, partition: TimePartition) -> RangeSet:
    """The time of the partitions that the asset's own bounds allow: they begin at ``start`` or after, before ``end``.

    The rule of schedules: no interval begins before ``start``, and none at ``end`` or after.
    """
    if asset.start is None and asset.end is None:
        return _ALWAYS
    first = _ALWAYS.first if asset.start is None else partition.ceil(asset.start)
    last = _ALWAYS.last if asset.end is None else partition.ceil(asset.end)
    return RangeSet.span(first, last)


def possible(project: ProjectSpec, name: str) -> RangeSet:
    """The time that a partitioned asset can ever have; all of time where nothing bounds it."""
    return _possible(_Same(project)).get(name, _ALWAYS)


def mapped(mapping: PartitionMapping, ranges: RangeSet, *, down: TimePartition, up: TimePartition) -> RangeSet:
    """The blocks that need some of ``ranges`` of the inlet, which may be open at either side."""
    return RangeSet.union(_mapped(mapping, start, end, down=down, up=up) for start, end in ranges.pairs())


def _mapped(mapping: PartitionMapping, start: int, end: int, *, down: TimePartition, up: TimePartition) -> RangeSet:
    since, until = start > _ALWAYS.first, end < _ALWAYS.last
    if since and until:
        return mapping.down(RangeSet.span(start, end), down=down, up=up)
    if since:
        return RangeSet.span(mapping.down(RangeSet.span(start, start + _FAR), down=down, up=up).first, end)
    if until:
        return RangeSet.span(start, mapping.down(RangeSet.span(end - _FAR, end), down=down, up=up).last)
    return _ALWAYS


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A project by its identity: it never changes, and comparing it would cost more than it saves."""

    project: ProjectSpec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.project is self.project

    def __hash__(self) -> int:
        return id(self.project)


@lru_cache(maxsize=4)
def _possible(same: _Same) -> Mapping[str, RangeSet]:
    """By asset, of those that are bounded; upstream first."""
    found: dict[str, RangeSet] = {}
    for asset in same.project.assets.values():
        down = asset.partition
        if down is None:
            continue
        able = within(asset, down)
        brought = [
            mapped(inlet.mapping, found.get(inlet.name, _ALWAYS), down=down, up=up)
            for inlet in asset.inlets.values()
            if inlet.mapping is not None and (up := same.project.assets[inlet.name].partition) is not None
        ]
        if brought:
            able = able & RangeSet.union(brought)
        if able != _ALWAYS:
            found[asset.name] = able
    return found
