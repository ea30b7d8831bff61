"""How ticks become data intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sparkassets.core.instants import DAY, Duration
from sparkassets.core.timetables.base import TickSequence
from sparkassets.frozen import frozen

_SHORTEST_MONTH, _LONGEST_MONTH = 28, 31
_CLOCK_CHANGES = 2 * DAY
"""More than the clock changes within a calendar length can add or take."""


class IntervalShape(Protocol):
    """One interval for each tick; all in Unix seconds."""

    @property
    def abutting(self) -> bool:
        """Whether each interval begins where the one before ended."""

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most that an interval's end lies after its tick; equal where it is always the same."""

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """``(start, end)`` of the intervals of the ticks in ``[start, end)``, in the order of the ticks."""

    def tick_of(self, ticks: TickSequence, begin: int) -> int | None:
        """The tick of the interval that begins at the tick ``begin``; None when it never ends."""


@frozen
class AbuttingIntervals:
    """From each tick to the next, whose interval it is."""

    abutting: bool = True
    reach: tuple[int, int] = (0, 0)

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """From the tick before to each tick in ``[start, end)``; none to the first of all."""
        begin = ticks.before(start)
        for tick in ticks.between(start, end):
            if begin is not None:
                yield begin, tick
            begin = tick

    def tick_of(self, ticks: TickSequence, begin: int) -> int | None:
        """The next tick."""
        return ticks.after(begin)


@frozen
class InstantIntervals:
    """Each tick itself, start and end."""

    abutting: bool = False
    reach: tuple[int, int] = (0, 0)

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Those of the ticks in ``[start, end)``."""
        for tick in ticks.between(start, end):
            yield tick, tick

    def tick_of(self, _: TickSequence, begin: int) -> int | None:
        """Itself."""
        return begin


@frozen
class FixedLengthIntervals:
    """From each tick on for a length, whatever the next tick is.

    Attributes:
        length: Above 0.
        timezone: Of its days and months.
    """

    length: Duration
    timezone: str
    abutting: bool = False

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most that the length can be."""
        return duration_range(self.length)

    def intervals(self, ticks: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Those of the ticks in ``[start, end)``."""
        for tick in ticks.between(start, end):
            yield tick, self.length.add_to(tick, self.timezone)

    def tick_of(self, _: TickSequence, begin: int) -> int | None:
        """Itself."""
        return begin


def duration_range(length: Duration) -> tuple[int, int]:
    """The least and the most seconds that a length, not negative, can last.

    >>> duration_range(Duration(seconds=60))
    (60, 60)
    """
    slack = _CLOCK_CHANGES if length.months or length.days else 0
    days, more_days = (length.months * month + length.days for month in (_SHORTEST_MONTH, _LONGEST_MONTH))
    return days * DAY + length.seconds - slack, more_days * DAY + length.seconds + slack
