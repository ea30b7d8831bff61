"""Compiles the time of a partition: its grain or cron, its bounds, and the slots that it leaves out.

A calendar becomes the days that it lists now, so that the journal does not depend on the version of a library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Final

from sparkassets.core.conditions.parsing import is_time_text
from sparkassets.core.crons.cron import CronError, CronFields, expand
from sparkassets.core.crons.wall_clock import WallClockTicks
from sparkassets.core.instants import DAY, Duration, InstantError, day_number, local_date
from sparkassets.core.partitions import NAMED_GRAINS, PartitionError, TimePartition
from sparkassets.core.partitions.excluding_grid import excluded_text
from sparkassets.core.spec.asset_models import AssetFile
from sparkassets.core.spec.schedule_models import PartitionMap, RegisteredMap, ScheduleMap
from sparkassets.core.spec.time_bounds import TimeBounds, compile_bounds
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.timetables import Timetable, TimetableError
from sparkassets.core.timetables.calendars import DayCalendar, find_calendar
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.core.timetables.tick_timetable import TickTimetable
from sparkassets.core.timetables.timetable import AbuttingIntervals

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
        at.add_problem("'exclude' leaves out no partition", hint="leave it out")
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
        message = f"{text!r} excludes single days, but each partition is a {time.by}"
        raise PartitionError(message, hint="write a cron whose ticks are the starts of the excluded partitions")
    if not _DATE.fullmatch(text):
        return _closed_days(find_calendar(text), time)
    try:
        return [], [day_number(date.fromisoformat(text))]
    except ValueError as error:
        raise PartitionError(f"{text!r} is not a valid date: {error}") from error


def _closed_days(known: DayCalendar, time: TimePartition) -> tuple[list[str], list[int]]:
    """The crons and the days on which a calendar is closed.

    Weekends are a cron where the calendar is closed on all of them: that holds for all years, not only the known ones.
    """
    first, last = (day_number(date(year, 1, 1)) for year in (_YEARS[0], _YEARS[1] + 1))
    if time.start is not None:
        first = max(first, time.start // DAY - 1)  # the start may still be on the day before, west of UTC
    closed = [
        day
        for day in range(max(first, known.known_range[0]), min(last - 1, known.known_range[1]) + 1)
        if not known.is_open(day)
    ]
    weekend = [day for day in closed if local_date(day).weekday() > 4]  # noqa: PLR2004 - from Saturday on
    # closed on every weekend: two of seven days between the first and the last, give or take those at both ends
    if not closed or len(weekend) < (closed[-1] - closed[0] - 1) * 2 // 7 - 2:
        return [], closed
    return [_WEEKEND], sorted({*closed} - {*weekend})


def _has_remaining_slots(time: TimePartition, found: str) -> bool:
    """Whether exclusions leave some slot after the first of January of each year that is tried."""
    tried = TimePartition(time.by, time.timezone, offset=time.offset, exclude=found)
    try:
        for year in _TRIED:
            tried.next(day_number(date(year, 1, 1)) * DAY)
    except PartitionError:
        return False
    return True


AUTO: Final = "auto"
_LONGEST: Final = 9 * 366
"""Days that a slot of a cron may have: a leap day is missed out once a century."""
_SHORTEST: Final = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
"""Days of the shortest slot of each grain that may have an offset."""
_CRONS: Final = {
    "0 * * * *": "hour",
    "0 0 * * *": "day",
    "0 0 * * 1": "week",
    "0 0 1 * *": "month",
    "0 0 1 */3 *": "quarter",
    "0 0 1 1 *": "year",
    "0 0 * * 0": "0 0 * * SUN",
}
"""Grains of the crons that presets and named grains stand for."""


def compile_time_dimension(
    at: DocumentPlace, written: PartitionMap, keys: AssetFile, *, within: TimeBounds, field: str | None
) -> TimePartition:
    """Compiles the dimension; mistakes become problems, and defaults take their place.

    Args:
        at: The place of the dimension's map.
        written: The map.
        keys: The keys of the asset.
        within: The asset's own zone and bounds.
        field: The time field of the asset's path, which is the column if `column` is missing; None without one.
    """
    by, outer = written.by, within
    if by == AUTO:
        by, outer = _own_interval(at / "by", keys, within)
    end, ahead = written.end, None
    if end is not None and (end.startswith("+") or _is_duration(end)):
        ahead, end = _parse_ahead(at / "end", end), None
    inner = compile_bounds(at, timezone=written.timezone, start=written.start, end=end, outer=outer)
    offset = _offset(at / "offset", written.offset, by) if written.offset is not None else 0
    column = written.column or field
    grain = by if written.by == AUTO else _grain(at / "by", by)
    time = TimePartition(grain, inner.timezone, column, inner.start, inner.end, offset, ahead)
    if written.exclude is None:
        return time
    return replace(time, exclude=find_excluded_slots(at / "exclude", written.exclude, time))


def automatic_dimension(
    at: DocumentPlace, keys: AssetFile, *, within: TimeBounds, field: str | None
) -> TimePartition | None:
    """The dimension of ``partition: auto``: the intervals of the schedule; None without a timetable.

    ``field`` is the time field of the asset's path, which is its column; None without one.
    """
    if not is_timed(keys):
        return None
    by, inner = _own_interval(at, keys, within)
    return TimePartition(by, inner.timezone, field, inner.start, inner.end)


def own_interval(keys: AssetFile, *, within: TimeBounds) -> TimePartition | None:
    """The intervals of the schedule as a dimension without a column, for an asset that declares no partitions.

    None without a timetable, if its intervals are those of no grain or cron, or if one run spans several of them.
    """
    if not is_timed(keys):
        return None
    try:
        timetable = _timetable(keys, within)
    except (TimetableError, InstantError):  # a problem of the schedule, reported where schedules are compiled
        return None
    grain = None if timetable is None or timetable.catchup == "rollup" else _grain_of(timetable)
    if timetable is None or grain is None:
        return None
    return TimePartition(grain, timetable.timezone, None, timetable.start, timetable.end)


def are_intervals(partition: TimePartition, timetable: Timetable) -> bool:
    """Whether the slots of the dimension are exactly the intervals of the timetable."""
    grain = _grain_of(timetable)
    return grain is not None and TimePartition(grain, timetable.timezone).same_grid(partition)


def is_timed(keys: AssetFile) -> bool:
    """Whether the schedule is a timetable."""
    schedule = keys.schedule
    return is_time_text(schedule) if isinstance(schedule, str) else isinstance(schedule, ScheduleMap | RegisteredMap)


def _grain(at: DocumentPlace, written: str) -> str:
    """The name of a grain, or a cron with single blanks; ``day`` where it is neither, which becomes a problem."""
    if written in NAMED_GRAINS:
        return written
    cron = " ".join(written.split())
    try:
        longest = expand(cron).days.longest
    except CronError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)
        return "day"
    if longest > _LONGEST:
        years = f"{_LONGEST // 366} years"
        at.add_problem(f"the partition's cron {cron!r} fires years apart; expected slots of at most {years}")
        return "day"
    return cron


def _offset(at: DocumentPlace, written: str, by: str) -> int:
    """The offset of a grain's slots in seconds on the wall clock; 0 if it is wrong, which becomes a problem."""
    if by not in _SHORTEST:
        hint = "write by: '30 * * * *'" if by == "hour" else "write the time into the cron"
        at.add_key_problem(f"'offset' shifts days and longer slots, not those by {by!r}", hint=hint)
        return 0
    try:
        length = Duration.parse(written)
    except InstantError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)
        return 0
    found, most = length.days * DAY + length.seconds, _SHORTEST[by]
    if length.months or not 0 < abs(found) < most * DAY:
        at.add_problem(f"'offset' is {written!r}; expected a duration below {most}d, before or after the {by} begins")
        return 0
    return found


