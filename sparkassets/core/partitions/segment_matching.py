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

    given: int
    resulting: int
    keys: Mapping[str, Sequence[str]] | None = None


def match_by_column(consumer: Partitioning, inlet: Partitioning) -> tuple[SegmentMatch, ...]:
    """The matches of dimensions with the same column, in the order of the inlet; column names ignore case."""
    return tuple(
        SegmentMatch(own.column, inlet_dimension.column)
        for inlet_dimension in inlet.segments
        for own in consumer.segments
        if own.same_column(inlet_dimension)
    )


def segment_links(
    matches: Sequence[SegmentMatch], consumer: Partitioning, inlet: Partitioning, *, to_inlet: bool
) -> list[SegmentLink]:
    """The links from the consumer's tuples to the inlet's (``to_inlet``), or back, ascending by resulting position."""
    consumer_positions, inlet_positions = _positions(consumer), _positions(inlet)
    links = []
    for match in matches:
        consumer_position = consumer_positions[match.column.lower()]
        inlet_position = inlet_positions[match.inlet.lower()]
        # keys lead from the consumer to the inlet; None means that both sides have the same keys
        keys = match.keys if to_inlet or match.keys is None else invert_keys(match.keys)
        given, resulting = (consumer_position, inlet_position) if to_inlet else (inlet_position, consumer_position)
        links.append(SegmentLink(given, resulting, None if keys is None else dict(keys)))
    return sorted(links, key=lambda link: link.resulting)


def invert_keys(keys: KeyMap) -> KeyMap:
    """The map in the other direction: for each of the inlet's keys, the consumer's keys that need it.

    >>> invert_keys((("apac", ("jp",)), ("emea", ("de", "jp"))))
    (('de', ('emea',)), ('jp', ('apac', 'emea')))
    """
    inverted: defaultdict[str, list[str]] = defaultdict(list)
    for key, others in keys:
        for other in others:
            inverted[other].append(key)
    return tuple((key, tuple(sorted(inverted[key]))) for key in sorted(inverted))


def _positions(partitioning: Partitioning) -> dict[str, int]:
    """Position of each segment dimension in a tuple, by lower-case column."""
    return {each.column.lower(): i for i, each in enumerate(partitioning.segments)}


_NEVER = RangeSet()


def transfer_segments(
    parts: PartitionSet, given: Partitioning, resulting: Partitioning, links: Sequence[SegmentLink]
) -> PartitionSet:
    """The tuples of ``resulting`` that agree with a tuple of ``parts`` in all matched dimensions, with its time.

    A dimension that only one side has takes part with its known keys, and no others.

    Args:
        parts: Partitions by tuple of ``given``; the time of each tuple stays as it is.
        given: Partitioning of the given tuples.
        resulting: Partitioning of the resulting tuples.
        links: Matched dimensions, ascending by position in the result.
    """
    for link in links:
        if link.keys is not None:
            parts, given = _map_keys(parts, given, resulting, link)
    order = [link.given for link in links]  # by position in the result, the position in the given tuples
    if len(links) == len(given.segments) == len(resulting.segments):  # both have the same dimensions
        if order == sorted(order):
            return parts
        moved = {_pick_columns(segment, order): time for segment, time in parts.apart}
        return PartitionSet.by_segment(moved, parts.time)
    drops_dimensions, adds_dimensions = len(links) < len(given.segments), len(links) < len(resulting.segments)
    # `usual_time` is the time of all tuples that are not in `times`
    if drops_dimensions:
        times, usual_time = _union_by_columns(parts, given, order), _NEVER
    else:
        times, usual_time = {_pick_columns(segment, order): time for segment, time in parts.apart}, parts.time
    if not resulting.segments:
        return PartitionSet(times.get((), usual_time))
    if not adds_dimensions:
        return PartitionSet.by_segment(times, usual_time)
    # a dimension that only the result has takes part with all of its known keys
    shared = [link.resulting for link in links]
    return PartitionSet.by_segment(
        {
            segment: times.get(_pick_columns(segment, shared), usual_time)
            for segment in segment_tuples(resulting.segments)
        }
    )


def _map_keys(
    parts: PartitionSet, given: Partitioning, resulting: Partitioning, link: SegmentLink
) -> tuple[PartitionSet, Partitioning]:
    """Replaces the keys of one dimension by the keys that they lead to; returns the set and its new partitioning.

    A key that leads nowhere is dropped, one that leads to several keys is copied for each.
    """
    keys, index = link.keys or {}, link.given
    # tuples that are not listed must be, as each key leads to other keys
    apart = dict(parts.apart)
    times = ((segment, apart.get(segment, parts.time)) for segment in {*segment_tuples(given.segments), *apart})
    mapped = union_by_segment(
        ((*segment[:index], key, *segment[index + 1 :]), time)
        for segment, time in times
        if time
        for key in keys.get(segment[index], ())
    )
    resulting_keys = sorted({key for others in keys.values() for key in others})
    dimension = SegmentPartition(resulting.segments[link.resulting].column, tuple(resulting_keys))
    segments = (*given.segments[:index], dimension, *given.segments[index + 1 :])
    return PartitionSet.by_segment(mapped), replace(given, segments=segments)


def _union_by_columns(parts: PartitionSet, given: Partitioning, order: Sequence[int]) -> Mapping[Segment, RangeSet]:
    """The united time of all known tuples that agree in the columns at the positions ``order``."""
    apart = dict(parts.apart)
    return union_by_segment(
        (_pick_columns(segment, order), apart.get(segment, parts.time)) for segment in segment_tuples(given.segments)
    )


def _pick_columns(segment: Segment, order: Sequence[int]) -> Segment:
    """The tuple of the values at these positions."""
    return tuple(segment[i] for i in order)
