"""Crons: ticks on the wall clock of a zone, and the data intervals between them (DESIGN section 5, Cron)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sparkassets.core.instants import DAY, epoch, format_instant, instant, offsets
from sparkassets.core.timetables.base import Catchup, Slot
from sparkassets.core.timetables.fields import CronFields

_YEAR = 366 * DAY
_PAGE = 31 * DAY
"""How much of a long stretch is computed at once, in seconds."""
_LOOK = 26 * 3600
"""Seconds that are looked through at first for one tick a day; for more ticks a day, less."""
_WIDEN = 8
_EARLIEST = epoch(datetime.fromisoformat("0003-01-01T00:00Z"))
_LATEST = epoch(datetime.fromisoformat("9998-01-01T00:00Z"))


@dataclass(frozen=True, slots=True)
class CronTimetable:
    """Data intervals from each tick of a cron to the next; a run may start once its interval is over.

    Attributes:
        text: The cron or preset as it was written.
        timezone: Its ticks follow this zone's wall clock.
        fields: The expanded cron.
        start: No interval begins before it; epoch seconds, None is open.
        end: No interval begins at it or after; epoch seconds, None is open.
    """

    text: str
    timezone: str
    fields: CronFields
    start: int | None = None
    end: int | None = None
    catchup: Catchup | None = None

    @property
    def abutting(self) -> bool:
        """Each interval begins where the one before ended."""
        return True

    def first_after(self, t: datetime) -> Slot | None:
        """The first slot with ``run_after`` later than ``t``; None when there is none."""
        after = epoch(t)
        if self.start is not None and self.start > after:
            first = self.tick_after(self.start - 1)
            after = after if first is None else max(after, first)
        end = self.tick_after(after)
        start = None if end is None else self.tick_before(end)
        return self._slot(start, end)

    def last_at(self, t: datetime) -> Slot | None:
        """The newest slot with ``run_after`` not later than ``t``; None when there is none."""
        end = self.tick_before(epoch(t) + 1)
        start = None if end is None else self.tick_before(end)
        if start is not None and self.end is not None and start >= self.end:
            start = self.tick_before(self.end)
            end = None if start is None else self.tick_after(start)
        return self._slot(start, end)

    def between(self, a: datetime, b: datetime) -> Iterator[Slot]:
        """The slots with ``a <= run_after <= b``, oldest first."""
        low, high = max(epoch(a) + bool(a.microsecond), _EARLIEST), min(epoch(b) + 1, _LATEST)
        if self.start is not None:
            low = max(low, self.start)
        previous = self.tick_before(low)
        begun = None if previous is None or (self.start is not None and previous < self.start) else instant(previous)
        for start in range(low, high, _PAGE):
            for tick in self.ticks(start, min(start + _PAGE, high)):
                if self.end is not None and previous is not None and previous >= self.end:
                    return
                over = instant(tick)
                if begun is not None:
                    yield Slot(over, begun, over)
                previous, begun = tick, over

    def describe(self) -> str:
        """The rule for people, with its zone and bounds."""
        bounds = [
            f"{word} {format_instant(instant(bound))}"
            for word, bound in (("from", self.start), ("until", self.end))
            if bound is not None
        ]
        return " ".join([self.text, f"({self.timezone})", *bounds])

    def tick_after(self, epoch: int) -> int | None:
        """The first tick later than ``epoch``, whatever the bounds; None at the end of the calendar."""
        start, length = max(epoch + 1, _EARLIEST), _LOOK // len(self.fields.times)
        while start < _LATEST:
            if ticks := self.ticks(start, start + length):
                return ticks[0]
            start, length = start + length, min(length * _WIDEN, _YEAR)
        return None

    def tick_before(self, epoch: int) -> int | None:
        """The last tick earlier than ``epoch``, whatever the bounds; None at the beginning of the calendar."""
        end, length = min(epoch, _LATEST), _LOOK // len(self.fields.times)
        while end > _EARLIEST:
            if ticks := self.ticks(end - length, end):
                return ticks[-1]
            end, length = end - length, min(length * _WIDEN, _YEAR)
        return None

    def ticks(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending, whatever the bounds."""
        clock, matching, every_hour = offsets(self.timezone), self.fields.between, self.fields.every_hour
        found: list[int] = []
        at = start
        for change in clock.changes(start - DAY, end + DAY):
            gap = 0 if every_hour else change.after - change.before
            # before a change that goes back, the first occurrence of what is repeated is left out
            found += matching(at, min(change.at + min(gap, 0), end), offset=change.before)
            at = max(at, change.at)
            if gap > 0:  # what is skipped moves into the time after the gap
                until = min(change.at + gap, end)
                moved = matching(at, until, offset=change.before)
                found += sorted({*moved, *matching(at, until, offset=change.after)})
                at = max(at, until)
        found += matching(at, end, offset=clock.at(at))
        return found

    def _slot(self, start: int | None, end: int | None) -> Slot | None:
        """The slot between two neighbouring ticks, if it is within the bounds."""
        if start is None or end is None:
            return None
        if (self.start is not None and start < self.start) or (self.end is not None and start >= self.end):
            return None
        run_after = instant(end)
        return Slot(run_after, instant(start), run_after)