def _is_duration(written: str) -> bool:
    try:
        return Duration.parse(written) is not None
    except InstantError:
        return False


def _parse_ahead(at: DocumentPlace, written: str) -> str | None:
    """The duration in ``+2d``, by which partitions are wanted ahead of now; None if it is wrong, with a problem."""
    if not written.startswith("+"):
        hint = f"write +{written.removeprefix('-')} for a time ahead of now"
        at.add_problem(f"'end' is {written!r}; expected a date, a time, or a duration after a +", hint=hint)
        return None
    try:
        length = Duration.parse(written[1:])
    except InstantError as error:
        at.add_problem(str(error.args[0]), hint="+2d means two days ahead of now")
        return None
    if min(length.months, length.days, length.seconds) < 0 or length == Duration():
        at.add_problem(f"'end' is {written!r}; expected a positive duration after the +")
        return None
    return written[1:]


# --------------------------------------------------------------------------- auto


def _own_interval(at: DocumentPlace, keys: AssetFile, within: TimeBounds) -> tuple[str, TimeBounds]:
    """The grain of the schedule's intervals, with its zone and bounds.

    A day where the schedule has no such intervals, which becomes a problem unless the schedule itself is wrong.
    """
    if not is_timed(keys):
        hint = "write the schedule as a cron or a preset, or by: day"
        at.add_problem("'auto' needs a timetable as the schedule, whose intervals it takes", hint=hint)
        return "day", within
    try:
        timetable = _timetable(keys, within)
    except (TimetableError, InstantError):  # a problem of the schedule, reported where schedules are compiled
        return "day", within
    grain = None if timetable is None else _grain_of(timetable)
    if timetable is None or grain is None:
        message = "'auto' needs a single cron as the schedule, whose intervals it takes"
        at.add_problem(message, hint="write a grain such as by: day, or write the schedule as one cron")
        return "day", within
    return grain, TimeBounds(timetable.timezone, timetable.start, timetable.end)


def _timetable(keys: AssetFile, within: TimeBounds) -> Timetable | None:
    """The timetable that the schedule's text or map gives; None for one that a package registered.

    Raises:
        TimetableError: The schedule is wrong.
        InstantError: Its time zone does not exist.
    """
    written = keys.schedule
    value = written.model_dump(exclude_unset=True) if isinstance(written, ScheduleMap) else written
    if not isinstance(value, str | dict):
        return None
    return parse_timetable(value, timezone=within.timezone, start=within.start, end=within.end)


def _grain_of(timetable: Timetable) -> str | None:
    """The grain or cron whose slots are the timetable's intervals; None where these overlap or are of another kind."""
    if (
        not isinstance(timetable, TickTimetable)
        or timetable.window
        or not isinstance(timetable.shape, AbuttingIntervals)
    ):
        return None
    ticks = timetable.ticks
    if not isinstance(ticks, WallClockTicks) or not isinstance(ticks.times, CronFields):
        return None
    return _grain_names_by_cron().get(ticks.times) or " ".join(ticks.text.split())


@cache
def _grain_names_by_cron() -> Mapping[CronFields, str]:
    return {expand(cron): name for cron, name in _CRONS.items()}
