from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, _zoneinfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import (
    Duration,
    InstantError,
    ZoneOffsets,
    find_zone,
    format_instant,
    format_zoned,
    from_unix,
    local_datetime,
    local_seconds,
    local_to_epoch,
    parse_instant,
    to_unix,
    zone_offsets,
)
from tests.core.clocks import FIRST, LAST, ZONES, instants_near_changes, offset, wall_clock, zones

DAY = 86_400


# ------------------------------------------------------------------ instants


@given(st.integers(-(10**10), 10**11))
def test_epoch_is_the_inverse_of_instant(seconds):
    assert to_unix(from_unix(seconds)) == seconds
    assert from_unix(seconds).tzinfo is UTC


@given(st.integers(-(10**10), 10**11), st.sampled_from(ZONES))
def test_what_people_are_told_is_that_instant(seconds, name):
    for always in (False, True):
        assert to_unix(parse_instant(format_zoned(from_unix(seconds), name, seconds=always), zone="UTC")) == seconds


def test_the_end_of_time_is_told_in_utc_where_the_zone_has_no_year_for_it():
    assert format_zoned(datetime(9999, 12, 31, 23, 59, tzinfo=UTC), "Asia/Tokyo") == "9999-12-31T23:59Z"


@pytest.mark.parametrize("microseconds", [1, 999_999])
@pytest.mark.parametrize("seconds", [-1, 0, 1_742_536_800])
def test_part_of_a_second_is_dropped_towards_the_past(seconds, microseconds):
    assert to_unix(from_unix(seconds) + timedelta(microseconds=microseconds)) == seconds


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2025-03-21", "UTC", "2025-03-21T00:00:00Z"),
        ("2025-03-21", "Europe/Berlin", "2025-03-20T23:00:00Z"),
        ("2025-03-21T06:00", "UTC", "2025-03-21T06:00:00Z"),
        ("2025-03-21 06:00:01", "Europe/Berlin", "2025-03-21T05:00:01Z"),
        ("2025-03-21T06:00Z", "Europe/Berlin", "2025-03-21T06:00:00Z"),
        ("2025-03-21T06:00:00.25+05:45", "Europe/Berlin", "2025-03-21T00:15:00Z"),
        ("2025-03-21T06:00-0400", "Europe/Berlin", "2025-03-21T10:00:00Z"),
        ("2025-10-26T02:30+01:00", "Europe/Berlin", "2025-10-26T01:30:00Z"),  # repeated, but told
        ("1937-06-30T12:00+00:19:32", "Europe/Amsterdam", "1937-06-30T11:40:28Z"),
        ("2025-04-25", "Africa/Cairo", "2025-04-24T22:00:00Z"),  # the day begins at 01:00
        ("2025-11-02", "America/Havana", "2025-11-02T04:00:00Z"),  # midnight comes twice; the day begins at the first
        ("0001-01-01", "UTC", "0001-01-01T00:00:00Z"),
    ],
)
def test_what_people_write(text, zone, expected):
    assert format_instant(parse_instant(text, zone=zone)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "20250321",
        "2025-W12",
        "2025-3-21",
        "2025-03-21T6",
        "2025-03-21T06:00z",
        "2025-03-21T06Z Z",
        "\u0662025-03-21",
    ],
)
def test_what_is_not_an_instant(text):
    with pytest.raises(InstantError) as error:
        parse_instant(text, zone="UTC")
    assert str(error.value) == (
        f"'{text}' is not an instant; expected an ISO date or time, such as 2025-03-21 or 2025-03-21T06:00Z"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2025-02-29", "day is out of range for month"),
        ("2025-02-28T25:00", "hour must be in 0..23"),
        ("9999-12-31T23:00-05:00", "date value out of range"),
    ],
)
def test_what_is_not_in_the_calendar(text, why):
    with pytest.raises(InstantError, match=f"^'{text}' is not an instant: {why}; expected an ISO date or time"):
        parse_instant(text, zone="UTC")


