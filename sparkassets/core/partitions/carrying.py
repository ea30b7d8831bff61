"""Sets of partitions carried from one asset's tuples of segments to another's, by the columns that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sparkassets.core.partitions.lifting import Segment
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.segments import tuples
from sparkassets.core.partitions.sets import PartitionSet

_NEVER = RangeSet()


def share(one: Partitioning, other: Partitioning) -> bool:
    """Whether both have a dimension of segments of the same column."""
    return bool(_positions(one, other))


def carried(parts: PartitionSet, have: Partitioning, want: Partitioning) -> PartitionSet:
    """The tuples of ``want`` that agree with one of ``parts`` in all shared columns, with the time of these.

    Of a column that only one side has, each of its known keys counts, and no other.

    Args:
        parts: The time of each tuple stays as it is.
        have: Of the tuples of ``parts``.
        want: Of those that are returned.
    """
    pairs = _positions(have, want)
    order = [i for i, _ in pairs]
    if len(pairs) == len(have.segments) == len(want.segments):
        if order == sorted(order):
            return parts
        moved = {_picked(segment, order): time for segment, time in parts.apart}
        return PartitionSet.by_segment(moved, parts.time)
    loses, gains = len(pairs) < len(have.segments), len(pairs) < len(want.segments)
    if loses:
        times, others = _united(parts, have, order), _NEVER
    else:
        times, others = {_picked(segment, order): time for segment, time in parts.apart}, parts.time
    if not want.segments:
        return PartitionSet(times.get((), others))
    if not gains:
        return PartitionSet.by_segment(times, others)
    shared = [j for _, j in pairs]
    return PartitionSet.by_segment(
        {segment: times.get(_picked(segment, shared), others) for segment in tuples(want.segments)}
    )


def _united(parts: PartitionSet, have: Partitioning, order: Sequence[int]) -> Mapping[Segment, RangeSet]:
    """The time of all known tuples that agree in those columns, together."""
    found: defaultdict[Segment, list[RangeSet]] = defaultdict(list)
    apart = dict(parts.apart)
    for segment in tuples(have.segments):
        found[_picked(segment, order)].append(apart.get(segment, parts.time))
    return {segment: RangeSet.union(times) for segment, times in found.items()}


def _picked(segment: Segment, order: Sequence[int]) -> Segment:
    return tuple(segment[i] for i in order)


def _positions(have: Partitioning, want: Partitioning) -> list[tuple[int, int]]:
    """Where both have the columns that they share, in the order of ``want``."""
    return [
        (i, j)
        for j, wanted in enumerate(want.segments)
        for i, held in enumerate(have.segments)
        if held.same_column(wanted)
    ]
