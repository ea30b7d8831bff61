"""Timetables: what yields data intervals and the instants from which their runs may start.

What reads them from text is not loaded with them: a project that is compiled needs the kinds that it has and no more.
"""

from sparkassets.core.timetables.tick_timetable import ContinuousTimetable, OnceTimetable
from sparkassets.core.timetables.timetable import Catchup, Slot, TickSequence, Timetable, TimetableError

__all__ = ["Catchup", "ContinuousTimetable", "OnceTimetable", "Slot", "TickSequence", "Timetable", "TimetableError"]
