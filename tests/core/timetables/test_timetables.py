import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import InstantError, format_instant, from_unix, parse_instant, to_unix
from sparkassets.core.phrases import listing
from sparkassets.core.timetables import Slot, TimetableError
from sparkassets.core.timetables.parse import KINDS, MODIFIERS, parse_timetable
from tests.core.clocks import instants_near_changes, zones

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "timetables.json").read_text())
MICROSECOND = timedelta(microseconds=1)


def at(text):
    return parse_instant(text, zone="UTC")


def slot(start, end):
    return Slot(run_after=at(end), start=at(start), end=at(end))


def utc(schedule, **bounds):
    return parse_timetable(schedule, timezone="UTC", **{key: to_unix(at(text)) for key, text in bounds.items()})


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
    now = from_unix(data.draw(instants_near_changes(zone)))
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
    low, high = from_unix(near - 5 * 86_400), from_unix(near + 5 * 86_400)
    wanted = [
        found
        for found in free.between(low, high)
        if (start is None or to_unix(found.start) >= start) and (end is None or to_unix(found.start) < end)
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
        ("@midnight", "0 0 * * *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_preset_is_its_cron(preset, cron):
    assert utc(preset).ticks.times == utc(cron).ticks.times


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


@pytest.mark.parametrize("kind", ["weekdays", "exact_time", "delay", "rolling_window"])
def test_slot_of_a_vector(kind):
    for case in VECTORS[kind]:
        timetable, run_after = utc(case["schedule"]), at(case["run_after"])
        start, end = map(at, case["data_interval"])
        assert timetable.last_at(run_after) == Slot(run_after, start, end)
        assert timetable.first_after(run_after - MICROSECOND) == Slot(run_after, start, end)
        assert list(timetable.between(run_after, run_after)) == [Slot(run_after, start, end)]


def test_boolean_times():
    case = VECTORS["boolean_times"]
    slots = utc(case["schedule"]).between(at("2025-03-21"), at("2025-03-21T23:59"))
    assert [f"{found.run_after:%H:%M}" for found in slots] == case["fires"]


# ------------------------------------------------------------------ what is written


def test_mapping_overrides_zone_and_bounds():
    schedule = {"cron": "0 6 * * *", "timezone": "Europe/Berlin", "start": "2025-03-20", "end": "2025-04-01T06:00"}
    timetable = parse_timetable(schedule, timezone="UTC", start=0, end=None)
    assert timetable.timezone == "Europe/Berlin"
    assert timetable.start == to_unix(at("2025-03-19T23:00"))
    assert timetable.end == to_unix(at("2025-04-01T04:00"))
    assert timetable.text == "0 6 * * *"
    assert timetable.describe() == "0 6 * * * (Europe/Berlin) from 2025-03-20T00:00+01:00 until 2025-04-01T06:00+02:00"


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
        ("@reboot", "unknown preset '@reboot'; expected {presets}"),
        ("@onec", "unknown preset '@onec'; expected {presets}\n  hint: did you mean '@once'?"),
        ({"at": "@once"}, "unknown preset '@once'; expected {plain}"),
        ({"cron": "@daily", 3: "UTC"}, "unknown key '3' in a schedule; expected {keys}"),
        ({"cron": "@daily", "frequency": "UTC"}, "unknown key 'frequency' in a schedule; expected {keys}"),
        (
            {"cron": "@daily", "timezon": "UTC"},
            "unknown key 'timezon' in a schedule; expected {keys}\n  hint: did you mean 'timezone'?",
        ),
        ({"start": "2025-01-01"}, "the schedule has no rule; expected {kinds}"),
        (
            {"every": "6h", "at": "0 6 * * *", "cron": "@daily"},
            (
                "a schedule has 'every', 'at' and 'cron'; expected one of them\n"
                "  hint: write several schedules as {{any: [...]}}"
            ),
        ),
        ({"cron": 6}, "'cron' of a schedule is 6; expected a cron such as '0 6 * * *', a preset, or a list of them"),
        (
            {"cron": []},
            "'cron' of a schedule is an empty list; expected a cron such as '0 6 * * *', a preset, or a list of them",
        ),
        (
            {"at": None},
            "'at' of a schedule is empty; expected a cron such as '0 6 * * *', or a list of crons or of instants",
        ),
        ({"at": ["0 6 * * *", 7]}, "item 2 of 'at' of a schedule is 7; expected text"),
        ({"at": "2025-13-01"}, "'2025-13-01' is not an instant: month must be in 1..12; expected {an_instant}"),
        ({"at": "6:05"}, "'6:05' is not a cron; expected five fields\n  hint: write '5 6 * * *' for each day"),
        ({"cron": "@daily", "timezone": 1}, "'timezone' of a schedule is 1; expected text"),
        *(
            (
                {"cron": text, key: value},
                f"'{key}' does nothing to '{text}', which has no ticks and no intervals",
            )
            for text in ("@once", "@continuous")
            for key, value in (
                ("interval", "1d"),
                ("delay", "1h"),
                ("window", "7d"),
                ("catchup", "latest"),
                ("calendar", "DE"),
            )
        ),
        (
            {"every": "6h", "interval": "1d"},
            "'interval' needs 'cron', not 'every'\n  hint: the intervals of 'every' have its own length",
        ),
        ({"at": "@daily", "interval": "1d"}, "'interval' needs 'cron', not 'at'"),
        ({"cron": "@daily", "interval": "0d"}, "'interval' of a schedule is '0d'; expected a positive duration"),
        ({"cron": "@daily", "interval": "-1d"}, "'interval' of a schedule is '-1d'; expected a positive duration"),
        ({"cron": "@daily", "window": "0h"}, "'window' of a schedule is '0h'; expected a positive duration"),
        ({"cron": "@daily", "delay": "-2h"}, "'delay' of a schedule is '-2h'; expected a duration of at least 0"),
        ({"cron": "@daily", "delay": 2}, "'delay' of a schedule is 2; expected a duration such as 90s, 6h or 7d"),
        ({"cron": "@daily", "window": "1001y"}, "'window' of a schedule: '1001y' is longer than 999 years"),
        ({"every": "0s"}, "'every' of a schedule is '0s'; expected a positive duration"),
        ({"every": "-1mo"}, "'every' of a schedule is '-1mo'; expected a positive duration"),
        (
            {"every": "day"},
            (
                "'every' of a schedule: 'day' is not a duration; expected a number and a unit (s m h d w mo y), "
                "such as 90s, 1h30m or 7d"
            ),
        ),
        (
            {"every": "1d12h"},
            (
                "'every' of a schedule is '1d12h', calendar and elapsed time at once; expected one of them\n"
                "  hint: d, w, mo and y follow the calendar; s, m and h are elapsed time"
            ),
        ),
        (
            {"cron": "@daily", "catchup": "al"},
            "'catchup' of a schedule is 'al'; expected {catchups}\n  hint: did you mean 'all'?",
        ),
        ({"cron": "@daily", "catchup": None}, "'catchup' of a schedule is empty; expected {catchups}"),
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
        presets="@hourly, @daily, @weekly, @monthly, @quarterly, @yearly, @midnight, @annually, @once, @continuous",
        plain="@hourly, @daily, @weekly, @monthly, @quarterly, @yearly, @midnight, @annually",
        keys=", ".join([*KINDS, *MODIFIERS]),
        kinds=listing(map(repr, KINDS)),
        catchups="all, latest or rollup",
        an_instant="an ISO date or time, such as 2025-03-21 or 2025-03-21T06:00Z",
        second="2025-01-02T00:00Z",
    )


def test_unknown_zone():
    with pytest.raises(InstantError, match=r"^unknown time zone 'Berlin'"):
        parse_timetable("@daily", timezone="Berlin")
    with pytest.raises(TimetableError, match=r"^unknown time zone 'Berlin'") as error:
        parse_timetable({"cron": "@daily", "timezone": "Berlin"}, timezone="UTC")
    assert error.value.path == ("timezone",)
