"""Calendar grains, and how times of day shift on local clocks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Final

from sparkassets.core.instants import DAY, Duration, day_number, local_date
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

NAMED_GRAINS: Final = ("hour", "day", "week", "month", "quarter", "year")
"""The named grains; any other grain is a cron."""


class PartitionError(InputError):
    """A partition key, a range of keys or a window is invalid."""


YEARS: Final = range(1000, 9000)
"""Years that partitions can have: windows around them stay within the years of Python's calendar."""


def check_year(key: str) -> None:
    """Refuses a key, which begins with its year, outside `YEARS`.

    Raises:
        PartitionError: The year is outside.
    """
    if int(key[:4]) not in YEARS:
        span = f"{YEARS[0]} to {YEARS[-1]}"
        raise PartitionError(f"partition key '{key}' is outside the years {span}")


@frozen
class CalendarGrain:
    """How local days are grouped into slices, such as weeks or months; a slot of a grid is a slice in one zone.

    Slices are numbered without gaps; days count from 0 at 1970-01-01.

    Attributes:
        index: Returns the number of the slice that holds a day.
        first_day: Returns the first day of the slice with that number.
        key: Returns the key of the slice that begins with that day.
        pattern: Matches the form of a key, in ASCII; compiled at its first use, because a start needs at most one.
        read: Returns the first day of the slice with a matching key; ValueError where the calendar has none.
        example: A key, for messages.
        length: Nominal length.
    """

    index: Callable[[int], int]
    first_day: Callable[[int], int]
    key: Callable[[int], str]
    pattern: str
    read: Callable[[str], int]
    example: str
    length: Duration


def _months(
    size: int, key: Callable[[date], str], pattern: str, month: Callable[[str], int], example: str
) -> CalendarGrain:
    """A grain of ``size`` months, such as a quarter.

    Args:
        size: Months in a slice; slices are numbered from the year 0.
        key: Makes the key of the slice that begins on a date.
        pattern: Regular expression of a key.
        month: Reads the first month of a slice, 1 to 12, out of its key.
        example: A key, for messages.
    """

    def index(day: int) -> int:
        of = local_date(day)
        return (of.year * 12 + of.month - 1) // size

    def first_day(number: int) -> int:
        year, month = divmod(number * size, 12)
        return day_number(date(year, month + 1, 1))

    return CalendarGrain(
        index=index,
        first_day=first_day,
        key=lambda day: key(local_date(day)),
        pattern=pattern,
        read=lambda text: day_number(date(int(text[:4]), month(text), 1)),
        example=example,
        length=Duration(months=size),
    )


def _week_key(day: int) -> str:
    """The ISO week that begins with a day, such as ``2013-W01``."""
    year, week, _ = local_date(day).isocalendar()
    return f"{year:04}-W{week:02}"


GRAINS: dict[str, CalendarGrain] = {
    "day": CalendarGrain(
        index=lambda day: day,
        first_day=lambda number: number,
        key=lambda day: local_date(day).isoformat(),
        pattern=r"\d{4}-\d\d-\d\d",
        read=lambda text: day_number(date.fromisoformat(text)),
        example="2013-01-05",
        length=Duration(days=1),
    ),
    "week": CalendarGrain(
        index=lambda day: (day + 3) // 7,  # 1970-01-01 was a Thursday; weeks are ISO weeks
        first_day=lambda number: number * 7 - 3,
        key=_week_key,
        pattern=r"\d{4}-W\d\d",
        read=lambda text: day_number(date.fromisocalendar(int(text[:4]), int(text[6:]), 1)),
        example="2013-W01",
        length=Duration(days=7),
    ),
    "month": _months(1, lambda of: f"{of.year:04}-{of.month:02}", r"\d{4}-\d\d", lambda text: int(text[5:]), "2013-01"),
    "quarter": _months(
        3,
        lambda of: f"{of.year:04}-Q{of.month // 3 + 1}",
        r"\d{4}-Q[1-4]",
        lambda text: int(text[6:]) * 3 - 2,
        "2013-Q1",
    ),
    "year": _months(12, lambda of: f"{of.year:04}", r"\d{4}", lambda _: 1, "2013"),
}


_HOUR = 3600


def shift_local_time(duration: Duration, local: int, *, late: bool) -> int:
    """Moves a local time by months and days; the result never descends when the local time ascends.

    Several days may move onto the last day of a short month. To keep the order, each moves to the beginning of that
    day, or to its end if ``late``.

    >>> shift_local_time(Duration(months=1), 30 * DAY + 3600, late=True) == 59 * DAY
    True
    """
    moved = duration.add_to_local(local)
    if not duration.months:
        return moved
    midnight = local // DAY * DAY
    # up to four days (28 to 31) move onto the last day of a short month, so three neighbours are compared
    if late:
        return max(moved, *(duration.add_to_local(midnight - days * DAY) + DAY for days in (1, 2, 3)))
    return min(moved, *(duration.add_to_local(midnight + days * DAY) for days in (1, 2, 3)))


def offset_text(seconds: int) -> str:
    """A UTC offset as text, with seconds where it has some.

    >>> offset_text(-14400)
    '-04:00'
    """
    hours, rest = divmod(abs(seconds), _HOUR)
    minutes, rest = divmod(rest, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}" + (f":{rest:02}" if rest else "")
