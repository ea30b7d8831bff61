"""Grids of equal partitions of time: hours of a day, and slices of fixed length."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from sparkassets.core.instants import DAY, Duration, SteadySpan, local_date, local_datetime, local_seconds, zone_offsets
from sparkassets.core.partitions.grains import GRAINS, YEARS, PartitionError, check_year, offset_text, shift_local_time

HOUR = 3600
_APART = 3 * DAY
"""Distance from a clock change at which it skips or repeats no local hour (tests/core/test_instants.py)."""
_KEY = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)([+-]\d\d:\d\d(?::\d\d)?)?", re.ASCII)


class HourGrid:
    """Local hours, cut at the clock changes: a repeated hour is two slots, and a part of an hour can be one.

    Instants and local times are seconds; an edge is the start or the end of a slot.
    """

    __slots__ = ("_clock", "_steady", "_timezone")

    precision: Final = "hour"
    longest: Final = Duration(seconds=HOUR)

    def __init__(self, timezone: str) -> None:
        self._clock = zone_offsets(timezone)
        self._timezone = timezone
        # around the instant that was asked for last; replaced as a whole, because threads share it
        self._steady = SteadySpan(0, 0, 0)

    def floor(self, unix: int) -> int:
        """The start of the slot that holds an instant."""
        steady_from, steady_until, offset = self._steady
        if steady_from <= unix < steady_until:
            return unix - (unix + offset) % HOUR
        self._note_steady(unix)
        start = unix - (unix + self._clock.offset_at(unix)) % HOUR
        # a clock change within an hour ends its slot and begins the next; so in `next`
        changes = self._clock.changes(start + 1, unix + 1)
        return changes[-1].at if changes else start

    def next(self, unix: int) -> int:
        """The end of the slot that holds an instant."""
        steady_from, steady_until, offset = self._steady
        if steady_from <= unix < steady_until:
            return unix - (unix + offset) % HOUR + HOUR
        self._note_steady(unix)
        end = unix - (unix + self._clock.offset_at(unix)) % HOUR + HOUR
        changes = self._clock.changes(unix + 1, end)
        return changes[0].at if changes else end

    def are_edges(self, instants: Sequence[int]) -> bool:
        """Whether all of these instants, ascending, are edges; fast for those between two clock changes."""
        i = 0
        while i < len(instants):
            self._note_steady(instants[i])
            steady_from, steady_until, offset = self._steady
            # up to j, all instants lie where one offset holds; near a clock change j is i, and `floor` answers
            j = bisect_left(instants, steady_until, i) if steady_from <= instants[i] else i
            if any((each + offset) % HOUR for each in instants[i:j]):
                return False
            if i == j and self.floor(instants[i]) != instants[i]:
                return False
            i = max(i + 1, j)
        return True

    def edges(self, low: int, high: int) -> Iterator[int]:
        """The ends of the slots between two edges, ascending."""
        for start, end, offset in self._clock.steady_spans(low, high):
            yield from range(start - (start + offset) % HOUR + HOUR, end, HOUR)
            yield end

    def count(self, low: int, high: int) -> int:
        """The number of slots between two edges; takes time by clock changes, not by slots."""
        steady_from, steady_until, offset = self._steady
        if steady_from <= low and high < steady_until:
            return _count_hours(low + offset, high + offset)
        self._note_steady(low)
        spans = self._clock.steady_spans(low, high)
        return sum(_count_hours(start + offset, end + offset) for start, end, offset in spans)

    def nominal(self, start: int) -> int:
        """The full hour that the wall clock shows at the start of a slot, in local seconds."""
        return (start + self._clock.offset_at(start)) // HOUR * HOUR

    def shift(self, edge: int, duration: Duration, *, late: bool) -> int:
        """The instant ``duration`` after an edge; it never descends when the edge ascends.

        Clock changes and ends of months can give several edges the same wall-clock time, which would move some before
        an earlier one. Then the result is the earliest of all of them, or the latest if ``late``.
        """
        if not duration.months and not duration.days:
            return edge + duration.seconds
        if not duration.months:
            steady_from, steady_until, _ = self._steady
            moved = edge + duration.days * DAY
            if steady_from + _APART <= min(edge, moved) and max(edge, moved) + _APART < steady_until:
                return moved + duration.seconds
        local = self._local_of_edge(edge, late=late)
        return self._clock.boundary(shift_local_time(duration, local, late=late)) + duration.seconds

    def slot_of_date(self, day: int) -> None:
        """None: a date does not identify an hour."""

    slot_of_key_date = slot_of_date

    def key_day(self, start: int) -> int:
        """The local date at the start of a slot, as a day number."""
        return self.nominal(start) // DAY

    first_day = key_day

    def slot_of_local_time(self, local: int) -> tuple[int, int] | None:
        """The time of all slots of the local hour that holds a local time; None where the clocks skip it."""
        hour = local // HOUR * HOUR
        steady_from, steady_until, offset = self._clock.steady_span(hour)
        if steady_from + DAY <= hour - offset < steady_until - DAY:  # no clock change is near
            return hour - offset, hour - offset + HOUR
        slots = self._slots_of_local_hour(hour)
        return (slots[0][0], slots[-1][1]) if slots else None

    def key(self, start: int) -> str:
        """The key of the slot with that start: its local date and hour, and its UTC offset if the hour is repeated."""
        steady_from, steady_until, offset = self._steady
        if steady_from + _APART <= start < steady_until - _APART:
            day, seconds = divmod(start + offset, DAY)
            return f"{local_date(day).isoformat()}T{seconds // HOUR:02}"
        self._note_steady(start)  # for the next call
        local = self.nominal(start)
        text = local_datetime(local).isoformat()[:13]
        return text + offset_text(self._clock.offset_at(start)) if len(self._slots_of_local_hour(local)) > 1 else text

    def parse_key(self, text: str) -> tuple[int, int]:
        """The slot with that key, as (start, end); the offset may be given for any hour, if it is right.

        Raises:
            PartitionError: It is no key, the clocks skip it, or they repeat it and it lacks its offset.
        """
        match = _KEY.fullmatch(text)
        if not match:
            raise PartitionError(f"'{text}' is not a partition key by hour; expected one such as 2013-01-05T06")
        check_year(text)
        try:
            slots = self._slots_of_local_hour(local_seconds(datetime.fromisoformat(match[1])))
        except ValueError as error:
            raise PartitionError(f"partition key '{text}' is not a valid date: {error}") from error
        if not slots:
            raise PartitionError(f"partition key '{text}' does not exist: the clocks of {self._timezone} skip it")
        if match[2] is None and len(slots) == 1:
            return slots[0]
        by_offset = {offset_text(self._clock.offset_at(start)): (start, end) for start, end in slots}
        if match[2] in by_offset:
            return by_offset[match[2]]
        what = "has another offset" if match[2] else "is repeated"
        choices = " or ".join(match[1] + offset for offset in by_offset)
        raise PartitionError(f"partition key '{text}': the hour {what} in {self._timezone}; expected {choices}")

    def _note_steady(self, unix: int) -> None:
        """Keeps the time around an instant in which the clocks do not change: arithmetic finds slots there.

        A slot at either end is left out, as a clock change may cut it.
        """
        start, end, offset = self._clock.steady_span(unix)
        self._steady = SteadySpan(start + HOUR, end - HOUR, offset)

    def _local_of_edge(self, edge: int, *, late: bool) -> int:
        """The earliest full hour that the wall clock shows from an edge on; the latest up to it if ``late``.

        Near a clock change that goes back this is not what the clock shows at the edge.
        """
        local = self.nominal(edge)
        if late:
            passed = self._clock.changes(edge - 2 * DAY, edge + 1)
            return max([local, *(-(-(change.at + change.before) // HOUR) * HOUR for change in passed)])
        coming = self._clock.changes(edge, edge + 2 * DAY)
        return min([local, *((change.at + change.after) // HOUR * HOUR for change in coming)])

    def _slots_of_local_hour(self, local: int) -> list[tuple[int, int]]:
        """The slots of the local hour that begins at ``local``, oldest first: none, one or two."""
        spans = self._clock.steady_spans(local - 2 * DAY, local + 2 * DAY)
        shown = ((max(start, local - offset), min(end, local - offset + HOUR)) for start, end, offset in spans)
        return [(start, end) for start, end in shown if start < end]


def _count_hours(low: int, high: int) -> int:
    """How many hours ``[low, high)`` overlaps, in local seconds; the first and the last may be cut."""
    return -(-high // HOUR) - low // HOUR


_REGULAR_GRAINS = {"day": (DAY, 0), "week": (7 * DAY, 3 * DAY)}
"""Grains of constant length between clock changes: the length, and how far a slice begins before 1970-01-01.

