import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import InstantError, epoch, format_instant, instant, parse_instant
from sparkassets.core.timetables import Slot, TimetableError, parse_timetable
from tests.core.clocks import instants_near_changes, zones

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "timetables.json").read_text())
MICROSECOND = timedelta(microseconds=1)


def at(text):
    return parse_instant(text, zone="UTC")


def slot(start, end):
    return Slot(run_after=at(end), start=at(start), end=at(end))


def utc(schedule, **bounds):
    return parse_timetable(schedule, timezone="UTC", **{key: epoch(at(text)) for key, text in bounds.items()})


# ------------------------------------------------------------------ slots

crons = st.sampled_from(
    [
        "@hourly",
        "@daily",
        "@weekly",
        "@monthly",
        "@quarterly",
        "@yearly",
        "*/15 * * * *",
        "30 2 * * *",
        "0 6 * * 1-5",
        "0 0 29 2 *",
    ]
)


@given(st.data(), crons, zones)
def test_neighbouring_slots_agree(data, cron, zone):
    timetable = parse_timetable(cron, timezone=zone)
    now = instant(data.draw(instants_near_changes(zone)))
    last, first = timetable.last_at(now), timetable.first_after(now)
    assert last.run_after <= now < first.run_after
    assert last.end == last.run_after == first.start
    assert timetable.first_after(last.run_after - MICROSECOND) == timetable.last_at(last.run_after) == last
    assert timetable.last_at(first.run_after - MICROSECOND) == last
    assert list(timetable.between(last.run_after, first.run_after)) == [last, first]
    assert list(timetable.between(last.run_after + MICROSECOND, first.run_after - MICROSECOND)) == []


@given(st.data(), crons, zones, st.none() | st.integers(-40, 40), st.none() | st.integers(1, 40))
def test_bounds_select_slots_by_their_start(data, cron, zone, start, length):
    near = data.draw(instants_near_changes(zone))
    start = None if start is None else near + start * 7 * 3600
    end = None if length is None else (start or near) + length * 5 * 3600
    free, bounded = (
        parse_timetable(cron, timezone=zone),
        parse_timetable(cron, timezone=zone, start=start, end=end),
    )
    low, high = instant(near - 5 * 86_400), instant(near + 5 * 86_400)
    wanted = [
        found
        for found in free.between(low, high)
        if (start is None or epoch(found.start) >= start) and (end is None or epoch(found.start) < end)
    ]
    assert list(bounded.between(low, high)) == wanted
    for found, following in pairwise(wanted):
        assert bounded.first_after(found.run_after) == following
        assert bounded.last_at(following.run_after - MICROSECOND) == found
    if wanted:
        assert bounded.first_after(wanted[0].run_after - MICROSECOND) == wanted[0]
        assert bounded.last_at(wanted[-1].run_after) == wanted[-1]


def test_first_interval_begins_at_the_first_tick_at_or_after_start():
    assert utc("@daily", start="2025-03-20T00:00").first_after(at("2000-01-01")) == slot("2025-03-20", "2025-03-21")
    assert utc("@daily", start="2025-03-20T00:01").first_after(at("2000-01-01")) == slot("2025-03-21", "2025-03-22")
    assert utc("@daily", start="2025-03-20").last_at(at("2025-03-20T23:59")) is None


def test_no_interval_begins_at_the_end_or_after():
    timetable = utc("@daily", end="2025-03-21")
    assert timetable.last_at(at("2030-01-01")) == slot("2025-03-20", "2025-03-21")
    assert timetable.first_after(at("2025-03-21")) is None
    assert utc("@daily", end="2025-03-21T00:01").last_at(at("2030-01-01")) == slot("2025-03-21", "2025-03-22")


def test_bounds_without_a_tick_between_them_yield_nothing():
    timetable = utc("@yearly", start="2025-02-01", end="2025-03-01")
    assert timetable.first_after(at("2000-01-01")) is None
    assert timetable.last_at(at("2030-01-01")) is None
    assert list(timetable.between(at("2020-01-01"), at("2030-01-01"))) == []


