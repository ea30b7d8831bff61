"""`times`: boolean times, against every minute and around clock changes."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import from_unix
from sparkassets.core.timetables import TimetableError
from sparkassets.core.timetables.parse import parse_timetable
from tests.core.clocks import ONE_DAY, ZONES, telling_changes, ticks_of_wall_clock

WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def at(text):
    return datetime.fromisoformat(f"{text}Z")


def fires(times, low="2025-03-21T00:00", high="2025-03-21T23:59", zone="UTC"):
    slots = parse_timetable({"times": times}, timezone=zone).between(at(low), at(high))
    return [f"{slot.run_after:%dT%H:%M}" for slot in slots]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"hours": 9}, ["21T09:00"]),
        ({"hours": [9], "minutes": [0, 30]}, ["21T09:00", "21T09:30"]),
        ({"hours": [9], "weekdays": ["FRI"]}, ["21T09:00"]),
        ({"hours": [9], "weekdays": [1, "sat"]}, []),
        ({"hours": [9], "days": [21], "months": [3]}, ["21T09:00"]),
        ({"hours": [9], "months": "MAR", "not": {"weekdays": "FRI"}}, []),
        # the hour is left out, not only its minute 0
        (
            {"hours": [11, 12, 13], "minutes": [0, 30], "not": {"hours": 12}},
            ["21T11:00", "21T11:30", "21T13:00", "21T13:30"],
        ),
        (
            {"hours": [11, 12], "minutes": [0, 30], "not": [{"hours": 11, "minutes": 0}, {"hours": 12, "minutes": 30}]},
            ["21T11:30", "21T12:00"],
        ),
        ([{"hours": 9}, [{"hours": 7}, {"hours": 9}]], ["21T07:00", "21T09:00"]),
    ],
)
def test_a_friday(times, expected):
    assert fires(times) == expected


def test_without_hours_every_hour():
    assert len(fires({"weekdays": "FRI"})) == 24
    assert len(fires({"minutes": [0, 30]})) == 48


def test_the_last_day_of_a_month():
    assert fires({"hours": 9, "days": "L"}, "2024-01-31T00:00", "2024-03-01T00:00") == ["31T09:00", "29T09:00"]


def test_exact_times_are_their_own_intervals():
    slot = parse_timetable({"times": {"hours": 9}}, timezone="UTC").first_after(at("2025-03-21T00:00"))
    assert slot.start == slot.end == slot.run_after == at("2025-03-21T09:00")


def test_named_hours_happen_once_and_all_hours_as_the_clock_shows_them():
    night = ("2025-10-26T00:00", "2025-10-26T02:00")
    assert fires({"hours": [2], "minutes": 30}, *night, zone="Europe/Berlin") == ["26T01:30"]
    assert fires({"minutes": 30}, *night, zone="Europe/Berlin") == ["26T00:30", "26T01:30"]
    both = [{"hours": [2], "minutes": 30}, {"minutes": 45}]
    assert fires(both, *night, zone="Europe/Berlin") == ["26T00:45", "26T01:30", "26T01:45"]


def test_text():
    timetable = parse_timetable({"times": [{"hours": [3, 9], "not": {"weekdays": "SUN"}}]}, timezone="UTC")
    assert timetable.describe() == "times [{hours: [3, 9], not: {weekdays: SUN}}] (UTC)"


# ------------------------------------------------------------------ oracles


def holds(times, time, *, inside_not=False):
    """Whether a naive local time matches, as docs/design/schedules.md#wall-clocks says it."""
    if isinstance(times, list):
        return any(holds(each, time, inside_not=inside_not) for each in times)
    found = {
        "hours": time.hour,
        "minutes": time.minute,
        "weekdays": WEEKDAYS[time.isoweekday() % 7],
        "days": time.day,
        "months": time.month,
    }
    matches = all(found[key] in values for key, values in times.items() if key != "not")
    if not inside_not and "minutes" not in times:
        matches = matches and time.minute == 0
    return matches and not ("not" in times and holds(times["not"], time, inside_not=True))


