"""How the segments of two assets match, and the transfer of sets from one to the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkassets.core.partitions.partition_set import PartitionSet, union_by_segment
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.segments import SegmentPartition, segment_tuples
from sparkassets.frozen import frozen

KeyMap = tuple[tuple[str, tuple[str, ...]], ...]
"""The inlet's keys that each of the consumer's keys needs; both ascending."""


@frozen(array_like=True)
class SegmentMatch:
    """A dimension of the consumer and the one of the inlet that it goes by.

    Attributes:
        column: Of the consumer.
        inlet: Of the inlet.
        keys: A key of the consumer that is not there needs nothing. None where each needs the key of its own name.
    """

    column: str
    inlet: str
    keys: KeyMap | None = None


@frozen
class SegmentLink:
    """Where matched dimensions are in the tuples on both sides of a way, and what keys lead to.

    Attributes:
        have, want: Positions in the tuples that are carried, and that they are carried to.
        keys: Each key to those that it leads to; None where each leads to itself.
    """

    have: int
    want: int
    keys: Mapping[str, Sequence[str]] | None = None


def match_by_column(consumer: Partitioning, inlet: Partitioning) -> tuple[SegmentMatch, ...]:
    """The matches of dimensions of the same column, in the order of the inlet; Spark's names know no case."""
    return tuple(
        SegmentMatch(ours.column, theirs.column)
        for theirs in inlet.segments
        for ours in consumer.segments
        if ours.same_column(theirs)
    )


def segment_links(
    matches: Sequence[SegmentMatch], consumer: Partitioning, inlet: Partitioning, *, up: bool
) -> list[SegmentLink]:
    """The way from partitions to what they need (``up``), or back, in the order of what they are carried to."""
    ours, theirs = _positions(consumer), _positions(inlet)
    found = []
    for match in matches:
        down, other = ours[match.column.lower()], theirs[match.inlet.lower()]
        keys = match.keys if up or match.keys is None else invert_keys(match.keys)
        have, want = (down, other) if up else (other, down)
        found.append(SegmentLink(have, want, None if keys is None else dict(keys)))
    return sorted(found, key=lambda link: link.want)


def invert_keys(keys: KeyMap) -> KeyMap:
    """The same the other way round.

    >>> invert_keys((("apac", ("jp",)), ("emea", ("de", "jp"))))
    (('de', ('emea',)), ('jp', ('apac', 'emea')))
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, others in keys:
        for other in others:
            found[other].append(key)
    return tuple((key, tuple(sorted(found[key]))) for key in sorted(found))


def _positions(partitioning: Partitioning) -> dict[str, int]:
    return {each.column.lower(): i for i, each in enumerate(partitioning.segments)}


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
