"""From the text or map of a project file to a timetable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, get_args

from sparkassets.core.instants import Duration, InstantError, epoch, format_instant, instant, parse_instant, zone
from sparkassets.core.phrases import listing, shown
from sparkassets.core.suggestions import meant_by
from sparkassets.core.timetables.base import Catchup, Ticks, Timetable, TimetableError
from sparkassets.core.timetables.continuous import continuous
from sparkassets.core.timetables.cron import cron_ticks
from sparkassets.core.timetables.every import every_ticks
from sparkassets.core.timetables.instants_list import InstantTicks
from sparkassets.core.timetables.once import once
from sparkassets.core.timetables.shapes import Abutting, Exact, Lasting, Shape
from sparkassets.core.timetables.ticking import TickTimetable
from sparkassets.core.timetables.times import as_text, times_ticks
from sparkassets.core.timetables.union import union

MODIFIERS: Final = ("timezone", "start", "end", "delay", "window", "catchup", "interval")
_CATCHUPS: Final = get_args(Catchup)
_WITHOUT_TICKS: Final = {"@once": once, "@continuous": continuous}
_DATE: Final = re.compile(r"\s*\d{4}-\d\d")
_TIME_OF_DAY: Final = re.compile(r"\s*(\d\d?):(\d\d)\s*")


@dataclass(frozen=True, slots=True)
class Written:
    """A rule to build a timetable from.

    Attributes:
        value: Of the key of its kind.
        timezone: Whose wall clock it follows.
        start: The first bound, epoch seconds; None is open.
        interval: The length of its intervals, where it is written.
    """

    value: object
    timezone: str
    start: int | None
    interval: Duration | None


def parse_timetable(
    value: str | Mapping[str, object], *, timezone: str, start: int | None = None, end: int | None = None
) -> Timetable:
    """The timetable of a ``schedule``.

    Args:
        value: As in the YAML: a preset, a cron, ``@once``, ``@continuous``, or a map of one kind of rule with its
            modifiers; ``timezone``, ``start`` and ``end`` in it override the arguments.
        timezone: Zone of the asset.
        start: No interval begins before it, one may begin at it; epoch seconds, None is open.
        end: No interval begins at it or after; epoch seconds, None is open.

    Raises:
        TimetableError: It is no timetable, or can never fire.
        InstantError: A zone is not one.

    >>> parse_timetable("@daily", timezone="Europe/Berlin").describe()
    '@daily (Europe/Berlin)'
    >>> parse_timetable({"every": "6h", "delay": "10m"}, timezone="UTC").describe()
    'every 6h (UTC) delayed by 10m'
    """
    written = {"cron": value} if isinstance(value, str) else value
    _check_keys(written)
    timezone = _text(written, "timezone", timezone)
    zone(timezone)
    start, end = _bound(written, "start", timezone, start), _bound(written, "end", timezone, end)
    delay = _length(written, "delay", positive=False) or Duration()
    window, interval = _length(written, "window"), _length(written, "interval")
    catchup = _catchup(written)
    (kind,) = written.keys() & KINDS.keys()
    if interval and kind != "cron":
        message = f"'interval' goes with 'cron', not with '{kind}'"
        hint = "the intervals of 'every' are its own length" if kind == "every" else None
        raise TimetableError(message, hint=hint, path=("interval",), at_key=True)
    try:
        built = KINDS[kind](Written(written[kind], timezone, start, interval))
    except TimetableError as error:
        raise error if isinstance(value, str) else error.below(kind) from error
    if start is not None and end is not None and end <= start:
        bounds = f"start {format_instant(instant(start))}, end {format_instant(instant(end))}"
        path = tuple(key for key in ("end", "start") if key in written)[:1]
        message = f"schedule '{built.text}' can never fire: it ends before it starts ({bounds})"
        raise TimetableError(message, path=path)
    return replace(built, start=start, end=end, delay=delay, window=window, catchup=catchup)


# --------------------------------------------------------------------------- kinds


def _cron(written: Written) -> TickTimetable:
    value, timezone = written.value, written.timezone
    if isinstance(value, str) and (without := _WITHOUT_TICKS.get(value.strip())):
        if written.interval:
            raise TimetableError(f"'{value.strip()}' has no intervals; leave 'interval' out")
        return without(value, timezone=timezone, start=written.start, end=None)
    ticks, text = _moments(value, "cron", timezone)
    shape: Shape = Abutting()
    if written.interval:
        shape, text = Lasting(written.interval, timezone), f"{text} for {written.interval.text}"
    return TickTimetable(text, timezone, ticks, shape)


def _at(written: Written) -> TickTimetable:
    ticks, text = _moments(written.value, "at", written.timezone)
    return TickTimetable(f"at {text}", written.timezone, ticks, Exact())


def _every(written: Written) -> TickTimetable:
    length = _duration(written.value, "every")
    if length.seconds and (length.days or length.months):
        message = f"'every' of a schedule is '{written.value}', calendar and elapsed time at once; expected one of them"
        raise TimetableError(message, hint="d, w, mo and y follow the calendar; s, m and h are elapsed time")
    text = str(written.value)
    ticks = every_ticks(text, length, timezone=written.timezone, anchor=written.start)
    return TickTimetable(ticks.describe(), written.timezone, ticks, Abutting())


def _times(written: Written) -> TickTimetable:
    ticks = times_ticks(written.value, written.timezone)
    return TickTimetable(f"times {as_text(written.value)}", written.timezone, ticks, Exact())


KINDS: Final[Mapping[str, Callable[[Written], TickTimetable]]] = {
    "cron": _cron,
    "at": _at,
    "every": _every,
    "times": _times,
}
"""What builds the timetable of each kind, without bounds and modifiers."""


def _moments(value: object, key: str, timezone: str) -> tuple[Ticks, str]:
    """The ticks of a text or of a list of texts, and their text."""
    if isinstance(value, str):
        ticks = _moment(value, key, timezone, also=_WITHOUT_TICKS if key == "cron" else ())
        return ticks, ticks.describe()
    if not isinstance(value, list) or not value:
        what = "an empty list" if value == [] else shown(value)
        raise TimetableError(f"'{key}' of a schedule is {what}; expected {_EXPECTED[key]}")
    instants: set[int] = set()
    crons: list[Ticks] = []
    for number, each in enumerate(value):
        if not isinstance(each, str):
            raise TimetableError(
                f"item {number + 1} of '{key}' of a schedule is {shown(each)}; expected text", path=(number,)
            )
        try:
            ticks = _moment(each, key, timezone)
        except TimetableError as error:
            raise error.below(number) from error
        if isinstance(ticks, InstantTicks):
            instants.update(ticks.instants)
        else:
            crons.append(ticks)
    found = union([*crons, *([InstantTicks(tuple(sorted(instants)))] if instants else [])])
    return found, found.describe()


_EXPECTED: Final = {
    "cron": "a cron such as '0 6 * * *', a preset, or a list of them",
    "at": "a cron such as '0 6 * * *', or a list of crons or of instants",
}


def _moment(text: str, key: str, timezone: str, *, also: Iterable[str] = ()) -> Ticks:
    """The ticks of a cron or, for ``at``, of an instant."""
    if key == "at" and _DATE.match(text):
        try:
            return InstantTicks((epoch(parse_instant(text.strip(), zone=timezone)),))
        except InstantError as error:
            raise TimetableError(str(error.args[0])) from error
    if clock := _TIME_OF_DAY.fullmatch(text):
        daily = f"{int(clock[2])} {int(clock[1])} * * *"
        raise TimetableError(f"'{text}' is not a cron; expected five fields", hint=f"write '{daily}' for each day")
    return cron_ticks(text, timezone, also=tuple(also))


# --------------------------------------------------------------------------- keys and modifiers


def _check_keys(written: Mapping[str, object]) -> None:
    for key in written:
        if key not in KINDS and key not in MODIFIERS:
            known = [*KINDS, *MODIFIERS]
            message = f"unknown key '{key}' in a schedule; expected {', '.join(known)}"
            raise TimetableError(message, hint=meant_by(key, known), path=(key,), at_key=True)
    kinds = [key for key in written if key in KINDS]
    if not kinds:
        raise TimetableError(f"a schedule lacks its rule; expected {listing(repr(kind) for kind in KINDS)}")
    if len(kinds) > 1:
        both = listing((repr(kind) for kind in kinds), last="and")
        message = f"a schedule has {both}; expected one of them"
        raise TimetableError(
            message, hint="several schedules of one asset are {any: [...]}", path=(kinds[1],), at_key=True
        )


def _text(written: Mapping[str, object], key: str, default: str) -> str:
    found = written.get(key, default)
    if not isinstance(found, str):
        raise TimetableError(f"'{key}' of a schedule is {shown(found)}; expected text", path=(key,))
    return found


def _bound(written: Mapping[str, object], key: str, timezone: str, default: int | None) -> int | None:
    if key not in written:
        return default
    text = _text(written, key, "")
    try:
        return epoch(parse_instant(text, zone=timezone))
    except InstantError as error:
        raise TimetableError(f"'{key}' of a schedule: {error.args[0]}", hint=error.hint, path=(key,)) from error


def _length(written: Mapping[str, object], key: str, *, positive: bool = True) -> Duration | None:
    if key not in written:
        return None
    try:
        return _duration(written[key], key, positive=positive)
    except TimetableError as error:
        raise error.below(key) from error


def _duration(value: object, key: str, *, positive: bool = True) -> Duration:
    if not isinstance(value, str):
        raise TimetableError(f"'{key}' of a schedule is {shown(value)}; expected a duration such as 90s, 6h or 7d")
    try:
        found = Duration.parse(value)
    except InstantError as error:
        raise TimetableError(f"'{key}' of a schedule: {error.args[0]}", hint=error.hint) from error
    parts = (found.months, found.days, found.seconds)
    if min(parts) < 0 or (positive and not any(parts)):
        raise TimetableError(
            f"'{key}' of a schedule is '{value}'; expected a duration {'above' if positive else 'of at least'} 0"
        )
    return found


def _catchup(written: Mapping[str, object]) -> Catchup | None:
    match written.get("catchup"):
        case None if "catchup" not in written:
            return None
        case "all" | "latest" | "rollup" as found:
            return found
        case other:
            hint = meant_by(other, _CATCHUPS) if isinstance(other, str) else None
            message = f"'catchup' of a schedule is {shown(other)}; expected {listing(_CATCHUPS)}"
            raise TimetableError(message, hint=hint, path=("catchup",))
