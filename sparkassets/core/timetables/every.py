"""A tick every so often: elapsed time on a grid, or calendar time that does not drift."""

from __future__ import annotations

from sparkassets.core.crons.wall_clock import EARLIEST, LATEST
from sparkassets.core.instants import DAY, Duration, InstantError, zone_offsets
from sparkassets.frozen import frozen

_MONTH = 146_097 * DAY // 4800
"""Seconds of a month of the Gregorian calendar, on average."""
_AROUND = 3
"""Calendar steps by which the average may be wrong, and one more."""


@frozen
class ElapsedTicks:
    """The instants a multiple of so many seconds from the anchor, before and after it.

    Attributes:
        text: The length as it was written.
        seconds: Above 0.
        anchor: Unix seconds.
    """

    text: str
    seconds: int
    anchor: int

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None at the end of the calendar."""
        tick = self._at_or_after(max(unix + 1, EARLIEST))
        return tick if tick < LATEST else None

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None at the beginning of the calendar."""
        tick = self._at_or_after(min(unix, LATEST)) - self.seconds
        return tick if tick >= EARLIEST else None

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        return list(range(self._at_or_after(max(start, EARLIEST)), min(end, LATEST), self.seconds))

    def describe(self) -> str:
        """The rule for people."""
        return f"every {self.text}"

    def _at_or_after(self, unix: int) -> int:
        return unix + (self.anchor - unix) % self.seconds


@frozen
class CalendarTicks:
    """The wall-clock times a multiple of so many days and months from the anchor's, before and after it.

    Each is counted from the anchor, so none drifts: ``1mo`` from 31 January is 28 February, then 31 March. A skipped
    time moves forward by the gap's length (and is the next one, where a whole date is skipped), a repeated one happens
    once, at its second occurrence.

    Attributes:
        text: The length as it was written.
        length: Days and months, above 0; no seconds.
        timezone: Whose wall clock.
        anchor: Seconds since 1970-01-01T00:00 on that clock.
    """

    text: str
    length: Duration
    timezone: str
    anchor: int

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None at the end of the calendar."""
        start = max(unix, EARLIEST - 1)
        if start >= LATEST:
            return None
        number = self._number(start) - _AROUND
        while (tick := self._tick(number)) <= start:
            number += 1
        return tick if tick < LATEST else None

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None at the beginning of the calendar."""
        end = min(unix, LATEST)
        if end < EARLIEST:
            return None
        number = self._number(end) + _AROUND
        while (tick := self._tick(number)) >= end:
            number -= 1
        return tick if tick >= EARLIEST else None

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        start, end = max(start, EARLIEST), min(end, LATEST)
        number = self._number(start) - _AROUND
        found: list[int] = []
        while (tick := self._tick(number)) < end:
            if tick >= start and tick not in found[-1:]:
                found.append(tick)
            number += 1
        return found

    def describe(self) -> str:
        """The rule for people."""
        return f"every {self.text}"

    def _number(self, unix: int) -> int:
        """Which step from the anchor is near an instant."""
        return (unix - self.anchor) // (self.length.months * _MONTH + self.length.days * DAY)

    def _tick(self, number: int) -> int:
        """The instant of that step; beyond the calendar, one before or after all others."""
        step = Duration(months=self.length.months * number, days=self.length.days * number)
        try:
            return zone_offsets(self.timezone).tick_instant(step.add_to_local(self.anchor))
        except InstantError:
            return LATEST if number > 0 else EARLIEST - 1


def every_ticks(text: str, length: Duration, *, timezone: str, anchor: int | None) -> ElapsedTicks | CalendarTicks:
    """A tick every ``length``.

    Args:
        text: The length as it was written.
        length: Above 0; seconds, or days and months, not both.
        timezone: Whose calendar.
        anchor: An instant of the grid, Unix seconds; without one, the zone's own 1970-01-01T00:00.

    >>> every_ticks("6h", Duration(seconds=21_600), timezone="UTC", anchor=None).after(0)
    21600
    """
    clock = zone_offsets(timezone)
    if length.seconds:
        return ElapsedTicks(text, length.seconds, clock.tick_instant(0) if anchor is None else anchor)
    return CalendarTicks(text, length, timezone, 0 if anchor is None else anchor + clock.offset_at(anchor))
