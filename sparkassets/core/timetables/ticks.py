"""Ticks of a cron, of fixed steps, and of the sun; and their union."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from math import degrees
from typing import Final, Literal, get_args

from sparkassets.core.crons.cron import CronError, CronFields, DayFields, clock_times, expand
from sparkassets.core.crons.wall_clock import EARLIEST, LATEST, WallClockTicks, tick_after, tick_before
from sparkassets.core.instants import DAY, Duration, InstantError, local_date, zone_offsets
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.timetables.timetable import TickSequence, TimetableError, import_optional, read_all_or_raise
from sparkassets.frozen import frozen

_FIRST = frozenset({1})
_MIDNIGHT = (0,)

PRESETS: dict[str, CronFields] = {
    "@hourly": CronFields(clock_times(list(range(24)), [0]), DayFields(), every_hour=True),
    "@daily": CronFields(_MIDNIGHT, DayFields()),
    "@weekly": CronFields(_MIDNIGHT, DayFields(weekdays=frozenset({(0, 0)}))),
    "@monthly": CronFields(_MIDNIGHT, DayFields(days=_FIRST)),
    "@quarterly": CronFields(_MIDNIGHT, DayFields(months=frozenset({1, 4, 7, 10}), days=_FIRST)),
    "@yearly": CronFields(_MIDNIGHT, DayFields(months=_FIRST, days=_FIRST)),
}
PRESETS["@midnight"] = PRESETS["@daily"]
PRESETS["@annually"] = PRESETS["@yearly"]

AS_CRONS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""The presets as crons of five fields, for systems that know only these."""


def cron_ticks(text: str, timezone: str, *, also: Sequence[str] = ()) -> WallClockTicks:
    """The ticks of a cron of five fields, or of a preset such as ``@daily``.

    Args:
        text: As written.
        timezone: Zone whose wall clock it follows.
        also: Names of presets without ticks, which a message may suggest.

    Raises:
        TimetableError: It is neither, or never fires.

    >>> cron_ticks("@daily", "UTC").between(0, 200_000)
    [0, 86400, 172800]
    """
    written = text.strip()
    return WallClockTicks(
        text, timezone, _find_preset(written, also) if written.startswith("@") else _expand_cron(text)
    )


def _expand_cron(text: str) -> CronFields:
    """The fields of a cron.

    Raises:
        TimetableError: It is not a cron.
    """
    try:
        return expand(text)
    except CronError as error:
        raise TimetableError(str(error.args[0]), hint=error.hint) from error


def _find_preset(name: str, also: Sequence[str]) -> CronFields:
    """The fields of a preset; ``also`` are names that the message may suggest.

    Raises:
        TimetableError: There is no such preset.
    """
    if name in PRESETS:
        return PRESETS[name]
    names = (*PRESETS, *also)
    hint = next(iter(get_close_matches(name, names, n=1)), None)
    raise TimetableError(
        f"unknown preset '{name}'; expected {', '.join(names)}", hint=f"did you mean '{hint}'?" if hint else None
    )


_MONTH = 146_097 * DAY // 4800
"""Seconds of a month of the Gregorian calendar, on average."""
_ESTIMATE_ERROR = 3
"""More calendar steps than an estimate by average months can be wrong by."""


@frozen
class ElapsedTicks:
    """Ticks at a constant distance in elapsed seconds, before and after an anchor that is a tick itself.

    Attributes:
        text: The length as it was written.
        seconds: Above 0.
        anchor: Unix seconds.
    """

    text: str
    seconds: int
    anchor: int

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None at the end of the calendar."""
        tick = self._at_or_after(max(unix + 1, EARLIEST))
        return tick if tick < LATEST else None

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None at the beginning of the calendar."""
        tick = self._at_or_after(min(unix, LATEST)) - self.seconds
        return tick if tick >= EARLIEST else None

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        return list(range(self._at_or_after(max(start, EARLIEST)), min(end, LATEST), self.seconds))

    def describe(self) -> str:
        """The rule for people."""
        return f"every {self.text}"

    def _at_or_after(self, unix: int) -> int:
        """The first tick at an instant or after it, without the calendar's limits."""
        return unix + (self.anchor - unix) % self.seconds


