"""Ranges of time that each carry a number, such as the journal sequence that made them stale."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import lt

from sparkassets.core.partitions.range_set import RangeSet
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
