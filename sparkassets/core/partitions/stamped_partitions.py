"""Partitions with the time of each one's newest update, and sets of them that only grow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import lt
from typing import Generic, TypeVar

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import (
    MANY,
    LiftedValue,
    OneSidedRule,
    Segment,
    SegmentFunction,
    combine_values,
    map_values,
    value_at,
)
from sparkassets.frozen import frozen

Item = tuple[int, int, int]


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
        return self._splice(ranges, lambda start, end, items: _fill_stamp(start, end, items, stamp))

    def without_stamped(self, ranges: RangeSet, through: int) -> StampedRanges:
        """Removes the stamps of at most ``through`` in ``ranges``."""
        return self._splice(ranges, lambda _start, _end, items: [item for item in items if item[2] > through])

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

    def _splice(self, ranges: RangeSet, inside: Callable[[int, int, Sequence[Item]], Iterable[Item]]) -> StampedRanges:
        """Replaces the items in each of ``ranges`` by ``inside(start, end, items)``, given those items cut to it.

        Examines only the items in ``ranges``, and copies slices of the others.
        """
        builder = _RangeBuilder()
        i, done = 0, _BEFORE  # the first item that is not copied wholly, and up to where all of them are
        for start, end in ranges.pairs():
            first = bisect_right(self.ends, start, i)
            builder.copy(self, i, first, since=done)
            after = bisect_left(self.starts, end, first)
            if first < after and self.starts[first] < start:
                builder.add((max(self.starts[first], done), start, self.stamps[first]))
            cut = zip(self.starts[first:after], self.ends[first:after], self.stamps[first:after], strict=True)
            for item in inside(start, end, [(max(low, start), min(high, end), stamp) for low, high, stamp in cut]):
                builder.add(item)
            i = after - 1 if first < after and self.ends[after - 1] > end else after
            done = end
        builder.copy(self, i, len(self), since=done)
        return builder.result()


_BEFORE = -(1 << 63)


class _RangeBuilder:
    """Builds `StampedRanges` from ascending items; joins neighbours with the same stamp."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._stamps: list[int] = []

    def add(self, item: Item) -> None:
        start, end, stamp = item
        if self._ends and self._ends[-1] == start and self._stamps[-1] == stamp:
            self._ends[-1] = end
        else:
            self._starts.append(start)
            self._ends.append(end)
            self._stamps.append(stamp)

    def copy(self, items: StampedRanges, low: int, high: int, *, since: int) -> None:
        """Adds a slice of items, the first of them from ``since`` on."""
        if low < high:
            self.add((max(items.starts[low], since), items.ends[low], items.stamps[low]))
            self._starts += items.starts[low + 1 : high]
            self._ends += items.ends[low + 1 : high]
            self._stamps += items.stamps[low + 1 : high]

    def result(self) -> StampedRanges:
        return StampedRanges(tuple(self._starts), tuple(self._ends), tuple(self._stamps))


def _fill_stamp(start: int, end: int, items: Iterable[Item], stamp: int) -> Iterator[Item]:
    """Yields ``[start, end)`` with this stamp, or the greater stamp of an item in it."""
    for low, high, old in items:
        if start < low:
            yield start, low, stamp
        yield low, high, max(old, stamp)
        start = high
    if start < end:
        yield start, end, stamp


def _join_items(items: Iterable[Item]) -> StampedRanges:
    """The value of disjoint, ascending items."""
    builder = _RangeBuilder()
    for item in items:
        builder.add(item)
    return builder.result()


_MANY = 64
"""For more ranges at once everything is rebuilt: moving the rest of the list for each of them would take longer."""


