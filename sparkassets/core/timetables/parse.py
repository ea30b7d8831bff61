"""From the text or mapping of a project file to a timetable."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from sparkassets.core.instants import InstantError, epoch, format_instant, instant, parse_instant, zone
from sparkassets.core.timetables.base import Timetable, TimetableError
from sparkassets.core.timetables.cron import CronTimetable
from sparkassets.core.timetables.expand import expand
from sparkassets.core.timetables.fields import CronFields
from sparkassets.core.timetables.presets import PRESETS

_KEYS = ("cron", "timezone", "start", "end")
_LATER = ("at", "every", "times", "sun", "timetable", "interval", "delay", "window", "calendar", "roll", "catchup")
_OTHER_NAMES = {"@midnight": "@daily", "@annually": "@yearly"}


def parse_timetable(
    value: str | Mapping[str, object], *, timezone: str, start: int | None = None, end: int | None = None
) -> Timetable:
    """The timetable of a ``schedule``: a preset, a cron, or a mapping with ``cron`` and its modifiers.

    Args:
        value: As in the YAML; ``timezone``, ``start`` and ``end`` in it override the arguments.
        timezone: Zone of the asset.
        start: No interval begins before it; epoch seconds, None is open.
        end: No interval begins at it or after; epoch seconds, None is open.

    Raises:
        TimetableError: It is no timetable, not supported yet, or can never fire.
        InstantError: A zone or a bound is not one.

    >>> parse_timetable("@daily", timezone="Europe/Berlin").describe()
    '@daily (Europe/Berlin)'
    """
    if isinstance(value, str):
        written = value
    else:
        _check_keys(value)
        written = _text(value, "cron", "")
        timezone = _text(value, "timezone", timezone)
        start, end = _bound(value, "start", timezone, start), _bound(value, "end", timezone, end)
    zone(timezone)
    if start is not None and end is not None and end <= start:
        bounds = f"start {format_instant(instant(start))}, end {format_instant(instant(end))}"
        raise TimetableError(f"schedule '{written}' can never fire: it ends before it starts ({bounds})")
    fields = _preset(written.strip()) if written.strip().startswith("@") else expand(written)
    return CronTimetable(text=written, timezone=timezone, fields=fields, start=start, end=end)


def _check_keys(value: Mapping[str, object]) -> None:
    for key in value:
        if key in _LATER:
            raise TimetableError(f"'{key}' of a schedule is not supported yet; expected {', '.join(_KEYS)}")
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else None
            raise TimetableError(f"unknown key '{key}' in a schedule; expected {', '.join(_KEYS)}", hint=hint)
    if "cron" not in value:
        raise TimetableError("a schedule lacks 'cron'; expected text such as '0 6 * * *' or @daily")


def _text(value: Mapping[str, object], key: str, default: str) -> str:
    found = value.get(key, default)
    if key == "cron" and isinstance(found, list):
        raise TimetableError("a list of crons is not supported yet; expected text such as '0 6 * * *'")
    if not isinstance(found, str):
        raise TimetableError(f"'{key}' of a schedule is '{found}'; expected text")
    return found


def _bound(value: Mapping[str, object], key: str, timezone: str, default: int | None) -> int | None:
    if key not in value:
        return default
    text = _text(value, key, "")
    try:
        return epoch(parse_instant(text, zone=timezone))
    except InstantError as error:
        raise TimetableError(f"'{key}' of a schedule: {error}") from error


def _preset(name: str) -> CronFields:
    if name in PRESETS:
        return PRESETS[name]
    hint = _OTHER_NAMES.get(name) or next(iter(get_close_matches(name, PRESETS, n=1)), None)
    raise TimetableError(
        f"unknown preset '{name}'; expected {', '.join(PRESETS)}", hint=f"did you mean '{hint}'?" if hint else None
    )
