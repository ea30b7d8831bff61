"""Durations, zones and bounds of the files, each refused at its own place."""

from __future__ import annotations

from sparkassets.core.instants import Duration, InstantError, find_zone, parse_instant, to_unix
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.frozen import frozen


@frozen
class TimeBounds:
    """A time zone that exists, and the bounds ``[start, end)`` in Unix seconds; None for an open side."""

    timezone: str
    start: int | None = None
    end: int | None = None


def compile_bounds(
    at: DocumentPlace, *, timezone: str | None, start: str | None, end: str | None, outer: TimeBounds
) -> TimeBounds:
    """The bounds that the keys ``timezone``, ``start`` and ``end`` give; what they leave open is the outer's.

    Args:
        at: The map that holds the keys.
        timezone: As written.
        start: As written; a date or a time.
        end: As written, likewise.
        outer: The bounds around them.
    """
    zone = check_zone(at / "timezone", timezone) if timezone is not None else outer.timezone
    start_seconds = outer.start if start is None else _parse_seconds(at / "start", start, zone)
    end_seconds = outer.end if end is None else _parse_seconds(at / "end", end, zone)
    if start_seconds is not None and end_seconds is not None and end_seconds <= start_seconds and (start or end):
        key = "end" if end else "start"
        message = f"{key!r} is {end or start!r}, which leaves nothing between start and end"
        (at / key).add_problem(f"{message}; expected an end after the start")
    return TimeBounds(zone, start_seconds, end_seconds)


def check_zone(at: DocumentPlace, name: str) -> str:
    """The zone's name, ``UTC`` where there is no such zone."""
    try:
        find_zone(name)
    except InstantError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)
        return "UTC"
    return name


def fixed_seconds(at: DocumentPlace, text: str, *, positive: bool = True) -> int:
    """A duration of fixed length in seconds; 0 where it is wrong.

    Args:
        at: Its place.
        text: As written.
        positive: Whether 0 is refused.
    """
    try:
        seconds = Duration.parse(text).seconds_exactly()
    except InstantError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)
        return 0
    if seconds < (1 if positive else 0):
        at.add_problem(
            f"{at.path[-1]!r} is {text!r}; expected {'a positive duration' if positive else 'a duration of at least 0'}"
        )
        return 0
    return seconds


def _parse_seconds(at: DocumentPlace, text: str, timezone: str) -> int | None:
    try:
        return to_unix(parse_instant(text, zone=timezone))
    except InstantError as error:
        at.add_problem(str(error.args[0]), hint=error.hint)
        return None
