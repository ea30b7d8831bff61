"""A cron as Quartz and as systemd write it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sparkassets.core.crons.expand import expand
from sparkassets.core.crons.fields import LAST, DayFields
from sparkassets.errors import InputError

_QUARTZ_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_SYSTEMD_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MINUTES, _HOURS, _MONTHS = range(60), range(24), range(1, 13)


def to_quartz(cron: str) -> str:
    """The cron with seconds, as Quartz has it.

    Raises:
        InputError: It is none, or Quartz cannot say it.

    >>> to_quartz("*/30 6 * * MON-FRI"), to_quartz("0 0 L * *")
    ('0 0,30 6 ? * MON,TUE,WED,THU,FRI', '0 0 0 L * ?')
    """
    minutes, hours = _times(cron)
    days = _days(cron, "Quartz")
    weekdays = ",".join(_QUARTZ_DAYS[day] for day in _weekdays(days))
    dates = ",".join("L" if day == LAST else str(day) for day in sorted(days.days or ())) or "*"
    clock = f"0 {_format_values(minutes, _MINUTES)} {_format_values(hours, _HOURS)}"
    return f"{clock} {'?' if weekdays else dates} {_format_values(days.months, _MONTHS)} {weekdays or '?'}"


def to_on_calendar(cron: str, timezone: str) -> str:
    """The cron as systemd's timers have it.

    Raises:
        InputError: It is none, or systemd cannot say it.

    >>> to_on_calendar("*/30 6 * 1,7 MON-FRI", "Europe/Berlin")
    'Mon,Tue,Wed,Thu,Fri *-1,7-* 6:0,30:00 Europe/Berlin'
    """
    minutes, hours = _times(cron)
    days = _days(cron, "systemd")
    if LAST in (days.days or ()) and len(days.days or ()) > 1:
        raise InputError(f"cron '{cron}' means the last day of a month beside others, which systemd cannot say in one")
    weekdays = ",".join(_SYSTEMD_DAYS[day] for day in _weekdays(days))
    months = _format_values(days.months, _MONTHS)
    dates = (
        "~1" if days.days == frozenset({LAST}) else "-" + (",".join(str(day) for day in sorted(days.days or ())) or "*")
    )
    clock = f"{_format_values(hours, _HOURS)}:{_format_values(minutes, _MINUTES)}:00"
    return " ".join(filter(None, [weekdays, f"*-{months}{dates}", clock, timezone]))


def _times(cron: str) -> tuple[frozenset[int], frozenset[int]]:
    """The minutes and the hours."""
    times = [divmod(second // 60, 60) for second in expand(cron).times]
    return frozenset(minute for _, minute in times), frozenset(hour for hour, _ in times)


def _days(cron: str, whose: str) -> DayFields:
    days = expand(cron).days
    if days.days is not None and days.weekdays is not None:
        hint = "give days of the month or weekdays, not both"
        raise InputError(f"cron '{cron}' means either of two kinds of days, which {whose} cannot say", hint=hint)
    if days.nearest or any(nth for _, nth in days.weekdays or ()):
        hint = "give plain days of the month or weekdays"
        raise InputError(f"cron '{cron}' uses W, # or L of a weekday, which is written otherwise by {whose}", hint=hint)
    return days


def _weekdays(days: DayFields) -> list[int]:
    """From Monday on."""
    return sorted((day for day, _ in days.weekdays or ()), key=lambda day: (day - 1) % 7)


def _format_values(values: Collection[int], every: range) -> str:
    """The values with commas between; a star for all that there are."""
    return "*" if len(values) == len(every) else ",".join(map(str, sorted(values)))
