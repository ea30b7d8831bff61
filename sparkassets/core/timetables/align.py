"""Which run of one timetable belongs to a run of another (docs/design/schedules.md#aligned-inlets)."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from sparkassets.core.instants import format_zoned
from sparkassets.core.timetables.base import Slot, Timetable
from sparkassets.errors import InputError
from sparkassets.frozen import frozen


def names_no_asset(text: str) -> bool:
    """Whether a text can only be a preset or a cron, and not the name of an asset.

    >>> names_no_asset("@daily"), names_no_asset("0 6 * * *"), names_no_asset("daily_delays")
    (True, True, False)
    """
    return not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text)


@frozen
class RunAlignment:
    """A run of the downstream and the upstream run that it takes its data from.

    Attributes:
        delta_seconds: The downstream's logical date minus the upstream's.
        case: 1 where both fire at that instant, 2 where only the downstream does.
        at: What was asked for; the downstream may have no tick there.
        zones: Of the upstream's timetable and of the downstream's.
    """

    upstream: Slot
    downstream: Slot
    delta_seconds: int
    case: Literal[1, 2]
    at: datetime
    zones: tuple[str, str]

    def __repr__(self) -> str:
        up, down = format_zoned(self.upstream.start, self.zones[0]), format_zoned(self.downstream.start, self.zones[1])
        delta = delta_text(self.delta_seconds)
        return f"<run of {down} takes the one of {up}: execution delta {delta}, case {self.case}>"


def align_runs(upstream: Timetable, downstream: Timetable, at: datetime, *, names: tuple[str, str]) -> RunAlignment:
    """The newest run of ``downstream`` whose interval is over at ``at``, with its upstream run.

    Args:
        upstream: Whose run is looked for.
        downstream: Whose run it belongs to.
        at: Aware.
        names: What messages call the upstream and the downstream.

    Raises:
        InputError: One has no run by then.
    """
    own, zones = downstream.last_over(at), (upstream.timezone, downstream.timezone)
    if own is None:
        raise InputError(f"{names[1]!r} has no run by {format_zoned(at, downstream.timezone)}: {downstream.describe()}")
    theirs = upstream.last_over(own.end)
    if theirs is None:
        when = f"{format_zoned(own.end, downstream.timezone)}, when {names[1]!r} runs"
        raise InputError(f"{names[0]!r} has no run by {when}: {upstream.describe()}")
    delta = own.start - theirs.start
    case: Literal[1, 2] = 1 if theirs.end == own.end else 2
    return RunAlignment(theirs, own, delta.days * 86_400 + delta.seconds, case, at, zones)


def delta_text(seconds: int) -> str:
    """An execution delta for people: hours, minutes and seconds, with a sign where it is negative.

    >>> delta_text(162_000), delta_text(-90)
    ('45:00:00', '-0:01:30')
    """
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'-' if seconds < 0 else ''}{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
