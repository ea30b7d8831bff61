"""Splits partitions into chunks of a given number, in the order of time; tuples of the same time stay together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.time_partition import TimePartition

Row = tuple[Segment, RangeSet]
"""A tuple of segments, and its time as whole partitions."""

Slot = tuple[int, int, Segment]
"""One partition: start and end, Unix seconds, and its tuple of segments."""

_STARTS, _ENDS = 1, 0
"""Kinds of edges; an end sorts first, so that a range that begins where another of its tuple ends keeps the tuple."""


def iterate_chunks(rows: Iterable[Row], most: int, *, time: TimePartition | None) -> Iterator[PartitionSet]:
    """Yields all partitions of ``rows``, oldest first and then by tuple, in consecutive chunks of at most ``most``.

    Takes time by the chunks that are consumed and their tuples and ranges, not by their partitions.

    Args:
        rows: Each tuple once.
        most: At least 1.
        time: The dimension of time; None where all of a tuple's time is one partition.
    """
    chunk: list[tuple[Segment, tuple[int, int]]] = []
    room = most
    for low, high, segments in _merge_rows(rows):
        start = low
        while start < high:
            if len(segments) <= room:  # as many whole slots as fit, each with all tuples
                end = _chunk_end(start, high, room // len(segments), time=time)
                parts = [segments]
            else:  # one slot, whose tuples fill this chunk and further ones
                end = _chunk_end(start, high, 1, time=time)
                part_starts = range(room, len(segments), most)
                parts = [segments[i:j] for i, j in zip((0, *part_starts), (*part_starts, None), strict=True)]
            for part in parts:
                room -= len(part) * (1 if time is None else time.count(RangeSet.span(start, end)))
                chunk += [(segment, (start, end)) for segment in part]
                if not room:
                    yield PartitionSet.from_slots(chunk)
                    chunk, room = [], most
            start = end
    if chunk:
        yield PartitionSet.from_slots(chunk)


def iterate_slots(rows: Iterable[Row], *, time: TimePartition | None) -> Iterator[Slot]:
    """Yields the partitions of ``rows`` one by one, in the order of `iterate_chunks`."""
    return merge(*(_slots_of_tuple(segment, ranges, time=time) for segment, ranges in rows))


def _slots_of_tuple(segment: Segment, ranges: RangeSet, *, time: TimePartition | None) -> Iterator[Slot]:
    """Yields the partitions of one tuple, oldest first."""
    for start, end in ranges.pairs() if time is None else time.slots(ranges):
        yield start, end, segment


def _merge_rows(rows: Iterable[Row]) -> Iterator[tuple[int, int, list[Segment]]]:
    """Yields (start, end, tuples) for stretches of time that the same tuples have, oldest first; tuples ascending."""
    edges: defaultdict[int, list[tuple[int, Segment]]] = defaultdict(list)
    for segment, ranges in rows:
        for start, end in ranges.pairs():
            edges[start].append((_STARTS, segment))
            edges[end].append((_ENDS, segment))
    present: set[Segment] = set()
    stretch_start = 0
    for edge in sorted(edges):
        if present:
            yield stretch_start, edge, sorted(present)
        for kind, segment in sorted(edges[edge]):
            (present.add if kind == _STARTS else present.discard)(segment)
        stretch_start = edge


def _chunk_end(start: int, high: int, slots: int, *, time: TimePartition | None) -> int:
    """The end of the first ``slots`` slots from ``start`` on, but at most ``high``."""
    return high if time is None else time.oldest(RangeSet.span(start, high), slots).last
