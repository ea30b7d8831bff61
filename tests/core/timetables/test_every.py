"""`every`: elapsed and calendar time, against sums of dates and every minute around clock changes."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from sparkassets.core.instants import from_unix, parse_instant, to_unix
from sparkassets.core.timetables.parse import parse_timetable
from tests.core.clocks import ONE_DAY, ZONES, telling_changes, ticks_of_wall_clock


def every(length, zone="UTC", start=None, end=None):
    bounds = {key: text for key, text in (("start", start), ("end", end)) if text}
    return parse_timetable({"every": length, **bounds}, timezone=zone)


def ticks(timetable, low, high, zone="UTC"):
    """Where intervals end, as local times."""
    slots = timetable.between(parse_instant(low, zone=zone), parse_instant(high, zone=zone))
    return [f"{slot.end.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M%z}"[:-2] for slot in slots]


def test_elapsed_time_is_a_grid_from_1970():
    assert ticks(every("6h"), "2025-03-21", "2025-03-21T23:00") == [
        "2025-03-21T00:00+00",
        "2025-03-21T06:00+00",
        "2025-03-21T12:00+00",
        "2025-03-21T18:00+00",
    ]
    assert ticks(every("7h"), "1970-01-01T01:00", "1970-01-01T15:00") == ["1970-01-01T07:00+00", "1970-01-01T14:00+00"]


def test_elapsed_time_in_a_zone_begins_at_its_own_1970():
    assert ticks(every("12h", "Asia/Kolkata"), "2025-03-21", "2025-03-21T13:00", "Asia/Kolkata") == [
        "2025-03-21T00:00+05",
        "2025-03-21T12:00+05",
    ]


def test_elapsed_time_from_start():
    timetable = every("90m", start="2025-03-21T00:10")
    first, second = list(timetable.between(from_unix(0), parse_instant("2025-03-21T04:00", zone="UTC")))
    assert (f"{first.start:%H:%M}", f"{first.end:%H:%M}") == ("00:10", "01:40")
    assert (f"{second.start:%H:%M}", f"{second.end:%H:%M}") == ("01:40", "03:10")


def test_elapsed_hours_stay_hours_across_a_change():
    assert ticks(every("6h", "Europe/Berlin"), "2025-03-30", "2025-03-30T14:00", "Europe/Berlin") == [
        "2025-03-30T00:00+01",
        "2025-03-30T07:00+02",
        "2025-03-30T13:00+02",
    ]


def test_months_do_not_drift():
    assert ticks(every("1mo", start="2025-01-31"), "2025-01-01", "2025-06-01") == [
        "2025-02-28T00:00+00",
        "2025-03-31T00:00+00",
        "2025-04-30T00:00+00",
        "2025-05-31T00:00+00",
    ]
    first = every("1mo", start="2025-01-31").first_after(from_unix(0))
    assert first.start == parse_instant("2025-01-31", zone="UTC")


def test_leap_days_come_back():
    assert ticks(every("1y", start="2024-02-29"), "2024-03-01", "2028-12-31") == [
        "2025-02-28T00:00+00",
        "2026-02-28T00:00+00",
        "2027-02-28T00:00+00",
        "2028-02-29T00:00+00",
    ]


def test_weeks_are_anchored_at_a_thursday():
    assert ticks(every("1w"), "2025-03-14", "2025-03-27") == ["2025-03-20T00:00+00", "2025-03-27T00:00+00"]


def test_days_follow_the_clock():
    timetable = every("1d", "Europe/Berlin", start="2025-03-28T02:30")
    assert ticks(timetable, "2025-03-28T03:00", "2025-04-01", "Europe/Berlin") == [
        "2025-03-29T02:30+01",
        "2025-03-30T03:30+02",
        "2025-03-31T02:30+02",
    ]
    assert ticks(timetable, "2025-10-26", "2025-10-27T03:00", "Europe/Berlin") == [
        "2025-10-26T02:30+01",
        "2025-10-27T02:30+01",
    ]


def test_a_skipped_date_is_no_tick_of_its_own():
    timetable = every("1d", "Pacific/Apia")
    assert ticks(timetable, "2011-12-29", "2012-01-01", "Pacific/Apia") == [
        "2011-12-29T00:00-10",
        "2011-12-31T00:00+14",
        "2012-01-01T00:00+14",
    ]


def test_half_an_hour_of_change_keeps_elapsed_hours():
    timetable = every("1h", "Australia/Lord_Howe")
    low, high = datetime(2025, 4, 5, tzinfo=UTC), datetime(2025, 4, 7, tzinfo=UTC)
    lengths = {slot.end - slot.start for slot in timetable.between(low, high)}
    assert lengths == {timedelta(hours=1)}


def test_no_interval_begins_at_the_end():
    timetable = every("1d", start="2025-03-20", end="2025-03-22")
    assert ticks(timetable, "2025-03-01", "2025-04-01") == ["2025-03-21T00:00+00", "2025-03-22T00:00+00"]


def test_calendar_ends():
    for length in ("999y", "5000h"):
        assert every(length).first_after(datetime.max.replace(tzinfo=UTC)) is None
        assert every(length).last_at(datetime.min.replace(tzinfo=UTC)) is None


LENGTHS = [("1d", 0, 1), ("3d", 0, 3), ("1w", 0, 7), ("1mo", 1, 0), ("5mo", 5, 0), ("1y", 12, 0), ("1mo10d", 1, 10)]


def later(anchor, months, days, number):
    """A local time so many steps after another, by dates alone."""
    year, month = divmod(anchor.year * 12 + anchor.month - 1 + months * number, 12)
    day = min(anchor.day, monthrange(year, month + 1)[1])
    return anchor.replace(year=year, month=month + 1, day=day) + days * number * ONE_DAY


@pytest.mark.parametrize("zone", ZONES)
def test_calendar_ticks_are_those_of_the_rule(zone):
    turn = ZONES.index(zone)
    for number, at in enumerate(telling_changes(zone)[-8:]):
        text, months, days = LENGTHS[(number + turn) % len(LENGTHS)]
        minutes = (-75, -45, -15, 0, 15, 30)[(number + turn) % 6]
        near = (from_unix(at) + timedelta(minutes=minutes)).astimezone(ZoneInfo(zone)).replace(tzinfo=None, second=0)
        anchor = later(near, months, days, -2)
        local = [time for step in range(-3, 8) if abs((time := later(anchor, months, days, step)) - near) < 3 * ONE_DAY]
        if not local:  # a short month in between
            continue
        expected = [tick for tick in ticks_of_wall_clock(local, zone) if abs(to_unix(tick) - at) <= 100_000]
        low, high = from_unix(at - 100_000), from_unix(at + 100_000)
        slots = parse_timetable({"every": text, "start": anchor.isoformat()}, timezone=zone).between(low, high)
        assert [slot.end for slot in slots] == expected, (text, anchor)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("length", ["1d", "7h", "1mo"])
def test_intervals_abut_across_changes(zone, length):
    for at in telling_changes(zone):
        slots = list(every(length, zone).between(from_unix(at) - 40 * ONE_DAY, from_unix(at) + 40 * ONE_DAY))
        assert all(slot.start < slot.end == slot.run_after for slot in slots)
        assert all(before.end == after.start for before, after in pairwise(slots))