fields = {
    "hours": st.lists(st.integers(0, 23), min_size=1, max_size=8),
    "minutes": st.lists(st.integers(0, 59), min_size=1, max_size=4),
    "weekdays": st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=4),
    "days": st.lists(st.integers(1, 31), min_size=1, max_size=12),
    "months": st.lists(st.integers(1, 12), min_size=1, max_size=8),
}
maps = st.fixed_dictionaries({}, optional=fields).filter(bool)
with_not = st.builds(
    lambda times, exclude: {**times, "not": exclude}, maps, maps | st.lists(maps, min_size=1, max_size=2)
)
expressions = maps | with_not | st.lists(maps | with_not, min_size=1, max_size=3)


@given(expressions, st.integers(0, 3650))
def test_every_minute_of_two_days(times, day):
    low = datetime.fromisoformat("2020-01-01") + day * ONE_DAY
    expected = [time for time in (low + timedelta(minutes=n) for n in range(2 * 1440)) if holds(times, time)]
    high = low + 2 * ONE_DAY - timedelta(minutes=1)
    try:
        timetable = parse_timetable({"times": times}, timezone="UTC")
    except TimetableError:
        assert expected == []
        return
    slots = timetable.between(at(low.isoformat()), at(high.isoformat()))
    assert [slot.run_after.replace(tzinfo=None) for slot in slots] == expected


@pytest.mark.parametrize("zone", ZONES)
def test_around_clock_changes(zone):
    alternatives = [
        {"hours": [0, 1, 2, 3, 23], "minutes": [0, 15, 30, 45]},
        {"hours": [0, 2], "not": {"weekdays": ["WED"]}},
        {"minutes": [0, 20]},
    ]
    for number, change in enumerate(telling_changes(zone)[-3:]):
        times = alternatives[(number + ZONES.index(zone)) % 3]
        first = (
            from_unix(change).astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, tzinfo=None) - 2 * ONE_DAY
        )
        local = [time for n in range(4 * 1440) if holds(times, time := first + timedelta(minutes=n))]
        expected = ticks_of_wall_clock(local, zone, every_hour="hours" not in times)
        low, high = from_unix(change) - timedelta(hours=20), from_unix(change) + timedelta(hours=20)
        slots = parse_timetable({"times": times}, timezone=zone).between(low, high)
        assert [slot.run_after for slot in slots] == [tick for tick in expected if low <= tick <= high], times


# ------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("times", "path", "message"),
    [
        ([], (), "times are empty; expected a map such as {hours: [9, 17]}, or a list of such maps"),
        ("9:00", (), "times are '9:00'; expected a map such as {hours: [9, 17]}, or a list of such maps"),
        ([{"hours": 9}, 3], (1,), "times are 3; expected a map such as {hours: [9, 17]}, or a list of such maps"),
        ({"hours": [9, 24]}, ("hours", 1), "24 is not one of the hours of times; expected 0-23"),
        ({"minutes": 60}, ("minutes",), "60 is not one of the minutes of times; expected 0-59"),
        ({"hours": True}, ("hours",), "true is not one of the hours of times; expected 0-23"),
        (
            {"weekdays": "MONDAY"},
            ("weekdays",),
            "'MONDAY' is not one of the weekdays of times; expected 0-7 or SUN-SAT",
        ),
        ({"months": 0}, ("months",), "0 is not one of the months of times; expected 1-12 or JAN-DEC"),
        ({"months": ""}, ("months",), "'' is not one of the months of times; expected 1-12 or JAN-DEC"),
        ({"days": 0}, ("days",), "0 is not one of the days of times; expected 1-31 or L (the last)"),
        ({"days": []}, ("days",), "'days' of times is an empty list; expected 1-31 or L (the last)"),
        ({"not": 3}, ("not",), "'not' of times is 3; expected a map or a list of maps"),
        (
            {"hour": 3},
            ("hour",),
            (
                "unknown key 'hour' in times; expected hours, minutes, weekdays, days, months, not\n"
                "  hint: did you mean 'hours'?"
            ),
        ),
        ({"days": 30, "months": "FEB"}, (), "the times never fire: they do not exist in any year"),
        ({"hours": 9, "not": {"hours": 9}}, (), "the times never fire: they do not exist in any year"),
    ],
)
def test_refused(times, path, message):
    with pytest.raises(TimetableError) as error:
        parse_timetable({"times": times}, timezone="UTC")
    assert (str(error.value), error.value.path) == (message, ("times", *path))
