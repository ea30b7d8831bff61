from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, format_instant, from_unix, to_unix
from sparkassets.core.timetables.ticks import EVENTS, sun_ticks
from sparkassets.core.timetables.timetable import TimetableError

AMSTERDAM = {"latitude": 52.37, "longitude": 4.9}
TROMSO = {"latitude": 69.65, "longitude": 18.96}


def at(text):
    return to_unix(datetime.fromisoformat(text).replace(tzinfo=UTC))


def dates(ticks, start, end):
    return [from_unix(tick).date() for tick in ticks.between(at(start), at(end))]


def test_sunset_in_amsterdam():
    ticks = sun_ticks("sunset", **AMSTERDAM)
    assert [format_instant(from_unix(tick))[:16] for tick in ticks.between(at("2025-03-20"), at("2025-03-23"))] == [
        "2025-03-20T17:53",
        "2025-03-21T17:55",
        "2025-03-22T17:57",
    ]


@pytest.mark.parametrize("event", ["sunrise", "sunset", "dawn", "dusk"])
def test_astral_agrees_to_the_second(event):
    from astral import Observer, sun

    observer = Observer(**AMSTERDAM)
    ticks = sun_ticks(event, **AMSTERDAM).between(at("2025-01-01"), at("2026-01-01"))
    days = [date(2025, 1, 1) + timedelta(days=each) for each in range(365)]
    expected = [to_unix(getattr(sun, event)(observer, day)) for day in days]
    assert max(abs(tick - other) for tick, other in zip(ticks, expected, strict=True)) <= 1


def test_a_polar_night_has_no_sunrise_but_noons():
    assert dates(sun_ticks("sunrise", **TROMSO), "2024-12-01", "2025-01-10") == []
    assert len(dates(sun_ticks("noon", **TROMSO), "2024-12-01", "2025-01-10")) == 40


def test_a_polar_day_has_no_sunset():
    assert dates(sun_ticks("sunset", **TROMSO), "2025-05-25", "2025-07-20") == []


def test_across_a_polar_night_the_next_sunrise_is_the_first_of_the_new_year():
    ticks = sun_ticks("sunrise", **TROMSO)
    last, first = ticks.before(at("2024-12-20")), ticks.after(at("2024-12-20"))
    assert (from_unix(last).date(), from_unix(first).date()) == (date(2024, 11, 26), date(2025, 1, 15))
    assert (ticks.after(last), ticks.before(first)) == (first, last)


@given(
    event=st.sampled_from(EVENTS),
    latitude=st.floats(-60, 60),
    longitude=st.floats(-180, 180),
    start=st.integers(at("1970-01-01"), at("2099-01-01")),
)
def test_each_day_has_one_where_the_sun_rises_each_day(event, latitude, longitude, start):
    ticks = sun_ticks(event, latitude=latitude, longitude=longitude)
    found = ticks.between(start, start + 30 * DAY)
    assert 29 <= len(found) <= 31
    assert all(DAY - 600 < later - tick < DAY + 600 for tick, later in pairwise(found))


@given(
    event=st.sampled_from(EVENTS),
    latitude=st.floats(-90, 90),
    longitude=st.floats(-180, 180),
    start=st.integers(at("1970-01-01"), at("2099-01-01")),
)
def test_next_and_previous_are_inverse_at_every_latitude(event, latitude, longitude, start):
    ticks = sun_ticks(event, latitude=latitude, longitude=longitude)
    found = ticks.between(start, start + 20 * DAY)
    for tick, later in pairwise(found):
        assert tick < later
        assert (ticks.after(tick), ticks.before(later)) == (later, tick)


@pytest.mark.parametrize(
    ("event", "place", "message"),
    [
        (
            "sunsett",
            AMSTERDAM,
            (
                "unknown event of the sun 'sunsett'; expected sunrise, sunset, dawn, dusk, noon\n"
                "  hint: did you mean 'sunset'?"
            ),
        ),
        ("dusk", {"latitude": 91, "longitude": 0}, "'latitude' of a schedule is 91; expected degrees from -90 to 90"),
        (
            "dusk",
            {"latitude": 0, "longitude": 181},
            "'longitude' of a schedule is 181; expected degrees from -180 to 180",
        ),
    ],
)
def test_refused(event, place, message):
    with pytest.raises(TimetableError) as refused:
        sun_ticks(event, **place)
    assert str(refused.value) == message


def test_the_rule_for_people_says_what_a_polar_day_does():
    assert sun_ticks("sunset", **TROMSO).describe() == "sunset at 69.65, 18.96, none on days without sunset"
