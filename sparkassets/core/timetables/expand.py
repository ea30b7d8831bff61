"""The text of a cron, checked and expanded by croniter, which is imported when the first one is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sparkassets.core.timetables.base import TimetableError
from sparkassets.core.timetables.fields import LAST, CronFields, DayFields, clock_times

_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L (the last) or 15W (the nearest working day)",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, 5#2 (the second Friday) or L5 (the last)",
}
_ODD = re.compile(r"[^0-9A-Z*/,#?-]", re.IGNORECASE | re.ASCII)
_RANDOM = re.compile(r"(?:^|,)[HR](?:$|[,(/])", re.IGNORECASE)
_ITSELF = re.compile(r"(?:^|,)([0-9A-Z]+)-\1(?:$|[,/])", re.IGNORECASE)
_NTH = re.compile(r".+#\d+|L\d+", re.IGNORECASE)
_NEAREST = re.compile(r"\d+W|W\d+", re.IGNORECASE)


@lru_cache(maxsize=4096)
def expand(text: str) -> CronFields:
    """The fields of a cron of five fields.

    Raises:
        TimetableError: It is not one, uses what is not supported, or never fires.
    """
    written = text.split()
    if len(written) != len(_FIELDS):
        hint = "seconds and years are not supported" if len(written) > len(_FIELDS) else None
        raise TimetableError(f"cron '{text}' has {len(written)} fields; expected five: {' '.join(_FIELDS)}", hint=hint)
    for name, field in zip(_FIELDS, written, strict=True):
        _check(text, name, field)
    (minutes, hours, days, months, weekdays), nth = _expanded(text, written)
    fields = CronFields(
        times=clock_times(_numbers(hours, range(24)), _numbers(minutes, range(60))),
        days=DayFields(
            months=frozenset(_numbers(months, range(1, 13))),
            days=None if "*" in days else frozenset(LAST if day == "l" else int(day) for day in days),
            nearest=bool(_NEAREST.fullmatch(written[2])),
            weekdays=None if "*" in weekdays else frozenset(_nth(weekdays, nth)),
        ),
        every_hour=written[1] == "*",
    )
    if not fields.days.exist:
        raise TimetableError(f"cron '{text}' never fires: no year has such a day")
    return fields


def _check(text: str, name: str, field: str) -> None:
    """Refuses what croniter takes but means otherwise, or draws at random."""
    if _RANDOM.search(field):
        raise _wrong(text, name, field, hint="H and R (a value drawn by hash or at random) are not supported")
    if _ODD.search(field):
        raise _wrong(text, name, field)
    if match := _ITSELF.search(field):
        raise _wrong(text, name, field, hint=f"write {match[1]} for a single value, * for all")
    if name == "day-of-week" and len({bool(_NTH.fullmatch(part)) for part in field.split(",")}) > 1:
        raise _wrong(text, name, field, hint="# and L cannot be mixed with plain weekdays")


def _expanded(text: str, written: list[str]) -> tuple[Sequence[Sequence[int | str]], Mapping[Any, set[Any]]]:
    """Croniter's expansion: the values of each field (``*`` for all, ``l`` for the last day), and n by weekday."""
    from croniter import CroniterError, croniter

    try:
        fields, nth = croniter.expand(" ".join(written))
    except CroniterError as error:
        for at, (name, field) in enumerate(zip(_FIELDS, written, strict=True)):
            alone = ["*"] * len(_FIELDS)
            alone[at] = field
            if not croniter.is_valid(" ".join(alone)):
                raise _wrong(text, name, field) from error
        raise TimetableError(f"cron '{text}' is not valid: {error}") from error
    return fields, nth


def _wrong(text: str, name: str, field: str, *, hint: str | None = None) -> TimetableError:
    return TimetableError(f"cron '{text}': {name} '{field}' is not supported; expected {_FIELDS[name]}", hint=hint)


def _numbers(values: Sequence[int | str], every: range) -> list[int]:
    return list(every) if "*" in values else sorted(int(value) for value in values)


def _nth(weekdays: Sequence[int | str], nth: Mapping[Any, set[Any]]) -> set[tuple[int, int]]:
    """Each weekday with each of its n; 0 stands for all of them."""
    return {(int(day), LAST if n == "l" else int(n)) for day in weekdays for n in nth.get(int(day), {0})}
