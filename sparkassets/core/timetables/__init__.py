"""Timetables: what yields data intervals and the instants from which their runs may start.

What reads them from text is not loaded with them: a project that is compiled needs the kinds that it has and no more.
"""

from sparkassets.core.timetables.base import Catchup, Slot, Ticks, Timetable, TimetableError
from sparkassets.core.timetables.continuous import Continuous
from sparkassets.core.timetables.once import Once

__all__ = ["Catchup", "Continuous", "Once", "Slot", "Ticks", "Timetable", "TimetableError"]
