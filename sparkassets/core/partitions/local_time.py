"""Moves wall-clock times by calendar lengths, and formats UTC offsets; for the grids of hours and crons."""

from __future__ import annotations

from sparkassets.core.instants import DAY, Duration

_HOUR = 3600


def shift_local_time(duration: Duration, local: int, *, late: bool) -> int:
    """Moves a local time by months and days; the result never descends when the local time ascends.

    Several days may move onto the last day of a short month: each to its beginning, or to its end if ``late``.

    >>> shift_local_time(Duration(months=1), 30 * DAY + 3600, late=True) == 59 * DAY
    True
    """
    moved = duration.add_to_local(local)
    if not duration.months:
        return moved
    midnight = local // DAY * DAY
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
