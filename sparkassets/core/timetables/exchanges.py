"""Trading calendars of exchanges, and the ticks and intervals of their sessions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Any, Final, Literal
from warnings import catch_warnings, simplefilter

from sparkassets.core.crons.wall_clock import tick_after, tick_before
from sparkassets.core.instants import DAY, day_number, local_date
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.timetables.timetable import TickSequence, TimetableError, import_optional
from sparkassets.frozen import frozen

_FIRST_YEAR, _LAST_YEAR = 1990, 2059
"""Years whose sessions are used, where the library itself does not end before."""
_YEARS: Final = 10
"""Number of years whose sessions are computed at once."""
_SHOWN: Final = 200
"""Number of characters that are shown of the library's error."""

_WEEKENDS = frozenset({"weekend", "weekends"})


@frozen
class TradingSession:
    """One trading session.

    Attributes:
        day: Date of the session at the exchange, as a day number.
        opens, closes: When it really opens and closes, early closes included; Unix seconds.
    """

    day: int
    opens: int
    closes: int


@frozen
class TradingCalendar:
    """The sessions of an exchange.

    Attributes:
        code: Such as ``XNYS``.
    """

    code: str

    @property
    def known_range(self) -> tuple[int, int]:
        """The first and the last day for which sessions are known, as day numbers; there are none outside."""
        return _find_known_range(self.code)

    def is_open(self, day: int) -> bool:
        """Whether the day has a session."""
        first, last = self.known_range
        if not first <= day <= last:
            return False
        sessions = self._sessions_of_decade(_decade_of_day(day))
        at = bisect_left(sessions, day, key=lambda each: each.day)
        return at < len(sessions) and sessions[at].day == day

    def last_before(self, day: int) -> int | None:
        """The last day with a session earlier than ``day``; None when there is none."""
        first, last = self.known_range
        if day <= first:
            return None
        for decade in range(_decade_of_day(min(day, last)), _decade_of_day(first) - 1, -1):
            sessions = self._sessions_of_decade(decade)
            if at := bisect_left(sessions, day, key=lambda each: each.day):
                return sessions[at - 1].day
        return None

    def next_after(self, day: int) -> int | None:
        """The first day with a session later than ``day``; None when there is none."""
        first, last = self.known_range
        if day >= last:
            return None
        for decade in range(_decade_of_day(max(day, first)), _decade_of_day(last) + 1):
            sessions = self._sessions_of_decade(decade)
            if (at := bisect_right(sessions, day, key=lambda each: each.day)) < len(sessions):
                return sessions[at].day
        return None

    def sessions(self, first: int, last: int) -> list[TradingSession]:
        """The sessions of the days from ``first`` to ``last``, inclusive, ascending."""
        # sessions are computed and remembered by decades
        low, high = max(first, self.known_range[0]), min(last, self.known_range[1])
        if low > high:
            return []
        return [
            session
            for decade in range(_decade_of_day(low), _decade_of_day(high) + 1)
            for session in self._sessions_of_decade(decade)
            if low <= session.day <= high
        ]

    def _sessions_of_decade(self, number: int) -> tuple[TradingSession, ...]:
        """The sessions of the decade with that number, as far as they are known."""
        first, last = self.known_range
        if not _decade_of_day(first) <= number <= _decade_of_day(last):
            return ()
        return _cached_sessions(self.code, number, first, last)


def find_trading_calendar(code: str) -> TradingCalendar:
    """The trading calendar of an exchange's code.

    Raises:
        TimetableError: There is none, or ``exchange_calendars`` is not installed or cannot compute it.
    """
    names = _library(code).get_calendar_names(include_aliases=True)
    if code not in names:
        expected = "expected a country such as DE, a part of one such as US-NY, or an exchange such as XNYS"
        hint = (
            "write weekends as the cron '* * * * SAT,SUN'" if code.lower() in _WEEKENDS else suggest_close(code, names)
        )
        raise TimetableError(f"unknown calendar '{code}'; {expected}", hint=hint)
    _find_known_range(code)
    return TradingCalendar(code)


