"""Boolean times: a list means any, a map means all, ``not`` means none of its items.

An expression is compiled to a set of minutes for each kind of day; a set of minutes is an integer with a bit for each.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Final, Literal

from sparkassets.core.crons.wall_clock import WallClockTicks
from sparkassets.core.instants import DAY, day_number, local_date
from sparkassets.core.phrases import show_value
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.timetables.ticks import unite_ticks
from sparkassets.core.timetables.timetable import TickSequence, TimetableError, read_all_or_raise
from sparkassets.frozen import frozen

KeyPath = tuple[str | int, ...]
FieldName = Literal["hours", "minutes", "weekdays", "days", "months"]

_NOT: Final = "not"
_FIELDS: Final[Mapping[str, range]] = {
    "hours": range(24),
    "minutes": range(60),
    "weekdays": range(8),
    "days": range(1, 32),
    "months": range(1, 13),
}
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "weekdays": ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    "months": ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
}
_LAST_DAY: Final = "L"
_LAST: Final = 0
"""Stands for the last day of the month among the days of the month."""
_MINUTES: Final = 24 * 60
_WHOLE_DAY: Final = (1 << _MINUTES) - 1
_EVERY_MINUTE_OF_AN_HOUR: Final = (1 << 60) - 1
_ALL_KINDS_OF_YEARS: Final = range(2000, 2028)
"""With each weekday on 1 January, both in leap years and in others."""


@frozen
class FieldMatch:
    """Holds where one field of the local time has one of these values.

    Attributes:
        field: The field, such as ``hours``.
        values: Weekdays count from 0 (Sunday) to 6; the day of the month 0 is its last.
    """

    field: FieldName
    values: frozenset[int]


@frozen
class JointMatch:
    """Holds where all, any or none of the parts hold."""

    how: Literal["all", "any", "none"]
    parts: tuple[TimeExpression, ...]


TimeExpression = FieldMatch | JointMatch

_DayTraits = tuple[int, int, bool, int]
"""What distinguishes days: the month, the day, whether it is the month's last, the weekday from 0 (Sunday)."""


@frozen
class MatchingTimes:
    """The wall-clock minutes at which an expression holds.

    Attributes:
        every_hour: Whether the expression names no hours: then each instant with a matching wall-clock time is a tick.
        most_a_day: About the number of ticks on a matching day.
    """

    expression: TimeExpression
    every_hour: bool
    most_a_day: int = 1

    @property
    def matches_any_time(self) -> bool:
        """Whether any year has such a time."""
        return any(times for year in _ALL_KINDS_OF_YEARS for times in _times_of_days(self.expression, year))

    def between(self, start: int, end: int, *, offset: int = 0) -> list[int]:
        """The instants in ``[start, end)`` whose wall-clock time matches under a fixed UTC offset, ascending."""
        if start >= end:
            return []
        first, last = (start + offset) // DAY, (end + offset - 1) // DAY  # numbers of local days
        instants: list[int] = []
        for year in range(local_date(first).year, local_date(last).year + 1):
            new_year, days = day_number(date(year, 1, 1)), _times_of_days(self.expression, year)
            for day in range(max(first, new_year), min(last + 1, new_year + len(days))):
                midnight = day * DAY - offset
                instants += [midnight + time for time in days[day - new_year]]
        return instants[bisect_left(instants, start) : bisect_left(instants, end)]


