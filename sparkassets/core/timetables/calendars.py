"""Calendars: the days on which a country works or an exchange trades."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import Any, Final, Protocol

from sparkassets.core.instants import day_number, local_date
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.timetables.base import TimetableError
from sparkassets.core.timetables.exchanges import TradingCalendar, find_trading_calendar
from sparkassets.core.timetables.optional import import_optional
from sparkassets.frozen import frozen

_COUNTRY: Final = re.compile(r"([A-Za-z]{2})(?:-(.+))?")
_LONGEST: Final = 400
"""Days without a working day after which there is none."""


class DayCalendar(Protocol):
    """Open and closed days; a day is its number, counted from 1970-01-01."""

    @property
    def code(self) -> str:
        """As it is written: ``DE``, ``US-NY``, ``XNYS``."""

    @property
    def known_range(self) -> tuple[int, int]:
        """The first and the last day of which it is known whether they are open."""

    def is_open(self, day: int) -> bool:
        """Whether it is a working day or has a session."""

    def last_before(self, day: int) -> int | None:
        """The last open day earlier than ``day``; None when there is none."""

    def next_after(self, day: int) -> int | None:
        """The first open day later than ``day``; None when there is none."""


@frozen
class WorkingDays:
    """The days that are neither weekend nor public holiday, by ``holidays``.

    Attributes:
        country: ISO 3166-1 alpha-2.
        subdivision: Such as ``BY``; None has the holidays of the whole country only.
    """

    country: str
    subdivision: str | None = None

    @property
    def code(self) -> str:
        """As it is written: ``DE``, ``US-NY``."""
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
        return self._first_open(range(newest, max(newest - _LONGEST, first - 1), -1))

    def next_after(self, day: int) -> int | None:
        """The first known working day later than ``day``; None when there is none."""
        first, last = self.known_range
        oldest = max(day + 1, first)
        return self._first_open(range(oldest, min(oldest + _LONGEST, last + 1)))

    def _first_open(self, days: Iterable[int]) -> int | None:
        return next((day for day in days if self.is_open(day)), None)


def find_calendar(code: str) -> WorkingDays | TradingCalendar:
    """The calendar of a country, a subdivision or an exchange.

    Args:
        code: ISO 3166 such as ``DE`` or ``US-NY``; any other is an exchange's, such as ``XNYS``.

    Raises:
        TimetableError: There is none of that code, or the library that knows is not installed.
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
    library = import_optional("holidays", need=f"the calendar '{country}'", extra="calendars")
    return library.country_holidays(country, subdiv=subdivision)
