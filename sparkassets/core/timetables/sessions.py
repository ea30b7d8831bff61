"""The sessions of an exchange: their real opening and closing instants as ticks, and the intervals between these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from sparkassets.core.crons.tick_search import tick_after, tick_before
from sparkassets.core.instants import DAY
from sparkassets.core.timetables.base import TickSequence
from sparkassets.core.timetables.exchanges import TradingCalendar
from sparkassets.frozen import frozen

SessionEdge = Literal["open", "close"]

_MARGIN = 2
"""Days: the session of a day may open or close on the date before or after in UTC."""


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
        return tick_after(self.between, unix, known=self._known_bounds())

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return tick_before(self.between, unix, known=self._known_bounds())

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        sessions = self.exchange.sessions(start // DAY - _MARGIN, end // DAY + _MARGIN)
        ticks = (each.opens if self.edge == "open" else each.closes for each in sessions)
        return [tick for tick in ticks if start <= tick < end]

    def describe(self) -> str:
        """The rule for people, without zone and bounds."""
        return f"{self.edge} of {self.exchange.code}"

    def _known_bounds(self) -> tuple[int, int]:
        first, last = self.exchange.known_range
        return (first - _MARGIN) * DAY, (last + 1 + _MARGIN) * DAY


@frozen
class TradingIntervals:
    """From each opening to the close of its session.

    Attributes:
        exchange: Whose openings the ticks are.
    """

    exchange: TradingCalendar
    abutting: bool = False
    reach: tuple[int, int] = (0, _MARGIN * DAY)

    def intervals(self, _: TickSequence, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Those of the sessions that open in ``[start, end)``."""
        for session in self.exchange.sessions(start // DAY - _MARGIN, end // DAY + _MARGIN):
            if start <= session.opens < end:
                yield session.opens, session.closes

    def tick_of(self, _: TickSequence, begin: int) -> int | None:
        """Itself."""
        return begin
