"""How the time of a consumer's partitions maps to that of an inlet's: by overlap, by a window, or to named ones."""

from __future__ import annotations

from collections.abc import Callable

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_MONTH = 2_629_746
"""Mean length of a month in seconds."""


_MOST_TURNED_BACK = 7 * 3600
"""The most that any zone's clocks have gone back at once since 1970, in seconds (tests/core/test_instants.py)."""


@frozen(tag="overlap")
class OverlapMapping:
    """A partition needs the inlet partitions that overlap its time: a day needs its 23, 24 or 25 hours."""

    def window(self, start: int, end: int, *, consumer_time: TimePartition) -> tuple[int, int]:
        """The stretch of inlet time that the partition ``[start, end)`` needs: its own.

        Where slots are excluded, ``end`` reaches over those that follow, so they are cut off.
        """
        return start, consumer_time.stop(start) if consumer_time.exclude else end

    def required_ranges(
        self, partitions: RangeSet, *, consumer_time: TimePartition, inlet_time: TimePartition
    ) -> RangeSet:
        """The inlet partitions that ``partitions`` need; a cut partition counts as a whole."""
        covered = consumer_time.cover(partitions)
        return covered if consumer_time.same_grid(inlet_time) else inlet_time.cover(consumer_time.exact(covered))

    def affected_ranges(
        self, changed: RangeSet, *, consumer_time: TimePartition, inlet_time: TimePartition
    ) -> RangeSet:
        """The partitions that need an inlet partition which overlaps ``changed``."""
        covered = inlet_time.cover(changed)
        return covered if consumer_time.same_grid(inlet_time) else consumer_time.cover(inlet_time.exact(covered))


@frozen(tag="window")
class WindowMapping:
    """A partition needs the inlet partitions that overlap a window around it: ``[start + low, end + high)``.

    Calendar units follow the zone of the partition. Where the clocks skip the whole window, it is the instant after the
    gap, so that a partition always needs some partition.

    Attributes:
        low, high: Added to the partition's start and end.
        from_end: ``low`` is added to the partition's end, too.
    """

    low: Duration
    high: Duration
    from_end: bool = False

    def __post_init__(self) -> None:
        if _max_seconds(self.high, minus=self.low) < 0:
            raise PartitionError(f"window [{self.low.text}, {self.high.text}] ends before it starts")

    @classmethod
    def trailing(cls, length: Duration) -> WindowMapping:
        """The window of this length up to the partition's end.

        Raises:
            PartitionError: The length is not positive.
        """
        if length.months + length.days + length.seconds <= 0:
            raise PartitionError(f"window '{length.text}' is empty; expected a positive duration such as 7d")
        return cls(-length, Duration(), from_end=True)

    def window(self, start: int, end: int, *, consumer_time: TimePartition) -> tuple[int, int]:
        """The stretch of inlet time that the partition ``[start, end)`` needs; both ends ascend with the partition.

        It is at least one second long, so that a partition always needs some partition.
        """
        # the end of a slot lies after the excluded time that follows, which no partition needs
        end = consumer_time.stop(start) if consumer_time.exclude else end
        low = consumer_time.shift(end if self.from_end else start, self.low)
        # early for the start and late for the end: where the clocks repeat a time, the window has both occurrences
        return low, max(consumer_time.shift(end, self.high, late=True), low + 1)

    def required_ranges(
        self, partitions: RangeSet, *, consumer_time: TimePartition, inlet_time: TimePartition
    ) -> RangeSet:
        """The inlet partitions that ``partitions`` need; a cut partition counts as a whole."""
        covered = consumer_time.cover(partitions)
        # where the windows of neighbours touch, one stretch from the first window to the last is the same, and cheaper
        if self._has_touching_windows(consumer_time):
            windows = [
                (
                    self._window_start(consumer_time, start),
                    self._window_end(consumer_time, consumer_time.floor(end - 1)),
                )
                for start, end in covered.pairs()
            ]
        else:
            windows = [
                self.window(start, end, consumer_time=consumer_time) for start, end in consumer_time.slots(covered)
            ]
        return inlet_time.cover(RangeSet.from_pairs(windows))

    def affected_ranges(
        self, changed: RangeSet, *, consumer_time: TimePartition, inlet_time: TimePartition
    ) -> RangeSet:
        """The partitions that need an inlet partition which overlaps ``changed``."""
        return RangeSet.from_pairs(
            self._affected_span(consumer_time, start, end)
            for start, end in inlet_time.exact(inlet_time.cover(changed)).pairs()
        )

    def _affected_span(self, consumer_time: TimePartition, start: int, end: int) -> tuple[int, int]:
        """The time of the partitions whose windows overlap ``[start, end)``; an empty span where there is none."""
        # windows ascend with their partitions: from the first that ends after `start` to before the first from `end` on
        first = _find_first_passed(
            consumer_time,
            near=start - _approximate_seconds(self.high),
            passed=lambda partition: self._window_end(consumer_time, partition) > start,
        )
        after = _find_first_passed(
            consumer_time,
            near=end - _approximate_seconds(self.low),
            passed=lambda partition: self._window_start(consumer_time, partition) >= end,
        )
        return first, after

    def _window_start(self, consumer_time: TimePartition, start: int) -> int:
        """The start of the window of the partition that begins at ``start``."""
        return self.window(start, consumer_time.next(start), consumer_time=consumer_time)[0]

    def _window_end(self, consumer_time: TimePartition, start: int) -> int:
        """The end of the window of the partition that begins at ``start``."""
        return self.window(start, consumer_time.next(start), consumer_time=consumer_time)[1]

    def _has_touching_windows(self, consumer_time: TimePartition) -> bool:
        """Whether the windows of neighbouring partitions always touch, so that a run of partitions has one window."""
        return (
            not consumer_time.exclude
            and _max_seconds(self.low, consumer_time.longest if self.from_end else Duration(), minus=self.high) <= 0
        )


@frozen(tag="all")
class WholeMapping:
    """A partition needs all partitions of the inlet that are or were present."""


@frozen(tag="latest")
class NewestMapping:
    """A partition needs the newest present partition of the inlet, in each tuple of segments that it needs."""


@frozen(tag="named")
class NamedMapping:
    """Every partition needs the same named partitions of the inlet.

    Attributes:
        parts: Partitions of the inlet.
    """

    parts: PartitionSet


TimeMapping = OverlapMapping | WindowMapping
"""Mappings from time to time."""


PartitionMapping = TimeMapping | WholeMapping | NewestMapping | NamedMapping


def _find_first_passed(consumer_time: TimePartition, *, near: int, passed: Callable[[int], bool]) -> int:
    """The start of the first partition for which ``passed`` holds; the search begins at the instant ``near``.

    ``passed`` must be monotonic: false up to some partition and true for all later ones.
    """
    partition = consumer_time.floor(near)
    while not passed(partition):
        partition = consumer_time.next(partition)
    while passed(previous := consumer_time.previous(partition)):
        partition = previous
    return partition


def _approximate_seconds(length: Duration) -> int:
    """The length in seconds, exact to a few days a month."""
    return length.months * _MONTH + length.days * DAY + length.seconds


def _max_seconds(*lengths: Duration, minus: Duration) -> int:
    """Seconds that the sum of the lengths less ``minus`` never exceeds, whatever the month and the clock changes."""
    months = sum(length.months for length in lengths) - minus.months
    days = sum(length.days for length in lengths) - minus.days
    seconds = sum(length.seconds for length in lengths) - minus.seconds
    margin = _MOST_TURNED_BACK if seconds and (months or days) else 0
    return (months * (31 if months > 0 else 28) + days) * DAY + seconds + margin
