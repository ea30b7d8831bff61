import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration, InstantError, parse_instant, to_unix
from sparkassets.core.partitions import OverlapMapping, PartitionError, RangeSet, TimePartition
from sparkassets.core.partitions.time_grids import HourGrid, SliceGrid
from tests.core.clocks import ZONES, instants_near_changes, offset, telling_changes, wall_clock, zones

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "partitions.json").read_text())
DAY = 86_400
GRAINS = ["hour", "day", "week", "month", "quarter", "year"]
grains = st.sampled_from(GRAINS)


def at(text, zone="UTC"):
    return to_unix(parse_instant(text, zone=zone))


def span(partition, keys):
    return RangeSet.span(*partition.parse_keys(keys))


def key_of_date(by, day):
    """The key of the slice that holds a date, by the standard library."""
    year, week, _ = day.isocalendar()
    return {
        "day": f"{day:%Y-%m-%d}",
        "week": f"{year}-W{week:02}",
        "month": f"{day:%Y-%m}",
        "quarter": f"{day.year}-Q{(day.month + 2) // 3}",
        "year": f"{day.year}",
    }[by]


# ------------------------------------------------------------------ slots


@given(st.data(), grains, zones)
def test_slots_abut_and_hold_their_instant(data, by, zone):
    partition = TimePartition(by, zone)
    instant = data.draw(instants_near_changes(zone))
    start, end = partition.floor(instant), partition.next(instant)
    assert start <= instant < end
    assert partition.floor(start) == partition.floor(end - 1) == start
    assert partition.next(start) == end == partition.floor(end) == partition.ceil(start + 1)
    assert partition.ceil(start) == start
    assert partition.previous(end) == partition.previous(partition.next(end) - 1) == start


@given(st.data(), grains, zones)
def test_keys_go_round(data, by, zone):
    partition = TimePartition(by, zone)
    start = partition.floor(data.draw(instants_near_changes(zone)))
    assert partition.parse_key(partition.key(start)) == (start, partition.next(start))


@given(st.data(), grains, zones)
def test_keys_ascend(data, by, zone):
    partition = TimePartition(by, zone)
    start = partition.floor(data.draw(instants_near_changes(zone)))
    keys = partition.key(start), partition.key(partition.next(start))
    assert keys[0] != keys[1]
    assert keys[0][:13] < keys[1][:13] or (by == "hour" and len(keys[1]) > 13)


@pytest.mark.parametrize("zone", ZONES)
def test_day_begins_when_the_old_date_is_over_for_good(zone):
    partition = TimePartition("day", zone)
    for change in telling_changes(zone):
        minutes = range(change - 30 * 3600, change + 30 * 3600, 60)
        dates = [wall_clock(minute, zone).date() for minute in minutes]
        last_shown = dict(zip(dates, minutes, strict=True))
        edges = [minute + 60 for minute in sorted(last_shown.values())[:-1]]
        days = list(partition.slots(partition.cover(RangeSet.span(minutes[0], minutes[-1]))))
        assert [start for start, _ in days[1:]] == edges
        assert [partition.key(start) for start, _ in days] == [str(date) for date in sorted(last_shown)]


@given(st.data(), st.sampled_from(["week", "month", "quarter", "year"]), zones)
def test_longer_slots_are_made_of_days(data, by, zone):
    partition, days = TimePartition(by, zone), TimePartition("day", zone)
    day = days.floor(data.draw(instants_near_changes(zone)))
    start, end = partition.floor(day), partition.next(day)
    assert partition.key(start) == key_of_date(by, days.local_start(day))
    assert partition.key(start) == key_of_date(by, days.local_start(start))
    assert partition.key(start) == key_of_date(by, days.local_start(days.previous(end)))
    assert partition.key(start) != key_of_date(by, days.local_start(days.previous(start)))


