"""Slots that a partition excludes: crons, days and calendars as written, compiled to crons and days.

A calendar becomes the days that it lists now, so that the journal does not depend on the version of a library.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from sparkassets.core.crons.expand import CronError, expand
from sparkassets.core.instants import DAY, day_number, local_date
from sparkassets.core.partitions import PartitionError, TimePartition
from sparkassets.core.partitions.excluding_grid import excluded_text
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.timetables import TimetableError
from sparkassets.core.timetables.calendars import DayCalendar, find_calendar

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LONG: Final = ("week", "month", "quarter", "year")
_YEARS: Final = (1990, 2049)
"""First and last year of the days that are read from a calendar, as far as its library knows them."""
_WEEKEND: Final = "* * * * SAT,SUN"
_TRIED: Final = range(1996, 2025)
"""Years in each of which a slot must be left: all weekdays meet all dates in them."""


def find_excluded_slots(at: DocumentPlace, written: str | list[str], time: TimePartition) -> str:
    """Compiles the exclusions to the text of `TimePartition.exclude`; faults become problems.

    Args:
        at: The key.
        written: Crons, days and codes of calendars.
        time: The dimension without them.
    """
    crons: list[str] = []
    days: list[int] = []
    texts = [(at, written)] if isinstance(written, str) else [(at / i, each) for i, each in enumerate(written)]
    for place, text in texts:
        try:
            more_crons, more_days = _read_exclusion(text, time)
        except (CronError, PartitionError, TimetableError) as error:
            place.add_problem(str(error.args[0]), hint=error.hint)
            return ""
        crons += more_crons
        days += more_days
    found = excluded_text(crons, days)
    if not found:
        at.add_problem("'exclude' is empty or names days that are no partitions anyway", hint="leave it out")
    elif not _has_remaining_slots(time, found):
        at.add_problem("'exclude' leaves no partition", hint="a cron excludes the slots whose keys are its ticks")
        return ""
    return found


def _read_exclusion(written: str, time: TimePartition) -> tuple[list[str], list[int]]:
    """The crons and the days of one item.

    Raises:
        CronError: It is none that fires.
        PartitionError: It is no day, or the slots have no days.
        TimetableError: It is no calendar.
    """
    text = " ".join(written.split())
    if " " in text:
        expand(text)
        return [text], []
    if time.by in _LONG:
        message = f"{text!r} excludes days, and a {time.by} is longer"
        raise PartitionError(message, hint="write a cron, at whose ticks the excluded ones begin")
    if not _DATE.fullmatch(text):
        return _closed_days(find_calendar(text), time)
    try:
        return [], [day_number(date.fromisoformat(text))]
    except ValueError as error:
        raise PartitionError(f"{text!r} is not in the calendar: {error}") from error


def _closed_days(known: DayCalendar, time: TimePartition) -> tuple[list[str], list[int]]:
    """The days on which a calendar is closed: weekends as a cron where it has them always, so for all years."""
    first, last = (day_number(date(year, 1, 1)) for year in (_YEARS[0], _YEARS[1] + 1))
    if time.start is not None:
        first = max(first, time.start // DAY - 1)
    closed = [
        day
        for day in range(max(first, known.known_range[0]), min(last - 1, known.known_range[1]) + 1)
        if not known.is_open(day)
    ]
    weekend = [day for day in closed if local_date(day).weekday() > 4]  # noqa: PLR2004 - from Saturday on
    if not closed or len(weekend) < (closed[-1] - closed[0] - 1) * 2 // 7 - 2:
        return [], closed
    return [_WEEKEND], sorted({*closed} - {*weekend})


def _has_remaining_slots(time: TimePartition, found: str) -> bool:
    """Whether there is a slot at least in every few years."""
    tried = TimePartition(time.by, time.timezone, offset=time.offset, exclude=found)
    try:
        for year in _TRIED:
            tried.next(day_number(date(year, 1, 1)) * DAY)
    except PartitionError:
        return False
    return True
