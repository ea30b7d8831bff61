"""Zones with awkward clocks, and what ``zoneinfo`` says of them, for the tests of time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from sparkassets.core.instants import to_unix, zone_offsets

ZONES = [
    "UTC",
    "Africa/Cairo",  # midnight is skipped, the last hour of a day is repeated
    "Africa/Casablanca",  # goes back for Ramadan
    "America/Asuncion",
    "America/Havana",  # the first hour of a day is repeated
    "America/New_York",
    "America/Nuuk",  # changed across midnight
    "America/Santiago",
    "America/Sao_Paulo",  # midnight was skipped
    "America/St_Johns",  # went back at 00:01, into the day before
    "Antarctica/Casey",  # jumps of three hours
    "Antarctica/Troll",  # two hours
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Kathmandu",  # 5:30 to 5:45 in 1986
    "Asia/Pyongyang",  # half hours at midnight
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",  # half an hour
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Pacific/Apia",  # skipped 2011-12-30
    "Pacific/Chatham",
    "Pacific/Kwajalein",  # repeated a day in 1969, skipped one in 1993
]

ONE_DAY = timedelta(days=1)
FIRST, LAST = to_unix(datetime(1970, 1, 1, tzinfo=UTC)), to_unix(datetime(2040, 1, 1, tzinfo=UTC))
CHANGES = {zone: [change.at for change in zone_offsets(zone).changes(FIRST, LAST)] for zone in ZONES}
"""Instants of the clock changes of each zone from 1970 to 2039."""


def telling_changes(zone: str) -> list[int]:
    """Those of the zone's clock changes that are not by an hour, and some that are."""
    odd = [at for at in CHANGES[zone] if abs(offset(at, zone) - offset(at - 1, zone)) != 3600]
    return sorted({*odd[-12:], *CHANGES[zone][::9]})


zones = st.sampled_from(ZONES)


@st.composite
def instants_near_changes(draw: st.DrawFn, zone: str) -> int:
    """An instant; mostly within three days of one of the zone's clock changes, mostly on a full quarter."""
    near = draw(st.sampled_from(CHANGES[zone])) if CHANGES[zone] and draw(st.integers(0, 4)) else None
    if near is None:
        return draw(st.integers(FIRST, LAST))
    minutes = draw(st.integers(-3 * 96, 3 * 96)) * 15
    return near + minutes * 60 + draw(st.sampled_from([0, 0, 0, -1, 1]))


def wall_clock(instant: int, zone: str) -> datetime:
    """The naive local time at an instant, by ``zoneinfo``."""
    return datetime.fromtimestamp(instant, ZoneInfo(zone)).replace(tzinfo=None)


def offset(instant: int, zone: str) -> int:
    """Seconds east of UTC at an instant, by ``zoneinfo``."""
    return (datetime.fromtimestamp(instant, ZoneInfo(zone)).utcoffset() or timedelta()) // timedelta(seconds=1)


def ticks_of_wall_clock(times: Iterable[datetime], zone: str, *, every_hour: bool = False) -> list[datetime]:
    """What the rule of docs/design/schedules.md#wall-clocks makes of naive local times, minute by minute."""
    wanted = sorted(times)
    if not wanted:
        return []
    shown: dict[datetime, list[datetime]] = {}
    at = wanted[0].replace(hour=0, minute=0, tzinfo=UTC) - 2 * ONE_DAY
    while at.replace(tzinfo=None) < wanted[-1] + 2 * ONE_DAY:
        shown.setdefault(at.astimezone(ZoneInfo(zone)).replace(tzinfo=None), []).append(at)
        at += timedelta(minutes=1)
    ticks: set[datetime] = set()
    for time in wanted:
        occurrences = shown.get(time, [])
        if every_hour:
            ticks.update(occurrences)
        elif occurrences:
            ticks.add(occurrences[-1])
        else:  # skipped: read with the offset before the gap it lies after the gap, by the gap's length
            ticks.add(time.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC))
    return sorted(ticks)