@frozen
class CalendarTicks:
    """Ticks at a constant distance in days and months on the wall clock, before and after an anchor.

    Each is counted from the anchor, so none drifts: ``1mo`` from 31 January is 28 February, then 31 March. A skipped
    time moves forward by the gap's length (and is the next one, where a whole date is skipped), a repeated one happens
    once, at its second occurrence.

    Attributes:
        text: The length as it was written.
        length: Days and months, above 0; no seconds.
        timezone: Whose wall clock.
        anchor: Seconds since 1970-01-01T00:00 on that clock.
    """

    text: str
    length: Duration
    timezone: str
    anchor: int

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None at the end of the calendar."""
        start = max(unix, EARLIEST - 1)
        if start >= LATEST:
            return None
        number = self._estimate_step(start) - _ESTIMATE_ERROR  # surely not after the tick that is sought
        while (tick := self._tick_of_step(number)) <= start:
            number += 1
        return tick if tick < LATEST else None

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None at the beginning of the calendar."""
        end = min(unix, LATEST)
        if end < EARLIEST:
            return None
        number = self._estimate_step(end) + _ESTIMATE_ERROR
        while (tick := self._tick_of_step(number)) >= end:
            number -= 1
        return tick if tick >= EARLIEST else None

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        start, end = max(start, EARLIEST), min(end, LATEST)
        number = self._estimate_step(start) - _ESTIMATE_ERROR
        ticks: list[int] = []
        while (tick := self._tick_of_step(number)) < end:
            # a date that the clocks skip has its tick on the next date, which has the same one
            if tick >= start and tick not in ticks[-1:]:
                ticks.append(tick)
            number += 1
        return ticks

    def describe(self) -> str:
        """The rule for people."""
        return f"every {self.text}"

    def _estimate_step(self, unix: int) -> int:
        """The number of the step from the anchor that is near an instant, wrong by less than `_AROUND`."""
        return (unix - self.anchor) // (self.length.months * _MONTH + self.length.days * DAY)

    def _tick_of_step(self, number: int) -> int:
        """The instant of the step with that number.

        Beyond the calendar, an instant before or after all others, so that a search ends.
        """
        step = Duration(months=self.length.months * number, days=self.length.days * number)
        try:
            return zone_offsets(self.timezone).tick_instant(step.add_to_local(self.anchor))
        except InstantError:
            return LATEST if number > 0 else EARLIEST - 1


def every_ticks(text: str, length: Duration, *, timezone: str, anchor: int | None) -> ElapsedTicks | CalendarTicks:
    """A tick every ``length``.

    Args:
        text: The length as it was written.
        length: Above 0; seconds, or days and months, not both.
        timezone: Zone whose calendar it follows.
        anchor: An instant that is a tick, Unix seconds; None for the zone's own 1970-01-01T00:00.

    >>> every_ticks("6h", Duration(seconds=21_600), timezone="UTC", anchor=None).after(0)
    21600
    """
    clock = zone_offsets(timezone)
    if length.seconds:
        return ElapsedTicks(text, length.seconds, clock.tick_instant(0) if anchor is None else anchor)
    return CalendarTicks(text, length, timezone, 0 if anchor is None else anchor + clock.offset_at(anchor))


SunEvent = Literal["sunrise", "sunset", "dawn", "dusk", "noon"]
EVENTS: Final[tuple[SunEvent, ...]] = get_args(SunEvent)

_ZENITH: Final = {"dawn": 96.0, "sunrise": 90 + 16 / 60, "sunset": 90 + 16 / 60, "dusk": 96.0}
"""Degrees from the zenith to the sun's centre; civil twilight ends 6° below the horizon, the sun's radius is 16'."""
_RISING: Final = frozenset({"dawn", "sunrise"})
_MARGIN: Final = 2
"""Days by which a search is widened: an event of a solar day may fall on the date before or after in UTC."""
_EARLIEST, _LATEST = -719_000, 2_932_000
"""Day numbers of the years 1 and 9997."""
_BOUNDS = _EARLIEST * DAY, _LATEST * DAY


