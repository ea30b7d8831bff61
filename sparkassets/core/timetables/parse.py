"""Parses the text or map of a ``schedule`` in a project file into a timetable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, TypeVar, get_args

from sparkassets.core.entry_points import Factory
from sparkassets.core.instants import Duration, InstantError, find_zone, format_zoned, from_unix, parse_instant, to_unix
from sparkassets.core.phrases import listing, show_value
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.timetables.boolean_times import times_ticks, to_yaml_line
from sparkassets.core.timetables.calendars import ROLLS, Roll, RolledTicks, WorkingDays, find_calendar
from sparkassets.core.timetables.exchanges import SessionTicks, TradingCalendar, TradingIntervals
from sparkassets.core.timetables.registered import RegisteredSlots, build_registered_timetable
from sparkassets.core.timetables.tick_timetable import (
    ContinuousTimetable,
    InstantTicks,
    OnceTimetable,
    TickTimetable,
    build_continuous,
    build_once,
)
from sparkassets.core.timetables.ticks import EVENTS, cron_ticks, every_ticks, sun_ticks, unite_ticks
from sparkassets.core.timetables.timetable import (
    AbuttingIntervals,
    Catchup,
    FixedLengthIntervals,
    InstantIntervals,
    IntervalShape,
    TickSequence,
    Timetable,
    TimetableError,
    read_all_or_raise,
)
from sparkassets.frozen import frozen

MODIFIERS: Final = ("timezone", "start", "end", "delay", "window", "catchup", "interval", "calendar", "roll")
_MODIFIERS_OF_ALL: Final = frozenset({"timezone", "start", "end"})
"""The modifiers that also apply to a timetable without ticks, such as ``@once``."""
_CATCHUPS: Final[tuple[Catchup, ...]] = get_args(Catchup)
_NONE_INSTALLED: Final[Mapping[str, Factory]] = MappingProxyType({})
_WITHOUT_TICKS: Final = {"@once": build_once, "@continuous": build_continuous}
# any instant: a rule without a tick before or after it never fires
_ANY_INSTANT: Final = to_unix(datetime(2025, 1, 1, tzinfo=UTC))
_DATE: Final = re.compile(r"\s*\d{4}-\d\d")
_TIME_OF_DAY: Final = re.compile(r"\s*(\d\d?):(\d\d)\s*")

C = TypeVar("C", Catchup, Roll)


@frozen
class TimetableRule:
    """What a ``schedule`` says, as far as its kind of rule needs it.

    Attributes:
        value: Value of the kind's key.
        timezone: Zone whose wall clock it follows.
        start: The earliest start of an interval, Unix seconds; None is open.
        interval: Length of its intervals; None where it is not written.
        calendar: Calendar whose open days it keeps to; None where it is not written.
        beside: Other keys than the kind's and the modifiers.
        installed: Registered timetables by name.
    """

    value: object
    timezone: str
    start: int | None
    interval: Duration | None
    calendar: WorkingDays | TradingCalendar | None
    beside: Mapping[str, object]
    installed: Mapping[str, Factory]


def parse_timetable(
    value: str | Mapping[str, object],
    *,
    timezone: str,
    start: int | None = None,
    end: int | None = None,
    installed: Mapping[str, Factory] = _NONE_INSTALLED,
) -> Timetable:
    """The timetable of a ``schedule``.

    Args:
        value: As in the YAML: a preset, a cron, ``@once``, ``@continuous``, or a map of one kind of rule with its
            modifiers; ``timezone``, ``start`` and ``end`` in it override the arguments.
        timezone: Zone of the asset.
        start: No interval begins before it, one may begin at it; Unix seconds, None is open.
        end: No interval begins at it or after; Unix seconds, None is open.
        installed: Registered timetables by name.

    Raises:
        TimetableError: It is no timetable, or can never fire.
        InstantError: The zone of the asset is not one.

    >>> parse_timetable("@daily", timezone="Europe/Berlin").describe()
    '@daily (Europe/Berlin)'
    >>> parse_timetable({"every": "6h", "delay": "10m"}, timezone="UTC").describe()
    'every 6h (UTC) delayed by 10m'
    """
    written = {"cron": value} if isinstance(value, str) else value
    _check_keys(written)
    timezone = _read_zone(written, timezone)
    start, end = _read_bound(written, "start", timezone, start), _read_bound(written, "end", timezone, end)
    delay = _read_length(written, "delay", positive=False) or Duration()
    window, interval = _read_length(written, "window"), _read_length(written, "interval")
    catchup = _read_choice(written, "catchup", _CATCHUPS)
    (kind,) = written.keys() & KINDS.keys()  # exactly one, as `_check_keys` makes sure
    if interval and kind != "cron":
        raise _misplaced_interval_error(kind)
    calendar, roll = _read_calendar(written), _read_choice(written, "roll", ROLLS)
    other_keys = {key: each for key, each in written.items() if key not in {kind, *MODIFIERS}}
    rule = TimetableRule(written[kind], timezone, start, interval, calendar, other_keys, installed)
    try:
        timetable = KINDS[kind](rule)
    except TimetableError as error:
        # a schedule of one text has no keys that could lead to the fault
        raise error if isinstance(value, str) else error.at_path(kind, beside=written) from error
    if isinstance(timetable, OnceTimetable | ContinuousTimetable):
        _refuse_modifiers(timetable, written)
    elif calendar:
        timetable = _roll_to_open_days(timetable, calendar, roll)
    if start is not None and end is not None and end <= start:
        bounds = f"start {format_zoned(from_unix(start), timezone)}, end {format_zoned(from_unix(end), timezone)}"
        path = tuple(key for key in ("end", "start") if key in written)[:1]
        message = f"schedule '{timetable.text}' can never fire: it ends before it starts ({bounds})"
        raise TimetableError(message, path=path)
    return replace(timetable, start=start, end=end, delay=delay, window=window, catchup=catchup)


def _misplaced_interval_error(kind: str) -> TimetableError:
    """The error for ``interval`` beside a kind of rule that has intervals of its own."""
    hint = "the intervals of 'every' have its own length" if kind == "every" else None
    message = f"'interval' needs 'cron', not '{kind}'"
    return TimetableError(message, hint=hint, path=("interval",), at_key=True)


# --------------------------------------------------------------------------- kinds


def _build_cron(rule: TimetableRule) -> TickTimetable:
    """Builds the timetable of ``cron``, or of a preset without ticks such as ``@once``."""
    value, timezone = rule.value, rule.timezone
    if isinstance(value, str) and (build_without_ticks := _WITHOUT_TICKS.get(value.strip())):
        return build_without_ticks(value, timezone=timezone, start=rule.start, end=None)
    ticks, text = _read_ticks(value, "cron", timezone)
    shape: IntervalShape = AbuttingIntervals()
    if rule.interval:
        shape, text = FixedLengthIntervals(rule.interval, timezone), f"{text} for {rule.interval.text}"
    return TickTimetable(text, timezone, ticks, shape)


def _build_instants(rule: TimetableRule) -> TickTimetable:
    """Builds the timetable of ``at``: instants, crons, or the open or close of an exchange's sessions."""
    if rule.value in ("open", "close"):
        exchange = _require_exchange(rule, f"at: {rule.value}")
        session_ticks = SessionTicks(exchange, "open" if rule.value == "open" else "close")
        return TickTimetable(f"at {session_ticks.describe()}", rule.timezone, session_ticks, InstantIntervals())
    ticks, text = _read_ticks(rule.value, "at", rule.timezone)
    return TickTimetable(f"at {text}", rule.timezone, ticks, InstantIntervals())


