"""Times and partitions that each carry a number, such as the journal sequence that made them stale."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import lt
from typing import TypeVar

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import (
    LiftedValue,
    OneSidedRule,
    Segment,
    combine_values,
    map_values,
)
from sparkassets.frozen import frozen

Item = tuple[int, int, int]
"""(start, end, stamp) of one range, Unix seconds."""


@frozen
class StampedRanges:
    """Disjoint half-open ranges, each with a stamp; neighbours that touch have different stamps.

    Attributes:
        starts, ends: Unix seconds, ascending.
        stamps: One for each range.
    """

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    stamps: tuple[int, ...] = ()

    def overlay(self, ranges: RangeSet, stamp: int) -> StampedRanges:
        """Adds the stamp to ``ranges``; where there is a stamp already, the greater one stays.

        >>> StampedRanges((0,), (10,), (7,)).overlay(RangeSet.span(5, 15), 8)
        StampedRanges(starts=(0, 5), ends=(5, 15), stamps=(7, 8))
        """
        return self._replace_items(ranges.pairs(), lambda start, end, items: _fill_stamp(start, end, items, stamp))

    def merge(self, other: StampedRanges) -> StampedRanges:
        """Adds the stamps of ``other``; where both have one, the greater one stays.

        >>> StampedRanges((0,), (10,), (7,)).merge(StampedRanges((5, 8), (8, 15), (8, 6)))
        StampedRanges(starts=(0, 5, 8, 10), ends=(5, 8, 10, 15), stamps=(7, 8, 7, 6))
        """
        stamps = iter(other.stamps)
        ranges = zip(other.starts, other.ends, strict=True)
        return self._replace_items(ranges, lambda start, end, items: _fill_stamp(start, end, items, next(stamps)))

    def without_stamped(self, ranges: RangeSet, through: int) -> StampedRanges:
        """Removes the stamps of at most ``through`` in ``ranges``."""
        return self._replace_items(
            ranges.pairs(), lambda _start, _end, items: [item for item in items if item[2] > through]
        )

    def stamped_after(self, after: int) -> StampedRanges:
        """The ranges with a stamp greater than ``after``."""
        if not self.stamps or min(self.stamps) > after:
            return self
        return _join_items(item for item in self.items() if item[2] > after)

    def ranges(self) -> RangeSet:
        """All time with a stamp."""
        if all(map(lt, self.ends, self.starts[1:])):
            return RangeSet(self.starts, self.ends)
        return RangeSet.from_pairs(zip(self.starts, self.ends, strict=True))

    def items(self) -> Iterator[Item]:
        """The ranges as (start, end, stamp), oldest first."""
        return zip(self.starts, self.ends, self.stamps, strict=True)

    def __len__(self) -> int:
        return len(self.starts)

    def _replace_items(
        self, ranges: Iterable[tuple[int, int]], replace_inside: Callable[[int, int, Sequence[Item]], Iterable[Item]]
    ) -> StampedRanges:
        """Replaces the items in each of ``ranges`` by ``replace_inside(start, end, items)``.

        ``items`` are the present ones, cut to the range; ``ranges`` must be disjoint and ascending. Examines only the
        items in ``ranges``, and copies slices of the others.
        """
        builder = _RangeBuilder()
        next_index, copied_to = (
            0,
            _BEFORE,
        )  # the first item not wholly copied, and the instant up to which all is copied
        for start, end in ranges:
            first_index = bisect_right(self.ends, start, next_index)
            builder.copy(self, next_index, first_index, since=copied_to)
            end_index = bisect_left(self.starts, end, first_index)
            # an item that begins before the range keeps its part before it
            if first_index < end_index and max(self.starts[first_index], copied_to) < start:
                builder.add((max(self.starts[first_index], copied_to), start, self.stamps[first_index]))
            clipped = zip(
                self.starts[first_index:end_index],
                self.ends[first_index:end_index],
                self.stamps[first_index:end_index],
                strict=True,
            )
            for item in replace_inside(
                start, end, [(max(low, start), min(high, end), stamp) for low, high, stamp in clipped]
            ):
                builder.add(item)
            # an item that ends after the range is still to be copied from the range's end on
            next_index = end_index - 1 if first_index < end_index and self.ends[end_index - 1] > end else end_index
            copied_to = end
        builder.copy(self, next_index, len(self), since=copied_to)
        return builder.result()


_BEFORE = -(1 << 63)


class _RangeBuilder:
    """Builds `StampedRanges` from ascending items; joins neighbours with the same stamp."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._stamps: list[int] = []

    def add(self, item: Item) -> None:
        """Adds one item, which begins where the last one ends or later."""
        start, end, stamp = item
        if self._ends and self._ends[-1] == start and self._stamps[-1] == stamp:
            self._ends[-1] = end
        else:
            self._starts.append(start)
            self._ends.append(end)
            self._stamps.append(stamp)

    def copy(self, items: StampedRanges, low: int, high: int, *, since: int) -> None:
        """Adds the items at positions ``low`` to ``high``, exclusive; the first of them cut to begin at ``since``."""
        if low < high:
            self.add((max(items.starts[low], since), items.ends[low], items.stamps[low]))
            self._starts += items.starts[low + 1 : high]
            self._ends += items.ends[low + 1 : high]
            self._stamps += items.stamps[low + 1 : high]

    def result(self) -> StampedRanges:
        return StampedRanges(tuple(self._starts), tuple(self._ends), tuple(self._stamps))


