"""``@continuous``: again as soon as the run before has ended."""

from __future__ import annotations

from sparkassets.core.timetables.instants_list import InstantTicks
from sparkassets.core.timetables.shapes import Exact
from sparkassets.core.timetables.ticking import TickTimetable


class Continuous(TickTimetable):
    """No slots: there is always a run due between ``start`` and ``end``."""


def continuous(text: str, *, timezone: str, start: int | None, end: int | None) -> Continuous:
    """The timetable of ``@continuous``.

    >>> continuous("@continuous", timezone="UTC", start=None, end=None).describe()
    '@continuous (UTC)'
    """
    return Continuous(text, timezone, InstantTicks(), Exact(), start, end)
