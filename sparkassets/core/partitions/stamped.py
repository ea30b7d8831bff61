"""Ranges of time that each carry a number, such as the journal sequence that made them stale."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sparkassets.core.partitions.ranges import RangeSet

Item = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class StampedRanges:
    """Disjoint half-open ranges, each with a stamp; neighbours that touch have different stamps.

    Attributes:
        starts, ends: Epoch seconds, ascending.
        stamps: One for each range.
    """

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    stamps: tuple[int, ...] = ()

    def overlay(self, ranges: RangeSet, stamp: int) -> StampedRanges:
        """With ``ranges`` stamped too; where both are, the greater stamp stays.

        >>> StampedRanges((0,), (10,), (7,)).overlay(RangeSet.span(5, 15), 8)
        StampedRanges(starts=(0, 5), ends=(5, 15), stamps=(7, 8))
        """
        covered = self.ranges()
        new = [(start, end, stamp) for start, end in (ranges - covered).pairs()]
        kept = self._pieces(covered - ranges)
        both = [(start, end, max(old, stamp)) for start, end, old in self._pieces(ranges)]
        return _merged([*kept, *both, *new])

    def clear(self, ranges: RangeSet, through: int) -> StampedRanges:
        """Without what lies in ``ranges`` and has a stamp of at most ``through``."""
        kept = self._pieces(self.ranges() - ranges)
        newer = [item for item in self._pieces(ranges) if item[2] > through]
        return _merged([*kept, *newer])

    def within(self, ranges: RangeSet) -> StampedRanges:
        """What lies in ``ranges``."""
        return _merged(self._pieces(ranges))

    def ranges(self) -> RangeSet:
        """The time that has a stamp."""
        return RangeSet.of(zip(self.starts, self.ends, strict=True))

    def items(self) -> Iterator[Item]:
        """The ranges as (start, end, stamp), oldest first."""
        return zip(self.starts, self.ends, self.stamps, strict=True)

    def __len__(self) -> int:
        return len(self.starts)

    def _pieces(self, ranges: RangeSet) -> list[Item]:
        """The parts of the ranges that lie in ``ranges``, oldest first."""
        pieces: list[Item] = []
        i = 0
        for start, end, stamp in self.items():
            i = bisect_right(ranges.ends, start, i)
            j = i
            while j < len(ranges) and ranges.starts[j] < end:
                pieces.append((max(start, ranges.starts[j]), min(end, ranges.ends[j]), stamp))
                j += 1
        return pieces


def _merged(items: Iterable[Item]) -> StampedRanges:
    """Disjoint items in any order, ascending and with equal neighbours joined."""
    starts: list[int] = []
    ends: list[int] = []
    stamps: list[int] = []
    for start, end, stamp in sorted(items):
        if ends and ends[-1] == start and stamps[-1] == stamp:
            ends[-1] = end
        else:
            starts.append(start)
            ends.append(end)
            stamps.append(stamp)
    return StampedRanges(tuple(starts), tuple(ends), tuple(stamps))