@pytest.mark.parametrize(
    ("text", "zone", "expected", "hint"),
    [
        (
            "2025-03-30T02:30",
            "Europe/Berlin",
            "does not exist in Europe/Berlin: the clocks skip from 2025-03-30T02:00 to 2025-03-30T03:00",
            "write 2025-03-30T03:30",
        ),
        (
            "2025-10-26 02:30",
            "Europe/Berlin",
            "happens twice in Europe/Berlin: the clocks go back from 2025-10-26T03:00 to 2025-10-26T02:00",
            "write 2025-10-26T02:30+02:00 or 2025-10-26T02:30+01:00",
        ),
        (
            "2011-12-30",
            "Pacific/Apia",
            "does not exist in Pacific/Apia: the clocks skip from 2011-12-30T00:00 to 2011-12-31T00:00",
            "write 2011-12-31T00:00",
        ),
        (
            "2025-04-25T00:00",
            "Africa/Cairo",
            "does not exist in Africa/Cairo: the clocks skip from 2025-04-25T00:00 to 2025-04-25T01:00",
            "write 2025-04-25T01:00",
        ),
    ],
)
def test_a_local_time_that_the_clocks_skip_or_repeat_is_refused(text, zone, expected, hint):
    with pytest.raises(InstantError) as error:
        parse_instant(text, zone=zone)
    assert str(error.value) == f"'{text}' {expected}\n  hint: {hint}"


@given(st.data(), zones)
def test_a_local_time_is_taken_if_and_only_if_the_clocks_show_it_once(data, name):
    local = wall_clock(data.draw(instants_near_changes(name)) // 60 * 60, name)
    local += timedelta(minutes=data.draw(st.integers(-90, 90)))
    readings = {local.replace(tzinfo=ZoneInfo(name), fold=fold).timestamp() for fold in (0, 1)}
    try:
        assert {parse_instant(local.isoformat(), zone=name).timestamp()} == readings
    except InstantError as error:
        assert len(readings) > 1
        for written in error.hint.removeprefix("write ").split(" or "):
            assert parse_instant(written, zone=name).timestamp() in readings


@given(st.data(), zones)
def test_a_date_is_where_its_day_begins(data, name):
    local = wall_clock(data.draw(instants_near_changes(name)), name)
    day = local_seconds(local) // DAY
    begin = to_unix(parse_instant(local.date().isoformat(), zone=name))
    assert (begin + offset(begin, name)) // DAY == day
    assert (begin - 1 + offset(begin - 1, name)) // DAY < day


# ------------------------------------------------------------------ zones


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("europe/berlin", "\n  hint: did you mean 'Europe/Berlin'?"),
        ("Europe/Börlin", "\n  hint: did you mean 'Europe/Berlin'?"),
        ("America/NewYork", "\n  hint: did you mean 'America/New_York'?"),
        ("Berlin", "\n  hint: did you mean 'Europe/Berlin'?"),
        ("new york", "\n  hint: did you mean 'America/New_York'?"),
        ("utc", "\n  hint: did you mean 'UTC'?"),
        ("Europe", ""),
        ("CEST", ""),
        ("UTC+2", ""),
        ("localtime", ""),
        ("Factory", ""),
        ("posixrules", ""),
        ("right/Europe/Berlin", "\n  hint: did you mean 'Europe/Berlin'?"),
        ("posix/UTC", ""),
        ("", ""),
        ("../etc/passwd", ""),
        ("/etc/passwd", ""),
        ("\0", ""),
    ],
)
def test_unknown_zone(name, hint):
    with pytest.raises(InstantError) as error:
        find_zone(name)
    assert str(error.value) == f"unknown time zone '{name}'; expected an IANA name such as Europe/Berlin{hint}"


@given(st.data(), zones)
def test_offset_is_that_of_zoneinfo(data, name):
    at = data.draw(instants_near_changes(name))
    assert zone_offsets(name).offset_at(at) == offset(at, name)


