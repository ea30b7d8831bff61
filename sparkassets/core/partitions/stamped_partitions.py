"""Sets of partitions that each carry a number, such as the journal sequence that made them stale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sparkassets.core.partitions.growing_ranges import GrowingStamps
from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import (
    LiftedValue,
    OneSidedRule,
    Segment,
    combine_values,
    map_values,
    value_at,
)
from sparkassets.core.partitions.stamped_ranges import StampedRanges


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