def _build_every(rule: TimetableRule) -> TickTimetable:
    """Builds the timetable of ``every``: a length, or each session of an exchange."""
    if rule.value == "session":
        exchange = _require_exchange(rule, "every: session")
        opens = SessionTicks(exchange, "open")
        return TickTimetable(f"every session of {exchange.code}", rule.timezone, opens, TradingIntervals(exchange))
    length = _read_duration(rule.value, "every")
    # a tick every `1d6h` would follow neither the calendar nor elapsed time
    if length.seconds and (length.days or length.months):
        message = f"'every' of a schedule is '{rule.value}', calendar and elapsed time at once; expected one of them"
        raise TimetableError(message, hint="d, w, mo and y follow the calendar; s, m and h are elapsed time")
    text = str(rule.value)
    ticks = every_ticks(text, length, timezone=rule.timezone, anchor=rule.start)
    return TickTimetable(ticks.describe(), rule.timezone, ticks, AbuttingIntervals())


def _build_times(rule: TimetableRule) -> TickTimetable:
    """Builds the timetable of ``times``: boolean combinations of hours, weekdays and so on."""
    ticks = times_ticks(rule.value, rule.timezone)
    return TickTimetable(f"times {to_yaml_line(rule.value)}", rule.timezone, ticks, InstantIntervals())


