"""Ticks at times of day on the clocks of a zone, and the search for the next and the last one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeVar

from sparkassets.core.instants import DAY, to_unix, zone_offsets
from sparkassets.frozen import frozen

T = TypeVar("T")
Listing = Callable[[int, int], list[T]]
"""Returns the items in ``[start, end)``, ascending; Unix seconds."""

_FIRST_STRETCH = 2 * DAY  # length of the first stretch that a search lists
_STRETCH_GROWTH = 4  # factor by which each further stretch is longer, up to a year
_YEAR = 366 * DAY
HORIZON = 50 * _YEAR
"""How far the next or last tick is searched, in seconds: a rarer one counts as none."""


def tick_after(between: Listing[int], unix: int, *, bounds: tuple[int, int]) -> int | None:
    """The first tick later than ``unix``; None where there is none within `HORIZON`.

    Args:
        between: Lists the ticks of a stretch of time.
        unix: Unix seconds.
        bounds: The stretch ``[start, end)`` outside which there are no ticks; Unix seconds.

    >>> tick_after(lambda start, end: [each for each in (100, 900_000) if start <= each < end], 100, bounds=(0, 10**9))
    900000
    """
    start = max(unix + 1, bounds[0])
    return first_from(between, start, min(start + HORIZON, bounds[1]))


def tick_before(between: Listing[int], unix: int, *, bounds: tuple[int, int]) -> int | None:
    """The last tick earlier than ``unix``; None where there is none within `HORIZON`. Arguments as in `tick_after`."""
    end = min(unix, bounds[1])
    return last_until(between, max(end - HORIZON, bounds[0]), end)


def first_from(between: Listing[T], start: int, end: int, *, stretch: int = _FIRST_STRETCH) -> T | None:
    """The first item from ``start`` on; None where there is none before ``end``.

    Args:
        between: Lists the items of a stretch of time.
        start: Unix seconds.
        end: Unix seconds; the last stretch may reach beyond it, so an item shortly after it may be returned.
        stretch: Length of the stretch that is listed first, in seconds; later ones are longer and longer, so that a
            near item is found at little cost and a far one in few steps.
    """
    while start < end:
        if found := between(start, start + stretch):
            return found[0]
        start, stretch = start + stretch, min(stretch * _STRETCH_GROWTH, _YEAR)
    return None


def last_until(between: Listing[T], start: int, end: int, *, stretch: int = _FIRST_STRETCH) -> T | None:
    """The last item before ``end``; None where there is none from ``start`` on. Arguments as in `first_from`."""
    while end > start:
        if found := between(end - stretch, end):
            return found[-1]
        end, stretch = end - stretch, min(stretch * _STRETCH_GROWTH, _YEAR)
    return None


EARLIEST = to_unix(datetime.fromisoformat("0003-01-01T00:00Z"))
LATEST = to_unix(datetime.fromisoformat("9998-01-01T00:00Z"))
"""The bounds of every search for ticks, Unix seconds; inside them calendar arithmetic cannot overflow."""

_FIRST_STRETCH_OF_DAILY = 26 * 3600
"""Length of the first stretch that a search lists for one tick a day, in seconds; shorter for more ticks a day."""


class LocalTimes(Protocol):
    """A rule for times of day on matching days, as a wall clock shows them."""

    @property
    def every_hour(self) -> bool:
        """Whether each instant at which the clock shows a matching time is a tick.

        If so, a repeated time is two ticks and a skipped one none; if not, each time is one tick a day.
        """

    @property
    def most_a_day(self) -> int:
        """About the number of ticks on a matching day; at least 1."""

    def between(self, start: int, end: int, *, offset: int = 0) -> list[int]:
        """The instants in ``[start, end)`` whose wall-clock time matches under a fixed UTC offset, ascending."""


@frozen
class WallClockTicks:
    """The instants at which the wall clock of a zone shows one of the times.

    Unless ``times.every_hour``, a time that is skipped moves forward by the gap's length, and one that is repeated
    happens once, at its second occurrence.
    """

    text: str
    timezone: str
    times: LocalTimes

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None at the end of the calendar."""
        return first_from(
            self.between, max(unix + 1, EARLIEST), LATEST, stretch=_FIRST_STRETCH_OF_DAILY // self.times.most_a_day
        )

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None at the beginning of the calendar."""
        return last_until(
            self.between, EARLIEST, min(unix, LATEST), stretch=_FIRST_STRETCH_OF_DAILY // self.times.most_a_day
        )

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        clock, matching_between, every_hour = zone_offsets(self.timezone), self.times.between, self.times.every_hour
        ticks: list[int] = []
        listed_to = start
        for change in clock.changes(start - DAY, end + DAY):
            # seconds by which the clocks go forward, negative if back; 0 where each shown time is a tick as it stands
            gap = 0 if every_hour else change.after - change.before
            # before a change that goes back, the first occurrences of the repeated times are left out
            ticks += matching_between(listed_to, min(change.at + min(gap, 0), end), offset=change.before)
            listed_to = max(listed_to, change.at)
            if gap > 0:  # skipped times move into the time after the gap
                shifted_end = min(change.at + gap, end)
                shifted = matching_between(listed_to, shifted_end, offset=change.before)
                ticks += sorted({*shifted, *matching_between(listed_to, shifted_end, offset=change.after)})
                listed_to = max(listed_to, shifted_end)
        ticks += matching_between(listed_to, end, offset=clock.offset_at(listed_to))
        return ticks

    def describe(self) -> str:
        """The rule for people."""
        return self.text
