"""Timetables whose slots follow from ticks: recurring ones, instants, once, continuous."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import chain

from sparkassets.core.crons.wall_clock import EARLIEST, LATEST
from sparkassets.core.instants import DAY, Duration, format_zoned, from_unix, to_unix
from sparkassets.core.timetables.timetable import (
    Catchup,
    InstantIntervals,
    IntervalShape,
    Slot,
    TickSequence,
    describe_timetable,
    duration_range,
)
from sparkassets.frozen import frozen

_PAGE = 31 * DAY
"""How much of a long stretch is computed at once, in seconds."""
_NO_DELAY = Duration()
_SlotTimes = tuple[int, int, int]
"""``run_after``, and the start and the end of the interval, before it is widened; Unix seconds."""


@frozen
class TickTimetable:
    """Slots from the ticks of a rule, ascending by ``run_after``, then by ``start``.

    Two of them share a ``run_after`` only where a calendar length ends at one instant for both: one month from
    30 January and from 31 January, or a day later where the clocks skip.

    Attributes:
        text: The rule as it was written.
        timezone: Whose wall clock it follows; also of the days and months of ``delay`` and ``window``.
        ticks: The rule.
        shape: How its ticks become intervals.
        start: No interval begins before it; one may begin at it. Unix seconds, None is open.
        end: No interval begins at it or after. Unix seconds, None is open.
        delay: Time from the end of an interval until its run may start; not negative.
        window: Length of the intervals, up to their ends, in place of their own; above 0. The bounds apply to the
            interval before it gets this length.
        catchup: Which missed intervals run; None where it is not written.
    """

    text: str
    timezone: str
    ticks: TickSequence
    shape: IntervalShape
    start: int | None = None
    end: int | None = None
    delay: Duration = _NO_DELAY
    window: Duration | None = None
    catchup: Catchup | None = None

    @property
    def abutting(self) -> bool:
        """Whether each interval begins where the one before ended."""
        return self.shape.abutting and self.window is None

    def first_after(self, t: datetime) -> Slot | None:
        """The first slot with ``run_after`` later than ``t``; None when there is none."""
        # the delay of a slot may differ by month and clock change, so a later tick may run earlier: ticks are examined
        # until none can run before the best slot so far
        after, (least, most) = to_unix(t), self._delay_range()
        first, last = self._first_tick(), self._last_tick()
        best: _SlotTimes | None = None
        tick = self.ticks.after(max(after - most, first - 1))
        while tick is not None and tick <= last and (best is None or tick + least <= best[0]):
            later = (times for times in self._slot_times(tick, tick + 1) if times[0] > after)
            best = min(filter(None, [best, *later]), default=None)
            if best and least == most:
                break
            tick = self.ticks.after(tick)
        return self._slot(*best) if best else None

    def last_at(self, t: datetime) -> Slot | None:
        """The newest slot with ``run_after`` not later than ``t``; None when there is none."""
        return self._find_newest(to_unix(t), self._delay_range(), lambda times: times)

    def last_over(self, t: datetime) -> Slot | None:
        """The newest slot whose interval is over at ``t``, whatever delays its run; None when there is none."""
        return self._find_newest(to_unix(t), self.shape.reach, lambda times: (times[2], times[1]))

    def between(self, a: datetime, b: datetime) -> Iterator[Slot]:
        """The slots with ``a <= run_after <= b``, oldest first."""
        # slots run at whole seconds, so a part of a second in `a` is rounded up
        low, high, (least, most) = to_unix(a) + bool(a.microsecond), to_unix(b), self._delay_range()
        first = max(low - most, self._first_tick())
        last = min(high - least, self._last_tick())
        if least != most:  # slots of ascending ticks need not run in that order, so all are computed and sorted
            yield from (
                self._slot(*each) for each in sorted(self._slot_times(first, last + 1)) if low <= each[0] <= high
            )
            return
        intervals = chain.from_iterable(
            self.shape.intervals(self.ticks, page, min(page + _PAGE, last + 1))
            for page in range(first, last + 1, _PAGE)
        )
        if self.window is None and self.delay == _NO_DELAY:
            yield from _slots_of_intervals(intervals)
            return
        for begin, end in intervals:
            yield self._slot(self.delay.add_to(end, self.timezone), begin, end)

    def describe(self) -> str:
        """The rule for people, with its zone and bounds."""
        return describe_timetable(self)

    def _delay_range(self) -> tuple[int, int]:
        """The least and the most seconds from a tick to its slot's ``run_after``."""
        delay, shape = duration_range(self.delay), self.shape.reach
        return shape[0] + delay[0], shape[1] + delay[1]

    def _first_tick(self) -> int:
        """The tick of the first interval that ``start`` and the calendar allow; `LATEST` where there is none.

        ``start`` bounds where intervals begin, while slots are found by the ticks of their intervals (`tick_of`).
        """
        earliest = EARLIEST + (duration_range(self.window)[1] if self.window else 0)
        if self.start is None:
            return earliest
        begin = self.ticks.after(self.start - 1)
        tick = None if begin is None else self.shape.tick_of(self.ticks, begin)
        return LATEST if tick is None else max(tick, earliest)

    def _last_tick(self) -> int:
        """The tick of the last interval that ``end`` and the calendar allow; `EARLIEST` where there is none."""
        latest = LATEST - 1 - self._delay_range()[1]
        if self.end is None:
            return latest
        begin = self.ticks.before(self.end)
        if begin is None:
            return EARLIEST
        tick = self.shape.tick_of(self.ticks, begin)
        return latest if tick is None else min(tick, latest)

    def _find_newest(
        self, at: int, reach: tuple[int, int], rank: Callable[[_SlotTimes], tuple[int, ...]]
    ) -> Slot | None:
        """The slot with the highest rank whose rank begins with an instant not later than ``at``; None without one.

        Args:
            at: Unix seconds.
            reach: The least and the most seconds from a tick to that instant of its slot.
            rank: Returns the rank of a slot's times; its first item is the instant.
        """
        least, most = reach
        first, last = self._first_tick(), self._last_tick()
        best: _SlotTimes | None = None
        tick = self.ticks.before(min(at - least, last) + 1)
        while tick is not None and tick >= first and (best is None or tick + most >= rank(best)[0]):
            earlier = (times for times in self._slot_times(tick, tick + 1) if rank(times)[0] <= at)
            best = max(filter(None, [best, *earlier]), key=rank, default=None)
            if best and least == most:
                break
            tick = self.ticks.before(tick)
        return self._slot(*best) if best else None

    def _slot_times(self, start: int, end: int) -> Iterator[_SlotTimes]:
        """Yields the times of the slots whose ticks are in ``[start, end)``, in the order of the ticks."""
        for begin, over in self.shape.intervals(self.ticks, start, end):
            yield self.delay.add_to(over, self.timezone), begin, over

    def _slot(self, run_after: int, start: int, end: int) -> Slot:
        """The slot of these instants, with the length of ``window`` if there is one."""
        if self.window is not None:
            start = (-self.window).add_to(end, self.timezone)
        return Slot(from_unix(run_after), from_unix(start), from_unix(end))


