"""A cron expression: its fields, and the days and times of day at which it ticks.

Croniter expands the text. What croniter reads otherwise than it is written is refused here (`_explain_misreadings`),
and what its `expand` drops is put back; each case has its reason. Its search for the next tick is not used: it skips
and repeats times when clocks change; `WallClockTicks` does not. Croniter takes a tenth of a second to import, so only
the first expansion of a text does so; compiled projects are stored.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sparkassets.core.instants import DAY, day_number, local_date
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

LAST = -1
"""In place of a day of the month, its last day; in place of the n of a weekday, its last in the month."""

_ANY_MONTH = frozenset(range(1, 13))
_FEBRUARY = frozenset({2})
_ALL_KINDS_OF_YEARS = range(2000, 2028)
"""With each weekday on 1 January, both in leap years and in others."""


@frozen
class DayFields:
    """Which dates match: in the ``months``, those of ``days`` or, where both are restricted, of ``weekdays``.

    Attributes:
        months: 1 to 12.
        days: Days of the month, 1 to 31 and `LAST`; None is every day.
        nearest: The days stand for the working day (Monday to Friday) of the same month that is nearest to each.
        weekdays: 0 (Sunday) to 6, each with n for the nth in the month, `LAST`, or 0 for each; None is every weekday.
    """

    months: frozenset[int] = _ANY_MONTH
    days: frozenset[int] | None = None
    nearest: bool = False
    weekdays: frozenset[tuple[int, int]] | None = None

    @property
    def every_day(self) -> bool:
        """Whether all dates match."""
        return self.days is None and self.weekdays is None and self.months == _ANY_MONTH

    @property
    def matches_any_day(self) -> bool:
        """Whether any year has such a date."""
        return self.every_day or any(_matching_days(self, year) for year in _ALL_KINDS_OF_YEARS)

    def between(self, first: int, last: int) -> Sequence[int]:
        """The numbers of the matching days from ``first`` to ``last``, inclusive, ascending."""
        if self.every_day:
            return range(first, last + 1)
        days: list[int] = []
        for year in range(local_date(first).year, local_date(last).year + 1):
            matching = _matching_days(self, year)
            days += matching[bisect_left(matching, first) : bisect_right(matching, last)]
        return days

    def count(self, first: int, last: int) -> int:
        """Number of matching days from ``first`` to ``last``, inclusive; takes time by years."""
        if self.every_day:
            return max(0, last - first + 1)
        years = range(local_date(first).year, local_date(last).year + 1)
        matching = (_matching_days(self, year) for year in years)
        return sum(max(0, bisect_right(days, last) - bisect_left(days, first)) for days in matching)

    @property
    def longest(self) -> int:
        """The most days from one matching day to the next, whatever the kind of year.

        29 February can be missing in a year that should be a leap year (2100), so there it is one leap period more.
        """
        days = [day for year in _ALL_KINDS_OF_YEARS for day in _matching_days(self, year)]
        missing_leap_days = 4 * 366 if self.months == _FEBRUARY and len(days) < len(_ALL_KINDS_OF_YEARS) else 0
        across_years = (days[-1], days[0] + day_number(date(2028, 1, 1)) - day_number(date(2000, 1, 1)))
        return max(b - a for a, b in [*pairwise(days), across_years]) + missing_leap_days


@frozen
class CronFields:
    """An expanded cron.

    Attributes:
        times: Seconds into the local day, ascending.
        days: The dates.
        every_hour: The hour was written ``*``: each instant whose wall-clock time matches is a tick.
    """

    times: tuple[int, ...]
    days: DayFields
    every_hour: bool = False

    @property
    def most_a_day(self) -> int:
        """Number of ticks on a matching day."""
        return len(self.times)

    def between(self, start: int, end: int, *, offset: int = 0) -> list[int]:
        """The instants in ``[start, end)`` whose wall-clock time matches under a fixed UTC offset, ascending.

        Args:
            start: Unix seconds.
            end: Likewise.
            offset: Seconds east of UTC; with 0, instants are local times.
        """
        if start >= end:
            return []
        first, last, times = (start + offset) // DAY, (end + offset - 1) // DAY, self.times
        days, midnight = self.days.between(first, last), first * DAY - offset
        if first == last:
            times = times[bisect_left(times, start - midnight) : bisect_left(times, end - midnight)]
            return [midnight + time for time in times] if days else []
        instants = [day * DAY - offset + time for day in days for time in times]
        return instants[bisect_left(instants, start) : bisect_left(instants, end)]

    def count(self, start: int, end: int, *, offset: int = 0) -> int:
        """Number of instants that `between` would return; takes time by years, not by instants."""
        first, last = (start + offset) // DAY + 1, (end + offset) // DAY - 1  # the whole days between
        if last < first:
            return len(self.between(start, end, offset=offset))
        first_midnight, end_midnight = first * DAY - offset, (last + 1) * DAY - offset
        outside = len(self.between(start, first_midnight, offset=offset)) + len(
            self.between(end_midnight, end, offset=offset)
        )
        return outside + self.days.count(first, last) * len(self.times)


def clock_times(hours: list[int], minutes: list[int]) -> tuple[int, ...]:
    """Each minute of each hour as seconds into the day, ascending; both arguments are ascending."""
    return tuple(hour * 3600 + minute * 60 for hour in hours for minute in minutes)


@lru_cache(maxsize=1024)
def _matching_days(fields: DayFields, year: int) -> tuple[int, ...]:
    """The numbers of a year's matching days, ascending."""
    days: list[int] = []
    for month in sorted(fields.months):
        weekday_of_first, length = monthrange(year, month)
        sunday_based = (weekday_of_first + 1) % 7
        # where both fields are restricted, a day matches that either names, as in cron; `*` (None) then names none
        if fields.days is None and fields.weekdays is None:
            matching = set(range(1, length + 1))
        else:
            matching = _matching_days_of_month(fields, sunday_based, length) | _matching_weekdays_of_month(
                fields, sunday_based, length
            )
        before_first = day_number(date(year, month, 1)) - 1
        days += [before_first + day for day in sorted(matching)]
    return tuple(days)


