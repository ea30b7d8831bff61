"""Crons across clock changes, against every minute of the days around them."""

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.timetables.parse import parse_timetable
from tests.core.clocks import ZONES, telling_changes, ticks_of_wall_clock
from tests.depth import COUNT, USUAL, deep

DAY = timedelta(days=1)
CRONS = [
    "* * * * *",
    "0 * * * *",
    "17 * * * *",
    "*/7 * * * *",
    "0 0 * * *",
    "30 0 * * *",
    "30 1 * * *",
    "0 2 * * *",
    "30 2 * * *",
    "15,45 1-3 * * *",
    "0,1,29,30,31,59 0-3,22-23 * * *",
    "*/20 */1 * * *",
    "*/20 0-23 * * *",
    "5 23 * * *",
    "0 12 * * SUN",
    "30 2 1-15 * *",
]


EACH = 7 if COUNT > USUAL else 3
"""Changes of a zone's clocks that are looked at, the newest."""


@cache
def matching_times(cron, first, last):
    """The naive times from ``first`` to before ``last`` that match, by croniter without a zone."""
    found = croniter(cron, first - timedelta(minutes=1), ret_type=datetime)
    times = []
    while (time := found.get_next()) < last:
        times.append(time)
    return times


def ticks_by_the_minute(cron, zone, first, last):
    """What docs/design/schedules.md#wall-clocks says, from every local minute and every instant of some days."""
    return ticks_of_wall_clock(matching_times(cron, first, last), zone, every_hour=cron.split()[1] == "*")


@pytest.mark.parametrize("zone", ZONES)
def test_ticks_are_those_of_the_rule(zone):
    turn = ZONES.index(zone) * 3 % len(CRONS)
    for at, cron in zip(reversed(telling_changes(zone)), (CRONS * 2)[turn : turn + EACH], strict=False):
        change = from_unix(at)
        day = change.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, tzinfo=None, fold=0)
        expected = ticks_by_the_minute(cron, zone, day - 2 * DAY, day + 2 * DAY)
        low, high = change - timedelta(hours=20), change + timedelta(hours=20)
        slots = list(parse_timetable(cron, timezone=zone).between(low, high))
        assert [slot.run_after for slot in slots] == [tick for tick in expected if low <= tick <= high], cron


@pytest.mark.parametrize("cron", CRONS)
@pytest.mark.parametrize(
    "zone", [deep("Europe/Berlin"), "Australia/Lord_Howe", deep("America/Sao_Paulo"), "Pacific/Apia"]
)
def test_every_cron_in_some_zones(zone, cron):
    odd = {"Pacific/Apia": "2011-12-30", "America/Sao_Paulo": "2018-11-04", "Australia/Lord_Howe": "2024-04-07"}
    day = datetime.fromisoformat(odd.get(zone, "2025-10-26"))
    expected = ticks_by_the_minute(cron, zone, day - 2 * DAY, day + 3 * DAY)
    low, high = day.replace(tzinfo=UTC) - timedelta(hours=12), day.replace(tzinfo=UTC) + timedelta(hours=36)
    ticks = [slot.run_after for slot in parse_timetable(cron, timezone=zone).between(low, high)]
    assert ticks == [tick for tick in expected if low <= tick <= high]


@pytest.mark.parametrize(
    ("zone", "cron", "day", "ticks"),
    [
        # skipped: forward by the gap's length; with * no tick
        ("Europe/Berlin", "30 2 * * *", "2025-03-30", ["01:30"]),
        ("Europe/Berlin", "30 * * * *", "2025-03-30", ["00:30", "01:30", "02:30"]),
        ("Europe/Berlin", "30 2,3 * * *", "2025-03-30", ["01:30"]),
        # repeated: once, at the second; with * twice
        ("Europe/Berlin", "30 2 * * *", "2025-10-26", ["01:30"]),
        ("Europe/Berlin", "30 * * * *", "2025-10-26", ["00:30", "01:30", "02:30"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2024-04-06", ["15:15"]),
        ("Australia/Lord_Howe", "45 * * * *", "2024-04-06", ["14:45", "15:15"]),
        ("America/Sao_Paulo", "0 0 * * *", "2018-11-04", ["03:00"]),
        # a whole date is skipped: it moves onto the next
        ("Pacific/Apia", "0 0 * * *", "2011-12-30", ["10:00"]),
    ],
)
def test_examples(zone, cron, day, ticks):
    low = datetime.fromisoformat(f"{day}T00:00Z")
    low = low.replace(hour=int(ticks[0][:2]))
    found = parse_timetable(cron, timezone=zone).between(low, low.replace(hour=int(ticks[-1][:2]), minute=59))
    assert [f"{slot.run_after:%H:%M}" for slot in found] == ticks


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("cron", ["0 0 * * *", "30 2 * * *", "0 * * * *"])
def test_intervals_abut(zone, cron):
    low = to_unix(datetime(2009, 1, 1, tzinfo=UTC))
    slots = list(parse_timetable(cron, timezone=zone).between(from_unix(low), from_unix(low + 3 * 366 * 86_400)))
    assert [slot.end for slot in slots[:-1]] == [slot.start for slot in slots[1:]]
    assert all(slot.start < slot.end == slot.run_after for slot in slots)
