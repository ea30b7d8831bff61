"""Sets of partitions as JSON, and back: everything is null, time alone pairs of Unix seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.sets import EVERYTHING, PartitionSet

Plain = Mapping[str, Any] | Sequence[Sequence[int]] | None


def parts_to(parts: PartitionSet) -> Plain:
    """JSON that `parts_from` reads back.

    >>> parts_to(PartitionSet.span(0, 9)), parts_to(EVERYTHING)
    ([[0, 9]], None)
    """
    if parts.is_everything:
        return None
    if not parts.apart:
        return _pairs(parts.time)
    return {"time": _pairs(parts.time), "apart": [[list(segment), _pairs(time)] for segment, time in parts.apart]}


def parts_from(plain: Plain) -> PartitionSet:
    """The set of `parts_to`."""
    if plain is None:
        return EVERYTHING
    if isinstance(plain, Mapping):
        apart = {tuple(segment): RangeSet.of(map(tuple, pairs)) for segment, pairs in plain["apart"]}
        return PartitionSet.by_segment(apart, RangeSet.of(map(tuple, plain["time"])))
    return PartitionSet.of_time((start, end) for start, end in plain)


def _pairs(time: RangeSet) -> list[list[int]]:
    return [[start, end] for start, end in time.pairs()]