@pytest.mark.parametrize("zone", ZONES)
def test_hour_is_a_stretch_of_one_local_hour_and_offset(zone):
    partition = TimePartition("hour", zone)
    for change in telling_changes(zone):
        minutes = range(change - 4 * 3600, change + 4 * 3600, 60)
        shown = [(wall_clock(minute, zone).replace(minute=0, second=0), offset(minute, zone)) for minute in minutes]
        edges = [minute for minute, old, new in zip(minutes[1:], shown, shown[1:], strict=False) if old != new]
        found = list(partition.slots(RangeSet.span(edges[0], edges[-1])))
        assert [start for start, _ in found] + [edges[-1]] == edges
        assert partition.count(RangeSet.span(edges[0], edges[-1])) == len(edges) - 1


def test_hours_of_a_day_when_half_an_hour_is_repeated():
    hours, days = TimePartition("hour", "Australia/Lord_Howe"), TimePartition("day", "Australia/Lord_Howe")
    slots = list(hours.slots(span(days, "2024-04-07")))
    assert [(end - start) // 60 for start, end in slots] == [60, 60, 30] + [60] * 22
    assert [hours.key(start) for start, _ in slots[:4]] == [
        "2024-04-07T00",
        "2024-04-07T01+11:00",
        "2024-04-07T01+10:30",
        "2024-04-07T02",
    ]


@pytest.mark.parametrize(
    ("zone", "keys", "hours"),
    [
        ("Europe/Berlin", "2025-03-30", 23),
        ("Europe/Berlin", "2025-10-26", 25),
        ("Europe/Berlin", "2025-10-27", 24),
        ("America/Sao_Paulo", "2018-11-04", 23),  # 00:00 was skipped
        ("America/Sao_Paulo", "2018-02-17", 25),  # 23:00 was repeated
        ("America/Havana", "2024-11-03", 25),  # 00:00 was repeated
        ("Pacific/Apia", "2011-12-29..2011-12-31", 48),
        ("Africa/Casablanca", "2025-02-23", 25),
        ("Asia/Kathmandu", "1986-01-01", 24),  # the first of 45 minutes
    ],
)
def test_count_of_hours_in_days(zone, keys, hours):
    partition = TimePartition("hour", zone)
    assert partition.count(span(TimePartition("day", zone), keys)) == hours


@pytest.mark.parametrize(
    ("zone", "date", "start"),
    [
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00Z"),  # at the change itself, 01:00
        ("America/Havana", "2024-11-03", "2024-11-03T04:00Z"),  # at the first of its two midnights
        ("America/St_Johns", "2006-10-29", "2006-10-29T03:30Z"),  # back from 00:01 into the day before: the second
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00Z"),
    ],
)
def test_day_with_an_awkward_midnight(zone, date, start):
    partition = TimePartition("day", zone)
    assert partition.parse_key(date)[0] == at(start)
    assert partition.local_start(at(start)) == datetime.fromisoformat(date)


def test_minute_of_a_date_before_the_clocks_go_back_into_the_day_before():
    partition = TimePartition("day", "America/St_Johns")
    assert wall_clock(at("2006-10-29T02:30:30Z"), "America/St_Johns").isoformat() == "2006-10-29T00:00:30"
    assert partition.key(partition.floor(at("2006-10-29T02:30:30Z"))) == "2006-10-28"


def test_local_start_of_an_hour():
    partition = TimePartition("hour", "Europe/Berlin")
    assert partition.local_start(at("2025-10-26T01:00Z")) == datetime(2025, 10, 26, 2)  # noqa: DTZ001 - wall clock


def test_unknown_zone():
    with pytest.raises(InstantError, match=r"^unknown time zone 'Europe/Berln'"):
        TimePartition("day", "Europe/Berln").floor(0)


# ------------------------------------------------------------------ sets of slots


@st.composite
def partitions_and_ranges(draw):
    """A partition and a few ranges near its zone's clock changes."""
    by, zone = draw(grains), draw(zones)
    length = {"hour": 3600, "day": DAY, "week": 7 * DAY, "month": 31 * DAY, "quarter": 92 * DAY, "year": 366 * DAY}[by]
    start = draw(instants_near_changes(zone))
    pairs = []
    for _ in range(draw(st.integers(1, 4))):
        end = start + draw(st.integers(1, 4 * length))
        pairs.append((start, end))
        start = end + draw(st.integers(1, 2 * length))
    return TimePartition(by, zone), RangeSet.from_pairs(pairs)


def walked(partition, ranges):
    """The slots that overlap ``ranges``, one at a time."""
    start = partition.floor(ranges.first)
    while start < ranges.last:
        if ranges.overlaps(RangeSet.span(start, partition.next(start))):
            yield start, partition.next(start)
        start = partition.next(start)


@given(partitions_and_ranges())
def test_cover_inside_slots_and_count(drawn):
    partition, ranges = drawn
    overlapping = list(walked(partition, ranges))
    whole = [slot for slot in overlapping if ranges.covers(RangeSet.span(*slot))]
    assert partition.cover(ranges) == RangeSet.from_pairs(overlapping)
    assert partition.inside(ranges) == RangeSet.from_pairs(whole)
    assert list(partition.slots(ranges)) == whole
    assert partition.count(ranges) == len(whole)


@given(partitions_and_ranges(), st.integers(1, 5))
def test_split(drawn, most):
    partition, ranges = drawn
    slots = list(partition.slots(ranges))
    chunks = partition.split_into_chunks(ranges, most)
    assert [list(partition.slots(chunk)) for chunk in chunks] == [
        slots[at : at + most] for at in range(0, len(slots), most)
    ]
    assert list(partition.slots(partition.oldest(ranges, most))) == slots[:most]
    assert list(partition.slots(partition.newest(ranges, most))) == slots[-most:]


@given(partitions_and_ranges())
def test_keys_are_those_of_the_slots(drawn):
    partition, ranges = drawn
    for low, high in partition.inside(ranges).pairs():
        assert list(partition.keys(low, high)) == [
            partition.key(start) for start, _ in partition.slots(ranges.clip(low, high))
        ]


@pytest.mark.parametrize("by", GRAINS)
def test_what_is_whole_already_stays_the_same_value(by):
    partition = TimePartition(by, "Europe/Berlin")
    ranges = RangeSet.from_pairs(list(partition.slots(RangeSet.span(at("2012-01-01"), at("2024-01-01"))))[::2])
    assert partition.cover(ranges) is partition.inside(ranges) is ranges


@given(partitions_and_ranges())
def test_labels_name_the_whole_slots(drawn):
    partition, ranges = drawn
    labels = partition.labels(ranges)
    assert RangeSet.from_pairs(partition.parse_keys(label) for label in labels) == partition.inside(ranges)
    assert all(label.count("..") == (partition.count(span(partition, label)) > 1) for label in labels)


def test_count_of_many_hours_does_not_walk():
    partition = TimePartition("hour", "Europe/Berlin")
    ranges = span(TimePartition("year", "Europe/Berlin"), "1980..2037")
    assert partition.count(ranges) == (ranges.last - ranges.first) // 3600
    assert partition.split_into_chunks(ranges, 1 << 62) == [ranges]


def test_nothing():
    partition = TimePartition("day", "UTC")
    empty = RangeSet()
    assert partition.cover(empty) == partition.inside(empty) == empty
    assert (list(partition.slots(empty)), partition.count(empty), partition.split_into_chunks(empty, 3)) == ([], 0, [])
    assert partition.labels(RangeSet.span(1, DAY)) == []


# ------------------------------------------------------------------ keys


@pytest.mark.parametrize(
    ("by", "instant", "key"),
    [
        ("year", "2013-01-05T06:30", "2013"),
        ("quarter", "2013-03-31T23:59", "2013-Q1"),
        ("quarter", "2013-12-31T23:59", "2013-Q4"),
        ("month", "2013-01-05T06:30", "2013-01"),
        ("week", "2013-01-06T23:59", "2013-W01"),
        ("week", "2012-12-31T00:00", "2013-W01"),
        ("week", "2021-01-03T00:00", "2020-W53"),
        ("day", "2013-01-05T06:30", "2013-01-05"),
        ("hour", "2013-01-05T06:30", "2013-01-05T06"),
        ("hour", "1969-12-31T23:59", "1969-12-31T23"),
        ("day", "0099-01-05T06:30", "0099-01-05"),
        ("year", "0099-01-05T06:30", "0099"),
    ],
)
def test_key(by, instant, key):
    partition = TimePartition(by, "UTC")
    assert partition.key(partition.floor(at(instant))) == key


def test_both_occurrences_of_a_repeated_hour_carry_their_offset():
    partition = TimePartition("hour", "America/New_York")
    slots = partition.slots(span(TimePartition("day", "America/New_York"), "2024-11-03"))
    assert [partition.key(start) for start, _ in slots][:4] == [
        "2024-11-03T00",
        "2024-11-03T01-04:00",
        "2024-11-03T01-05:00",
        "2024-11-03T02",
    ]


def test_offset_is_taken_where_it_is_right():
    partition = TimePartition("hour", "America/New_York")
    assert partition.parse_key("2024-11-03T02-05:00") == partition.parse_key("2024-11-03T02")


@pytest.mark.parametrize(
    ("by", "text", "example"),
    [
        ("year", "2013-01", "2013"),
        ("quarter", "2013-Q5", "2013-Q1"),
        ("month", "2013-1", "2013-01"),
        ("month", "2013-01-05", "2013-01"),
        ("week", "2013W01", "2013-W01"),
        ("week", "2013-01-05", "2013-W01"),
        ("day", "20130105", "2013-01-05"),
        ("day", "2013-01-05 ", "2013-01-05"),
        ("day", "", "2013-01-05"),
        ("hour", "2013-01-05", "2013-01-05T06"),
        ("hour", "2013-01-05T06:00", "2013-01-05T06"),
        ("hour", "2013-01-05T06Z", "2013-01-05T06"),
    ],
)
def test_what_is_not_a_key(by, text, example):
    with pytest.raises(PartitionError) as error:
        TimePartition(by, "UTC").parse_key(text)
    assert str(error.value) == f"'{text}' is not a partition key by {by}; expected one such as {example}"


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("year", "0000"),
        ("year", "9999"),
        ("day", "9999-12-31"),
        ("day", "0001-01-01"),
        ("hour", "9999-12-31T23"),
        ("week", "9999-W52"),
        ("week", "0001-W01"),
        ("month", "9999-12"),
        ("quarter", "0001-Q1"),
        ("month", "2013-13"),
        ("week", "2013-W53"),
        ("week", "2013-W00"),
        ("day", "2013-02-29"),
        ("hour", "2013-02-29T00"),
        ("hour", "2013-02-28T24"),
    ],
)
def test_what_is_not_in_the_calendar(by, text):
    with pytest.raises(
        PartitionError, match=rf"^partition key '{text}' is (not a valid date: |outside the years 1000 to 8999)"
    ):
        TimePartition(by, "UTC").parse_key(text)


