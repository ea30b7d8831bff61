"""The grid of a cron in a zone, and its keys: slots from each tick to the next.

A cron is a grain as an hour or a day is. Its ticks are those of a schedule with that cron (`core/crons`), also across
clock changes, so that a schedule and a partition of one cron agree on every edge. Ticks are computed by stretches of
time, which are kept: whoever works on a month of a grid of ten years computes that month. Counting takes time by clock
changes, not by ticks.

Keys have one of two forms, for the whole grid: the local date where all ticks are at midnight (weeks that begin on
Sunday), else the local date and time to the minute. A tick that a clock change moves is named by what the clocks show
then.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from sparkassets.core.crons.cron import DayFields, expand
from sparkassets.core.crons.wall_clock import EARLIEST, LATEST, WallClockTicks
from sparkassets.core.instants import DAY, Duration, SteadySpan, local_datetime, local_seconds, zone_offsets
from sparkassets.core.partitions.grains import PartitionError, check_year, offset_text, shift_local_time

_HOUR = 3600
_WEEK = 7 * DAY
_AROUND = 2 * DAY
"""Distance from a clock change at which it moves no tick."""
_DAILY_BITS = 27
"""A stretch with one tick a day has 2 to this power of seconds, some four years; one with more ticks a day fewer."""
_MOST_STRETCHES = 512
"""Number of stretches of ticks that are kept, each with some thousand ticks."""
_DATE: Final = re.compile(r"(\d{4}-\d\d-\d\d)", re.ASCII)
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)([+-]\d\d:\d\d(?::\d\d)?)?", re.ASCII)


class CronGrid:
    """Slots from each tick of a cron to the next; instants and local times are seconds, an edge is a tick.

    An *even* cron has its ticks the same time apart always, so that between clock changes arithmetic is enough.
    """

    __slots__ = (
        "_bits",
        "_clock",
        "_cron",
        "_fields",
        "_phase",
        "_steady",
        "_step",
        "_stretches",
        "_ticks",
        "_timezone",
        "longest",
        "precision",
    )

    def __init__(self, cron: str, timezone: str) -> None:
        self._cron, self._timezone = cron, timezone
        self._clock = zone_offsets(timezone)
        self._fields = expand(cron)
        self._ticks = WallClockTicks(cron, timezone, self._fields)
        # stretch number `unix >> bits` to its ticks, see `_ticks_around`
        self._bits = _DAILY_BITS - self._fields.most_a_day.bit_length() + 1
        self._stretches: dict[int, list[int]] = {}
        self._step, self._phase = self._even_spacing()  # 0 and 0 unless the cron is even
        # around the instant that was asked for last, its offset less the ticks' phase; replaced as a whole, for threads
        self._steady = SteadySpan(0, 0, 0)
        times = self._fields.times
        # how exactly a key shows the start of a slot
        self.precision = "day" if times == (0,) else "minute" if any(each % _HOUR for each in times) else "hour"
        self.longest = self._longest_slot()

    def floor(self, unix: int) -> int:
        """The start of the slot that holds an instant."""
        steady_from, steady_until, offset = self._steady
        if steady_from <= unix < steady_until:
            return unix - (unix + offset) % self._step
        ticks = self._note_steady_around(unix)
        return ticks[bisect_right(ticks, unix) - 1]

    def next(self, unix: int) -> int:
        """The end of the slot that holds an instant."""
        steady_from, steady_until, offset = self._steady
        if steady_from <= unix < steady_until:
            return unix - (unix + offset) % self._step + self._step
        ticks = self._note_steady_around(unix)
        return ticks[bisect_right(ticks, unix)]

    def are_edges(self, instants: Sequence[int]) -> bool:
        """Whether all of these instants, ascending, are edges; fast for an even cron between two clock changes."""
        i = 0
        while i < len(instants):
            if self.floor(instants[i]) != instants[i]:
                return False
            steady_from, steady_until, offset = self._steady
            # up to j, all instants lie where one offset holds, so that arithmetic answers for them together
            j = bisect_left(instants, steady_until, i) if steady_from <= instants[i] < steady_until else i + 1
            if any((each + offset) % self._step for each in instants[i + 1 : j]):
                return False
            i = j
        return True

    def edges(self, low: int, high: int) -> Iterator[int]:
        """The ends of the slots between two edges, ascending."""
        while low < high:
            ticks = self._ticks_around(low)
            i, j = bisect_right(ticks, low), bisect_right(ticks, high)
            yield from ticks[i:j]
            low = ticks[j - 1]

    def count(self, low: int, high: int) -> int:
        """The number of slots between two edges; takes time by clock changes, not by slots."""
        steady_from, steady_until, _ = self._steady
        ticks = [] if steady_from <= low < steady_until else self._note_steady_around(low)
        steady_from, steady_until, _ = self._steady
        if steady_from <= low and high < steady_until:
            return (high - low) // self._step
        if ticks and high <= ticks[-1]:
            return bisect_left(ticks, high) - bisect_left(ticks, low)
        slots, counted_to = 0, low
        # ticks are listed one by one only around clock changes; between them the fields alone give their number
        for change in self._clock.changes(low - _AROUND, high + _AROUND):
            near_change, past_change = (min(max(counted_to, change.at + by), high) for by in (-_AROUND, _AROUND))
            slots += self._fields.count(counted_to, near_change, offset=change.before) + len(
                self._ticks.between(near_change, past_change)
            )
            counted_to = past_change
        return slots + self._fields.count(counted_to, high, offset=self._clock.offset_at(counted_to))

    def nominal(self, start: int) -> int:
        """What the wall clock shows at the start of a slot, in local seconds; 00:00 for a grid of dates.

        A grid of dates has 00:00 even on a day whose midnight the clocks skip.
        """
        local = start + self._clock.offset_at(start)
        return local // DAY * DAY if self.precision == "day" else local

    def shift(self, edge: int, duration: Duration, *, late: bool) -> int:
        """The instant ``duration`` after an edge; it never descends when the edge ascends.

        Clock changes and ends of months could move an edge before an earlier one. Then the result is the earliest of
        all of them, or the latest if ``late``.
        """
        if not duration.months:
            steady_from, steady_until, _ = self._clock.steady_span(edge)
            moved = edge + duration.days * DAY
            if (
                not duration.days
                or steady_from + _AROUND <= min(edge, moved) <= max(edge, moved) < steady_until - _AROUND
            ):
                return moved + duration.seconds
        if self.precision == "day":
            moved = duration.add_to_local(self.nominal(edge))
        else:
            moved = shift_local_time(duration, self._local_of_edge(edge, late=late), late=late)
        return self._clock.boundary(moved) + duration.seconds

    def slot_of_date(self, day: int) -> tuple[int, int] | None:
        """The slot that holds a local date (day number), as (start, end); None where the clocks skip the date."""
        first, second = self._clock.readings_of(day * DAY + DAY // 2)
        if first - second >= DAY:  # the readings of a skipped noon are a gap apart, here of a whole day
            return None
        at = self._clock.tick_instant(day * DAY)
        return self.floor(at), self.next(at)

    slot_of_key_date = slot_of_date

    def key_day(self, start: int) -> int:
        """The local date at the start of a slot, as a day number."""
        return (start + self._clock.offset_at(start)) // DAY

    first_day = key_day

    def slot_of_local_time(self, local: int) -> tuple[int, int] | None:
        """The time of all slots in which the wall clock shows ``local``, as (start, end); None where it never does."""
        readings = [each for each in self._clock.readings_of(local) if each + self._clock.offset_at(each) == local]
        return (self.floor(min(readings)), self.next(max(readings))) if readings else None

    def key(self, start: int) -> str:
        """The key of the slot with that start: its local date, or date and time.

        A UTC offset is added where two slots have the same local time.
        """
        local = start + self._clock.offset_at(start)
        shown = local_datetime(local)
        if self.precision == "day":
            return shown.date().isoformat()
        text = shown.isoformat(timespec="auto" if shown.second else "minutes")
        steady_from, steady_until, _ = self._clock.steady_span(start)
        if steady_from + _AROUND <= start < steady_until - _AROUND:
            return text
        return text + offset_text(self._clock.offset_at(start)) if len(self._starts_at_local(local)) > 1 else text

    def parse_key(self, text: str) -> tuple[int, int]:
        """The slot with that key, as (start, end); the offset may be given for any time, if it is right.

        Raises:
            PartitionError: It is no key, no slot begins then, or two do and it lacks its offset.
        """
        match = (_DATE if self.precision == "day" else _TIME).fullmatch(text)
        if not match:
            example = "2013-01-05" if self.precision == "day" else "2013-01-05T06:00"
            message = f"'{text}' is not a partition key by '{self._cron}'; expected one such as {example}"
            raise PartitionError(message)
        check_year(text)
        try:
            local = local_seconds(datetime.fromisoformat(match[1]))
        except ValueError as error:
            raise PartitionError(f"partition key '{text}' is not a valid date: {error}") from error
        start = self._find_start(text, local, match[1], match[2] if self.precision != "day" else None)
        return start, self.next(start)

    def _find_start(self, text: str, local: int, local_text: str, offset: str | None) -> int:
        """The start of the slot that begins at the local time ``local``, under the UTC offset if one is given.

        Raises:
            PartitionError: No slot begins then, or several do and ``offset`` does not choose one.
        """
        by_offset = {offset_text(self._clock.offset_at(start)): start for start in self._starts_at_local(local)}
        if not by_offset:
            raise PartitionError(self._explain_no_slot(text, local), hint=self._holder_hint(local))
        if offset is None and len(by_offset) == 1:
            return next(iter(by_offset.values()))
        if offset in by_offset:
            return by_offset[offset]
        what = "has another offset" if offset else "is repeated"
        choices = " or ".join(local_text + each for each in by_offset)
        raise PartitionError(f"partition key '{text}': that time {what} in {self._timezone}; expected {choices}")

    def _explain_no_slot(self, text: str, local: int) -> str:
        """Why no slot has that key: the clocks skip its time, or no tick is then."""
        is_shown = any(each + self._clock.offset_at(each) == local for each in self._clock.readings_of(local))
        if not is_shown and self.precision != "day":
            return f"partition key '{text}' does not exist: the clocks of {self._timezone} skip it"
        return f"no partition by '{self._cron}' begins at {text}"

    def _holder_hint(self, local: int) -> str:
        """A hint with the key of the slot that holds that local time."""
        return f"the partition that contains it is {self.key(self.floor(self._clock.tick_instant(local)))}"

    def _starts_at_local(self, local: int) -> list[int]:
        """The starts of the slots that begin at the local time, or on the date in a grid of dates; oldest first."""
        if self.precision == "day":
            at = self.floor(self._clock.tick_instant(local))
            return [at] if (at + self._clock.offset_at(at)) // DAY == local // DAY else []
        readings = sorted(set(self._clock.readings_of(local)))
        return [each for each in readings if each + self._clock.offset_at(each) == local and self.floor(each) == each]

    def _local_of_edge(self, edge: int, *, late: bool) -> int:
        """The lowest time that the wall clock shows at or shortly after an edge; with ``late`` the highest up to it.

        When clocks go back from 3:00 to 2:00, an edge at 2:30 before the change is followed by 2:00 once more.
        """
        local = edge + self._clock.offset_at(edge)
        if late:
            passed = self._clock.changes(edge - _AROUND, edge + 1)
            return max([local, *(change.at + change.before for change in passed)])
        coming = self._clock.changes(edge, edge + _AROUND)
        return min([local, *(change.at + change.after for change in coming)])

    def _note_steady_around(self, unix: int) -> list[int]:
        """The ticks around an instant; for an even cron, also keeps the time in which arithmetic finds the slots."""
        if self._step:
            steady_from, steady_until, offset = self._clock.steady_span(unix)
            apart = _AROUND + self._step
            self._steady = SteadySpan(steady_from + apart, steady_until - apart, offset - self._phase)
        return self._ticks_around(unix)

    def _ticks_around(self, unix: int) -> list[int]:
        """Ticks around an instant: at least the last one at or before it, and the first one after it."""
        number = unix >> self._bits
        ticks = self._stretches.get(number)
        if ticks is None:
            low, high = number << self._bits, (number + 1) << self._bits
            tick_before, tick_after = self._ticks.before(low + 1), self._ticks.after(high - 1)
            # where there is no tick, the calendar's bounds stand for one, so that every instant has a slot
            first, last = EARLIEST if tick_before is None else tick_before, LATEST if tick_after is None else tick_after
            ticks = [first, *self._ticks.between(max(low, first) + 1, high), last]
            if len(self._stretches) >= _MOST_STRETCHES:
                self._stretches = {}  # replaced as a whole: other threads may read the old one
            self._stretches[number] = ticks
        return ticks

    def _even_spacing(self) -> tuple[int, int]:
        """The constant distance of ticks in local seconds, and the time of one of them; (0, 0) for an uneven cron."""
        days = self._fields.days
        weekly = days.weekdays is not None and days == DayFields(weekdays=days.weekdays)
        if not (days.every_day or (weekly and all(nth == 0 for _, nth in days.weekdays or ()))):
            return 0, 0
        # one week has all distances, with that across its end; 1970-01-01 is as good a beginning as any
        ticks = self._fields.between(0, _WEEK)
        distances = {after - before for before, after in pairwise([*ticks, ticks[0] + _WEEK])}
        return (distances.pop(), ticks[0]) if len(distances) == 1 else (0, 0)

    def _longest_slot(self) -> Duration:
        """A length that no slot exceeds, whatever the clock changes."""
        times, days = self._fields.times, self._fields.days.longest
        if self.precision == "day":
            return Duration(days=days)
        if self._fields.every_hour and days == 1:  # a clock change begins the hour again, so a gap can double
            distances = [b - a for a, b in pairwise((*times, times[0] + DAY))]
            return Duration(seconds=2 * max(distances))
        return Duration(days=days + 1)  # a tick that a clock change moves makes the slot before it longer
