"""By when the newest of an asset has to be there: `expect` as deadlines."""

from __future__ import annotations

import re
from typing import Final

from sparkassets.core.instants import DAY, Duration, InstantError, zone_offsets
from sparkassets.core.spec.file_models import DeadlineMap
from sparkassets.core.spec.model import DeadlineSpec
from sparkassets.core.spec.time_bounds import TimeBounds
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.timetables.base import TimetableError
from sparkassets.core.timetables.every import every_ticks
from sparkassets.core.timetables.interval_shapes import InstantIntervals
from sparkassets.core.timetables.parse import parse_timetable
from sparkassets.core.timetables.tick_timetable import TickTimetable

_TIME_OF_DAY: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAILY: Final = "1d"


def compile_expect(at: DocumentPlace, keys: DeadlineMap | None, *, within: TimeBounds) -> DeadlineSpec | None:
    """The deadlines; None where there are none, or where they are wrong, which becomes a problem.

    Args:
        at: The place of ``expect``.
        keys: As written.
        within: Zone and bounds of the asset; no deadline is before its start.
    """
    if keys is None:
        return None
    found = _TIME_OF_DAY.fullmatch(keys.by.strip())
    if found is None:
        return _by_cron(at, keys, within)
    minutes = int(found[1]) * 60 + int(found[2])
    return _by_time(at, keys, minutes * 60, within)


def _by_cron(at: DocumentPlace, keys: DeadlineMap, within: TimeBounds) -> DeadlineSpec | None:
    """A deadline at each tick."""
    if keys.every is not None:
        message = "'every' of 'expect' goes with a time of day, not with a cron, which says itself how often"
        (at / "every").add_key_problem(message)
        return None
    try:
        deadlines = parse_timetable({"at": keys.by}, timezone=within.timezone, start=within.start, end=within.end)
    except TimetableError as error:
        expected = "expected a time of day such as 08:00, or a cron such as '0 8 * * MON'"
        (at / "by").add_problem(f"'by' of 'expect' is {keys.by!r}; {expected}", hint=error.hint)
        return None
    return DeadlineSpec(deadlines, f"by {keys.by}")


def _by_time(at: DocumentPlace, keys: DeadlineMap, seconds: int, within: TimeBounds) -> DeadlineSpec | None:
    """A deadline at a time of day, every so many days; or every so many hours, from that time on."""
    every = keys.every or _DAILY
    try:
        length = Duration.parse(every)
    except InstantError as error:
        (at / "every").add_problem(str(error.args[0]), hint=error.hint)
        return None
    if not _is_whole(length):
        message = f"'every' of 'expect' is {every!r}; expected a duration above 0, in calendar or in elapsed time"
        (at / "every").add_problem(message)
        return None
    if length != Duration(days=1) and not length.seconds and within.start is None:
        message = f"'every: {every}' counts from the asset's 'start', which it does not have"
        (at / "every").add_problem(message, hint="write 'start', or 'by' as a cron such as '0 8 * * MON'")
        return None
    clock = zone_offsets(within.timezone)
    local = 0 if within.start is None else within.start + clock.offset_at(within.start)
    anchor = clock.tick_instant(local - local % DAY + seconds)
    ticks = every_ticks(every, length, timezone=within.timezone, anchor=anchor)
    text = f"by {keys.by.strip()}" if keys.every in (None, _DAILY) else f"by {keys.by.strip()} every {every}"
    return DeadlineSpec(TickTimetable(text, within.timezone, ticks, InstantIntervals(), within.start, within.end), text)


def _is_whole(length: Duration) -> bool:
    """Whether it is above 0, and counts either on the calendar or on the clock."""
    calendar = length.days, length.months
    if min(length.seconds, *calendar) < 0:
        return False
    return bool(length.seconds) != any(calendar)
