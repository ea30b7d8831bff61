"""``@once``: a single run."""

from __future__ import annotations

from sparkassets.core.timetables.instants_list import InstantTicks
from sparkassets.core.timetables.shapes import Exact
from sparkassets.core.timetables.ticking import TickTimetable


class Once(TickTimetable):
    """One slot at ``start``; without a start there is no slot, as the run may be at any time."""


def once(text: str, *, timezone: str, start: int | None, end: int | None) -> Once:
    """The timetable of ``@once``.

    >>> once("@once", timezone="UTC", start=None, end=None).describe()
    '@once (UTC)'
    """
    ticks = InstantTicks() if start is None else InstantTicks((start,))
    return Once(text, timezone, ticks, Exact(), start, end)
