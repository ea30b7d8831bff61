"""Mappings of time between a consumer's partitions (blocks) and an inlet's: required and affected, exact adjoints."""

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
_BACK = 7 * 3600
"""The most that any zone's clocks have gone back at once since 1970, in seconds (tests/core/test_instants.py)."""


@frozen(tag="overlap")
class OverlapMapping:
    """A block needs the inlet partitions that overlap its time: a day needs its 23, 24 or 25 hours."""

    def window(self, start: int, end: int, *, down: TimePartition) -> tuple[int, int]:
        """The time of which the block ``[start, end)`` needs the inlet partitions."""
        return start, down.stop(start) if down.exclude else end

    def required_ranges(self, blocks: RangeSet, *, down: TimePartition, up: TimePartition) -> RangeSet:
        """The inlet partitions that ``blocks`` need; a cut block counts as a whole."""
        covered = down.cover(blocks)
        return covered if down.same_grid(up) else up.cover(down.exact(covered))

    def affected_ranges(self, changed: RangeSet, *, down: TimePartition, up: TimePartition) -> RangeSet:
        """The blocks that need an inlet partition which overlaps ``changed``."""
        covered = up.cover(changed)
        return covered if down.same_grid(up) else down.cover(up.exact(covered))


@frozen(tag="window")
class WindowMapping:
    """A block needs the inlet partitions that overlap a window around it: ``[start + low, end + high)``.

    Calendar units follow the zone of the block. Where the clocks skip the whole window, it is the instant after the
    gap, so that a block always needs some partition.

    Attributes:
        low, high: Added to the block's start and end.
        from_end: ``low`` is added to the block's end, too.
    """

    low: Duration
    high: Duration
    from_end: bool = False

    def __post_init__(self) -> None:
        if _max_seconds(self.high, minus=self.low) < 0:
            raise PartitionError(f"window [{self.low.text}, {self.high.text}] ends before it starts")

    @classmethod
    def trailing(cls, length: Duration) -> WindowMapping:
        """The window of this length up to the block's end.

        Raises:
            PartitionError: The length is not positive.
        """
        if length.months + length.days + length.seconds <= 0:
            raise PartitionError(f"window '{length.text}' is empty; expected a positive duration such as 7d")
        return cls(-length, Duration(), from_end=True)

    def window(self, start: int, end: int, *, down: TimePartition) -> tuple[int, int]:
        """The time of which the block ``[start, end)`` needs the inlet partitions; both ends ascend with the blocks."""
        end = down.stop(start) if down.exclude else end
        low = down.shift(end if self.from_end else start, self.low)
        return low, max(down.shift(end, self.high, late=True), low + 1)

    def required_ranges(self, blocks: RangeSet, *, down: TimePartition, up: TimePartition) -> RangeSet:
        """The inlet partitions that ``blocks`` need; a cut block counts as a whole."""
        runs = down.cover(blocks)
        if self._has_touching_windows(down):
            windows = [(self._low(down, start), self._high(down, down.floor(end - 1))) for start, end in runs.pairs()]
        else:
            windows = [self.window(start, end, down=down) for start, end in down.slots(runs)]
        return up.cover(RangeSet.from_pairs(windows))

    def affected_ranges(self, changed: RangeSet, *, down: TimePartition, up: TimePartition) -> RangeSet:
        """The blocks that need an inlet partition which overlaps ``changed``."""
        return RangeSet.from_pairs(
            self._affected_span(down, start, end) for start, end in up.exact(up.cover(changed)).pairs()
        )

    def _affected_span(self, down: TimePartition, start: int, end: int) -> tuple[int, int]:
        """The time of the blocks whose windows overlap ``[start, end)``; an empty span where there is none."""
        first = _first_passed(
            down, near=start - _approximate_seconds(self.high), passed=lambda block: self._high(down, block) > start
        )
        after = _first_passed(
            down, near=end - _approximate_seconds(self.low), passed=lambda block: self._low(down, block) >= end
        )
        return first, after

    def _low(self, down: TimePartition, start: int) -> int:
        """The start of the window of the block that begins at ``start``."""
        return self.window(start, down.next(start), down=down)[0]

    def _high(self, down: TimePartition, start: int) -> int:
        """The end of the window of the block that begins at ``start``."""
        return self.window(start, down.next(start), down=down)[1]

    def _has_touching_windows(self, down: TimePartition) -> bool:
        """Whether the windows of neighbouring blocks touch in any case."""
        return (
            not down.exclude
            and _max_seconds(self.low, down.longest if self.from_end else Duration(), minus=self.high) <= 0
        )


@frozen(tag="all")
class WholeMapping:
    """A block needs all partitions of the inlet that are or were present."""


@frozen(tag="latest")
class NewestMapping:
    """A block needs the newest present partition of the inlet, for each tuple of segments that it needs."""


@frozen(tag="named")
class NamedMapping:
    """Every block needs the same named partitions of the inlet.

    Attributes:
        parts: Partitions of the inlet.
    """

    parts: PartitionSet


TimeMapping = OverlapMapping | WindowMapping
"""Mappings from time to time."""

PartitionMapping = TimeMapping | WholeMapping | NewestMapping | NamedMapping


def _first_passed(down: TimePartition, *, near: int, passed: Callable[[int], bool]) -> int:
    """The start of the first block for which ``passed`` holds, as for all later ones; the search begins at ``near``."""
    block = down.floor(near)
    while not passed(block):
        block = down.next(block)
    while passed(before := down.previous(block)):
        block = before
    return block


def _approximate_seconds(length: Duration) -> int:
    """The length in seconds, exact to a few days a month."""
    return length.months * _MONTH + length.days * DAY + length.seconds


def _max_seconds(*lengths: Duration, minus: Duration) -> int:
    """Seconds that the sum of the lengths less ``minus`` never exceeds, whatever the month and the clock changes."""
    months = sum(length.months for length in lengths) - minus.months
    days = sum(length.days for length in lengths) - minus.days
    seconds = sum(length.seconds for length in lengths) - minus.seconds
    margin = _BACK if seconds and (months or days) else 0
    return (months * (31 if months > 0 else 28) + days) * DAY + seconds + margin