@given(zones, st.lists(st.integers(-(10**10), 10**11), min_size=1, max_size=4))
def test_offsets_do_not_depend_on_what_was_asked_before(name, instants):
    clock = ZoneOffsets(name)
    assert [clock.offset_at(at) for at in instants] == [offset(at, name) for at in instants]


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin"])
def test_outside_the_years_of_python_the_offset_stays(name):
    clock = ZoneOffsets(name)
    far = 1 << 62
    assert (
        clock.offset_at(far) == clock.offset_at(far + 1) == clock.offset_at(to_unix(datetime(9998, 12, 31, tzinfo=UTC)))
    )
    assert clock.offset_at(-far) == clock.offset_at(-far - 1) == clock.offset_at(to_unix(datetime(2, 1, 2, tzinfo=UTC)))


def changes_in_the_database(name):
    """(instant, offset before, offset after) of each change, from the file of the zone itself."""
    loaded = _zoneinfo.ZoneInfo.no_cache(name)
    after = [kind.utcoff // timedelta(seconds=1) for kind in loaded._ttinfos]
    before = [loaded._tti_before.utcoff // timedelta(seconds=1) if loaded._tti_before else 0, *after]
    steps = zip(loaded._trans_utc, before, after, strict=False)
    return [(at, old, new) for at, old, new in steps if old != new]


@pytest.mark.parametrize("name", ZONES)
def test_changes_are_those_of_the_database(name):
    found = [(change.at, change.before, change.after) for change in zone_offsets(name).changes(FIRST, LAST)]
    written = [change for change in changes_in_the_database(name) if FIRST <= change[0] < LAST]
    assert found[: len(written)] == written


def test_what_the_search_and_the_windows_rely_on():
    for name in available_timezones():
        changes = changes_in_the_database(name)
        assert all(later[0] - earlier[0] > 3 * DAY for earlier, later in pairwise(changes)), (
            f"{name} changes twice in a step"
        )
        assert all(old - new <= 7 * 3600 for at, old, new in changes if at >= 0), (
            f"{name} goes back by more than 7 hours"
        )


@given(st.data(), zones)
def test_stretches_partition_the_time(data, name):
    start = data.draw(instants_near_changes(name))
    end = start + data.draw(st.integers(0, 500 * DAY))
    pieces = list(zone_offsets(name).steady_spans(start, end))
    assert [piece[0] for piece in pieces] + [end] == [start] + [piece[1] for piece in pieces] or start == end
    for low, high, east in pieces:
        assert low < high
        assert offset(low, name) == east == offset(high - 1, name)


@given(st.data(), zones, st.sampled_from([0, 1]))
def test_local_time_reads_as_in_zoneinfo(data, name, fold):
    local = wall_clock(data.draw(instants_near_changes(name)), name) + timedelta(
        minutes=data.draw(st.integers(-90, 90))
    )
    aware = [local.replace(tzinfo=ZoneInfo(name), fold=each) for each in (0, 1)]
    skipped = aware[0].timestamp() > aware[1].timestamp()
    assert local_to_epoch(local, name, fold=fold) == aware[0 if skipped else fold].timestamp()


@given(st.data(), zones)
def test_boundary_is_where_the_past_is_over_for_good(data, name):
    near = data.draw(instants_near_changes(name))
    local = local_seconds(wall_clock(near, name)) // 900 * 900 + data.draw(st.integers(-100, 100)) * 900
    found = zone_offsets(name).boundary(local)
    shown = [(at, at + offset(at, name)) for at in range(local - 2 * DAY, local + 2 * DAY, 60)]
    assert all(wall >= local for at, wall in shown if at >= found)
    assert found - 1 + offset(found - 1, name) < local


@pytest.mark.parametrize("seconds", [-1, 0, 1_742_536_800])
def test_local_datetime_is_the_inverse_of_local_seconds(seconds):
    assert local_seconds(local_datetime(seconds)) == seconds


# ------------------------------------------------------------------ durations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", Duration(seconds=90)),
        ("1h30m", Duration(seconds=5400)),
        ("24h", Duration(seconds=DAY)),
        ("7d", Duration(days=7)),
        ("-6d", Duration(days=-6)),
        ("2w", Duration(days=14)),
        ("1mo", Duration(months=1)),
        ("1y", Duration(months=12)),
        ("-1y2mo3d4h", Duration(-14, -3, -14_400)),
        ("0d", Duration()),
    ],
)
def test_duration_of_a_text(text, expected):
    assert Duration.parse(text) == expected
    assert Duration.parse(expected.text) == expected


