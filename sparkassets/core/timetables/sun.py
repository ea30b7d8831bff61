"""Events of the sun at a place, computed by the equations of ``astral``."""

from __future__ import annotations

from functools import lru_cache
from math import degrees
from typing import Final, Literal, get_args

from sparkassets.core.crons.tick_search import tick_after, tick_before
from sparkassets.core.instants import DAY, local_date
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.timetables.base import TimetableError, read_all_or_raise
from sparkassets.core.timetables.optional import import_optional
from sparkassets.frozen import frozen

SunEvent = Literal["sunrise", "sunset", "dawn", "dusk", "noon"]
EVENTS: Final[tuple[SunEvent, ...]] = get_args(SunEvent)

_ZENITH: Final = {"dawn": 96.0, "sunrise": 90 + 16 / 60, "sunset": 90 + 16 / 60, "dusk": 96.0}
"""Degrees from the zenith to the sun's centre; civil twilight ends 6° below the horizon, the sun's radius is 16'."""
_RISING: Final = frozenset({"dawn", "sunrise"})
_MARGIN: Final = 2
"""Days: an event of a solar day may fall on the date before or after in UTC."""
_EARLIEST, _LATEST = -719_000, 2_932_000
"""Day numbers of the years 1 and 9997."""
_KNOWN = _EARLIEST * DAY, _LATEST * DAY


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
        return tick_after(self.between, unix, known=_KNOWN)

    def before(self, unix: int) -> int | None:
        """The last tick earlier than ``unix``; None when there is none."""
        return tick_before(self.between, unix, known=_KNOWN)

    def between(self, start: int, end: int) -> list[int]:
        """The ticks in ``[start, end)``, ascending."""
        first, last = max(start // DAY - _MARGIN, _EARLIEST), min(end // DAY + _MARGIN, _LATEST)
        events = (_event(self.event, self.latitude, self.longitude, day) for day in range(first, last + 1))
        return [each for each in events if each is not None and start <= each < end]

    def describe(self) -> str:
        """The rule for people, without zone and bounds."""
        rare = "" if self.event == "noon" else f", none on days without {self.event}"
        return f"{self.event} at {self.latitude:g}, {self.longitude:g}{rare}"


def sun_ticks(event: str, *, latitude: float, longitude: float) -> SunTicks:
    """The ticks of an event of the sun.

    Args:
        event: One of `EVENTS`.
        latitude: Degrees north.
        longitude: Degrees east.

    Raises:
        TimetableError: There is no such event or place, or ``astral`` is not installed.
    """
    known = next((each for each in EVENTS if each == event), None)
    if known is None:
        raise TimetableError(
            f"unknown event of the sun '{event}'; expected {', '.join(EVENTS)}", hint=suggest_close(event, EVENTS)
        )
    read_all_or_raise((("latitude", latitude, 90), ("longitude", longitude, 180)), lambda each: _check_degrees(*each))
    import_optional("astral.sun", need=f"the schedule 'sun: {event}'", extra="sun")
    return SunTicks(known, latitude, longitude)


def _check_degrees(name: str, value: float, most: int) -> None:
    if not -most <= value <= most:
        message = f"'{name}' of a schedule is {value:g}; expected degrees from -{most} to {most}"
        raise TimetableError(message, path=(name,))


@lru_cache(maxsize=8192)
def _event(event: SunEvent, latitude: float, longitude: float, day: int) -> int | None:
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