class GrowingRanges:
    """A mutable `RangeSet`."""

    def __init__(self, ranges: RangeSet) -> None:
        self._set(ranges)

    def add(self, ranges: RangeSet) -> None:
        """Adds the ranges."""
        if len(ranges) > _MANY:
            self._set(self.result() | ranges)
            return
        for start, end in ranges.pairs():
            low = bisect_left(self._ends, start)
            high = bisect_right(self._starts, end, low)
            if low < high:
                self._starts[low:high] = [min(start, self._starts[low])]
                self._ends[low:high] = [max(end, self._ends[high - 1])]
            else:
                self._starts.insert(low, start)
                self._ends.insert(low, end)

    def remove(self, ranges: RangeSet) -> None:
        """Removes the ranges."""
        if ranges:
            self._set(self.result() - ranges)

    def result(self) -> RangeSet:
        """The immutable value."""
        return RangeSet(tuple(self._starts), tuple(self._ends))

    def _set(self, ranges: RangeSet) -> None:
        self._starts, self._ends = list(ranges.starts), list(ranges.ends)


class GrowingStamps:
    """Mutable `StampedRanges`."""

    def __init__(self, marks: StampedRanges) -> None:
        self._set(marks)

    def overlay(self, ranges: RangeSet, stamp: int) -> None:
        """Adds the stamp to ``ranges``; where there is a stamp already, the greater one stays."""
        if len(ranges) > _MANY:
            self._set(self.result().overlay(ranges, stamp))
            return
        for start, end in ranges.pairs():
            # including neighbours that touch the range: it may have to be joined with them
            low = bisect_left(self._ends, start)
            high = bisect_right(self._starts, end, low)
            new = self._slice(low, high).overlay(RangeSet.span(start, end), stamp)
            self._starts[low:high], self._ends[low:high], self._stamps[low:high] = new.starts, new.ends, new.stamps

    def result(self) -> StampedRanges:
        """The immutable value."""
        return self._slice(0, len(self._starts))

    def _slice(self, low: int, high: int) -> StampedRanges:
        return StampedRanges(tuple(self._starts[low:high]), tuple(self._ends[low:high]), tuple(self._stamps[low:high]))

    def _set(self, marks: StampedRanges) -> None:
        self._starts, self._ends, self._stamps = list(marks.starts), list(marks.ends), list(marks.stamps)


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
            lefts=OneSidedRule.ASKED if parts.time else OneSidedRule.KEPT,
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
            lefts=OneSidedRule.ASKED if parts.time else OneSidedRule.KEPT,
            rights=OneSidedRule.ASKED if self.time else OneSidedRule.LOST,
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
        merged = GrowingStamps(self.time)
        for start, end, stamp in {item for _, marks in self.apart for item in marks.items()}:
            merged.overlay(RangeSet.span(start, end), stamp)
        return merged.result()

    def stamps_of(self, segment: Segment) -> StampedRanges:
        """The stamped time of one tuple; assets partitioned by time alone have the empty tuple."""
        return value_at((self.time, self.apart), segment)

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
        usual = _by_stamp(self.time)
        apart: dict[int, dict[Segment, RangeSet]] = defaultdict(dict)
        for segment, marks in self.apart:
            found = _by_stamp(marks)
            for stamp in usual.keys() | found.keys():
                apart[stamp][segment] = found.get(stamp, RangeSet())
        for stamp in sorted(usual.keys() | apart.keys()):
            yield PartitionSet.by_segment(apart[stamp], usual.get(stamp)), stamp

    def __bool__(self) -> bool:
        return bool(self.time.stamps or self.apart)


