"""What is so of single partitions, as a grid: time down, segments across, and what is alike told once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Final

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.segments import encode_segment
from sparkassets.frozen import frozen

NO_WORD: Final = ""
"""Of a partition of which nothing was said."""

_WordSpans = tuple[tuple[int, int, str], ...]
"""What is so of one tuple of segments: stretches that do not overlap, ascending, each with its word."""


@frozen
class GridRow:
    """A stretch of time through which nothing changes.

    Attributes:
        label: Its keys, ``A..B`` or ``A``; empty without a dimension of time.
        count: How many partitions of one tuple are in it.
        words: One for each column; `NO_WORD` where there is none.
    """

    label: str
    count: int
    words: tuple[str, ...]


@frozen
class PartitionGrid:
    """Words for partitions.

    Attributes:
        columns: The keys of the tuples of segments that are alike in all rows, ascending by the first.
        rows: Oldest first; of time of which nothing is told there is none.
    """

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[GridRow, ...]


def build_partition_grid(partitioning: Partitioning, told: Iterable[tuple[PartitionSet, str]]) -> PartitionGrid:
    """What is ``told`` of partitions, each of them once, as a grid.

    Takes time by the stretches of the tuples that differ, not by partitions.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> both = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b", "c")),))
    >>> grid = build_partition_grid(both, [(both.parse("2025-01-01..2025-01-03"), "there"),
    ...     (both.parse("2025-01-04,b"), "late")])
    >>> grid.columns, [(row.label, row.words) for row in grid.rows]
    ((('a', 'c'), ('b',)), [('2025-01-01..2025-01-03', ('there', 'there')), ('2025-01-04', ('', 'late'))])
    """
    alike: defaultdict[_WordSpans, list[Segment]] = defaultdict(list)
    for segment, stretches in _spans_by_tuple(partitioning, told):
        alike[stretches].append(segment)
    groups = sorted(alike.items(), key=lambda each: each[1][0])
    columns = tuple(tuple(",".join(map(encode_segment, segment)) for segment in segments) for _, segments in groups)
    return PartitionGrid(columns, tuple(_rows(partitioning, [stretches for stretches, _ in groups])))


def _spans_by_tuple(
    partitioning: Partitioning, told: Iterable[tuple[PartitionSet, str]]
) -> list[tuple[Segment, _WordSpans]]:
    """What is told of each tuple, ascending by tuple."""
    found: defaultdict[Segment, list[tuple[int, int, str]]] = defaultdict(list)
    for parts, word in told:
        for segment, ranges in partitioning.by_tuple(parts):
            found[segment] += [(start, end, word) for start, end in ranges.pairs()]
    return [(segment, tuple(sorted(found[segment]))) for segment in sorted(found)]


def _rows(partitioning: Partitioning, columns: Sequence[_WordSpans]) -> Iterator[GridRow]:
    time = partitioning.time
    for start, end, words in _merge_columns(columns):
        if time is None:
            yield GridRow("", 1, words)
        else:
            stretch = RangeSet.span(start, end)
            yield GridRow(time.labels(stretch)[0], time.count(stretch), words)


def _merge_columns(columns: Sequence[_WordSpans]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Stretches of time through which no column changes, ascending; neighbours that are alike are one."""
    words = [NO_WORD] * len(columns)
    begun, before = 0, tuple(words)
    moves = list(merge(*(_word_changes(number, column) for number, column in enumerate(columns))))
    for i, (at, _, number, word) in enumerate(moves):
        words[number] = word
        if moves[i + 1 : i + 2] and moves[i + 1][0] == at:
            continue
        now = tuple(words)
        if now != before:
            if any(before):
                yield begun, at, before
            begun, before = at, now


def _word_changes(number: int, column: _WordSpans) -> Iterator[tuple[int, int, int, str]]:
    """Where a column's word changes: the end of a stretch before the beginning of the next."""
    for start, end, word in column:
        yield start, 1, number, word
        yield end, 0, number, NO_WORD
