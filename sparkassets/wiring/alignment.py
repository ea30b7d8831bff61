"""Which run of one timetable belongs to a run of another, for `align`."""

from __future__ import annotations

from datetime import datetime

from sparkassets.core.instants import parse_instant
from sparkassets.core.timetables import parse_timetable
from sparkassets.core.timetables.align import Alignment, aligned
from sparkassets.wiring.host import SystemClock


def align_crons(upstream: str, downstream: str, *, at: datetime | str | None = None) -> Alignment:
    """`Project.align` for two presets or crons in UTC, without a project."""
    up, down = (parse_timetable(text, timezone="UTC") for text in (upstream, downstream))
    moment = parse_instant(at, zone="UTC") if isinstance(at, str) else at
    return aligned(up, down, moment or SystemClock().now(), names=(upstream, downstream))
