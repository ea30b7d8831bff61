"""Timetables: what yields data intervals and the instants from which their runs may start.

What reads them from text is not loaded with them: a project that is compiled needs the kinds that it has and no more.
"""

from sparkassets.core.timetables.base import Catchup, Slot, TickSequence, Timetable, TimetableError
from sparkassets.core.timetables.continuous import ContinuousTimetable
from sparkassets.core.timetables.once import OnceTimetable

__all__ = ["Catchup", "ContinuousTimetable", "OnceTimetable", "Slot", "TickSequence", "Timetable", "TimetableError"]
