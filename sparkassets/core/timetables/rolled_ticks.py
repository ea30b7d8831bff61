"""Ticks that keep to the open days of a calendar."""

from __future__ import annotations

from typing import Final, Literal, get_args

from sparkassets.core.crons.tick_search import tick_after, tick_before
from sparkassets.core.instants import DAY, zone_offsets
from sparkassets.core.timetables.base import TickSequence
from sparkassets.core.timetables.calendars import DayCalendar
from sparkassets.frozen import frozen

Roll = Literal["skip", "back", "forward"]
ROLLS: Final[tuple[Roll, ...]] = get_args(Roll)

_WORDS: Final = {
    "skip": "on open days of {} only",
    "back": "or the last open day of {} before",
    "forward": "or the next open day of {} after",
}


@frozen
class RolledTicks:
    """The ticks of a rule, where the local day of a tick that is closed skips or moves it.

    A moved tick keeps its wall-clock time: one that the clocks skip that day moves forward by the gap's length, one
    that is repeated is its second occurrence. Ticks that meet are one. Outside the days that a calendar knows there
    are none.

    Attributes:
        ticks: The rule.
        calendar: The open days.
        roll: ``skip`` drops the tick; ``back`` moves it to the last open day before, ``forward`` to the next after.
        timezone: The zone of local days and wall-clock times.
    """

    ticks: TickSequence
    calendar: DayCalendar
    roll: Roll
    timezone: str

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        return tick_after(self.between, unix, known=self._known_bounds())

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return tick_before(self.between, unix, known=self._known_bounds())

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        first, last = self._known_bounds()
        low, high = self._reach(max(start, first), min(end, last))
        placed = {self._place(tick) for tick in self.ticks.between(low, high)}
        return sorted(tick for tick in placed if tick is not None and start <= tick < end)

    def describe(self) -> str:
        """The rule for people, without zone and bounds."""
        return f"{self.ticks.describe()}, {self.rule}"

    @property
    def rule(self) -> str:
        """What becomes of ticks on closed days, for people."""
        return _WORDS[self.roll].format(self.calendar.code)

    def _known_bounds(self) -> tuple[int, int]:
        """Outside ``[start, end)`` there are no ticks; a local day may begin or end on the date beside it in UTC."""
        first, last = self.calendar.known_range
        return (first - 1) * DAY, (last + 2) * DAY

    def _reach(self, start: int, end: int) -> tuple[int, int]:
        """Where the ticks come from that may land in ``[start, end)``, in Unix seconds."""
        if self.roll == "skip":
            return start, end
        first, last = self._day(start) - 1, self._day(end) + 1
        if self.roll == "back":
            last = self._next(last) or last
        else:
            first = self._last(first) or first
        return (first - 1) * DAY, (last + 2) * DAY

    def _place(self, tick: int) -> int | None:
        """Where a tick comes to lie; None where it is dropped."""
        day = self._day(tick)
        if not self.calendar.known_range[0] <= day <= self.calendar.known_range[1]:
            return None
        if self.calendar.is_open(day):
            return tick
        if self.roll == "skip":
            return None
        target = self._last(day) if self.roll == "back" else self._next(day)
        if target is None:
            return None
        clock = zone_offsets(self.timezone)
        return clock.tick_instant(target * DAY + (tick + clock.offset_at(tick)) % DAY)

    def _day(self, unix: int) -> int:
        return (unix + zone_offsets(self.timezone).offset_at(unix)) // DAY

    def _last(self, day: int) -> int | None:
        """The last open day before that the zone has."""
        found = self.calendar.last_before(day)
        while found is not None and not self._exists(found):
            found = self.calendar.last_before(found)
        return found

    def _next(self, day: int) -> int | None:
        found = self.calendar.next_after(day)
        while found is not None and not self._exists(found):
            found = self.calendar.next_after(found)
        return found

    def _exists(self, day: int) -> bool:
        """Whether the zone's clocks do not skip the whole day, as in Apia on 2011-12-30."""
        first, second = zone_offsets(self.timezone).readings_of(day * DAY + DAY // 2)
        return first - second < DAY
