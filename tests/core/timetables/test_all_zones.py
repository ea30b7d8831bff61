"""What holds of every schedule in every zone of the tz database, from 1970 to 2099."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import available_timezones

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import from_unix, local_seconds, to_unix, zone_offsets
from sparkassets.core.timetables.parse import parse_timetable
from tests.core.clocks import ONE_DAY, wall_clock
from tests.depth import examples

FIRST, LAST = to_unix(datetime(1970, 1, 1, tzinfo=UTC)), to_unix(datetime(2100, 1, 1, tzinfo=UTC))
MICROSECOND = timedelta(microseconds=1)

zones = st.sampled_from(sorted(available_timezones() - {"Factory", "localtime"}))
abutting = st.sampled_from(
    [
        "@hourly",
        "*/15 * * * *",
        "@daily",
        "30 2 * * *",
        "0 0,12 * * 1-5",
        "@monthly",
        {"cron": ["0 6 * * *", "30 2 * * SUN"]},
        {"every": "1d"},
        {"every": "1w"},
        {"every": "1mo"},
        {"every": "1mo10d"},
        {"every": "1y"},
        {"every": "45m"},
        {"every": "25h"},
        {"cron": "@daily", "delay": "2h"},
    ]
)
others = st.sampled_from(
    [
        {"at": "30 2 * * *"},
        {"at": ["0 * * * *", "30 0 * * *"]},
        {"times": [{"hours": [0, 2, 3], "minutes": [0, 30]}, {"minutes": 45, "weekdays": "SUN"}]},
        {"cron": "@hourly", "interval": "90m"},
        {"cron": "@daily", "interval": "1d", "delay": "1d"},
        {"cron": "@daily", "window": "7d"},
        {"at": "@daily", "delay": "1mo"},
    ]
)


@st.composite
def instants_of(draw, zone):
    """An instant; mostly near one of the zone's clock changes."""
    at = draw(st.integers(FIRST, LAST))
    changes = zone_offsets(zone).changes(at, at + 400 * 86_400)
    return changes[0].at + draw(st.integers(-200, 200)) * 900 if changes and draw(st.integers(0, 4)) else at


@settings(max_examples=examples(400))
@given(st.data(), zones, abutting)
def test_intervals_abut_and_next_and_previous_are_inverse(data, zone, schedule):
    timetable = parse_timetable(schedule, timezone=zone)
    assert timetable.abutting
    now = from_unix(data.draw(instants_of(zone)))
    last, first = timetable.last_at(now), timetable.first_after(now)
    assert last.run_after <= now < first.run_after
    slots = list(timetable.between(last.run_after, first.run_after + ONE_DAY))
    assert slots[:2] == [last, first]
    for before, after in pairwise(slots):
        assert before.start < before.end == after.start < after.end
        assert before.run_after < after.run_after
        assert timetable.first_after(before.run_after) == after
        assert timetable.last_at(after.run_after - MICROSECOND) == before


@settings(max_examples=examples(200))
@given(st.data(), zones, others)
def test_other_slots_ascend_and_next_and_previous_are_inverse(data, zone, schedule):
    timetable = parse_timetable(schedule, timezone=zone)
    assert not timetable.abutting
    now = from_unix(data.draw(instants_of(zone)))
    last, first = timetable.last_at(now), timetable.first_after(now)
    assert last.run_after <= now < first.run_after
    slots = list(timetable.between(last.run_after, first.run_after))
    assert last in slots
    assert first in slots
    assert all(before.run_after <= after.run_after and before.start < after.start for before, after in pairwise(slots))


@settings(max_examples=examples(200))
@example(zone="Pacific/Apia", at=to_unix(datetime(2011, 12, 30, 12, tzinfo=UTC)), minute=0, every=True)
@example(zone="Pacific/Kwajalein", at=to_unix(datetime(1993, 8, 21, 12, tzinfo=UTC)), minute=150, every=False)
@example(zone="Australia/Lord_Howe", at=to_unix(datetime(2024, 4, 6, 15, tzinfo=UTC)), minute=105, every=True)
@example(zone="America/Sao_Paulo", at=to_unix(datetime(2018, 11, 4, 3, tzinfo=UTC)), minute=0, every=False)
@example(zone="Asia/Kathmandu", at=to_unix(datetime(1985, 12, 31, 18, 30, tzinfo=UTC)), minute=10, every=True)
@given(zone=zones, at=st.integers(FIRST, LAST), minute=st.integers(0, 1439), every=st.booleans())
def test_a_daily_time_happens_once_on_each_date_that_exists(zone, at, minute, every):
    schedule = f"{minute % 60} {minute // 60} * * *"
    start = None
    if every:  # anchored at that minute of a date long before
        schedule, start = {"every": "1d"}, max(zone_offsets(zone).readings_of(-36_500 * 86_400 + minute * 60))
        minute = local_seconds(wall_clock(start, zone)) % 86_400 // 60
    low, high = from_unix(at - 4 * 86_400), from_unix(at + 4 * 86_400)
    slots = list(parse_timetable(schedule, timezone=zone, start=start).between(low, high))
    dates = {wall_clock(moment, zone).date() for moment in range(at - 4 * 86_400, at + 4 * 86_400, 900)}
    # a time that is skipped moves on, past midnight at the latest: then the date after has its own and the moved one
    moved = [slot for slot in slots if _minute(slot, zone) != minute]
    plain = [wall_clock(to_unix(slot.end), zone).date() for slot in slots if _minute(slot, zone) == minute]
    assert len(plain) == len(set(plain))
    inner = sorted(dates)[1:-1]
    gone = [date for date in inner if date not in plain]
    assert len(gone) <= len(moved) <= 1


def _minute(slot, zone):
    return local_seconds(wall_clock(to_unix(slot.end), zone)) % 86_400 // 60
