"""The text of a cron, checked and expanded to fields.

A field means what it means to croniter, which others use too (a property test compares the two). What that takes for
something else than is written is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from sparkassets.core.crons.fields import LAST, CronFields, DayFields, clock_times
from sparkassets.errors import InputError

_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L (the last) or 15W (the nearest working day)",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, 5#2 (the second Friday) or L5 (the last)",
}
_DAY, _WEEKDAY = 2, 4
_EVERY = (range(60), range(24), range(1, 32), range(1, 13), range(7))
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NAMES: tuple[Mapping[str, int], ...] = (
    {},
    {},
    {},
    {name: number for number, name in enumerate(_MONTHS, start=1)},
    {name: number for number, name in enumerate(_WEEKDAYS)},
)
"""What stands for numbers, by field."""
_PART = re.compile(r"(\*|\w{1,9})(?:-(\w{1,9}))?(?:/(\d{1,9}))?", re.ASCII)
_NTH = re.compile(r"(\w{1,9}|[A-Z]{3}-[A-Z]{3})#([1-5])|L(\d)", re.IGNORECASE | re.ASCII)
_NEAREST = re.compile(r"(\d{1,9})W|W(\d{1,9})", re.IGNORECASE | re.ASCII)
_DRAWN = re.compile(r"(?:^|,)[HR](?:$|[,(/])", re.IGNORECASE)

Values = frozenset[tuple[int, int]]
"""The numbers of a field, `LAST` for a month's last day; each with n for the nth such weekday of a month, or 0."""


class CronError(InputError):
    """A text is no cron, uses what is not supported, or never fires."""


class _RefusedError(Exception):
    """A field is not valid; its text is the hint, if there is one."""


@lru_cache(maxsize=4096)
def expand(text: str) -> CronFields:
    """The fields of a cron of five fields.

    Raises:
        CronError: It is not one, uses what is not supported, or never fires.
    """
    written = text.split()
    if len(written) != len(_FIELDS):
        hint = "seconds and years are not supported" if len(written) > len(_FIELDS) else None
        found = f"{len(written)} field{'s' if len(written) != 1 else ''}"
        raise CronError(f"cron '{text}' has {found}; expected five: {' '.join(_FIELDS)}", hint=hint)
    minutes, hours, days, months, weekdays = (_read(text, at, field) for at, field in enumerate(written))
    fields = CronFields(
        times=clock_times(_plain(hours), _plain(minutes)),
        days=DayFields(
            months=frozenset(_plain(months)),
            days=None if _is_open(_DAY, days, written) else frozenset(_plain(days)),
            nearest=_NEAREST.fullmatch(written[_DAY]) is not None,
            weekdays=None if _is_open(_WEEKDAY, weekdays, written) else weekdays,
        ),
        every_hour=written[1] == "*",
    )
    if not fields.days.exist:
        raise CronError(f"cron '{text}' never fires: no year has such a day")
    return fields


def _read(text: str, at: int, field: str) -> Values:
    try:
        return _values(at, field)
    except _RefusedError as refused:
        name, expected = list(_FIELDS.items())[at]
        message = f"cron '{text}': {name} '{field}' is not valid; expected {expected}"
        raise CronError(message, hint=str(refused) or None) from None


def _plain(values: Values) -> list[int]:
    return sorted(number for number, _ in values)


def _is_open(at: int, values: Values, written: Sequence[str]) -> bool:
    """Whether a field of days restricts none; all of them, one by one, do beside another field without a ``*``."""
    own, other = written[at], written[_DAY + _WEEKDAY - at]
    if own == "?" or "*" in own.split(","):
        return True
    return "*" in other and {(number, 0) for number in _EVERY[at]} <= values


def _values(at: int, field: str) -> Values:
    """The values of the field at a place.

    Raises:
        _RefusedError: It is not valid.
    """
    parts = field.split(",")
    if _DRAWN.search(field):
        raise _RefusedError("H and R (a value drawn by hash or at random) are not supported")
    if at == _WEEKDAY and any(numbered := [_NTH.fullmatch(part) for part in parts]):
        return frozenset(each for found in numbered for each in _nth(found))
    if at == _DAY and (near := _NEAREST.fullmatch(field)):
        return frozenset([(_number(at, near[1] or near[2]), 0)])
    if field == "?" and at in (_DAY, _WEEKDAY):
        parts = ["*"]
    return frozenset((number, 0) for part in parts for number in _numbers(at, part))


def _nth(found: re.Match[str] | None) -> Sequence[tuple[int, int]]:
    if found is None:
        raise _RefusedError("# and L cannot be mixed with plain weekdays")
    days, nth, last = found.groups()
    if last is not None:
        return [(_number(_WEEKDAY, last), LAST)]
    return [(day, int(nth)) for day in _numbers(_WEEKDAY, days)]


def _numbers(at: int, part: str) -> Sequence[int]:
    """The numbers of one of the parts of a list: one of them, a range, or steps."""
    found = _PART.fullmatch(part)
    if found is None:
        raise _RefusedError
    if at == _DAY and part.upper() == "L":
        return [LAST]
    ends = _ends(at, found)
    if found[3] is None:
        return _cycle(_EVERY[at], *ends, step=1)
    numbers = _cycle(_EVERY[at], *ends, step=int(found[3])) if int(found[3]) else ()
    if len(numbers) == 1:
        raise _RefusedError(f"the step of '{part}' leads beyond its range; write one value, or a smaller step")
    if not numbers:
        raise _RefusedError
    return numbers


def _ends(at: int, found: re.Match[str]) -> tuple[int, int]:
    """The first and the last number that a part allows; the last may lie before the first, as in ``22-2``."""
    every, (first, last, step) = _EVERY[at], found.groups()
    if first == "*":
        if last is not None:
            raise _RefusedError
        return every[0], every[-1]
    low = _number(at, first)
    if last is None:
        return low, low if step is None else every[-1]
    high = every[-1] if at == _DAY and last.upper() == "L" else _number(at, last)
    if low != high:
        return low, high
    if at == _WEEKDAY and last == "7" != first:
        return every[0], every[-1]  # 0-7 are all of them
    raise _RefusedError(f"'{found[0]}' begins where it ends; write one value, or * for all")


def _number(at: int, text: str) -> int:
    number = int(text) if text.isdecimal() else _NAMES[at].get(text.upper(), -1)
    number = 0 if at == _WEEKDAY and number == len(_WEEKDAYS) else number
    if number not in _EVERY[at]:
        raise _RefusedError
    return number


def _cycle(every: range, low: int, high: int, *, step: int) -> Sequence[int]:
    """Each ``step``-th number from ``low`` to ``high``, also over the end of all there are.

    Behind the end the steps go on as croniter's do: from the first number, or from one later than they would lead.

    >>> list(_cycle(range(60), 50, 10, step=5)), list(_cycle(range(24), 22, 4, step=3))
    ([50, 55, 0, 5, 10], [22, 2])
    """
    if low <= high:
        return range(low, high + 1, step)
    before = range(low, every[-1] + 1, step)
    left = every[-1] - before[-1]
    skipped = step - left if before[-1] - every[0] + step > len(every) and left < step else 0
    return [*before, *range(every[0] + skipped, high + 1, step)]
