"""Calendars of working days, and ticks rolled onto open days."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import Any, Final, Literal, Protocol, get_args

from sparkassets.core.crons.wall_clock import tick_after, tick_before
from sparkassets.core.instants import DAY, day_number, local_date, zone_offsets
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.timetables.exchanges import TradingCalendar, find_trading_calendar
from sparkassets.core.timetables.timetable import TickSequence, TimetableError, import_optional
from sparkassets.frozen import frozen

_COUNTRY: Final = re.compile(r"([A-Za-z]{2})(?:-(.+))?")
_MOST_DAYS: Final = 400
"""Number of days after which the search for a working day ends: then there is none."""


class DayCalendar(Protocol):
    """Open and closed days; a day is its number, counted from 1970-01-01."""

    @property
    def code(self) -> str:
        """The code as it is written: ``DE``, ``US-NY``, ``XNYS``."""

    @property
    def known_range(self) -> tuple[int, int]:
        """The first and the last day for which the calendar is known, as day numbers."""

    def is_open(self, day: int) -> bool:
        """Whether it is a working day or has a session."""

    def last_before(self, day: int) -> int | None:
        """The last open day earlier than ``day``; None when there is none."""

    def next_after(self, day: int) -> int | None:
        """The first open day later than ``day``; None when there is none."""


@frozen
class WorkingDays:
    """The days that are neither weekend nor public holiday, by the package ``holidays``.

    Attributes:
        country: ISO 3166-1 alpha-2.
        subdivision: Such as ``BY``; None has the holidays of the whole country only.
    """

    country: str
    subdivision: str | None = None

    @property
    def code(self) -> str:
        """The code as it is written: ``DE``, ``US-NY``."""
        return f"{self.country}-{self.subdivision}" if self.subdivision else self.country

    @property
    def known_range(self) -> tuple[int, int]:
        """The first and the last day of the years whose holidays the library knows."""
        library = _holidays(self.country, self.subdivision)
        return day_number(date(library.start_year, 1, 1)), day_number(date(library.end_year, 12, 31))

    def is_open(self, day: int) -> bool:
        """Whether it is a working day."""
        working: bool = _holidays(self.country, self.subdivision).is_working_day(local_date(day))
        return working

    def last_before(self, day: int) -> int | None:
        """The last known working day earlier than ``day``; None when there is none."""
        first, last = self.known_range
        newest = min(day - 1, last)
        return self._first_open(range(newest, max(newest - _MOST_DAYS, first - 1), -1))

    def next_after(self, day: int) -> int | None:
        """The first known working day later than ``day``; None when there is none."""
        first, last = self.known_range
        oldest = max(day + 1, first)
        return self._first_open(range(oldest, min(oldest + _MOST_DAYS, last + 1)))

    def _first_open(self, days: Iterable[int]) -> int | None:
        """The first working day of ``days``, in their order; None where none of them is one."""
        return next((day for day in days if self.is_open(day)), None)


def find_calendar(code: str) -> WorkingDays | TradingCalendar:
    """The calendar of a country, a subdivision or an exchange.

    Args:
        code: ISO 3166 such as ``DE`` or ``US-NY``; any other is an exchange's, such as ``XNYS``.

    Raises:
        TimetableError: There is none of that code, or the package that has it is not installed.
    """
    match = _COUNTRY.fullmatch(code)
    if not match:
        return find_trading_calendar(code)
    country, subdivision = match[1], match[2]
    library = import_optional("holidays", need=f"the calendar '{code}'", extra="calendars")
    known = library.list_supported_countries()
    if country not in known:
        hint = f"did you mean '{country.upper()}'?" if country.upper() in known else suggest_close(country, known)
        expected = "expected a country such as DE, a part of one such as US-NY, or an exchange such as XNYS"
        raise TimetableError(f"unknown country '{country}' of the calendar '{code}'; {expected}", hint=hint)
    if subdivision and subdivision not in known[country]:
        expected = f"one of {', '.join(sorted(known[country]))}" if known[country] else f"'{country}' alone"
        raise TimetableError(
            f"unknown subdivision '{subdivision}' of the calendar '{code}'; expected {expected}",
            hint=suggest_close(subdivision, known[country]),
        )
    return WorkingDays(country, subdivision)


@lru_cache(maxsize=64)
def _holidays(country: str, subdivision: str | None) -> Any:  # noqa: ANN401 - of a library without a common type
    """The public holidays of a country or subdivision: a mapping from dates, filled by the library as it is asked."""
    library = import_optional("holidays", need=f"the calendar '{country}'", extra="calendars")
    return library.country_holidays(country, subdiv=subdivision)


Roll = Literal["skip", "back", "forward"]
ROLLS: Final[tuple[Roll, ...]] = get_args(Roll)

_WORDS: Final = {
    "skip": "on open days of {} only",
    "back": "or the last open day of {} before",
    "forward": "or the next open day of {} after",
}


@frozen
class RolledTicks:
    """The ticks of a rule, skipped or moved where their local day is closed.

    A moved tick keeps its wall-clock time: one that the clocks skip that day moves forward by the gap's length, one
    that is repeated is its second occurrence. Ticks that meet are one. Outside the days that a calendar knows there are
    none.

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
        return tick_after(self.between, unix, bounds=self._known_bounds())

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return tick_before(self.between, unix, bounds=self._known_bounds())

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
        """The stretch ``[start, end)`` outside which there are no ticks; Unix seconds.

        It is a day wider than the calendar, as a local day may begin or end on the date beside it in UTC.
        """
        first, last = self.calendar.known_range
        return (first - 1) * DAY, (last + 2) * DAY

    def _reach(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the rule's ticks that may move into ``[start, end)``; Unix seconds."""
        if self.roll == "skip":
            return start, end
        # closed days before an open one may all move to it, so the stretch reaches to the open day beside it
        first, last = self._day(start) - 1, self._day(end) + 1
        if self.roll == "back":
            reached = self._next(last)
            last = last if reached is None else reached
        else:
            reached = self._last(first)
            first = first if reached is None else reached
        return (first - 1) * DAY, (last + 2) * DAY

    def _place(self, tick: int) -> int | None:
        """The instant to which a tick moves, which may be its own; None where it is dropped."""
        day = self._day(tick)
        if not self.calendar.known_range[0] <= day <= self.calendar.known_range[1]:
            return None  # nobody knows whether the day is open
        if self.calendar.is_open(day):
            return tick
        if self.roll == "skip":
            return None
        target = self._last(day) if self.roll == "back" else self._next(day)
        if target is None:
            return None
        clock = zone_offsets(self.timezone)
        # the same time on the wall clock of the day to which it moves
        return clock.tick_instant(target * DAY + (tick + clock.offset_at(tick)) % DAY)

    def _day(self, unix: int) -> int:
        """The local day of an instant, as a day number."""
        return (unix + zone_offsets(self.timezone).offset_at(unix)) // DAY

    def _last(self, day: int) -> int | None:
        """The last open day before ``day`` that the zone's clocks do not skip; None without one."""
        found = self.calendar.last_before(day)
        while found is not None and not self._exists(found):
            found = self.calendar.last_before(found)
        return found

    def _next(self, day: int) -> int | None:
        """The first open day after ``day`` that the zone's clocks do not skip; None without one."""
        found = self.calendar.next_after(day)
        while found is not None and not self._exists(found):
            found = self.calendar.next_after(found)
        return found

    def _exists(self, day: int) -> bool:
        """Whether the zone's clocks do not skip the whole day, as in Apia on 2011-12-30."""
        first, second = zone_offsets(self.timezone).readings_of(day * DAY + DAY // 2)
        return first - second < DAY
