"""Sets of partitions that each carry a number, such as the journal sequence that made them stale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sparkassets.core.partitions.growing import GrowingStamps
from sparkassets.core.partitions.lifting import Alone, LiftedValue, Segment, combined, mapped, value_at
from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.sets import PartitionSet
from sparkassets.core.partitions.stamped import StampedRanges


class StampedPartitions(LiftedValue[StampedRanges]):
    """A function from a tuple of segments to stamped time, the same for all but finitely many tuples.

    Attributes:
        time: The stamped time of every tuple that is not ``apart``.
        apart: Tuples with other stamped time, and that; ascending, so that equal functions are equal values.
    """

    __slots__ = ()

    EMPTY = StampedRanges()

    def overlay(self, parts: PartitionSet, stamp: int) -> StampedPartitions:
        """With ``parts`` stamped too; where both are, the greater stamp stays.

        >>> StampedPartitions().overlay(PartitionSet.span(0, 10), 7).overlay(PartitionSet.span(5, 15), 8).time
        StampedRanges(starts=(0, 5), ends=(5, 15), stamps=(7, 8))
        """
        if not self.apart and not parts.apart:
            return StampedPartitions(self.time.overlay(parts.time, stamp)) if parts.time else self
        made = combined(
            lambda marks, ranges: marks.overlay(ranges, stamp),
            (self.time, self.apart),
            (parts.time, parts.apart),
            lefts=Alone.ASKED if parts.time else Alone.KEPT,
        )
        return StampedPartitions(*made)

    def clear(self, parts: PartitionSet, through: int) -> StampedPartitions:
        """Without what lies in ``parts`` and has a stamp of at most ``through``."""
        if not self.apart and not parts.apart:
            return StampedPartitions(self.time.clear(parts.time, through)) if self.time and parts.time else self
        made = combined(
            lambda marks, ranges: marks.clear(ranges, through),
            (self.time, self.apart),
            (parts.time, parts.apart),
            lefts=Alone.ASKED if parts.time else Alone.KEPT,
            rights=Alone.ASKED if self.time else Alone.LOST,
        )
        return StampedPartitions(*made)

    def since(self, after: int) -> StampedPartitions:
        """What has a stamp greater than ``after``."""
        if self.apart:
            return StampedPartitions(*mapped(lambda marks: marks.since(after), (self.time, self.apart)))
        time = self.time.since(after)
        return self if time is self.time else StampedPartitions(time)

    def parts(self) -> PartitionSet:
        """All that has a stamp."""
        if self.apart:
            return PartitionSet(*mapped(StampedRanges.ranges, (self.time, self.apart)))
        return PartitionSet(self.time.ranges())

    def together(self) -> StampedRanges:
        """The stamped time of all tuples, where several are with the greatest of their stamps.

        >>> marks = StampedPartitions().overlay(PartitionSet.by_segment({("de",): RangeSet.span(0, 5)}), 7)
        >>> marks.overlay(PartitionSet.by_segment({("nl",): RangeSet.span(0, 9)}), 6).together()
        StampedRanges(starts=(0, 5), ends=(5, 9), stamps=(7, 6))
        """
        found = GrowingStamps(self.time)
        for start, end, stamp in {item for _, marks in self.apart for item in marks.items()}:
            found.overlay(RangeSet.span(start, end), stamp)
        return found.result()

    def at(self, segment: Segment) -> StampedRanges:
        """The stamped time of one tuple; of an asset by time alone of the empty one."""
        return value_at((self.time, self.apart), segment)

    @property
    def newest(self) -> int | None:
        """The greatest stamp; None where nothing has one."""
        stamps = (max(marks.stamps) for marks in (self.time, *(marks for _, marks in self.apart)) if marks)
        return max(stamps, default=None)

    def items(self) -> Iterator[tuple[PartitionSet, int]]:
        """Each stamp with all that has it, as (partitions, stamp), by stamp ascending.

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
    return {stamp: RangeSet.of(found) for stamp, found in pairs.items()}