def _matching_days_of_month(fields: DayFields, weekday_of_first: int, length: int) -> set[int]:
    """The days of a month that the day-of-month field names.

    ``weekday_of_first`` is the weekday of the month's first day, 0 for Sunday; ``length`` the month's number of days.
    """
    if not fields.nearest:
        named_days = {length if day == LAST else day for day in fields.days or ()}
        return {day for day in named_days if day <= length}
    return {_nearest_working_day(min(day, length), weekday_of_first, length) for day in fields.days or ()}


def _nearest_working_day(day: int, weekday_of_first: int, length: int) -> int:
    """The day from Monday to Friday of the same month that is nearest to ``day``.

    So a Saturday that is the first moves on to Monday, and a Sunday that is the last back to Friday.
    """
    weekday = (weekday_of_first + day - 1) % 7
    if weekday == 6:  # noqa: PLR2004 - Saturday
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _matching_weekdays_of_month(fields: DayFields, weekday_of_first: int, length: int) -> set[int]:
    """The days of a month that the day-of-week field names; the other arguments as in `_matching_days_of_month`.

    A fifth weekday that the month does not have names no day.
    """
    days: set[int] = set()
    for weekday, nth in fields.weekdays or ():
        dates = range(1 + (weekday - weekday_of_first) % 7, length + 1, 7)
        if nth == 0:
            days.update(dates)
        elif nth <= len(dates):
            days.add(dates[nth if nth == LAST else nth - 1])
    return days


_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L (the last) or 15W (the nearest working day)",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, 5#2 (the second Friday) or L5 (the last)",
}
_DAY, _WEEKDAY = 2, 4
_ALL_VALUES = (range(60), range(24), range(1, 32), range(1, 13), range(7))
_MOST_CHARACTERS = 500
"""Characters of a cron; all numbers of all fields take fewer."""
# a character that no field of a cron has
_FOREIGN_CHARACTER = re.compile(r"[^0-9A-Z*/,#?-]", re.IGNORECASE | re.ASCII)
# croniter's H and R, values drawn by hash or at random
_RANDOM_VALUE = re.compile(r"(?:^|,)[HR](?:$|[,(/])", re.IGNORECASE)
_RANGE = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)(?:/.*)?", re.IGNORECASE)
_NTH = re.compile(r".+#\d+|L\d+", re.IGNORECASE)
_NEAREST = re.compile(r"\d+W|W\d+", re.IGNORECASE)

Values = Sequence[int | str]
"""Croniter's values of a field: numbers, ``*`` for all of them, ``l`` for the last day of the month."""


class CronError(InputError):
    """A text is no cron, uses what is not supported, or never fires."""