@lru_cache(maxsize=64)
def _find_known_range(code: str) -> tuple[int, int]:
    """The first and the last day for which the library knows sessions, within 1990 to 2059, as day numbers."""
    # a month that all calendars know; without dates, a calendar that has no bounds would end a year after today
    kind = type(_compute_calendar(code, "2022-01-03", "2022-02-01"))
    bounds = kind.bound_min(), kind.bound_max()
    decades = (_FIRST_YEAR, 1, 1), (_LAST_YEAR, 12, 31)
    first, last = (
        day_number(bound.date()) if bound else _day_number(*written)
        for bound, written in zip(bounds, decades, strict=True)
    )
    return max(first, _day_number(*decades[0])), min(last, _day_number(*decades[1]))


@lru_cache(maxsize=64)
def _cached_sessions(code: str, decade: int, first: int, last: int) -> tuple[TradingSession, ...]:
    """The sessions of a decade, ascending, of the days from ``first`` to ``last``."""
    start = max(_day_number(decade * _YEARS, 1, 1), first)
    end = min(_day_number(decade * _YEARS + _YEARS - 1, 12, 31), last)
    found = _compute_calendar(code, local_date(start).isoformat(), local_date(end).isoformat())
    return tuple(
        TradingSession(day_number(day.date()), int(opens.timestamp()), int(closes.timestamp()))
        for day, opens, closes in zip(found.opens.index, found.opens, found.closes, strict=True)
    )


def _compute_calendar(code: str, start: str, end: str) -> Any:  # noqa: ANN401 - of a library without types
    """The library's calendar for the days from ``start`` to ``end``, inclusive, as ISO dates.

    Raises:
        TimetableError: The library is not installed or cannot compute it.
    """
    library = _library(code)
    with catch_warnings():  # about its use of pandas, which nobody here can change
        simplefilter("ignore")
        try:
            return library.get_calendar(code, start=start, end=end)
        except Exception as error:  # some of its calendars fail with some versions of pandas
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            message = f"the package 'exchange_calendars' cannot compute the calendar '{code}': {reason[:_SHOWN]}"
            raise TimetableError(message, hint="try another version of it or of pandas") from error


def _library(code: str) -> Any:  # noqa: ANN401 - a module
    return import_optional("exchange_calendars", need=f"the calendar '{code}'", extra="exchanges")


def _decade_of_day(day: int) -> int:
    return local_date(day).year // _YEARS


def _day_number(year: int, month: int, day: int) -> int:
    return day_number(date(year, month, day))


SessionEdge = Literal["open", "close"]

_MARGIN = 2
"""Days by which a search is widened: a session may open or close on the date before or after in UTC."""


@frozen
class SessionTicks:
    """The instants at which the sessions of an exchange open or close.

    Attributes:
        exchange: Whose sessions.
        edge: Which of the two.
    """

    exchange: TradingCalendar
    edge: SessionEdge

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        return tick_after(self.between, unix, bounds=self._known_bounds())

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return tick_before(self.between, unix, bounds=self._known_bounds())

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        sessions = self.exchange.sessions(start // DAY - _MARGIN, end // DAY + _MARGIN)
        ticks = (each.opens if self.edge == "open" else each.closes for each in sessions)
        return [tick for tick in ticks if start <= tick < end]

    def describe(self) -> str:
        """The rule for people, without zone and bounds."""
        return f"{self.edge} of {self.exchange.code}"

    def _known_bounds(self) -> tuple[int, int]:
        """The stretch ``[start, end)`` outside which there are no ticks; Unix seconds."""
        first, last = self.exchange.known_range
        return (first - _MARGIN) * DAY, (last + 1 + _MARGIN) * DAY


@frozen
class TradingIntervals:
    """Each interval reaches from the opening of a session, which is the tick, to its close.

    Attributes:
        exchange: Whose openings the ticks are.
    """

    exchange: TradingCalendar
    abutting: bool = False
    reach: tuple[int, int] = (0, _MARGIN * DAY)

    def intervals(self, _: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the intervals of the sessions that open in ``[start, end)``."""
        for session in self.exchange.sessions(start // DAY - _MARGIN, end // DAY + _MARGIN):
            if start <= session.opens < end:
                yield session.opens, session.closes

    def tick_of(self, _: TickSequence, begin: int) -> int | None:
        """The tick ``begin`` itself."""
        return begin