def _build_sun(rule: TimetableRule) -> TickTimetable:
    """Builds the timetable of ``sun``: an event such as ``sunrise`` at a latitude and longitude."""
    latitude, longitude = read_all_or_raise(KEYS_BESIDE["sun"], lambda key: _read_degrees(rule.beside, key))
    if not isinstance(rule.value, str):
        raise TimetableError(f"'sun' of a schedule is {show_value(rule.value)}; expected {listing(EVENTS)}")
    ticks = sun_ticks(rule.value, latitude=latitude, longitude=longitude)
    return TickTimetable(ticks.describe(), rule.timezone, ticks, InstantIntervals())


def _build_registered(rule: TimetableRule) -> RegisteredSlots:
    """Builds the timetable that a package registered under the name in ``timetable``."""
    if rule.calendar:
        message = "'calendar' and 'timetable' exclude each other: a timetable has its own days"
        raise TimetableError(message, path=("calendar",), at_key=True)
    names = frozenset({*KINDS, *MODIFIERS})
    return build_registered_timetable(
        rule.value, rule.beside, timezone=rule.timezone, installed=rule.installed, reserved=names
    )


KINDS: Final[Mapping[str, Callable[[TimetableRule], TickTimetable | RegisteredSlots]]] = {
    "cron": _build_cron,
    "at": _build_instants,
    "every": _build_every,
    "times": _build_times,
    "sun": _build_sun,
    "timetable": _build_registered,
}
"""What builds the timetable of each kind, without bounds and modifiers."""

KEYS_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {"sun": ("latitude", "longitude")}
"""The keys that a kind has beside its own; a registered timetable has its parameters, whatever they are."""


def _require_exchange(rule: TimetableRule, what: str) -> TradingCalendar:
    """The exchange in ``calendar``; ``what`` is the rule that needs one.

    Raises:
        TimetableError: There is no calendar, or it is one of working days.
    """
    if isinstance(rule.calendar, TradingCalendar):
        return rule.calendar
    found_text = f"'{rule.calendar.code}' has none" if rule.calendar else "there is no 'calendar'"
    message = f"'{what}' needs the sessions of an exchange, and {found_text}"
    raise TimetableError(message, hint="write 'calendar: XNYS'", lacks=rule.calendar is None)


def _roll_to_open_days(
    timetable: TickTimetable | RegisteredSlots, calendar: WorkingDays | TradingCalendar, roll: Roll | None
) -> TickTimetable | RegisteredSlots:
    """The timetable with its ticks skipped or moved where they are not on an open day of the calendar.

    Ticks of sessions stay as they are: they are on open days by themselves.
    """
    if not isinstance(timetable, TickTimetable):
        raise TimetableError(f"'calendar' cannot be combined with {timetable.text}", path=("calendar",), at_key=True)
    if isinstance(timetable.ticks, SessionTicks):
        if roll:
            raise TimetableError(
                f"'roll' has no effect {timetable.text}, which has a tick in each session", path=("roll",), at_key=True
            )
        return timetable
    ticks = RolledTicks(timetable.ticks, calendar, roll or "skip", timetable.timezone)
    # any instant will do: a rule that fires at all has a tick before it or after it
    if ticks.after(_ANY_INSTANT) is None and ticks.before(_ANY_INSTANT) is None:
        raise TimetableError(f"schedule '{timetable.text}' never fires: never on an open day of {calendar.code}")
    return replace(timetable, text=f"{timetable.text}, {ticks.rule}", ticks=ticks)


