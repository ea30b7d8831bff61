"""Sets of half-open ranges of integers, also open-ended ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sparkassets.core.instants import DAY
from sparkassets.frozen import frozen

_PAST = -(1 << 62)
_FUTURE = 1 << 62


@frozen
class RangeSet:
    """A set of instants, as the fewest half-open ranges.

    The algebra walks the operand with fewer ranges and copies slices of the other, so that it is linear.

    Attributes:
        starts, ends: Unix seconds, of equal length and ascending; no range is empty, touches or overlaps another.
    """

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> RangeSet:
        """The union of ``[start, end)`` pairs in any order; a pair that ends before it starts is empty.

        >>> RangeSet.from_pairs([(5, 7), (1, 3), (3, 4)])
        RangeSet(starts=(1, 5), ends=(4, 7))
        """
        starts: list[int] = []
        ends: list[int] = []
        covered_to = _PAST - 1  # before any start, so that the first pair opens a range
        for start, end in sorted(pairs):
            if start >= end:
                continue
            if start > covered_to:
                starts.append(start)
                ends.append(end)
                covered_to = end
            elif end > covered_to:
                ends[-1] = covered_to = end
        return cls(tuple(starts), tuple(ends))

    @classmethod
    def always(cls) -> RangeSet:
        """All of time."""
        return cls((_PAST,), (_FUTURE,))

    @classmethod
    def union(cls, sets: Iterable[RangeSet]) -> RangeSet:
        """The union of the sets; the same object where all that are not empty are equal to the first."""
        nonempty = [each for each in sets if each.starts]
        if not nonempty:
            return _EMPTY
        first = nonempty[0]
        others = [each for each in nonempty if each is not first and not each._equals(first)]  # noqa: SLF001 - of this class
        return cls.from_pairs(pair for each in (first, *others) for pair in each.pairs()) if others else first

    @classmethod
    def span(cls, start: int, end: int) -> RangeSet:
        """The one range ``[start, end)``; empty unless ``start < end``."""
        return cls((start,), (end,)) if start < end else cls()

    @property
    def first(self) -> int:
        """The start of the first range; an empty set has none (IndexError)."""
        return self.starts[0]

    @property
    def last(self) -> int:
        """The end of the last range; an empty set has none (IndexError)."""
        return self.ends[-1]

    @property
    def is_bounded(self) -> bool:
        """Whether it is bounded at both sides; an empty set is not."""
        return bool(self.starts) and self.starts[0] > _PAST and self.ends[-1] < _FUTURE

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The ranges as (start, end), oldest first."""
        return zip(self.starts, self.ends, strict=True)

    def clip(self, start: int | None, end: int | None) -> RangeSet:
        """The part of the set in ``[start, end)``; None is open."""
        if not self.starts or ((start is None or start <= self.starts[0]) and (end is None or self.ends[-1] <= end)):
            return self
        return self & RangeSet.span(_PAST if start is None else start, _FUTURE if end is None else end)

    def first_instant_from(self, unix: int) -> int | None:
        """The first instant of the set at ``unix`` or later; None where there is none."""
        i = bisect_right(self.ends, unix)
        return max(self.starts[i], unix) if i < len(self.starts) else None

    def covers(self, other: RangeSet) -> bool:
        """Whether every instant of ``other`` is in this set."""
        for start, end in other.pairs():
            i = bisect_right(self.starts, start) - 1  # the only range that can hold `start`
            if i < 0 or self.ends[i] < end:
                return False
        return True

    def overlaps(self, other: RangeSet) -> bool:
        """Whether some instant is in both."""
        few, many = (self, other) if len(self) <= len(other) else (other, self)
        for start, end in few.pairs():
            i = bisect_right(many.ends, start)
            if i < len(many) and many.starts[i] < end:
                return True
        return False

    def __len__(self) -> int:
        return len(self.starts)

    def __bool__(self) -> bool:
        return bool(self.starts)

    def __contains__(self, unix: int) -> bool:
        i = bisect_right(self.starts, unix) - 1
        return i >= 0 and unix < self.ends[i]

    def __and__(self, other: RangeSet) -> RangeSet:
        # an operand that is the result is returned itself: identical sets are quick to compare; so in `-` and `|`
        if not self.starts or not other.starts:
            return _EMPTY
        if self._is_span_over(other):
            return other
        if other._is_span_over(self) or self._equals(other):
            return self
        return _intersect(self, other) if len(self) <= len(other) else _intersect(other, self)

    def __sub__(self, other: RangeSet) -> RangeSet:
        if not self.starts or not other.starts:
            return self
        if self.ends[-1] <= other.starts[0] or other.ends[-1] <= self.starts[0]:
            return self
        if other._is_span_over(self) or self._equals(other):
            return _EMPTY
        # of the other set only the ranges that reach into this one matter
        low, high = bisect_right(other.ends, self.starts[0]), bisect_left(other.starts, self.ends[-1])
        return self & RangeSet(other.starts[low:high], other.ends[low:high])._complement()

    def __or__(self, other: RangeSet) -> RangeSet:
        if not self.starts or not other.starts:
            return self if self.starts else other
        if other._is_span_over(self):
            return other
        if self._is_span_over(other) or self._equals(other):
            return self
        return _unite(self, other) if len(self) <= len(other) else _unite(other, self)

    def _equals(self, other: RangeSet) -> bool:
        """Whether both are the same set; cheap where they are not, as comparing ends at the first difference."""
        return self.starts == other.starts and self.ends == other.ends

    def _is_span_over(self, other: RangeSet) -> bool:
        """Whether this is one range that covers the other; neither is empty."""
        return len(self.starts) == 1 and self.starts[0] <= other.starts[0] and other.ends[-1] <= self.ends[0]

    def _complement(self) -> RangeSet:
        """Everything that is not in the set: the gaps between its ranges, without an empty one at an open side."""
        starts, ends = (_PAST, *self.ends), (*self.starts, _FUTURE)
        low, high = int(starts[0] == ends[0]), len(starts) - int(starts[-1] == ends[-1])
        return RangeSet(starts[low:high], ends[low:high])


