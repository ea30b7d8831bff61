"""``@once``: a single run."""

from __future__ import annotations

from sparkassets.core.timetables.instants_list import InstantTicks
from sparkassets.core.timetables.interval_shapes import InstantIntervals
from sparkassets.core.timetables.tick_timetable import TickTimetable


class OnceTimetable(TickTimetable):
    """One slot at ``start``; without a start there is no slot, as the run may be at any time."""


def build_once(text: str, *, timezone: str, start: int | None, end: int | None) -> OnceTimetable:
    """The timetable of ``@once``.

    >>> build_once("@once", timezone="UTC", start=None, end=None).describe()
    '@once (UTC)'
    """
    ticks = InstantTicks() if start is None else InstantTicks((start,))
    return OnceTimetable(text, timezone, ticks, InstantIntervals(), start, end)