@lru_cache(maxsize=4096)
def expand(text: str) -> CronFields:
    """Expands a cron of five fields.

    Raises:
        CronError: It is not one, uses what is not supported, or never fires.
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        hint = "seconds and years are not supported" if len(parts) > len(_FIELDS) else None
        field_count = f"{len(parts)} field{'s' if len(parts) != 1 else ''}"
        raise CronError(f"cron '{text}' has {field_count}; expected five: {' '.join(_FIELDS)}", hint=hint)
    if len(text) > _MOST_CHARACTERS:
        raise CronError(f"the cron '{text[:20]}…' has {len(text):,} characters; expected at most {_MOST_CHARACTERS}")
    for position, field in enumerate(parts):
        _check_field(text, position, field)
    from croniter import croniter

    (minutes, hours, days, months, weekdays), nth = croniter.expand(" ".join(parts))
    fields = CronFields(
        times=clock_times(_sorted_numbers(hours, _ALL_VALUES[1]), _sorted_numbers(minutes, _ALL_VALUES[0])),
        days=DayFields(
            months=frozenset(_sorted_numbers(months, _ALL_VALUES[3])),
            days=_read_days(parts[_DAY], days),
            nearest=_NEAREST.fullmatch(parts[_DAY]) is not None,
            weekdays=_read_weekdays(weekdays, nth),
        ),
        every_hour=parts[1] == "*",
    )
    if not fields.days.matches_any_day:
        raise CronError(f"cron '{text}' never fires: no year has such a day")
    return fields


def _check_field(text: str, position: int, field: str) -> None:
    """Refuses what croniter refuses in a field, and what croniter reads otherwise than it is written.

    ``position`` is the field's position, 0 for the minute.

    Raises:
        CronError: The field is refused.
    """
    hint = _explain_invalid_field(position, field)
    if hint is not None:
        name, expected = list(_FIELDS.items())[position]
        raise CronError(f"cron '{text}': {name} '{field}' is not valid; expected {expected}", hint=hint or None)


def _explain_invalid_field(position: int, field: str) -> str | None:
    """A hint, possibly empty, for a field that is refused; None for a valid one."""
    parts = field.split(",")
    if _RANDOM_VALUE.search(field):
        return "H and R (values chosen by hash or at random) are not supported"
    if position == _WEEKDAY and len({bool(_NTH.fullmatch(part)) for part in parts}) > 1:
        return "# and L cannot be mixed with plain weekdays"
    if _FOREIGN_CHARACTER.search(field) or not _expand_alone(position, field):
        return ""
    return next((hint for part in parts for hint in _explain_misreadings(position, part)), None)


def _expand_alone(position: int, field: str) -> Values:
    """Croniter's values of one field, with ``*`` in all other fields; empty where croniter refuses it."""
    from croniter import CroniterError, croniter

    try:
        values: Values = croniter.expand(" ".join([*"*" * position, field, *"*" * (_WEEKDAY - position)]))[0][position]
    except CroniterError:
        return ()
    return values


def _explain_misreadings(position: int, part: str) -> Iterator[str]:
    """Yields a hint, possibly empty, if croniter reads ``part`` of a field otherwise than it is written."""
    normalized = re.sub(r"-L\b", "-31", part, flags=re.IGNORECASE) if position == _DAY else part
    range_match = _RANGE.fullmatch(normalized)
    if range_match and not range_match[2].strip("0") and 0 not in _ALL_VALUES[position]:
        yield ""  # 5-0 would be the days from 5 to 31, or all months from May on
    if range_match and _is_one_value(position, range_match[1], range_match[2]):
        yield f"'{part}' starts and ends at the same value; write one value, or * for all"  # 5-5 would be all values
    values = _expand_alone(position, part) if "/" in part else ()
    if len(values) == 1 and "*" not in values:
        # croniter would read */99 as its first value alone
        yield f"the step of '{part}' exceeds its range; write one value, or a smaller step"


def _is_one_value(position: int, first: str, last: str) -> bool:
    """Whether a range of a field begins and ends at the same value; 0-7 are indeed all weekdays."""
    if position == _WEEKDAY and last == "7" != first:
        return False
    return _expand_alone(position, first) == _expand_alone(position, last) != ()


def _sorted_numbers(values: Values, all_values: range) -> list[int]:
    """The numbers of a field, ascending; ``*`` stands for all of ``all_values``."""
    return list(all_values) if "*" in values else sorted(int(value) for value in values)


def _read_days(field: str, values: Values) -> frozenset[int] | None:
    """The days of the month, `LAST` among them; None for all days.

    Croniter counts ``L`` as one more number, so that 2-31,L are 31 of them: it takes these for all days.
    """
    parts = field.upper().split(",")
    if "*" not in values:
        return frozenset(LAST if day == "l" else int(day) for day in values)
    if "L" not in parts or "*" in parts:
        return None
    other_values = _expand_alone(_DAY, ",".join(part for part in parts if part != "L"))
    return frozenset({LAST, *_sorted_numbers(other_values, _ALL_VALUES[_DAY])})


def _read_weekdays(values: Values, nth: Mapping[Any, set[Any]]) -> frozenset[tuple[int, int]] | None:
    """The weekdays, each with its n in the month, as `DayFields.weekdays` has them; None for all weekdays.

    Where each of the seven has an n, as in SUN-SAT#4, croniter's values say "all days", but its map ``nth`` is right.
    """
    if nth:
        return frozenset((int(day), LAST if n == "l" else int(n)) for day, each in nth.items() for n in each)
    return None if "*" in values else frozenset((int(day), 0) for day in values)
