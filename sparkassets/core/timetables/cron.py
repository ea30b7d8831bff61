"""Crons and presets: ticks at the times that five fields name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sparkassets.core.crons.expand import CronError, expand
from sparkassets.core.crons.fields import CronFields
from sparkassets.core.crons.wall_clock import WallClockTicks
from sparkassets.core.timetables.base import TimetableError
from sparkassets.core.timetables.presets import PRESETS


def cron_ticks(text: str, timezone: str, *, also: Sequence[str] = ()) -> WallClockTicks:
    """The ticks of a cron of five fields, or of a preset such as ``@daily``.

    Args:
        text: As written.
        timezone: Whose wall clock it follows.
        also: Other names that could be meant, for the message.

    Raises:
        TimetableError: It is neither, or never fires.

    >>> cron_ticks("@daily", "UTC").between(0, 200_000)
    [0, 86400, 172800]
    """
    written = text.strip()
    return WallClockTicks(text, timezone, _preset(written, also) if written.startswith("@") else _fields(text))


def _fields(text: str) -> CronFields:
    try:
        return expand(text)
    except CronError as error:
        raise TimetableError(str(error.args[0]), hint=error.hint) from error


def _preset(name: str, also: Sequence[str]) -> CronFields:
    if name in PRESETS:
        return PRESETS[name]
    names = (*PRESETS, *also)
    hint = next(iter(get_close_matches(name, names, n=1)), None)
    raise TimetableError(
        f"unknown preset '{name}'; expected {', '.join(names)}", hint=f"did you mean '{hint}'?" if hint else None
    )
