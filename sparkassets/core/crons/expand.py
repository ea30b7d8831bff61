"""The text of a cron, checked and expanded to fields by croniter, its known errors set right.

Everything that croniter is wrong about is here, each with its reason: what it takes for something else than is written
is refused (`_misread`), and what its `expand` drops is put back (`_days`, `_weekdays`). Its search for the next tick is
not used at all: it skips and repeats times when clocks change; `WallClockTicks` does not.

Croniter takes a tenth of a second to import, so only the first expansion of a text does so: compiled projects are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
_DAY, _WEEKDAY = 2, 4
_EVERY = (range(60), range(24), range(1, 32), range(1, 13), range(7))
_LONGEST = 500
"""Characters of a cron; all numbers of all fields take fewer."""
_ODD = re.compile(r"[^0-9A-Z*/,#?-]", re.IGNORECASE | re.ASCII)
_DRAWN = re.compile(r"(?:^|,)[HR](?:$|[,(/])", re.IGNORECASE)
_RANGE = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)(?:/.*)?", re.IGNORECASE)
_NTH = re.compile(r".+#\d+|L\d+", re.IGNORECASE)
_NEAREST = re.compile(r"\d+W|W\d+", re.IGNORECASE)

Values = Sequence[int | str]
"""The numbers of a field; ``*`` in it stands for all of them, ``l`` for the last day of the month."""


class CronError(InputError):
    """A text is no cron, uses what is not supported, or never fires."""


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
    if len(text) > _LONGEST:
        raise CronError(f"the cron '{text[:20]}…' has {len(text):,} characters; expected at most {_LONGEST}")
    for at, field in enumerate(written):
        _check(text, at, field)
    from croniter import croniter

    (minutes, hours, days, months, weekdays), nth = croniter.expand(" ".join(written))
    fields = CronFields(
        times=clock_times(_numbers(hours, _EVERY[1]), _numbers(minutes, _EVERY[0])),
        days=DayFields(
            months=frozenset(_numbers(months, _EVERY[3])),
            days=_days(written[_DAY], days),
            nearest=_NEAREST.fullmatch(written[_DAY]) is not None,
            weekdays=_weekdays(weekdays, nth),
        ),
        every_hour=written[1] == "*",
    )
    if not fields.days.exist:
        raise CronError(f"cron '{text}' never fires: no year has such a day")
    return fields


def _check(text: str, at: int, field: str) -> None:
    """Refuses what croniter refuses in a field, and what it takes but means otherwise."""
    if _DRAWN.search(field):
        hint: str | None = "H and R (a value drawn by hash or at random) are not supported"
    elif at == _WEEKDAY and len({bool(_NTH.fullmatch(part)) for part in field.split(",")}) > 1:
        hint = "# and L cannot be mixed with plain weekdays"
    elif _alone(at, field) and not _ODD.search(field):
        hint = next((hint for part in field.split(",") for hint in _misread(at, part)), None)
        if hint is None:
            return
    else:
        hint = None
    name, expected = list(_FIELDS.items())[at]
    raise CronError(f"cron '{text}': {name} '{field}' is not valid; expected {expected}", hint=hint or None)


def _alone(at: int, field: str) -> Values:
    """Croniter's values of one field; none where it refuses them."""
    from croniter import CroniterError, croniter

    try:
        found: Values = croniter.expand(" ".join([*"*" * at, field, *"*" * (_WEEKDAY - at)]))[0][at]
    except CroniterError:
        return ()
    return found


def _misread(at: int, part: str) -> Iterator[str]:
    """What croniter takes for something else than is written."""
    last = re.sub(r"-L\b", "-31", part, flags=re.IGNORECASE) if at == _DAY else part
    ends = _RANGE.fullmatch(last)
    if ends and not ends[2].strip("0") and 0 not in _EVERY[at]:
        yield ""  # 5-0 would be the days from 5 to 31, or all months from May on
    seven = at == _WEEKDAY and ends is not None and ends[2] == "7" != ends[1]  # 0-7 are indeed all weekdays
    if ends and not seven and _alone(at, ends[1]) == _alone(at, ends[2]) != ():
        yield f"'{part}' begins where it ends; write one value, or * for all"  # 5-5 would be all values
    values = _alone(at, part) if "/" in part else ()
    if len(values) == 1 and "*" not in values:
        # of */99 the first value alone would be left
        yield f"the step of '{part}' leads beyond its range; write one value, or a smaller step"


def _numbers(values: Values, every: range) -> list[int]:
    return list(every) if "*" in values else sorted(int(value) for value in values)


def _days(field: str, values: Values) -> frozenset[int] | None:
    """The days of the month; None for all of them.

    Croniter counts ``L`` as one more number, so that 2-31,L are 31 of them: it takes these for all days.
    """
    parts = field.upper().split(",")
    if "*" not in values:
        return frozenset(LAST if day == "l" else int(day) for day in values)
    if "L" not in parts or "*" in parts:
        return None
    rest = _alone(_DAY, ",".join(part for part in parts if part != "L"))
    return frozenset({LAST, *_numbers(rest, _EVERY[_DAY])})


def _weekdays(values: Values, nth: Mapping[Any, set[Any]]) -> frozenset[tuple[int, int]] | None:
    """Each weekday with each of its n, 0 for all of them; None for all weekdays.

    Where each of the seven has an n, as in SUN-SAT#4, croniter takes them for all days; its map of the n is right.
    """
    if nth:
        return frozenset((int(day), LAST if n == "l" else int(n)) for day, each in nth.items() for n in each)
    return None if "*" in values else frozenset((int(day), 0) for day in values)