@pytest.mark.parametrize(
    "text", ["", "7", "d", "7 d", "7D", "+7d", "--7d", "1.5h", "1M", "7d-6d", "P7D", "\u0667d", "1" * 10 + "s"]
)
def test_what_is_not_a_duration(text):
    with pytest.raises(InstantError) as error:
        Duration.parse(text)
    assert str(error.value) == (
        f"'{text}' is not a duration; expected a number and a unit (s m h d w mo y), such as 90s, 1h30m or 7d"
    )


@given(st.integers(0, 4_000), st.integers(0, 10**5), st.integers(0, 10**9), st.sampled_from([1, -1]))
def test_text_of_a_duration_parses_back(months, days, seconds, sign):
    duration = Duration(sign * months, sign * days, sign * seconds)
    assert Duration.parse(duration.text) == duration
    assert Duration.parse((-duration).text) == -duration


def test_duration_has_one_sign():
    with pytest.raises(InstantError, match=r"^a duration of 1 months, -1 days and 0 seconds has no sign$"):
        Duration(months=1, days=-1)


@pytest.mark.parametrize(
    ("start", "duration", "name", "end"),
    [
        ("2025-03-29T12:00", "1d", "Europe/Berlin", "2025-03-30T12:00"),  # 23 hours
        ("2025-03-29T12:00", "24h", "Europe/Berlin", "2025-03-30T13:00"),
        ("2025-10-25T12:00", "1d", "Europe/Berlin", "2025-10-26T12:00"),  # 25 hours
        ("2025-10-25T02:30", "1d", "Europe/Berlin", "2025-10-26T02:30+01:00"),  # repeated
        ("2025-10-27T02:30", "-1d", "Europe/Berlin", "2025-10-26T02:30+01:00"),
        ("2025-03-29T02:30", "1d", "Europe/Berlin", "2025-03-30T03:30"),  # skipped
        ("2025-01-31T00:00", "1mo", "UTC", "2025-02-28T00:00"),
        ("2024-02-29T00:00", "1y", "UTC", "2025-02-28T00:00"),
        ("2025-03-31T00:00", "-1mo", "UTC", "2025-02-28T00:00"),
        ("2025-03-21T06:00", "-1w2d", "UTC", "2025-03-12T06:00"),
        ("2025-12-15T00:00", "1mo1d1h", "UTC", "2026-01-16T01:00"),
    ],
)
def test_adding_a_duration(start, duration, name, end):
    added = Duration.parse(duration).add_to(to_unix(parse_instant(start, zone=name)), name)
    assert added == to_unix(parse_instant(end, zone=name))


@given(st.data(), zones, st.integers(-400, 400))
def test_adding_seconds_only_is_elapsed_time(data, name, seconds):
    at = data.draw(instants_near_changes(name))
    assert Duration(seconds=seconds).add_to(at, name) == at + seconds


def test_duration_that_leaves_the_calendar():
    with pytest.raises(InstantError, match=r"^'9000y' is longer than 999 years$"):
        Duration.parse("9000y")
    with pytest.raises(InstantError, match=r"^'499y' from 9990-01-01 is outside the years 1 to 9999$"):
        Duration.parse("499y").add_to(to_unix(datetime(9990, 1, 1, tzinfo=UTC)), "UTC")


def test_exact_seconds():
    assert Duration.parse("1w1d1h").seconds_exactly() == 8 * DAY + 3600
    with pytest.raises(
        InstantError, match=r"^'1mo' has no fixed length; expected seconds, minutes, hours, days or weeks$"
    ):
        Duration.parse("1mo").seconds_exactly()