def times_ticks(value: object, timezone: str) -> TickSequence:
    """The ticks of ``times``: for a map, the times that match all its keys; for a list, those that match any item.

    Keys are ``hours``, ``minutes``, ``weekdays``, ``days``, ``months``, each a value or a list, and ``not``. A map
    without ``minutes`` means minute 0, without ``hours`` every hour; inside ``not`` both mean all.

    Raises:
        TimetableError: The value is malformed, with the path to the fault, or the times never fire.

    >>> times_ticks({"hours": [9, 17]}, "UTC").between(0, 86_400)
    [32400, 61200]
    """
    alternatives = list(_read_alternatives(value, ()))
    sequences: list[TickSequence] = []
    # alternatives without hours follow clock changes otherwise than those with (`MatchingTimes.every_hour`)
    for every_hour in (False, True):
        parts = tuple(item for item in alternatives if _names_no_hours(item) is every_hour)
        times = MatchingTimes(JointMatch("any", parts), every_hour)
        if parts and times.matches_any_time:
            sequences.append(WallClockTicks(to_yaml_line(value), timezone, times))
    if not sequences:
        raise TimetableError("the times never fire: they do not exist in any year")
    return unite_ticks(sequences)


# --------------------------------------------------------------------------- from what is written


def _read_alternatives(value: object, path: KeyPath) -> list[TimeExpression]:
    """The alternatives of ``times``: the maps of a list, lists in it included, or a single map.

    Raises:
        TimetableError: The value is not a map or a list of maps.
    """
    match value:
        case list() if value:
            alternatives = read_all_or_raise(
                enumerate(value), lambda item: _read_alternatives(item[1], (*path, item[0]))
            )
            return [each for items in alternatives for each in items]
        case dict() if value:
            return [_read_map(value, path, inside_not=False)]
    words = "a map such as {hours: [9, 17]}, or a list of such maps"
    raise TimetableError(f"times are {_show_value(value)}; expected {words}", path=path)


def _read_map(value: Mapping[object, object], path: KeyPath, *, inside_not: bool) -> TimeExpression:
    """The expression of one map: all of its keys must match; outside ``not``, minute 0 is the default."""
    parts = read_all_or_raise(value.items(), lambda item: _read_key(*item, path))
    if not inside_not and "minutes" not in value:
        parts.append(FieldMatch("minutes", frozenset({0})))
    return JointMatch("all", tuple(parts))


def _read_key(key: object, written: object, path: KeyPath) -> TimeExpression:
    """The expression of one key of a map with its value."""
    if key == _NOT:
        return JointMatch("none", tuple(_read_exclusions(written, (*path, _NOT))))
    if isinstance(key, str) and key in _FIELDS:
        return FieldMatch(key, frozenset(_read_values(key, written, (*path, key))))  # type: ignore[arg-type]
    names = [*_FIELDS, _NOT]
    raise TimetableError(
        f"unknown key {show_value(key)} in times; expected {', '.join(names)}",
        hint=did_you_mean(str(key), names),
        path=(*path, str(key)),
        at_key=True,
    )


def _read_exclusions(value: object, path: KeyPath) -> list[TimeExpression]:
    """The expressions of ``not``: each map of a list, or a single map."""
    match value:
        case list() if value:
            exclusions = read_all_or_raise(enumerate(value), lambda item: _read_exclusions(item[1], (*path, item[0])))
            return [each for items in exclusions for each in items]
        case dict() if value:
            return [_read_map(value, path, inside_not=True)]
    raise TimetableError(f"'not' of times is {_show_value(value)}; expected a map or a list of maps", path=path)


def _read_values(key: str, written: object, path: KeyPath) -> list[int]:
    """The numbers of a field's value or list of values."""
    if not isinstance(written, list):
        return [_read_value(key, written, path)]
    if not written:
        raise TimetableError(f"'{key}' of times is an empty list; expected {_describe_values(key)}", path=path)
    return read_all_or_raise(enumerate(written), lambda item: _read_value(key, item[1], (*path, item[0])))


def _read_value(key: str, written: object, path: KeyPath) -> int:
    """The number of one value of a field: an integer in range, a name such as ``MON``, or ``L`` (the last day)."""
    match written:
        case bool():  # in Python a bool is an int
            pass
        case int() if written in _FIELDS[key]:
            return written % 7 if key == "weekdays" else written
        case str() if written.upper() in _NAMES.get(key, ()) and written:
            return _NAMES[key].index(written.upper())
        case str() if key == "days" and written == _LAST_DAY:
            return _LAST
    raise TimetableError(
        f"{_show_value(written)} is not one of the {key} of times; expected {_describe_values(key)}", path=path
    )


