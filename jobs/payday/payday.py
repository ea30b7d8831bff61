"""A timetable for sparkassets: the day on which salaries are paid."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from sparkassets import Slot

LAST_DAY: Final = 31
"""Of a month."""


@dataclass(frozen=True, slots=True)
class Payday:
    """The month up to its payday; the last weekday not after that day.

    Attributes:
        day: Of the month, 1 to 31; a month that lacks it has its last day instead.
        timezone: Days begin at its midnight.
    """

    day: int
    timezone: str

    def __post_init__(self) -> None:
        if not 1 <= self.day <= LAST_DAY:
            raise ValueError(f"'day' is {self.day}; expected 1 to {LAST_DAY}")

    def slots(self, start: datetime, end: datetime) -> Iterator[Slot]:
        """From each payday to the next, run at the latter."""
        first = (start - timedelta(days=62)).replace(day=1).date()
        before: datetime | None = None
        while first <= end.date() + timedelta(days=1):
            paid = self._paid(first)
            if before and start <= paid < end:
                yield Slot(paid, before, paid)
            first, before = (first + timedelta(days=31)).replace(day=1), paid

    def _paid(self, first: date) -> datetime:
        """The payday of the month that begins on ``first``."""
        last = monthrange(first.year, first.month)[1]
        paid = first.replace(day=min(self.day, last))
        paid -= timedelta(days=max(0, paid.weekday() - 4))
        return datetime(paid.year, paid.month, paid.day, tzinfo=ZoneInfo(self.timezone)).astimezone(UTC)
