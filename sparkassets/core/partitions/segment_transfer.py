"""Sets of partitions carried from one asset's tuples of segments to another's, by the dimensions that match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkassets.core.partitions.partition_set import PartitionSet, union_by_segment
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.segment_matching import SegmentLink
from sparkassets.core.partitions.segments import SegmentPartition, segment_tuples

_NEVER = RangeSet()


def transfer_segments(
    parts: PartitionSet, have: Partitioning, want: Partitioning, links: Sequence[SegmentLink]
) -> PartitionSet:
    """The tuples of ``want`` that agree with one of ``parts`` in all matched dimensions, with the time of these.

    Of a dimension that only one side has, each of its known keys counts, and no other.

    Args:
        parts: The time of each tuple stays as it is.
        have: Of the tuples of ``parts``.
        want: Of those that are returned.
        links: In the order of ``want``.
    """
    for link in links:
        if link.keys is not None:
            parts, have = _map_keys(parts, have, want, link)
    order = [link.have for link in links]
    if len(links) == len(have.segments) == len(want.segments):
        if order == sorted(order):
            return parts
        moved = {_pick_columns(segment, order): time for segment, time in parts.apart}
        return PartitionSet.by_segment(moved, parts.time)
    loses, gains = len(links) < len(have.segments), len(links) < len(want.segments)
    if loses:
        times, others = _union_by_columns(parts, have, order), _NEVER
    else:
        times, others = {_pick_columns(segment, order): time for segment, time in parts.apart}, parts.time
    if not want.segments:
        return PartitionSet(times.get((), others))
    if not gains:
        return PartitionSet.by_segment(times, others)
    shared = [link.want for link in links]
    return PartitionSet.by_segment(
        {segment: times.get(_pick_columns(segment, shared), others) for segment in segment_tuples(want.segments)}
    )


def _map_keys(
    parts: PartitionSet, have: Partitioning, want: Partitioning, link: SegmentLink
) -> tuple[PartitionSet, Partitioning]:
    """The parts with the keys of one dimension replaced by those that they lead to; what leads nowhere is left out."""
    keys, at = link.keys or {}, link.have
    apart = dict(parts.apart)
    times = ((segment, apart.get(segment, parts.time)) for segment in {*segment_tuples(have.segments), *apart})
    made = union_by_segment(
        ((*segment[:at], key, *segment[at + 1 :]), time)
        for segment, time in times
        if time
        for key in keys.get(segment[at], ())
    )
    reached = sorted({key for others in keys.values() for key in others})
    dimension = SegmentPartition(want.segments[link.want].column, tuple(reached))
    segments = (*have.segments[:at], dimension, *have.segments[at + 1 :])
    return PartitionSet.by_segment(made), replace(have, segments=segments)


def _union_by_columns(parts: PartitionSet, have: Partitioning, order: Sequence[int]) -> Mapping[Segment, RangeSet]:
    """The time of all known tuples that agree in those columns, together."""
    apart = dict(parts.apart)
    return union_by_segment(
        (_pick_columns(segment, order), apart.get(segment, parts.time)) for segment in segment_tuples(have.segments)
    )


def _pick_columns(segment: Segment, order: Sequence[int]) -> Segment:
    return tuple(segment[i] for i in order)