def _intersect(few: RangeSet, many: RangeSet) -> RangeSet:
    """The time that is in both; takes time by the ranges of ``few``, and copies slices of ``many``."""
    many_starts, many_ends, count = many.starts, many.ends, len(many)
    starts: list[int] = []
    ends: list[int] = []
    i = 0  # the first of many that ends after the start of the range in hand
    for start, end in few.pairs():
        if many_ends[i] <= start:
            i = bisect_right(many_ends, start, i + 1)
            if i == count:
                break
        if many_starts[i] >= end:
            continue
        starts.append(max(many_starts[i], start))
        if many_ends[i] < end:  # further ranges of many begin in this one: all but the last lie wholly in it
            j = bisect_left(many_starts, end, i + 1)
            ends += many_ends[i : j - 1]
            starts += many_starts[i + 1 : j]
            i = j - 1
        ends.append(min(many_ends[i], end))
    return RangeSet(tuple(starts), tuple(ends))


def _unite(few: RangeSet, many: RangeSet) -> RangeSet:
    """The time that is in either; takes time by the ranges of ``few``, and copies slices of ``many``."""
    many_starts, many_ends, count = many.starts, many.ends, len(many)
    starts: list[int] = []
    ends: list[int] = []
    i = 0  # the first of many that is not copied or joined yet
    for low, high in few.pairs():
        if i < count and many_ends[i] < low:  # ranges of many that end before this one are copied
            j = bisect_left(many_ends, low, i + 1)
            starts += many_starts[i:j]
            ends += many_ends[i:j]
            i = j
        start, end = low, high
        if ends and start <= ends[-1]:  # the joined range before reaches to here
            start, end = starts.pop(), max(end, ends.pop())
        if i < count and many_starts[i] <= end:  # ranges of many that overlap or touch this one are joined to it
            j = i + 1 if many_ends[i] >= end else bisect_right(many_starts, end, i + 1)
            start, end = min(start, many_starts[i]), max(end, many_ends[j - 1])
            i = j
        starts.append(start)
        ends.append(end)
    starts += many_starts[i:]
    ends += many_ends[i:]
    return RangeSet(tuple(starts), tuple(ends))


_EMPTY = RangeSet()


_ALWAYS: Final = RangeSet.always()
_FAR: Final = 20 * 366 * DAY
"""Seconds, at least 20 years: this much time beyond the last edge stands for endless time.

Functions of calendars cannot compute with instants near `_PAST` and `_FUTURE`, and the edge alone determines where the
image begins or ends.
"""


def apply_open_ended(f: Callable[[RangeSet], RangeSet], ranges: RangeSet) -> RangeSet:
    """Applies ``f`` to ranges that may be open at either side; the image is then open at that side, too.

    ``f`` gets `_FAR` in place of the open side, and the image is extended to all time again.

    Args:
        f: Monotonic. It may map single slots to nothing, such as excluded days, but not all of a stretch of 20 years:
            the extension starts from its image.
        ranges: Any ranges.

    >>> later = lambda ranges: RangeSet.from_pairs((start + 5, end + 5) for start, end in ranges.pairs())
    >>> apply_open_ended(later, RangeSet.always().clip(9, None)) == RangeSet.always().clip(14, None)
    True
    """
    is_open_past, is_open_future = ranges.starts[:1] == _ALWAYS.starts, ranges.ends[-1:] == _ALWAYS.ends
    if not is_open_past and not is_open_future:
        return f(ranges)
    if len(ranges) == 1 and is_open_past and is_open_future:
        return ranges
    mapped = f(
        ranges.clip(
            ranges.ends[0] - _FAR if is_open_past else None, ranges.starts[-1] + _FAR if is_open_future else None
        )
    )
    # the spans overlap the image by one second, so that they unite with it; a side that is not open gets an empty span
    past_ranges = RangeSet.span(_ALWAYS.first, mapped.first + 1 if is_open_past else _ALWAYS.first)
    future_ranges = RangeSet.span(mapped.last - 1 if is_open_future else _ALWAYS.last, _ALWAYS.last)
    return mapped | past_ranges | future_ranges
