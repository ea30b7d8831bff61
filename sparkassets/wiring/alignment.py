"""Which run of one timetable belongs to a run of another, for `align`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sparkassets.core.instants import format_instant, parse_instant
from sparkassets.core.timetables import Timetable, parse_timetable
from sparkassets.core.timetables.align import Alignment, aligned
from sparkassets.errors import InputError
from sparkassets.wiring.host import SystemClock


def align_crons(upstream: str, downstream: str, *, at: datetime | str | None = None) -> Alignment:
    """`Project.align` for two presets or crons in UTC, without a project."""

    def timetable(text: str) -> Timetable:
        return parse_timetable(text, timezone="UTC")

    moment = parse_instant(at, zone="UTC") if isinstance(at, str) else at
    return align(upstream, downstream, timetable, moment or SystemClock().now())


def align(upstream: str, downstream: str, timetable: Callable[[str], Timetable], at: datetime) -> Alignment:
    """The alignment at that instant of the timetables that ``timetable`` makes of two texts.

    Raises:
        InputError: One has no run by then.
    """
    up, down = timetable(upstream), timetable(downstream)
    found = aligned(up, down, at)
    if found is None:
        raise InputError(f"{downstream!r} has no run by {format_instant(at)}: {down.describe()}")
    if found.upstream is None:
        end = format_instant(found.downstream.end)
        raise InputError(f"{upstream!r} has no run by {end}, when {downstream!r} runs: {up.describe()}")
    return found
