"""Grids without excluded slots: those whose key's time is a tick of a cron, or lies on one of some days.

As a piece of a set, a slot reaches over the excluded slots after it, up to the next slot that is kept. So slots abut,
and the coverage of a year of working days is one range. `exact` takes the excluded time away again where time itself is
meant: in rows, in mappings between grids, and for when a slot is over.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import Final

from sparkassets.core.crons.cron import CronFields, expand
from sparkassets.core.instants import DAY, Duration, day_number, local_date
from sparkassets.core.partitions.cron_grid import CronGrid
from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.time_grids import HourGrid, SliceGrid
from sparkassets.frozen import frozen

PlainGrid = HourGrid | SliceGrid | CronGrid
"""A grid from which slots can be left out."""

_STRETCH_BITS: Final = {"hour": 22, "minute": 19}
"""A stretch of slots has 2 to this power of seconds: some fifty days for hours, four years for days and longer."""
_DAILY_BITS: Final = 27
_MOST_STRETCHES: Final = 512
"""Number of stretches that are kept."""
_LONGEST_GAP: Final = 9 * 366 * DAY
"""The longest time without a kept slot; a longer one is an error."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SEPARATOR: Final = "; "
"""Separates crons and the list of days in the text of exclusions; neither can hold it."""
_HOUR: Final = 3600


@frozen
class ExcludedSlots:
    """Which slots are excluded.

    Attributes:
        crons: Each as (its text, its fields, its times in seconds into the day).
        days: Numbers of single days.
    """

    crons: tuple[tuple[str, CronFields, frozenset[int]], ...]
    days: frozenset[int]

    def reason(self, local: int) -> str | None:
        """Why the slot is excluded whose key has the time ``local`` (local seconds); None where it is kept."""
        day, seconds = divmod(local, DAY)
        if day in self.days:
            return "the day is excluded"
        for text, fields, times in self.crons:
            if seconds - seconds % 60 in times and fields.days.between(day, day):
                return f"by '{text}'"
        return None


def excluded_text(crons: Sequence[str], days: Sequence[int]) -> str:
    """The canonical text of exclusions, as `TimePartition.exclude` has it; ``days`` are day numbers.

    >>> excluded_text(["* * * * SAT"], [1, 0])
    '* * * * SAT; 1970-01-01 1970-01-02'
    """
    dates = " ".join(local_date(day).isoformat() for day in sorted(set(days)))
    return _SEPARATOR.join([*sorted(set(crons)), *([dates] if dates else [])])


@lru_cache(maxsize=256)
def parse_excluded(text: str) -> ExcludedSlots:
    """Parses a text of `excluded_text`: crons, and one part with all single days."""
    crons: list[tuple[str, CronFields, frozenset[int]]] = []
    days: list[int] = []
    for part in text.split(_SEPARATOR):
        if _DATE.match(part):
            days += [day_number(date.fromisoformat(each)) for each in part.split()]
        else:
            fields = expand(part)
            crons.append((part, fields, frozenset(fields.times)))
    return ExcludedSlots(tuple(crons), frozenset(days))


