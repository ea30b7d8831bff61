"""What goes with all kinds: delay, window, interval, bounds, catchup; lists of instants; `@once` and `@continuous`."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkassets.core.instants import format_instant, from_unix, parse_instant, to_unix, zone_offsets
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable, Slot
from sparkassets.core.timetables.parse import parse_timetable
from tests.core.clocks import FIRST, LAST, zones

ALWAYS = (from_unix(0), from_unix(4_000_000_000))


def at(text):
    return parse_instant(text, zone="UTC")


def utc(schedule, **bounds):
    return parse_timetable(schedule, timezone="UTC", **{key: to_unix(at(text)) for key, text in bounds.items()})


def runs(timetable, low, high):
    return [
        tuple(f"{each:%d %H:%M}" for each in (slot.run_after, slot.start, slot.end))
        for slot in timetable.between(at(low), at(high))
    ]


def test_several_crons_are_one():
    timetable = utc({"cron": ["0 6 * * *", "0 18 * * *", "0 6 * * FRI"]})
    assert runs(timetable, "2025-03-21", "2025-03-21T23:59") == [
        ("21 06:00", "20 18:00", "21 06:00"),
        ("21 18:00", "21 06:00", "21 18:00"),
    ]
    assert timetable.describe() == "0 6 * * *, 0 18 * * *, 0 6 * * FRI (UTC)"


def test_an_interval_lasts_whatever_the_next_tick():
    timetable = utc({"cron": "0 0 * * MON-FRI", "interval": "1d"})
    assert runs(timetable, "2025-03-21", "2025-03-24") == [
        ("21 00:00", "20 00:00", "21 00:00"),
        ("22 00:00", "21 00:00", "22 00:00"),
    ]
    assert timetable.describe() == "0 0 * * MON-FRI for 1d (UTC)"
    overlapping = utc({"cron": "0 * * * *", "interval": "3h"})
    assert runs(overlapping, "2025-03-21T06:00", "2025-03-21T07:00") == [
        ("21 06:00", "21 03:00", "21 06:00"),
        ("21 07:00", "21 04:00", "21 07:00"),
    ]


def test_an_interval_of_a_day_is_a_day_of_the_calendar():
    timetable = parse_timetable({"cron": "0 0 * * SUN", "interval": "1d"}, timezone="Europe/Berlin")
    slot = timetable.last_at(at("2025-03-31"))
    assert slot.end - slot.start == timedelta(hours=23)


def test_intervals_that_end_together_are_all_there():
    timetable = utc({"cron": "0 0 28-31 1 *", "interval": "1mo"})
    slots = list(timetable.between(at("2025-02-01"), at("2025-03-31")))
    assert [(slot.start.day, format_instant(slot.run_after)) for slot in slots] == [
        (day, "2025-02-28T00:00:00Z") for day in (28, 29, 30, 31)
    ]
    assert timetable.first_after(at("2025-02-27")) == slots[0]
    assert timetable.last_at(at("2025-03-31")) == slots[-1]


def test_a_delay_of_a_day_across_a_gap_keeps_the_order_of_runs():
    timetable = parse_timetable({"at": "*/30 * * * *", "delay": "1d"}, timezone="Europe/Berlin")
    low, high = at("2025-03-30T00:00"), at("2025-03-30T03:00")
    slots = list(timetable.between(low, high))
    assert slots == sorted(slots, key=lambda slot: (slot.run_after, slot.start))
    assert len(slots) == 9  # 01:00 to 01:30, 02:00 to 04:00 by the clock and what the gap moves onto 03:00 and 03:30
    for slot in slots:
        assert timetable.last_at(slot.run_after).run_after == slot.run_after
        assert timetable.first_after(slot.run_after - timedelta(seconds=1)).run_after == slot.run_after


def test_a_delay_moves_the_run_and_nothing_else():
    timetable = utc({"cron": "@daily", "delay": "2h"}, start="2025-03-20", end="2025-03-21")
    assert timetable.abutting
    assert runs(timetable, "2025-01-01", "2026-01-01") == [("21 02:00", "20 00:00", "21 00:00")]
    assert timetable.last_at(at("2025-03-21T01:59")) is None
    assert timetable.describe().endswith("(UTC) from 2025-03-20T00:00Z until 2025-03-21T00:00Z delayed by 2h")


def test_a_window_widens_the_interval_after_the_bounds_judged_it():
    timetable = utc({"cron": "@daily", "window": "7d"}, start="2025-03-20")
    assert not timetable.abutting
    assert runs(timetable, "2025-03-01", "2025-03-22") == [
        ("21 00:00", "14 00:00", "21 00:00"),
        ("22 00:00", "15 00:00", "22 00:00"),
    ]
    assert runs(utc({"at": "0 6 * * *", "window": "1d"}), "2025-03-21", "2025-03-22") == [
        ("21 06:00", "20 06:00", "21 06:00")
    ]


@pytest.mark.parametrize("schedule", [{"at": "@daily"}, {"times": {"hours": 0}}, {"cron": "@daily", "interval": "1d"}])
def test_bounds_of_what_does_not_abut(schedule):
    timetable = utc(schedule, start="2025-03-20", end="2025-03-22")
    assert [slot.start.day for slot in timetable.between(*ALWAYS)] == [20, 21]
    assert timetable.first_after(from_unix(0)).start.day == 20
    assert timetable.last_at(ALWAYS[1]).start.day == 21


@pytest.mark.parametrize("catchup", ["all", "latest", "rollup"])
def test_catchup_is_told(catchup):
    timetable = utc({"every": "1d", "catchup": catchup})
    assert timetable.catchup == catchup
    assert timetable.describe() == f"every 1d (UTC) catchup {catchup}"
    assert utc({"every": "1d"}).catchup is None


@pytest.mark.parametrize("modifier", ["delay", "window", "interval"])
def test_long_modifiers_at_the_ends_of_the_calendar(modifier):
    timetable = utc({"cron": "@yearly", modifier: "999y"})
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert timetable.first_after(last) is timetable.last_at(first) is None
    earliest, latest = timetable.first_after(first), timetable.last_at(last)
    assert earliest.run_after.year < 1030
    assert latest.run_after.year > 9900
    assert list(timetable.between(first, last))[::100_000] == [earliest]


# ------------------------------------------------------------------ instants


def test_a_list_of_instants():
    schedule = {"at": ["2025-06-01T06:00", "2025-03-01", "2025-03-01T00:00Z", "2025-12-24T18:00+01:00"]}
    timetable = utc(schedule)
    expected = [at(text) for text in ("2025-03-01", "2025-06-01T06:00", "2025-12-24T17:00")]
    assert list(timetable.between(*ALWAYS)) == [Slot(each, each, each) for each in expected]
    assert timetable.first_after(expected[0]).start == expected[1]
    assert timetable.first_after(expected[2]) is None
    assert timetable.last_at(expected[0] - timedelta(seconds=1)) is None
    assert timetable.text == "at 2025-03-01T00:00Z, 2025-06-01T06:00Z, 2025-12-24T17:00Z"


def test_one_instant_and_many():
    assert utc({"at": "2025-03-01"}).text == "at 2025-03-01T00:00Z"
    days = [f"2025-03-0{day}" for day in range(1, 6)]
    assert utc({"at": days}).text.endswith("2025-03-03T00:00Z and 2 more")


def test_instants_beside_crons():
    timetable = utc({"at": ["0 6 * * *", "2025-03-21T07:00"]})
    assert [run[0] for run in runs(timetable, "2025-03-21", "2025-03-22")] == ["21 06:00", "21 07:00"]


@given(st.data(), zones)
def test_a_day_more_or_less_is_the_next_tick_or_the_last_over_a_repeated_hour(data, zone):
    back = [change for change in zone_offsets(zone).changes(FIRST, LAST) if change.after < change.before]
    assume(back)
    change = data.draw(st.sampled_from(back))
    repeated = (change.at + change.after) // 60 + data.draw(st.integers(-120, 300))
    cron = f"{repeated % 60} {repeated // 60 % 24} * * *"
    low, high = change.at - 3 * 86_400, change.at + 3 * 86_400
    assume(zone_offsets(zone).changes(low, high + 3 * 86_400) == [change])

    def slots(modifier):
        found = parse_timetable({"cron": cron, **modifier}, timezone=zone).between(from_unix(low), from_unix(high))
        return [(slot.start, slot.end) for slot in found]

    expected = slots({})
    assert slots({"interval": "1d"}) == slots({"window": "1d"}) == expected
    later = parse_timetable({"at": cron, "delay": "1d"}, timezone=zone).between(from_unix(low), from_unix(high))
    assert [(slot.end, slot.run_after) for slot in later] == expected


# ------------------------------------------------------------------ without ticks


def test_once_at_its_start():
    timetable = utc({"cron": "@once", "start": "2025-03-21T06:00"})
    begin = at("2025-03-21T06:00")
    assert isinstance(timetable, OnceTimetable)
    assert list(timetable.between(*ALWAYS)) == [Slot(begin, begin, begin)]
    assert timetable.describe() == "@once (UTC) from 2025-03-21T06:00Z"


@pytest.mark.parametrize(("text", "kind"), [("@once", OnceTimetable), ("@continuous", ContinuousTimetable)])
def test_no_slots_without_ticks(text, kind):
    timetable = utc(text)
    assert isinstance(timetable, kind)
    assert not timetable.abutting
    assert timetable.first_after(from_unix(0)) is timetable.last_at(ALWAYS[1]) is None
    assert list(timetable.between(*ALWAYS)) == []


def test_continuous_has_no_slots_even_with_a_start():
    assert utc("@continuous", start="2025-01-01").first_after(datetime.min.replace(tzinfo=ALWAYS[0].tzinfo)) is None