`_APART` is also the distance at which a clock change skips or repeats no local midnight (tests/core/test_instants.py).
"""


class SliceGrid:
    """Slices of whole local days: a slot begins where the clocks leave the slice before for good.

    Instants and local times are seconds; an edge is the start or the end of a slot. Slices are numbered as in `grains`.
    With an offset, a slot begins that much later on the wall clock than its slice, whose key it keeps; whole days of
    the offset shift the slot's dates as well.
    """

    __slots__ = (
        "_by",
        "_clock",
        "_grain",
        "_offset",
        "_offset_days",
        "_regular",
        "_steady",
        "_timezone",
        "longest",
        "precision",
    )

    def __init__(self, by: str, timezone: str, offset: int = 0) -> None:
        self._by = by
        self._clock = zone_offsets(timezone)
        self._grain = GRAINS[by]
        self._timezone = timezone
        self.precision = by
        self.longest = self._grain.length
        self._offset = offset
        self._offset_days = (
            abs(offset) // DAY * (1 if offset > 0 else -1)
        )  # whole days of the offset, rounded towards 0
        length, shift = _REGULAR_GRAINS.get(by, (0, 0))
        # for days and weeks, seconds: the slots' length, and how far a slot begins before 1970 on the local clock
        self._regular = (length, shift - offset) if length else None
        # around the instant that was asked for last; replaced as a whole, because threads share it
        self._steady = SteadySpan(0, 0, 0)

    def floor(self, unix: int) -> int:
        """The start of the slot that holds an instant."""
        if self._regular is not None:
            length, shift = self._regular
            steady_from, steady_until, offset = self._steady
            start = unix - (unix + offset + shift) % length
            if steady_from <= start and unix < steady_until:
                return start
            self._note_steady(unix)
        return self._slice_start(self._slice_number(unix))

    def next(self, unix: int) -> int:
        """The end of the slot that holds an instant."""
        if self._regular is not None:
            length, shift = self._regular
            steady_from, steady_until, offset = self._steady
            start = unix - (unix + offset + shift) % length
            if steady_from <= start and start + length < steady_until:
                return start + length
            self._note_steady(unix)
        return self._slice_start(self._slice_number(unix) + 1)

    def are_edges(self, instants: Sequence[int]) -> bool:
        """Whether all of these instants, ascending, are edges; fast for days and weeks between two clock changes."""
        i = 0
        while i < len(instants):
            j = i
            if self._regular is not None:
                length, shift = self._regular
                self._note_steady(instants[i])
                steady_from, steady_until, offset = self._steady
                # as in `HourGrid.are_edges`
                j = bisect_left(instants, steady_until, i) if steady_from <= instants[i] else i
                if any((each + offset + shift) % length for each in instants[i:j]):
                    return False
            if i == j and self.floor(instants[i]) != instants[i]:
                return False
            i = max(i + 1, j)
        return True

    def edges(self, low: int, high: int) -> Iterator[int]:
        """The ends of the slots between two edges, ascending."""
        number = self._slice_number(low)
        while low < high:
            number += 1
            edge = self._slice_start(number)
            if edge > low:  # a slice that the clocks skip ends where it begins, and is no slot
                yield edge
            low = edge

    def count(self, low: int, high: int) -> int:
        """The number of slots between two edges; takes time by clock changes, not by slots."""
        if self._regular is not None:
            steady_from, steady_until, _ = self._steady
            if steady_from <= low and high < steady_until:
                return (high - low) // self._regular[0]
            self._note_steady(low)
        slices = self._slice_number(high) - self._slice_number(low)
        if self._by != "day":  # the clocks never skipped a whole week or a longer slice
            return slices
        # some zones skipped a day when they crossed the date line; each change, as local times without the offset
        gaps = (
            (change.at + change.before - self._offset, change.at + change.after - self._offset)
            for change in self._clock.changes(low + 1, high + 1)
        )
        return slices - sum(max(0, gone_to // DAY + -gone_from // DAY) for gone_from, gone_to in gaps)

    def nominal(self, start: int) -> int:
        """The wall-clock time at which the slot begins, in local seconds: 00:00 plus the offset.

        The clocks may skip this time.
        """
        return self.key_day(start) * DAY + self._offset

    def shift(self, edge: int, duration: Duration, *, late: bool) -> int:  # noqa: ARG002 - 00:00 is early and late
        """The instant ``duration`` after an edge; it never descends when the edge ascends."""
        if duration.months or duration.days:
            edge = self._clock.boundary(duration.add_to_local(self.key_day(edge) * DAY) + self._offset)
        return edge + duration.seconds

    def slot_of_date(self, day: int) -> tuple[int, int] | None:
        """The slot that holds a local date (day number), as (start, end); None where the clocks skip the slot."""
        return self.slot_of_key_date(day - self._offset_days)

    def slot_of_key_date(self, day: int) -> tuple[int, int] | None:
        """The slot whose slice holds a day (day number), as (start, end).

        None where the clocks skip the slot, and outside the years of partitions.
        """
        number = self._grain.index(day)
        start, end = self._slice_start(number), self._slice_start(number + 1)
        year = int(self._grain.key(self._grain.first_day(number))[:4])
        return (start, end) if start < end and year in YEARS else None

    def slot_of_local_time(self, local: int) -> tuple[int, int] | None:
        """The slot that holds a local time; None where the clocks skip it."""
        return self.slot_of_key_date((local - self._offset) // DAY)

    def key_day(self, start: int) -> int:
        """The first day of the slot's slice, as a day number; the slot's key names it."""
        return self._grain.first_day(self._slice_number(start))

    def first_day(self, start: int) -> int:
        """The first date of the slot, as a day number; differs from `key_day` by whole days of the offset."""
        return self.key_day(start) + self._offset_days

    def key(self, start: int) -> str:
        """The key of the slot with that start."""
        return self._grain.key(self.key_day(start))

    def parse_key(self, text: str) -> tuple[int, int]:
        """The slot with that key, as (start, end).

        Raises:
            PartitionError: It is no key of this grain, or the clocks skip it.
        """
        grain = self._grain
        if not re.fullmatch(grain.pattern, text, re.ASCII):
            raise PartitionError(f"'{text}' is not a partition key by {self._by}; expected one such as {grain.example}")
        check_year(text)
        try:
            number = grain.index(grain.read(text))
            start, end = self._slice_start(number), self._slice_start(number + 1)
        except ValueError as error:
            raise PartitionError(f"partition key '{text}' is not a valid date: {error}") from error
        if start == end:
            raise PartitionError(f"partition key '{text}' does not exist: the clocks of {self._timezone} skip it")
        return start, end

    def _note_steady(self, unix: int) -> None:
        """Keeps the time around an instant in which no clock change moves an edge: arithmetic finds slots there."""
        start, end, offset = self._clock.steady_span(unix)
        self._steady = SteadySpan(start + _APART, end - _APART, offset)

    def _slice_number(self, unix: int) -> int:
        """The number of the slice whose slot holds an instant."""
        number = self._grain.index((unix + self._clock.offset_at(unix) - self._offset) // DAY)
        while (
            self._slice_start(number) > unix
        ):  # the clocks showed the new date shortly, then went back before midnight
            number -= 1
        return number

    def _slice_start(self, number: int) -> int:
        """The start of a slice, in Unix seconds; a slice that the clocks skip starts where the next one does."""
        return self._clock.boundary(self._grain.first_day(number) * DAY + self._offset)