def split_excluded_hours(text: str) -> tuple[frozenset[int], str]:
    """Splits a text of `excluded_text` for a grid of hours: hours excluded on every day, and the rest of the text.

    >>> sorted(split_excluded_hours("* 0-2 * * *; * * * * SAT")[0]), split_excluded_hours("* 0-2 * * *; * * * * SAT")[1]
    ([0, 1, 2], '* * * * SAT')
    """
    hours, rest = set[int](), list[str]()
    for part in text.split(_SEPARATOR) if text else ():
        fields = None if _DATE.match(part) else expand(part)
        if fields is None or not fields.days.every_day:
            rest.append(part)
            continue
        hours |= {time // _HOUR for time in fields.times if not time % _HOUR}
    return frozenset(hours), _SEPARATOR.join(rest)


class ExcludingGrid:
    """The slots of another grid without the excluded ones; instants are seconds, an edge is the start of a slot."""

    __slots__ = ("_bits", "_excluded", "_plain", "_stretches", "longest", "precision")

    def __init__(self, plain: PlainGrid, exclude: str) -> None:
        self._plain, self._excluded = plain, parse_excluded(exclude)
        self.precision: str = plain.precision
        self.longest: Duration = plain.longest
        self._bits = _STRETCH_BITS.get(plain.precision, _DAILY_BITS)
        self._stretches: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}  # stretch number to its slots

    def floor(self, unix: int) -> int:
        """The start of the last slot that begins at an instant or before it.

        Raises:
            PartitionError: All slots for years around are excluded.
        """
        number = unix >> self._bits
        # every stretch may be without kept slots, so the search has an end
        for each in range(number, number - self._most_searched, -1):
            starts, _ = self._find_stretch(each)
            if at := bisect_right(starts, unix):
                return starts[at - 1]
        raise self._no_slot_error(unix)

    def next(self, unix: int) -> int:
        """The start of the first slot that begins after an instant.

        Raises:
            PartitionError: All slots for years around are excluded.
        """
        number = unix >> self._bits
        for each in range(number, number + self._most_searched):
            starts, _ = self._find_stretch(each)
            if (at := bisect_right(starts, unix)) < len(starts):
                return starts[at]
        raise self._no_slot_error(unix)

    def stop(self, start: int) -> int:
        """The real end of the slot with that start, before the excluded slots that follow."""
        return self._plain.next(start)

    def are_edges(self, instants: Sequence[int]) -> bool:
        """Whether all of these instants, ascending, are starts of slots."""
        return all(self._is_start(each) for each in instants)

    def edges(self, low: int, high: int) -> Iterator[int]:
        """Yields the starts of the slots after ``low`` and up to ``high``, ascending."""
        for number in range(low >> self._bits, (high >> self._bits) + 1):
            starts, _ = self._find_stretch(number)
            yield from starts[bisect_right(starts, low) : bisect_right(starts, high)]

    def count(self, low: int, high: int) -> int:
        """The number of slots that start in ``[low, high)``."""
        slots = 0
        for number in range(low >> self._bits, (high >> self._bits) + 1):
            starts, _ = self._find_stretch(number)
            slots += bisect_left(starts, high) - bisect_left(starts, low)
        return slots

    def exact(self, ranges: RangeSet) -> RangeSet:
        """The part of ``ranges`` (bounded) that no excluded slot holds."""
        pieces: list[tuple[int, int]] = []
        next_number = -(1 << 63)  # the first stretch that no earlier range has used
        for start, end in ranges.pairs():
            first_number, end_number = max(next_number, self._plain.floor(start) >> self._bits), (end >> self._bits) + 1
            for number in range(first_number, end_number):
                pieces += self._find_stretch(number)[1]
            next_number = end_number
        return RangeSet.from_pairs(pieces) & ranges

    def nominal(self, start: int) -> int:
        """The wall-clock time at the start of a slot, or at the end of one; local seconds."""
        return self._plain.nominal(start)

    def shift(self, edge: int, duration: Duration, *, late: bool) -> int:
        """The instant ``duration`` after the start or end of a slot; it never descends when that ascends."""
        return self._plain.shift(edge, duration, late=late)

    def key_day(self, start: int) -> int:
        """The first day of the period that the slot's key names, as a day number."""
        return self._plain.key_day(start)

    def first_day(self, start: int) -> int:
        """The first local date of the slot, as a day number."""
        return self._plain.first_day(start)

    def key(self, start: int) -> str:
        """The key of the slot with that start."""
        return self._plain.key(start)

    def slot_of_date(self, day: int) -> tuple[int, int] | None:
        """The slot that holds a local date (day number); None where there is none, or it is excluded."""
        return self._extend_if_kept(self._plain.slot_of_date(day))

    def slot_of_key_date(self, day: int) -> tuple[int, int] | None:
        """The slot whose key names a day (day number); None where there is none, or it is excluded."""
        return self._extend_if_kept(self._plain.slot_of_key_date(day))

    def slot_of_local_time(self, local: int) -> tuple[int, int] | None:
        """The slots that hold a local time, in seconds; None where there are none, or they are excluded."""
        return self._extend_if_kept(self._plain.slot_of_local_time(local))

    def slot_of_instant(self, unix: int) -> tuple[int, int] | None:
        """The slot that holds an instant; None where it is excluded."""
        return self._extend_if_kept((self._plain.floor(unix), self._plain.next(unix)))

    def parse_key(self, text: str) -> tuple[int, int]:
        """The slot with that key, as (start, end); the end is after the excluded slots that follow.

        Raises:
            PartitionError: It is no key, or its slot is excluded.
        """
        start, _ = self._plain.parse_key(text)
        if (reason := self._excluded.reason(self._local_of_key(start))) is None:
            return start, self.next(start)
        weekday = f"a {local_date(self.key_day(start)):%A}, " if self._is_of_days else ""
        before, after = self._plain.key(self.floor(start)), self._plain.key(self.next(start))
        raise PartitionError(
            f"partition key '{text}' is excluded: {weekday}{reason}",
            hint=f"the partitions around it are {before} and {after}",
        )

    @property
    def _is_of_days(self) -> bool:
        return self.precision in ("day", "hour", "minute")

    @property
    def _most_searched(self) -> int:
        """Number of stretches to search for a slot, which are some nine years."""
        return (_LONGEST_GAP >> self._bits) + 2

    def _is_start(self, unix: int) -> bool:
        starts, _ = self._find_stretch(unix >> self._bits)
        at = bisect_left(starts, unix)
        return at < len(starts) and starts[at] == unix

    def _extend_if_kept(self, slots: tuple[int, int] | None) -> tuple[int, int] | None:
        """Slots of the plain grid, extended over the excluded ones that follow; None where they are excluded."""
        return (slots[0], self.next(slots[1] - 1)) if slots is not None and self._is_start(slots[0]) else None

    def _local_of_key(self, start: int) -> int:
        """The local time in seconds that a slot's key names, by which exclusions judge it."""
        plain = self._plain
        return plain.key_day(start) * DAY if isinstance(plain, SliceGrid) else plain.nominal(start)

    def _find_stretch(self, number: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The kept slots that begin in one stretch of time: their starts, and their real time with neighbours joined.

        Stretches are numbered; the newest computed ones are remembered.
        """
        stretch = self._stretches.get(number)
        if stretch is None:
            stretch = self._compute_stretch(number << self._bits, (number + 1) << self._bits)
            if len(self._stretches) >= _MOST_STRETCHES:
                self._stretches = {}  # replaced as a whole: other threads may read the old one
            self._stretches[number] = stretch
        return stretch

    def _compute_stretch(self, low: int, high: int) -> tuple[list[int], list[tuple[int, int]]]:
        """`_find_stretch` for the kept slots that begin in ``[low, high)``."""
        plain, reason = self._plain, self._excluded.reason
        first, last = plain.next(low - 1), plain.floor(high - 1)
        if last < first:
            return [], []
        starts = [first, *plain.edges(first, last)]
        kept = [start for start in starts if reason(self._local_of_key(start)) is None]
        # the last slot of the stretch may end in the next one
        ends = dict(zip(starts, [*starts[1:], plain.next(last)], strict=True))
        pieces: list[tuple[int, int]] = []
        for start in kept:
            if pieces and pieces[-1][1] == start:
                pieces[-1] = (pieces[-1][0], ends[start])
            else:
                pieces.append((start, ends[start]))
        return kept, pieces

    def _no_slot_error(self, unix: int) -> PartitionError:
        year = local_date(unix // DAY).year
        return PartitionError(f"all slots of the years around {year} are excluded")