@frozen
class SunTicks:
    """One event of the sun on each solar day of a place, to the second.

    On a day without the event (polar day and night: no sunrise and no sunset; no dawn and no dusk where the twilight
    never begins or never ends) there is no tick; each day has a noon.

    Attributes:
        event: ``dawn`` and ``dusk`` are civil: the sun is 6° below the horizon; at ``sunrise`` and ``sunset`` its upper
            edge is on it. Refraction is that of `astral`, so that both agree to the second.
        latitude: Degrees north, -90 to 90; beyond 89.8 the sun is that of 89.8, as in `astral`.
        longitude: Degrees east, -180 to 180.
    """

    event: SunEvent
    latitude: float
    longitude: float

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        return tick_after(self.between, unix, bounds=_BOUNDS)

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return tick_before(self.between, unix, bounds=_BOUNDS)

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        first, last = max(start // DAY - _MARGIN, _EARLIEST), min(end // DAY + _MARGIN, _LATEST)
        events = (_find_sun_event(self.event, self.latitude, self.longitude, day) for day in range(first, last + 1))
        return [each for each in events if each is not None and start <= each < end]

    def describe(self) -> str:
        """The rule for people, without zone and bounds."""
        absence_text = "" if self.event == "noon" else f", none on days without {self.event}"
        return f"{self.event} at {self.latitude:g}, {self.longitude:g}{absence_text}"


def sun_ticks(event: str, *, latitude: float, longitude: float) -> SunTicks:
    """The ticks of an event of the sun at a place.

    Args:
        event: One of `EVENTS`.
        latitude: Degrees north.
        longitude: Degrees east.

    Raises:
        TimetableError: There is no such event or place, or ``astral`` is not installed.
    """
    known_event = next((each for each in EVENTS if each == event), None)
    if known_event is None:
        raise TimetableError(
            f"unknown event of the sun '{event}'; expected {', '.join(EVENTS)}", hint=suggest_close(event, EVENTS)
        )
    read_all_or_raise((("latitude", latitude, 90), ("longitude", longitude, 180)), lambda each: _check_degrees(*each))
    import_optional("astral.sun", need=f"the schedule 'sun: {event}'", extra="sun")
    return SunTicks(known_event, latitude, longitude)


def _check_degrees(name: str, value: float, most: int) -> None:
    """Refuses a latitude or longitude outside -``most`` to ``most``."""
    if not -most <= value <= most:
        message = f"'{name}' of a schedule is {value:g}; expected degrees from -{most} to {most}"
        raise TimetableError(message, path=(name,))


@lru_cache(maxsize=8192)
def _find_sun_event(event: SunEvent, latitude: float, longitude: float, day: int) -> int | None:
    """The event of one solar day in Unix seconds; None where the sun does not reach that height.

    Astral's own `sunrise` and others search by the date of a zone, and miss an event whose time of day crosses
    midnight there; so this is their iteration without the date.
    """
    sun = import_optional("astral.sun", need=f"the schedule 'sun: {event}'", extra="sun")
    from astral.julian import julianday, julianday_to_juliancentury

    julian, minutes = julianday(local_date(day)), 720 - 4 * longitude
    for _ in range(2):
        century = julianday_to_juliancentury(julian + minutes / 1440)
        angle = 0.0
        if event != "noon":
            zenith = _ZENITH[event] + sun.refraction_at_zenith(_ZENITH[event])
            direction = sun.SunDirection.RISING if event in _RISING else sun.SunDirection.SETTING
            try:
                angle = sun.hour_angle(min(max(latitude, -89.8), 89.8), sun.sun_declination(century), zenith, direction)
            except ValueError:  # the cosine of no angle
                return None
        minutes = 720 - 4 * (longitude + degrees(angle)) - sun.eq_of_time(century)
    return day * DAY + int(minutes * 60 // 1)


@frozen
class UnionTicks:
    """The ticks of several rules together; a tick that several rules share counts once."""

    parts: tuple[TickSequence, ...]

    def after(self, unix: int) -> int | None:
        """The first tick later than ``unix``; None when there is none."""
        return min((tick for part in self.parts if (tick := part.after(unix)) is not None), default=None)

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return max((tick for part in self.parts if (tick := part.before(unix)) is not None), default=None)

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        return sorted({tick for part in self.parts for tick in part.between(start, end)})

    def describe(self) -> str:
        """The rules for people.

        >>> UnionTicks(()).describe()
        ''
        """
        return ", ".join(dict.fromkeys(part.describe() for part in self.parts))


def unite_ticks(parts: list[TickSequence]) -> TickSequence:
    """The ticks of all the parts together; a single part is returned itself."""
    return parts[0] if len(parts) == 1 else UnionTicks(tuple(parts))
