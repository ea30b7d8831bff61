"""Words for single partitions as a grid: time down, segments across, with equal rows and columns merged."""

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
"""The word of a partition that was given none."""

_WordSpans = tuple[tuple[int, int, str], ...]
"""Words of one tuple of segments: disjoint stretches of time, ascending, each with its word."""


@frozen
class GridRow:
    """A stretch of time in which every column keeps its word.

    Attributes:
        label: Keys of its partitions, ``A..B`` or ``A``; empty without a dimension of time.
        count: Number of its partitions in one tuple.
        words: One for each column; `NO_WORD` where a column has none.
    """

    label: str
    count: int
    words: tuple[str, ...]


@frozen
class PartitionGrid:
    """Words for partitions.

    Attributes:
        columns: Groups of tuples with equal words in all rows, as keys; ascending by the first.
        rows: Oldest first; time without any word has no row.
    """

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[GridRow, ...]


def build_partition_grid(partitioning: Partitioning, words: Iterable[tuple[PartitionSet, str]]) -> PartitionGrid:
    """Builds the grid of (partitions, word); each partition has at most one word.

    Takes time by the stretches of the distinct tuples, not by partitions.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> both = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b", "c")),))
    >>> grid = build_partition_grid(both, [(both.parse("2025-01-01..2025-01-03"), "there"),
    ...     (both.parse("2025-01-04,b"), "late")])
    >>> grid.columns, [(row.label, row.words) for row in grid.rows]
    ((('a', 'c'), ('b',)), [('2025-01-01..2025-01-03', ('there', 'there')), ('2025-01-04', ('', 'late'))])
    """
    segments_by_spans: defaultdict[_WordSpans, list[Segment]] = defaultdict(list)
    for segment, stretches in _spans_by_tuple(partitioning, words):
        segments_by_spans[stretches].append(segment)
    groups = sorted(segments_by_spans.items(), key=lambda each: each[1][0])
    columns = tuple(tuple(",".join(map(encode_segment, segment)) for segment in segments) for _, segments in groups)
    return PartitionGrid(columns, tuple(_build_rows(partitioning, [stretches for stretches, _ in groups])))


def _spans_by_tuple(
    partitioning: Partitioning, words: Iterable[tuple[PartitionSet, str]]
) -> list[tuple[Segment, _WordSpans]]:
    """(tuple, its words by stretch of time), ascending by tuple."""
    spans: defaultdict[Segment, list[tuple[int, int, str]]] = defaultdict(list)
    for parts, word in words:
        for segment, ranges in partitioning.by_tuple(parts):
            spans[segment] += [(start, end, word) for start, end in ranges.pairs()]
    return [(segment, tuple(sorted(spans[segment]))) for segment in sorted(spans)]


def _build_rows(partitioning: Partitioning, columns: Sequence[_WordSpans]) -> Iterator[GridRow]:
    """Yields the rows of a grid with these columns, oldest first."""
    time = partitioning.time
    for start, end, words in _merge_columns(columns):
        if time is None:
            yield GridRow("", 1, words)
        else:
            stretch = RangeSet.span(start, end)
            yield GridRow(time.labels(stretch)[0], time.count(stretch), words)


def _merge_columns(columns: Sequence[_WordSpans]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yields (start, end, the word of each column) for each stretch of time in which no word changes, ascending.

    Stretches in which no column has a word are left out.
    """
    words = [NO_WORD] * len(columns)
    stretch_start, previous_words = 0, tuple(words)
    changes = list(merge(*(_word_changes(column_index, column) for column_index, column in enumerate(columns))))
    for i, (instant, _, column_index, word) in enumerate(changes):
        words[column_index] = word
        if changes[i + 1 : i + 2] and changes[i + 1][0] == instant:
            continue  # all changes at one instant count together
        current_words = tuple(words)
        if current_words != previous_words:
            if any(previous_words):
                yield stretch_start, instant, previous_words
            stretch_start, previous_words = instant, current_words


def _word_changes(column_index: int, column: _WordSpans) -> Iterator[tuple[int, int, int, str]]:
    """Yields (instant, 0 or 1, column number, word) for each change of a column's word.

    The 0 of an end sorts it before the 1 of a beginning at the same instant, so that the new word stays.
    """
    for start, end, word in column:
        yield start, 1, column_index, word
        yield end, 0, column_index, NO_WORD