@pytest.mark.parametrize(
    ("by", "zone", "text", "message"),
    [
        ("day", "Pacific/Apia", "2011-12-30", "does not exist: the clocks of Pacific/Apia skip it"),
        ("hour", "Europe/Berlin", "2025-03-30T02", "does not exist: the clocks of Europe/Berlin skip it"),
    ],
)
def test_what_the_clocks_skip(by, zone, text, message):
    with pytest.raises(PartitionError) as error:
        TimePartition(by, zone).parse_key(text)
    assert str(error.value) == f"partition key '{text}' {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "2024-11-03T01",
            "is repeated in America/New_York; expected 2024-11-03T01-04:00 or 2024-11-03T01-05:00",
        ),
        (
            "2024-11-03T02-04:00",
            "has another offset in America/New_York; expected 2024-11-03T02-05:00",
        ),
    ],
)
def test_hours_and_offsets(text, message):
    with pytest.raises(PartitionError) as error:
        TimePartition("hour", "America/New_York").parse_key(text)
    assert str(error.value) == f"partition key '{text}': the hour {message}"


def test_ranges_of_keys_are_inclusive():
    partition = TimePartition("month", "UTC")
    assert partition.parse_keys("2013-01..2013-03") == (at("2013-01-01"), at("2013-04-01"))
    assert partition.parse_keys("2013-01") == (at("2013-01-01"), at("2013-02-01"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2013-03..2013-01", "partition range '2013-03..2013-01' ends before it starts; expected the older key first"),
        ("2013-03..", "'' is not a partition key by month; expected one such as 2013-01"),
        ("2013-03...2013-04", "'.2013-04' is not a partition key by month; expected one such as 2013-01"),
    ],
)
def test_wrong_ranges_of_keys(text, message):
    with pytest.raises(PartitionError) as error:
        TimePartition("month", "UTC").parse_keys(text)
    assert str(error.value) == message


