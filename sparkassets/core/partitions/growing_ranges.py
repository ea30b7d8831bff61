"""Mutable ranges for many additions in a row: an addition examines only what it touches, and copies nothing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.stamped_ranges import StampedRanges

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