def _show_value(value: object) -> str:
    return "empty" if value in ([], {}) else show_value(value)


def _describe_values(key: str) -> str:
    values = _FIELDS[key]
    names = {"weekdays": " or SUN-SAT", "months": " or JAN-DEC", "days": " or L (the last)"}
    return f"{values[0]}-{values[-1]}{names.get(key, '')}"


def _names_no_hours(expression: TimeExpression) -> bool:
    """Whether no part of the expression restricts the hours."""
    if isinstance(expression, FieldMatch):
        return expression.field != "hours"
    return all(_names_no_hours(part) for part in expression.parts)


def to_yaml_line(value: object) -> str:
    """The value in YAML's flow style, on one line."""
    match value:
        case list():
            return f"[{', '.join(to_yaml_line(each) for each in value)}]"
        case dict():
            return f"{{{', '.join(f'{key}: {to_yaml_line(each)}' for key, each in value.items())}}}"
        case _:
            return str(value)


# --------------------------------------------------------------------------- to the times of days


@lru_cache(maxsize=1024)
def _times_of_days(expression: TimeExpression, year: int) -> tuple[tuple[int, ...], ...]:
    """For each day of a year, the seconds into the day at which the expression holds, ascending."""
    times_by_day: list[tuple[int, ...]] = []
    weekday = (date(year, 1, 1).weekday() + 1) % 7  # 0 is Sunday, while Python's 0 is Monday
    for month in _FIELDS["months"]:
        length = monthrange(year, month)[1]
        for day in range(1, length + 1):
            times_by_day.append(
                _minutes_to_seconds(_matching_minutes(expression, (month, day, day == length, weekday)))
            )
            weekday = (weekday + 1) % 7
    return tuple(times_by_day)


@lru_cache(maxsize=1024)
def _minutes_to_seconds(minutes: int) -> tuple[int, ...]:
    """The minutes of a set as seconds into the day, ascending."""
    return tuple(minute * 60 for minute in range(_MINUTES) if minutes >> minute & 1)


def _matching_minutes(expression: TimeExpression, day: _DayTraits) -> int:
    """The minutes of a day at which the expression holds, as an integer with a bit for each minute."""
    if isinstance(expression, FieldMatch):
        return _MINUTES_BY_FIELD[expression.field](expression.values, day)
    parts = [_matching_minutes(part, day) for part in expression.parts]
    minutes = _WHOLE_DAY if expression.how == "all" else 0
    for part in parts:
        minutes = minutes & part if expression.how == "all" else minutes | part
    return _WHOLE_DAY & ~minutes if expression.how == "none" else minutes


@lru_cache(maxsize=256)
def _minutes_of_hours(hours: frozenset[int]) -> int:
    """All minutes of these hours, as bits."""
    return sum(_EVERY_MINUTE_OF_AN_HOUR << 60 * hour for hour in hours)


@lru_cache(maxsize=256)
def _minutes_of_every_hour(minutes: frozenset[int]) -> int:
    """These minutes of every hour, as bits."""
    return sum(1 << 60 * hour + minute for hour in range(24) for minute in minutes)


def _whole_day_if(matches: bool) -> int:  # noqa: FBT001 - a set of minutes, of a truth
    """All minutes of the day, as bits, if the day matches; else none."""
    return _WHOLE_DAY if matches else 0


_MINUTES_BY_FIELD: Final[Mapping[FieldName, Callable[[frozenset[int], _DayTraits], int]]] = {
    "hours": lambda values, _: _minutes_of_hours(values),
    "minutes": lambda values, _: _minutes_of_every_hour(values),
    "weekdays": lambda values, day: _whole_day_if(day[3] in values),
    "days": lambda values, day: _whole_day_if(day[1] in values or (day[2] and _LAST in values)),
    "months": lambda values, day: _whole_day_if(day[0] in values),
}