@given(st.data(), grains, zones, st.lists(st.integers(-40, 40), min_size=1, max_size=6))
def test_a_grid_answers_alike_whatever_it_was_asked_before(data, by, zone, steps):
    def again():
        return HourGrid(zone) if by == "hour" else SliceGrid(by, zone)

    used, near = again(), data.draw(instants_near_changes(zone))
    days, late = Duration(days=data.draw(st.integers(-9, 9))), data.draw(st.booleans())
    for instant in (near + step * 21_600 for step in steps):
        edge = again().floor(instant)
        assert used.floor(instant) == edge
        assert used.next(instant) == again().next(instant)
        assert used.shift(edge, days, late=late) == again().shift(edge, days, late=late)
        until = again().floor(instant + 5 * DAY)
        assert used.count(edge, until) == again().count(edge, until)
        assert list(used.edges(edge, until)) == list(again().edges(edge, until))
        assert used.key(edge) == again().key(edge)
        some = sorted({edge, until, until + 3600})
        assert used.are_edges(some) == all(again().floor(each) == each for each in some)


# ------------------------------------------------------------------ shifts


@given(st.data(), st.sampled_from(["day", "week", "month", "quarter", "year"]), zones, st.integers(-40, 40))
def test_days_added_to_an_edge_give_the_edge_of_the_day_with_that_date(data, by, zone, days):
    partition, daily = TimePartition(by, zone), TimePartition("day", zone)
    edge = partition.floor(data.draw(instants_near_changes(zone)))
    date = partition.local_start(edge) + timedelta(days=days)
    assume(not (zone == "Pacific/Apia" and date.isoformat() == "2011-12-30T00:00:00"))
    assume(not (zone == "Pacific/Kwajalein" and date.isoformat() == "1993-08-21T00:00:00"))
    assert partition.shift(edge, Duration(days=days)) == daily.parse_key(f"{date:%Y-%m-%d}")[0]