def _read_ticks(value: object, key: str, timezone: str) -> tuple[TickSequence, str]:
    """The ticks of ``cron`` or ``at``, a text or a list of texts, and how they are described."""
    if isinstance(value, str):
        ticks = _read_tick_text(value, key, timezone, other_names=_WITHOUT_TICKS if key == "cron" else ())
        return ticks, ticks.describe()
    if not isinstance(value, list) or not value:
        value_text = "an empty list" if value == [] else show_value(value)
        raise TimetableError(f"'{key}' of a schedule is {value_text}; expected {_EXPECTED_VALUES[key]}")
    # all instants become one rule, so that the description lists them together
    instants: set[int] = set()
    crons: list[TickSequence] = []
    for ticks in read_all_or_raise(enumerate(value), lambda item: _read_item(*item, key=key, timezone=timezone)):
        if isinstance(ticks, InstantTicks):
            instants.update(ticks.instants)
        else:
            crons.append(ticks)
    united = unite_ticks([*crons, *([InstantTicks(tuple(sorted(instants)), timezone)] if instants else [])])
    return united, united.describe()


def _read_item(number: int, value: object, *, key: str, timezone: str) -> TickSequence:
    """The ticks of one item of a list; ``number`` is its position, for the path of an error."""
    if not isinstance(value, str):
        message = f"item {number + 1} of '{key}' of a schedule is {show_value(value)}; expected text"
        raise TimetableError(message, path=(number,))
    try:
        return _read_tick_text(value, key, timezone)
    except TimetableError as error:
        raise error.at_path(number) from error


_EXPECTED_VALUES: Final = {
    "cron": "a cron such as '0 6 * * *', a preset, or a list of them",
    "at": "a cron such as '0 6 * * *', or a list of crons or of instants",
}


def _read_tick_text(text: str, key: str, timezone: str, *, other_names: Iterable[str] = ()) -> TickSequence:
    """The ticks of one text: a cron or, for ``at``, also an instant; messages suggest ``other_names``, too."""
    if key == "at" and _DATE.match(text):
        try:
            return InstantTicks((to_unix(parse_instant(text.strip(), zone=timezone)),), timezone)
        except InstantError as error:
            raise TimetableError(str(error.args[0]), hint=error.hint) from error
    if _DATE.match(text):
        raise TimetableError(f"'{text}' is not a cron; expected five fields", hint=f"write {{at: [{text.strip()}]}}")
    if time_of_day := _TIME_OF_DAY.fullmatch(text):
        daily_cron = f"{int(time_of_day[2])} {int(time_of_day[1])} * * *"
        raise TimetableError(f"'{text}' is not a cron; expected five fields", hint=f"write '{daily_cron}' for each day")
    return cron_ticks(text, timezone, also=tuple(other_names))


# --------------------------------------------------------------------------- keys and modifiers


def _check_keys(written: Mapping[str, object]) -> None:
    """Refuses unknown keys, and a schedule that has no kind of rule or several."""
    known = [*KINDS, *(key for kind in written for key in KEYS_BESIDE.get(kind, ())), *MODIFIERS]
    # the keys beside `timetable` are the parameters of its package, which checks them
    unknown = None if "timetable" in written else next((key for key in written if key not in known), None)
    if unknown is not None:
        message = f"unknown key '{unknown}' in a schedule; expected {', '.join(known)}"
        raise TimetableError(message, hint=suggest_close(str(unknown), known), path=(unknown,), at_key=True)
    kinds = [key for key in written if key in KINDS]
    if not kinds:
        raise TimetableError(f"the schedule has no rule; expected {listing(repr(kind) for kind in KINDS)}", lacks=True)
    if len(kinds) > 1:
        both = listing((repr(kind) for kind in kinds), last="and")
        message = f"a schedule has {both}; expected one of them"
        raise TimetableError(message, hint="write several schedules as {any: [...]}", path=(kinds[1],), at_key=True)


def _refuse_modifiers(timetable: OnceTimetable | ContinuousTimetable, written: Mapping[str, object]) -> None:
    """Refuses the modifiers that need ticks or intervals for ``@once`` and ``@continuous``, which have none."""
    for key in MODIFIERS:
        if key in written and key not in _MODIFIERS_OF_ALL:
            message = f"'{key}' does nothing to '{timetable.text.strip()}', which has no ticks and no intervals"
            raise TimetableError(message, path=(key,), at_key=True)


