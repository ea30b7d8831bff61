"""Mutable sets of partitions: an addition examines only the tuples and the time that it touches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from sparkassets.core.partitions.growing_ranges import GrowingRanges, GrowingStamps
from sparkassets.core.partitions.memoization import MANY
from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import (
    OneSidedRule,
    Segment,
    SegmentFunction,
    combine_values,
    value_at,
)
from sparkassets.core.partitions.stamped_partitions import StampedPartitions
from sparkassets.core.partitions.stamped_ranges import StampedRanges

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
