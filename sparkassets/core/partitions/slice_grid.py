"""The grid of days, weeks, months, quarters or years in a zone."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from sparkassets.core.instants import DAY, Duration, zone_offsets
from sparkassets.core.partitions.grains import GRAINS, YEARS, PartitionError, check_year

_REGULAR = {"day": (DAY, 0), "week": (7 * DAY, 3 * DAY)}
"""Slices of one length while the clocks do not change: that, and how far one begins before 1970-01-01."""
_APART = 3 * DAY
"""So far from a clock change no local midnight is skipped or repeated by it (tests/core/test_instants.py)."""


class SliceGrid:
    """Slices of whole local days: a slot begins where the clocks leave the slice before for good.

    Instants and local times are seconds; an edge is the start or the end of a slot. Slices are numbered as in `grains`.
    With an offset a slot begins so much later on the wall clock than its slice, whose key it keeps; in dates whole days
    of the offset count.
    """

    __slots__ = (
        "_by",
        "_clock",
        "_days",
        "_grain",
        "_offset",
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
        self._days = abs(offset) // DAY * (1 if offset > 0 else -1)
        length, shift = _REGULAR.get(by, (0, 0))
        self._regular = (length, shift - offset) if length else None
        self._steady = (0, 0, 0)  # where the clocks do not change, as it was asked for last; replaced as a whole

    def floor(self, unix: int) -> int:
        """The start of the slot that holds an instant."""
        if self._regular is not None:
            length, shift = self._regular
            low, high, offset = self._steady
            start = unix - (unix + offset + shift) % length
            if low <= start and unix < high:
                return start
            self._note_steady(unix)
        return self._edge(self._number(unix))

    def next(self, unix: int) -> int:
        """The end of the slot that holds an instant."""
        if self._regular is not None:
            length, shift = self._regular
            low, high, offset = self._steady
            start = unix - (unix + offset + shift) % length
            if low <= start and start + length < high:
                return start + length
            self._note_steady(unix)
        return self._edge(self._number(unix) + 1)

    def are_edges(self, instants: Sequence[int]) -> bool:
        """Whether all of these, ascending, are edges; at once for days and weeks between two clock changes."""
        i = 0
        while i < len(instants):
            j = i
            if self._regular is not None:
                length, shift = self._regular
                self._note_steady(instants[i])
                low, high, offset = self._steady
                j = bisect_left(instants, high, i) if low <= instants[i] else i
                if any((each + offset + shift) % length for each in instants[i:j]):
                    return False
            if i == j and self.floor(instants[i]) != instants[i]:
                return False
            i = max(i + 1, j)
        return True

    def edges(self, low: int, high: int) -> Iterator[int]:
        """The ends of the slots between two edges, ascending."""
        number = self._number(low)
        while low < high:
            number += 1
            edge = self._edge(number)
            if edge > low:
                yield edge
            low = edge

    def count(self, low: int, high: int) -> int:
        """The number of slots between two edges; takes time by clock changes, not by slots."""
        if self._regular is not None:
            steady, until, _ = self._steady
            if steady <= low and high < until:
                return (high - low) // self._regular[0]
            self._note_steady(low)
        slices = self._number(high) - self._number(low)
        if self._by != "day":  # no longer slice was ever skipped whole
            return slices
        gaps = (
            (change.at + change.before - self._offset, change.at + change.after - self._offset)
            for change in self._clock.changes(low + 1, high + 1)
        )
        return slices - sum(max(0, gone_to // DAY + -gone_from // DAY) for gone_from, gone_to in gaps)

    def nominal(self, start: int) -> int:
        """When the slot begins on the wall clock, without an offset at 00:00, also where the clocks skip it."""
        return self.key_day(start) * DAY + self._offset

    def shift(self, edge: int, duration: Duration, *, late: bool) -> int:  # noqa: ARG002 - 00:00 is early and late
        """The instant that long after an edge; it never descends when the edge ascends."""
        if duration.months or duration.days:
            edge = self._clock.boundary(duration.add_to_local(self.key_day(edge) * DAY) + self._offset)
        return edge + duration.seconds

    def slot_of_date(self, day: int) -> tuple[int, int] | None:
        """The slot that a local date is in, by its number, as (start, end); None where the clocks skip the slot."""
        return self.slot_of_key_date(day - self._days)

    def slot_of_key_date(self, day: int) -> tuple[int, int] | None:
        """The slot whose slice holds a day, as (start, end); None where the clocks skip the slot."""
        number = self._grain.index(day)
        start, end = self._edge(number), self._edge(number + 1)
        year = int(self._grain.key(self._grain.first_day(number))[:4])
        return (start, end) if start < end and year in YEARS else None

    def slot_of_local_time(self, local: int) -> tuple[int, int] | None:
        """The slot that holds a local time; None where the clocks skip it."""
        return self.slot_of_key_date((local - self._offset) // DAY)

    def key_day(self, start: int) -> int:
        """The first day of the slot's slice, by its number: that of its key."""
        return self._grain.first_day(self._number(start))

    def first_day(self, start: int) -> int:
        """The first date of the slot, by its number."""
        return self.key_day(start) + self._days

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
            start, end = self._edge(number), self._edge(number + 1)
        except ValueError as error:
            raise PartitionError(f"partition key '{text}' is not in the calendar: {error}") from error
        if start == end:
            raise PartitionError(f"partition key '{text}' does not exist: the clocks of {self._timezone} skip it")
        return start, end

    def _note_steady(self, unix: int) -> None:
        """Notes where the clocks do not change around an instant: the edges that no clock change moves."""
        start, end, offset = self._clock.steady_span(unix)
        self._steady = (start + _APART, end - _APART, offset)

    def _number(self, unix: int) -> int:
        """The number of the slice whose slot holds an instant."""
        number = self._grain.index((unix + self._clock.offset_at(unix) - self._offset) // DAY)
        while self._edge(number) > unix:  # a short first reading of a midnight that the clocks repeat
            number -= 1
        return number

    def _edge(self, number: int) -> int:
        """The start of a slice; equal to the next one's where the clocks skip it."""
        return self._clock.boundary(self._grain.first_day(number) * DAY + self._offset)