def _fill_stamp(start: int, end: int, items: Iterable[Item], stamp: int) -> Iterator[Item]:
    """Yields ``[start, end)`` with this stamp, except where an item in it has a greater one."""
    for low, high, old in items:
        if start < low:
            yield start, low, stamp
        yield low, high, max(old, stamp)
        start = high
    if start < end:
        yield start, end, stamp


def _join_items(items: Iterable[Item]) -> StampedRanges:
    """Builds the value from disjoint, ascending items."""
    builder = _RangeBuilder()
    for item in items:
        builder.add(item)
    return builder.result()


class StampedPartitions(LiftedValue[StampedRanges]):
    """A function from a tuple of segments to stamped time, the same for all but finitely many tuples.

    Attributes:
        time: The stamped time of every tuple that is not in ``apart``.
        apart: (tuple, stamped time) for tuples with another one; ascending, so that equal functions are equal values.
    """

    __slots__ = ()

    EMPTY = StampedRanges()

    def overlay(self, parts: PartitionSet, stamp: int) -> StampedPartitions:
        """Adds the stamp to ``parts``; where there is a stamp already, the greater one stays.

        >>> StampedPartitions().overlay(PartitionSet.span(0, 10), 7).overlay(PartitionSet.span(5, 15), 8).time
        StampedRanges(starts=(0, 5), ends=(5, 15), stamps=(7, 8))
        """
        if not self.apart and not parts.apart:
            return StampedPartitions(self.time.overlay(parts.time, stamp)) if parts.time else self
        combined = combine_values(
            lambda marks, ranges: marks.overlay(ranges, stamp),
            (self.time, self.apart),
            (parts.time, parts.apart),
            left_rule=OneSidedRule.ASKED if parts.time else OneSidedRule.KEPT,
        )
        return StampedPartitions(*combined)

    @classmethod
    def union(cls, some: Sequence[StampedPartitions]) -> StampedPartitions:
        """All stamps; where several have one, the greatest."""
        return _merge_in_pairs(some, StampedPartitions.merge) if some else cls()

    def merge(self, other: StampedPartitions) -> StampedPartitions:
        """Adds the stamps of ``other``; where both have one, the greater one stays."""
        combined = combine_values(
            StampedRanges.merge,
            (self.time, self.apart),
            (other.time, other.apart),
            left_rule=OneSidedRule.ASKED if other.time else OneSidedRule.KEPT,
            right_rule=OneSidedRule.ASKED if self.time else OneSidedRule.KEPT,
        )
        return StampedPartitions(*combined)

    def without_stamped(self, parts: PartitionSet, through: int) -> StampedPartitions:
        """Removes the stamps of at most ``through`` in ``parts``."""
        if not self.apart and not parts.apart:
            return (
                StampedPartitions(self.time.without_stamped(parts.time, through)) if self.time and parts.time else self
            )
        combined = combine_values(
            lambda marks, ranges: marks.without_stamped(ranges, through),
            (self.time, self.apart),
            (parts.time, parts.apart),
            # tuples that only `parts` lists have stamps to lose only if all tuples have some
            left_rule=OneSidedRule.ASKED if parts.time else OneSidedRule.KEPT,
            right_rule=OneSidedRule.ASKED if self.time else OneSidedRule.LOST,
        )
        return StampedPartitions(*combined)

    def stamped_after(self, after: int) -> StampedPartitions:
        """The partitions with a stamp greater than ``after``."""
        if self.apart:
            return StampedPartitions(*map_values(lambda marks: marks.stamped_after(after), (self.time, self.apart)))
        time = self.time.stamped_after(after)
        return self if time is self.time else StampedPartitions(time)

    def stamped_partitions(self) -> PartitionSet:
        """All partitions with a stamp."""
        if self.apart:
            return PartitionSet(*map_values(StampedRanges.ranges, (self.time, self.apart)))
        return PartitionSet(self.time.ranges())

    def merged_stamps(self) -> StampedRanges:
        """The stamped time of all tuples together; where several have a stamp, the greatest.

        >>> marks = StampedPartitions().overlay(PartitionSet.by_segment({("de",): RangeSet.span(0, 5)}), 7)
        >>> marks.overlay(PartitionSet.by_segment({("nl",): RangeSet.span(0, 9)}), 6).merged_stamps()
        StampedRanges(starts=(0, 5), ends=(5, 9), stamps=(7, 6))
        """
        return _merge_in_pairs(list({self.time, *(marks for _, marks in self.apart)}), StampedRanges.merge)

    @property
    def newest(self) -> int | None:
        """The greatest stamp; None where there is none."""
        stamps = (max(marks.stamps) for marks in (self.time, *(marks for _, marks in self.apart)) if marks)
        return max(stamps, default=None)

    def items(self) -> Iterator[tuple[PartitionSet, int]]:
        """Yields (partitions, stamp) for each stamp, ascending by stamp.

        >>> marks = StampedPartitions().overlay(PartitionSet.span(0, 10), 7).overlay(PartitionSet.span(5, 15), 8)
        >>> [(list(parts.time.pairs()), stamp) for parts, stamp in marks.items()]
        [([(0, 5)], 7), ([(5, 15)], 8)]
        """
        usual = _time_by_stamp(self.time)
        apart: dict[int, dict[Segment, RangeSet]] = defaultdict(dict)
        for segment, marks in self.apart:
            time_by_stamp = _time_by_stamp(marks)
            for stamp in usual.keys() | time_by_stamp.keys():
                apart[stamp][segment] = time_by_stamp.get(stamp, RangeSet())
        for stamp in sorted(usual.keys() | apart.keys()):
            yield PartitionSet.by_segment(apart[stamp], usual.get(stamp)), stamp

    def __bool__(self) -> bool:
        return bool(self.time.stamps or self.apart)


M = TypeVar("M")


def _merge_in_pairs(values: Sequence[M], merge: Callable[[M, M], M]) -> M:
    """Merges all values into one; there must be at least one.

    Merging in pairs copies an item only as often as the logarithm of their number, not once for each value.
    """
    while len(values) > 1:
        merged = [merge(one, other) for one, other in zip(values[::2], values[1::2], strict=False)]
        values = [*merged, *values[2 * len(merged) :]]
    return values[0]


def _time_by_stamp(marks: StampedRanges) -> dict[int, RangeSet]:
    """The time of each stamp, by stamp."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for start, end, stamp in marks.items():
        pairs[stamp].append((start, end))
    return {stamp: RangeSet.from_pairs(stamp_pairs) for stamp, stamp_pairs in pairs.items()}