def _slots_of_intervals(intervals: Iterable[tuple[int, int]]) -> Iterator[Slot]:
    """Yields the slots of intervals, Unix seconds, each of which runs at its end.

    Neighbouring intervals share an instant, which is built only once.
    """
    last_end, last_instant = None, from_unix(0)
    for begin, end in intervals:
        start = last_instant if begin == last_end else from_unix(begin)
        last_end, last_instant = end, start if begin == end else from_unix(end)
        yield Slot(last_instant, start, last_instant)


_MOST_SHOWN = 3


@frozen
class InstantTicks:
    """Exactly these instants.

    Attributes:
        instants: Unix seconds; ascending, no two equal.
        timezone: The zone that they are told in.
    """

    instants: tuple[int, ...] = ()
    timezone: str = "UTC"

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        index = bisect_right(self.instants, unix)
        return self.instants[index] if index < len(self.instants) else None

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        index = bisect_left(self.instants, unix)
        return self.instants[index - 1] if index else None

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        return list(self.instants[bisect_left(self.instants, start) : bisect_left(self.instants, end)])

    def describe(self) -> str:
        """The first of the instants, and how many more there are.

        >>> InstantTicks((0, 60)).describe()
        '1970-01-01T00:00Z, 1970-01-01T00:01Z'
        """
        shown = ", ".join(format_zoned(from_unix(each), self.timezone) for each in self.instants[:_MOST_SHOWN])
        hidden_count = len(self.instants) - _MOST_SHOWN
        return f"{shown} and {hidden_count} more" if hidden_count > 0 else shown


class OnceTimetable(TickTimetable):
    """One slot at ``start``; no slot without a start, as the one run may then be at any time."""


def build_once(text: str, *, timezone: str, start: int | None, end: int | None) -> OnceTimetable:
    """The timetable of ``@once``.

    >>> build_once("@once", timezone="UTC", start=None, end=None).describe()
    '@once (UTC)'
    """
    ticks = InstantTicks() if start is None else InstantTicks((start,))
    return OnceTimetable(text, timezone, ticks, InstantIntervals(), start, end)


class ContinuousTimetable(TickTimetable):
    """A timetable without slots: between ``start`` and ``end`` a run is always due."""


def build_continuous(text: str, *, timezone: str, start: int | None, end: int | None) -> ContinuousTimetable:
    """The timetable of ``@continuous``.

    >>> build_continuous("@continuous", timezone="UTC", start=None, end=None).describe()
    '@continuous (UTC)'
    """
    return ContinuousTimetable(text, timezone, InstantTicks(), InstantIntervals(), start, end)
