"""Timetables: what yields data intervals and the instants from which their runs may start."""

from sparkassets.core.timetables.base import Catchup, Slot, Ticks, Timetable, TimetableError
from sparkassets.core.timetables.continuous import Continuous
from sparkassets.core.timetables.once import Once
from sparkassets.core.timetables.parse import KINDS, MODIFIERS, parse_timetable
from sparkassets.core.timetables.registered import GROUP, Factory, RegisteredSlots, RegisteredTimetable

__all__ = [
    "GROUP",
    "KINDS",
    "MODIFIERS",
    "Catchup",
    "Continuous",
    "Factory",
    "Once",
    "RegisteredSlots",
    "RegisteredTimetable",
    "Slot",
    "Ticks",
    "Timetable",
    "TimetableError",
    "parse_timetable",
]
