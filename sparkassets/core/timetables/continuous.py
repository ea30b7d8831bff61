"""``@continuous``: again as soon as the run before has ended."""

from __future__ import annotations

from sparkassets.core.timetables.instants_list import InstantTicks
from sparkassets.core.timetables.interval_shapes import InstantIntervals
from sparkassets.core.timetables.tick_timetable import TickTimetable


class ContinuousTimetable(TickTimetable):
    """No slots: there is always a run due between ``start`` and ``end``."""


def build_continuous(text: str, *, timezone: str, start: int | None, end: int | None) -> ContinuousTimetable:
    """The timetable of ``@continuous``.

    >>> build_continuous("@continuous", timezone="UTC", start=None, end=None).describe()
    '@continuous (UTC)'
    """
    return ContinuousTimetable(text, timezone, InstantTicks(), InstantIntervals(), start, end)