@given(st.data(), grains, zones, st.booleans())
def test_shift_never_descends(data, by, zone, late):
    partition = TimePartition(by, zone)
    duration = data.draw(
        st.sampled_from([Duration(days=n) for n in (-7, -1, 0, 1)] + [Duration(months=-1), Duration(12)])
    )
    edge = partition.floor(data.draw(instants_near_changes(zone)))
    following = partition.next(edge)
    assert partition.shift(edge, duration, late=late) <= partition.shift(following, duration, late=late)
    assert partition.shift(edge, duration) <= partition.shift(edge, duration, late=True)


@given(st.data(), grains, zones, st.integers(-(10**6), 10**6))
def test_shift_by_seconds_is_elapsed_time(data, by, zone, seconds):
    partition = TimePartition(by, zone)
    edge = partition.floor(data.draw(instants_near_changes(zone)))
    assert partition.shift(edge, Duration(seconds=seconds)) == edge + seconds


# ------------------------------------------------------------------ vectors


@pytest.mark.parametrize("case", VECTORS["partition_mapping"], ids=lambda case: case["id"])
def test_vectors_of_mappings(case):
    up = TimePartition(case["upstream"], case["timezone"])
    down = TimePartition(case["downstream"], case["timezone"])
    if "downstream_key" in case:
        assert (
            up.count(
                OverlapMapping().required_ranges(span(down, case["downstream_key"]), consumer_time=down, inlet_time=up)
            )
            == case["upstream_count"]
        )
    else:
        assert (
            down.count(
                OverlapMapping().affected_ranges(span(up, case["upstream_key"]), consumer_time=down, inlet_time=up)
            )
            == case["downstream_count"]
        )
