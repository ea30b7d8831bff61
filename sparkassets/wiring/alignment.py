"""Which run of one timetable belongs to a run of another, for `align` without a project."""

from __future__ import annotations

from datetime import datetime

from sparkassets.app import timetables
from sparkassets.core.timetables.align import RunAlignment
from sparkassets.wiring.host import SystemClock


def align_crons(upstream: str, downstream: str, *, at: datetime | str | None = None) -> RunAlignment:
    """`TimetableCommands.align` for two presets or crons in UTC, without a project."""
    return timetables.align_crons(upstream, downstream, at=at, now=SystemClock().now())