def _read_text(written: Mapping[str, object], key: str) -> str:
    """The value of a key that must be text."""
    value = written[key]
    if not isinstance(value, str):
        raise TimetableError(f"'{key}' of a schedule is {show_value(value)}; expected text", path=(key,))
    return value


def _read_zone(written: Mapping[str, object], default: str) -> str:
    """The schedule's own zone, or ``default``.

    Raises:
        TimetableError: Its own zone does not exist.
        InstantError: The default zone does not exist.
    """
    if "timezone" not in written:
        find_zone(default)
        return default
    name = _read_text(written, "timezone")
    try:
        find_zone(name)
    except InstantError as error:
        raise TimetableError(str(error.args[0]), hint=error.hint, path=("timezone",)) from error
    return name


def _read_bound(written: Mapping[str, object], key: str, timezone: str, default: int | None) -> int | None:
    """The bound ``start`` or ``end`` as Unix seconds; ``default`` where it is not written."""
    if key not in written:
        return default
    text = _read_text(written, key)
    try:
        return to_unix(parse_instant(text, zone=timezone))
    except InstantError as error:
        raise TimetableError(f"'{key}' of a schedule: {error.args[0]}", hint=error.hint, path=(key,)) from error


def _read_degrees(other_keys: Mapping[str, object], key: str) -> float:
    """The latitude or longitude of ``sun``, as ``key`` names it."""
    value = other_keys.get(key)
    if key not in other_keys:
        raise TimetableError(f"'sun' of a schedule needs '{key}', in degrees", lacks=True)
    if isinstance(value, bool) or not isinstance(value, int | float):  # in Python a bool is an int
        raise TimetableError(
            f"'{key}' of a schedule is {show_value(value)}; expected degrees such as 52.37", path=(key,)
        )
    return float(value)


def _read_calendar(written: Mapping[str, object]) -> WorkingDays | TradingCalendar | None:
    """The calendar of the schedule; None where it is not written.

    Raises:
        TimetableError: There is no such calendar, or ``roll`` is written without one.
    """
    if "calendar" not in written:
        if "roll" in written:
            message = "'roll' needs a 'calendar', such as DE or XNYS"
            raise TimetableError(message, path=("roll",), at_key=True, lacks=True)
        return None
    try:
        return find_calendar(_read_text(written, "calendar"))
    except TimetableError as error:
        raise error if error.path else error.at_path("calendar") from error


def _read_choice(written: Mapping[str, object], key: str, choices: tuple[C, ...]) -> C | None:
    """The value of a key that has one of ``choices``; None where it is not written."""
    if key not in written:
        return None
    value = written[key]
    if (chosen := next((choice for choice in choices if choice == value), None)) is not None:
        return chosen
    hint = suggest_close(value, choices) if isinstance(value, str) else None
    message = f"'{key}' of a schedule is {show_value(value)}; expected {listing(choices)}"
    raise TimetableError(message, hint=hint, path=(key,))


def _read_length(written: Mapping[str, object], key: str, *, positive: bool = True) -> Duration | None:
    """The duration of a key; None where it is not written."""
    if key not in written:
        return None
    try:
        return _read_duration(written[key], key, positive=positive)
    except TimetableError as error:
        raise error.at_path(key) from error


def _read_duration(value: object, key: str, *, positive: bool = True) -> Duration:
    """The duration of a value; ``key`` names it in messages.

    Raises:
        TimetableError: It is no duration, negative, or zero where it must be ``positive``.
    """
    if not isinstance(value, str):
        raise TimetableError(f"'{key}' of a schedule is {show_value(value)}; expected a duration such as 90s, 6h or 7d")
    try:
        duration = Duration.parse(value)
    except InstantError as error:
        raise TimetableError(f"'{key}' of a schedule: {error.args[0]}", hint=error.hint) from error
    parts = (duration.months, duration.days, duration.seconds)
    if min(parts) < 0 or (positive and not any(parts)):
        expected = "a positive duration" if positive else "a duration of at least 0"
        raise TimetableError(f"'{key}' of a schedule is '{value}'; expected {expected}")
    return duration