def _by_stamp(marks: StampedRanges) -> dict[int, RangeSet]:
    """The time of each stamp."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for start, end, stamp in marks.items():
        pairs[stamp].append((start, end))
    return {stamp: RangeSet.from_pairs(found) for stamp, found in pairs.items()}


_SHARE = 8
"""Changing one tuple takes as long as copying this number of them."""

V = TypeVar("V")
G = TypeVar("G")


class _GrowingFunction(Generic[V, G]):
    """A mutable function of a tuple of segments; tuples that no change touches are neither examined nor copied.

    ``grow`` makes a mutable copy of a value, and ``done`` the immutable value of that.
    """

    def __init__(self, value: SegmentFunction[V], *, grow: Callable[[V], G], done: Callable[[G], V]) -> None:
        usual, self._apart = value
        self._grow, self._done = grow, done
        self._usual = grow(usual)
        self._touched: dict[Segment, G] = {}

    def is_small_beside(self, parts: PartitionSet) -> bool:
        """Whether so many tuples change that rebuilding everything is faster, as many tuples share a time."""
        return len(parts.apart) >= MANY and len(parts.apart) * _SHARE > len(self._apart) + len(self._touched)

    def change(self, parts: PartitionSet, do: Callable[[G, RangeSet], None]) -> None:
        """Calls ``do`` for the value of every tuple, with the tuple's time in ``parts``."""
        for segment, _ in parts.apart:
            self._touch(segment)
        if not parts.time:
            for segment, ranges in parts.apart:
                do(self._touched[segment], ranges)
            return
        for segment, _ in self._apart:
            self._touch(segment)
        for segment, growing in self._touched.items():
            do(growing, parts.time_of(segment))
        do(self._usual, parts.time)

    def result(self) -> SegmentFunction[V]:
        """The immutable function."""
        usual = self._done(self._usual)
        same: dict[V, V] = {}
        values = ((segment, self._done(self._touched[segment])) for segment in sorted(self._touched))
        touched = tuple((segment, same.setdefault(value, value)) for segment, value in values)
        return combine_values(_second, (usual, self._apart), (usual, touched), lefts=OneSidedRule.KEPT)

    def _touch(self, segment: Segment) -> None:
        if segment not in self._touched:
            self._touched[segment] = self._grow(value_at((self._done(self._usual), self._apart), segment))


class GrowingPartitions:
    """A mutable `PartitionSet`."""

    def __init__(self, parts: PartitionSet) -> None:
        self._begin(parts)

    def add(self, parts: PartitionSet) -> None:
        """Adds the partitions."""
        if self._growing.is_small_beside(parts):
            self._begin(self.result() | parts)
        else:
            self._growing.change(parts, GrowingRanges.add)

    def remove(self, parts: PartitionSet) -> None:
        """Removes the partitions."""
        if self._growing.is_small_beside(parts):
            self._begin(self.result() - parts)
        else:
            self._growing.change(parts, GrowingRanges.remove)

    def result(self) -> PartitionSet:
        """The immutable set; the original object where nothing changed.

        >>> growing = GrowingPartitions(PartitionSet.span(0, 5))
        >>> growing.add(PartitionSet.span(5, 9))
        >>> growing.result() == PartitionSet.span(0, 9)
        True
        """
        result = PartitionSet(*self._growing.result())
        return self._before if result == self._before else result

    def _begin(self, parts: PartitionSet) -> None:
        self._before = parts
        self._growing = _GrowingFunction((parts.time, parts.apart), grow=GrowingRanges, done=GrowingRanges.result)


class GrowingStampedPartitions:
    """Mutable `StampedPartitions`."""

    def __init__(self, marks: StampedPartitions) -> None:
        self._begin(marks)

    def overlay(self, parts: PartitionSet, stamp: int) -> None:
        """Adds the stamp to ``parts``; where there is a stamp already, the greater one stays."""
        if self._growing.is_small_beside(parts):
            self._begin(self.result().overlay(parts, stamp))
        else:
            self._growing.change(parts, lambda growing, ranges: growing.overlay(ranges, stamp))

    def result(self) -> StampedPartitions:
        """The immutable value.

        >>> growing = GrowingStampedPartitions(StampedPartitions())
        >>> growing.overlay(PartitionSet.span(0, 5), 7)
        >>> growing.result().newest
        7
        """
        return StampedPartitions(*self._growing.result())

    def _begin(self, marks: StampedPartitions) -> None:
        self._growing = _GrowingFunction[StampedRanges, GrowingStamps](
            (marks.time, marks.apart), grow=GrowingStamps, done=GrowingStamps.result
        )


def _second(_: V, new: V) -> V:
    return new
