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
"""(key of the consumer, keys of the inlet that it needs) pairs; both ascending."""


@frozen(array_like=True)
class SegmentMatch:
    """A segment dimension of the consumer, and the inlet's dimension that it matches.

    Attributes:
        column: Column of the consumer's dimension.
        inlet: Column of the inlet's dimension.
        keys: The inlet's keys that each of the consumer's keys needs; a key that is not in it needs nothing. None where
            each key needs the key of its own name.
    """

    column: str
    inlet: str
    keys: KeyMap | None = None


@frozen
class SegmentLink:
    """One matched dimension in a transfer of tuples from one side to the other.

    Attributes:
        have, want: Its position in the given tuples, and in the resulting ones.
        keys: Given key to the resulting ones; None where each key stays the same.
    """

    have: int
    want: int
    keys: Mapping[str, Sequence[str]] | None = None


def match_by_column(consumer: Partitioning, inlet: Partitioning) -> tuple[SegmentMatch, ...]:
    """The matches of dimensions with the same column, in the order of the inlet; column names ignore case."""
    return tuple(
        SegmentMatch(ours.column, theirs.column)
        for theirs in inlet.segments
        for ours in consumer.segments
        if ours.same_column(theirs)
    )


def segment_links(
    matches: Sequence[SegmentMatch], consumer: Partitioning, inlet: Partitioning, *, up: bool
) -> list[SegmentLink]:
    """The links from the consumer's tuples to the inlet's (``up``), or back, ascending by position in the result."""
    ours, theirs = _positions(consumer), _positions(inlet)
    found = []
    for match in matches:
        down, other = ours[match.column.lower()], theirs[match.inlet.lower()]
        keys = match.keys if up or match.keys is None else invert_keys(match.keys)
        have, want = (down, other) if up else (other, down)
        found.append(SegmentLink(have, want, None if keys is None else dict(keys)))
    return sorted(found, key=lambda link: link.want)


def invert_keys(keys: KeyMap) -> KeyMap:
    """The map in the other direction: for each of the inlet's keys, the consumer's keys that need it.

    >>> invert_keys((("apac", ("jp",)), ("emea", ("de", "jp"))))
    (('de', ('emea',)), ('jp', ('apac', 'emea')))
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, others in keys:
        for other in others:
            found[other].append(key)
    return tuple((key, tuple(sorted(found[key]))) for key in sorted(found))


def _positions(partitioning: Partitioning) -> dict[str, int]:
    """Position of each segment dimension in a tuple, by lower-case column."""
    return {each.column.lower(): i for i, each in enumerate(partitioning.segments)}


_NEVER = RangeSet()


def transfer_segments(
    parts: PartitionSet, have: Partitioning, want: Partitioning, links: Sequence[SegmentLink]
) -> PartitionSet:
    """The tuples of ``want`` that agree with a tuple of ``parts`` in all matched dimensions, with the time of these.

    A dimension that only one side has takes part with its known keys, and no others.

    Args:
        parts: Partitions by tuple of ``have``; the time of each tuple stays as it is.
        have: Partitioning of the given tuples.
        want: Partitioning of the resulting tuples.
        links: Matched dimensions, ascending by position in the result.
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
    """Replaces the keys of one dimension by the keys that they lead to; returns the set and its new partitioning.

    A key that leads nowhere is dropped, one that leads to several keys is copied for each.
    """
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
    """The united time of all known tuples that agree in the columns at the positions ``order``."""
    apart = dict(parts.apart)
    return union_by_segment(
        (_pick_columns(segment, order), apart.get(segment, parts.time)) for segment in segment_tuples(have.segments)
    )


def _pick_columns(segment: Segment, order: Sequence[int]) -> Segment:
    """The tuple of the values at these positions."""
    return tuple(segment[i] for i in order)
