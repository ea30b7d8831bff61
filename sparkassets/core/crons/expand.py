"""The text of a cron, checked and expanded to fields.

Croniter does both. It takes a tenth of a second to import, a fifth of what a cold `plan` may take, so crons of plain
numbers, names, lists, ranges and steps are expanded here to what croniter would give (a property test compares
the two).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sparkassets.core.crons.fields import LAST, CronFields, DayFields, clock_times
from sparkassets.errors import InputError

_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L (the last) or 15W (the nearest working day)",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, 5#2 (the second Friday) or L5 (the last)",
}
_WEEKDAY = 4
_EVERY = (range(60), range(24), range(1, 32), range(1, 13), range(7))
_PLAIN = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?", re.ASCII)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NAMES: tuple[Mapping[str, str], ...] = (
    {},
    {},
    {},
    {name: str(number) for number, name in enumerate(_MONTHS, start=1)},
    {name: str(number) for number, name in enumerate(_WEEKDAYS)},
)
"""What stands for numbers, by field."""
_NAMED = re.compile(r"(?<![^,-])[A-Z]{3}(?![^,/-])", re.IGNORECASE | re.ASCII)
_ODD = re.compile(r"[^0-9A-Z*/,#?-]", re.IGNORECASE | re.ASCII)
_DRAWN = re.compile(r"(?:^|,)[HR](?:$|[,(/])", re.IGNORECASE)
_RANGE = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)(?:/.*)?", re.IGNORECASE)
_NTH = re.compile(r".+#\d+|L\d+", re.IGNORECASE)
_NEAREST = re.compile(r"\d+W|W\d+", re.IGNORECASE)


class CronError(InputError):
    """A text is no cron, uses what is not supported, or never fires."""


Values = Sequence[int | str]
"""The numbers of a field; ``*`` in it stands for all of them, ``l`` for the last day of the month."""


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
    (minutes, hours, days, months, weekdays), nth = _by_hand(written) or _by_croniter(text, written)
    fields = CronFields(
        times=clock_times(_numbers(hours, _EVERY[1]), _numbers(minutes, _EVERY[0])),
        days=DayFields(
            months=frozenset(_numbers(months, _EVERY[3])),
            days=None if "*" in days else frozenset(LAST if day == "l" else int(day) for day in days),
            nearest=bool(_NEAREST.fullmatch(written[2])),
            weekdays=None if "*" in weekdays else frozenset(_nth(weekdays, nth)),
        ),
        every_hour=written[1] == "*",
    )
    if not fields.days.exist:
        raise CronError(f"cron '{text}' never fires: no year has such a day")
    return fields


def _by_hand(written: Sequence[str]) -> tuple[Sequence[Values], Mapping[Any, set[Any]]] | None:
    """The values of plain fields; None where some field is not, or both kinds of days are restricted."""
    if "*" not in (written[2], written[4]):
        return None
    values = [_plain(*each) for each in zip(written, _EVERY, _NAMES, strict=True)]
    return None if [] in values else (values, {})


def _plain(field: str, every: range, names: Mapping[str, str]) -> list[int | str]:
    """The values of a field of plain numbers, names, lists, ranges and steps; none where it is not."""
    found: set[int] = set()
    field = _NAMED.sub(lambda name: names.get(name[0].upper(), name[0]), field)
    for part in field.split(","):
        match = _PLAIN.fullmatch(part)
        if not match:
            return []
        low, high, step = (int(group) if group else None for group in match.groups())
        if low is None:
            low, high = every[0], every[-1]
        elif high is None:
            high = low if step is None else every[-1]
        elif high == low:
            return []
        if not every[0] <= low <= high <= every[-1] or step == 0 or (step and low + step > high):
            return []
        found.update(range(low, high + 1, step or 1))
    return ["*"] if len(found) == len(every) else sorted(found)


def _by_croniter(text: str, written: Sequence[str]) -> tuple[Sequence[Values], Mapping[Any, set[Any]]]:
    """Croniter's expansion: the values of each field, and for weekdays their n by weekday."""
    from croniter import croniter

    for at, field in enumerate(written):
        _check(text, at, field)
    return croniter.expand(" ".join(written))


def _check(text: str, at: int, field: str) -> None:
    """Refuses what croniter refuses in a field, takes but means otherwise, or draws at random."""
    hint = None
    if _DRAWN.search(field):
        hint = "H and R (a value drawn by hash or at random) are not supported"
    elif at == _WEEKDAY and len({bool(_NTH.fullmatch(part)) for part in field.split(",")}) > 1:
        hint = "# and L cannot be mixed with plain weekdays"
    elif _alone(at, field) and not _ODD.search(field):
        parts = field.split(",")
        if itself := next((part for part in parts if _ends_at_itself(at, part)), None):
            hint = f"'{itself}' begins where it ends; write one value, or * for all"
        elif beyond := next((part for part in parts if _steps_beyond(at, part)), None):
            hint = f"the step of '{beyond}' leads beyond its range; write one value, or a smaller step"
        else:
            return
    name, expected = list(_FIELDS.items())[at]
    raise CronError(f"cron '{text}': {name} '{field}' is not valid; expected {expected}", hint=hint)


def _alone(at: int, field: str) -> Values:
    """Croniter's values of one field; none where it refuses them."""
    from croniter import CroniterError, croniter

    try:
        return croniter.expand(" ".join([*"*" * at, field, *"*" * (_WEEKDAY - at)]))[0][at]
    except CroniterError:
        return ()


def _ends_at_itself(at: int, part: str) -> bool:
    """Whether it is a range such as ``5-5``, which croniter takes for all values; ``0-7`` are indeed all weekdays."""
    match = _RANGE.fullmatch(part)
    if not match or (at == _WEEKDAY and match[2] == "7" != match[1]):
        return False
    return _alone(at, match[1]) == _alone(at, match[2]) != ()


def _steps_beyond(at: int, part: str) -> bool:
    """Whether it has a step such as ``*/99``, of which croniter takes the first value alone."""
    return "/" in part and len(values := _alone(at, part)) == 1 and "*" not in values


def _numbers(values: Values, every: range) -> list[int]:
    return list(every) if "*" in values else sorted(int(value) for value in values)


def _nth(weekdays: Iterable[int | str], nth: Mapping[Any, set[Any]]) -> set[tuple[int, int]]:
    """Each weekday with each of its n; 0 stands for all of them."""
    return {(int(day), LAST if n == "l" else int(n)) for day in weekdays for n in nth.get(int(day), {0})}