def test_calendar_ends():
    assert utc("@yearly").first_after(datetime(9998, 6, 1, tzinfo=UTC)) is None
    assert utc("@yearly").last_at(datetime(2, 6, 1, tzinfo=UTC)) is None
    far, farthest = datetime(9996, 6, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert [found.end.year for found in utc("@yearly").between(far, farthest)] == [9997]
    assert list(utc("@yearly").between(farthest, farthest)) == []


@pytest.mark.parametrize(
    ("preset", "start", "end"),
    [
        ("@hourly", "2025-03-21T05:00", "2025-03-21T06:00"),
        ("@daily", "2025-03-20", "2025-03-21"),
        ("@weekly", "2025-03-09", "2025-03-16"),  # Sundays, as in cron
        ("@monthly", "2025-02-01", "2025-03-01"),
        ("@quarterly", "2024-10-01", "2025-01-01"),
        ("@yearly", "2024-01-01", "2025-01-01"),
    ],
)
def test_presets(preset, start, end):
    assert utc(preset).last_at(at("2025-03-21T06:30")) == slot(start, end)


@pytest.mark.parametrize(
    ("preset", "cron"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@quarterly", "0 0 1 */3 *"),
        ("@yearly", "0 0 1 1 *"),
    ],
)
def test_preset_is_its_cron(preset, cron):
    assert utc(preset).fields == utc(cron).fields


def test_daily_in_a_zone_follows_its_midnight():
    timetable = parse_timetable("@daily", timezone="America/New_York")
    assert timetable.last_at(at("2025-03-10T12:00")) == slot("2025-03-09T05:00", "2025-03-10T04:00")


# ------------------------------------------------------------------ vectors


@pytest.mark.parametrize("case", VECTORS["execution_delta"], ids=lambda case: case["id"])
def test_logical_dates_of_two_crons(case):
    runs = [utc(case[which]).last_at(at(case["at"])) for which in ("upstream", "downstream")]
    assert [format_instant(run.start) for run in runs] == [
        format_instant(at(case[f"{which}_logical_date"])) for which in ("upstream", "downstream")
    ]
    assert (runs[1].start - runs[0].start).total_seconds() == case["execution_delta"]
    assert (runs[0].run_after == runs[1].run_after) == (case["case"] == 1)


@pytest.mark.parametrize("case", VECTORS["weekdays"], ids=lambda case: case["id"])
def test_weekdays(case):
    assert utc(case["schedule"]).last_at(at(case["run_after"])) == slot(*case["data_interval"])


# ------------------------------------------------------------------ what is written


def test_mapping_overrides_zone_and_bounds():
    schedule = {"cron": "0 6 * * *", "timezone": "Europe/Berlin", "start": "2025-03-20", "end": "2025-04-01T06:00"}
    timetable = parse_timetable(schedule, timezone="UTC", start=0, end=None)
    assert timetable.timezone == "Europe/Berlin"
    assert timetable.start == epoch(at("2025-03-19T23:00"))
    assert timetable.end == epoch(at("2025-04-01T04:00"))
    assert timetable.text == "0 6 * * *"
    assert timetable.describe() == "0 6 * * * (Europe/Berlin) from 2025-03-19T23:00:00Z until 2025-04-01T04:00:00Z"


def test_mapping_keeps_what_it_does_not_say():
    assert parse_timetable({"cron": "@daily"}, timezone="Asia/Tokyo", start=1, end=2) == parse_timetable(
        "@daily", timezone="Asia/Tokyo", start=1, end=2
    )


def test_timetables_are_values():
    assert utc("0 6 * * *") == utc("0 6 * * *")
    assert len({utc("0 6 * * *"), utc("0 6 * * *"), utc("0 7 * * *")}) == 2


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("@dayly", "unknown preset '@dayly'; expected {presets}\n  hint: did you mean '@daily'?"),
        ("@midnight", "unknown preset '@midnight'; expected {presets}\n  hint: did you mean '@daily'?"),
        ("@annually", "unknown preset '@annually'; expected {presets}\n  hint: did you mean '@yearly'?"),
        ("@reboot", "unknown preset '@reboot'; expected {presets}"),
        ({"at": "0 6 * * *"}, "'at' of a schedule is not supported yet; expected {keys}"),
        ({"cron": "@daily", "interval": "1d"}, "'interval' of a schedule is not supported yet; expected {keys}"),
        ({"cron": "@daily", "catchup": "all"}, "'catchup' of a schedule is not supported yet; expected {keys}"),
        ({"every": "6h"}, "'every' of a schedule is not supported yet; expected {keys}"),
        ({"cron": "@daily", "frequency": "UTC"}, "unknown key 'frequency' in a schedule; expected {keys}"),
        (
            {"cron": "@daily", "timezon": "UTC"},
            "unknown key 'timezon' in a schedule; expected {keys}\n  hint: did you mean 'timezone'?",
        ),
        ({"start": "2025-01-01"}, "a schedule lacks 'cron'; expected text such as '0 6 * * *' or @daily"),
        ({"cron": ["0 6 * * *"]}, "a list of crons is not supported yet; expected text such as '0 6 * * *'"),
        ({"cron": 6}, "'cron' of a schedule is '6'; expected text"),
        (
            {"cron": "@daily", "start": "soon"},
            "'start' of a schedule: 'soon' is not an instant; expected {an_instant}",
        ),
        (
            {"cron": "@daily", "start": "2025-01-02", "end": "2025-01-02"},
            "schedule '@daily' can never fire: it ends before it starts (start {second}, end {second})",
        ),
    ],
)
def test_what_is_refused(schedule, message):
    with pytest.raises(TimetableError) as error:
        utc(schedule)
    assert str(error.value) == message.format(
        presets="@hourly, @daily, @weekly, @monthly, @quarterly, @yearly",
        keys="cron, timezone, start, end",
        an_instant="an ISO date or time, such as 2025-03-21 or 2025-03-21T06:00Z",
        second="2025-01-02T00:00:00Z",
    )


def test_unknown_zone():
    with pytest.raises(InstantError, match=r"^unknown time zone 'Berlin'"):
        parse_timetable({"cron": "@daily", "timezone": "Berlin"}, timezone="UTC")


def test_plain_crons_need_no_croniter():
    code = """
import sys
from sparkassets.core.timetables import parse_timetable
for cron in ("@daily", "0 6 * * 1-5", "*/15 8-18/2 1,15 * *"):
    parse_timetable(cron, timezone="Europe/Berlin")
assert not {"croniter", "dateutil"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
