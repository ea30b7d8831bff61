"""Slots that begin later than their grain, and slots that count ahead of now: against plain looks at days."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkassets.core.instants import DAY, Duration, zone_offsets
from sparkassets.core.partitions import (
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    TimePartition,
    WindowMapping,
)
from tests.core.clocks import instants_near_changes, wall_clock, zones
from tests.core.partitions.test_mappings import mappings
from tests.core.partitions.test_time_partition import at

OFFSETS = {"day": [6 * 3600, -6 * 3600, 150 * 60], "week": [-DAY, 6 * DAY + 3600], "month": [14 * DAY, -3600]}
LENGTHS = {"day": DAY, "week": 7 * DAY, "month": 31 * DAY, "hour": 3600, "*/15 * * * *": 900, "0 0 * * SUN": 7 * DAY}
shifted = st.sampled_from([(by, offset) for by, some in OFFSETS.items() for offset in some])


@st.composite
def placed(draw):
    (by, offset), zone = draw(shifted), draw(zones)
    return TimePartition(by, zone, offset=offset), draw(instants_near_changes(zone))


@example((TimePartition("day", "Pacific/Kwajalein", offset=6 * 3600), 745934400))  # a day that the clocks skipped
@given(placed())
def test_slots_abut_and_begin_so_much_later_than_those_of_their_keys(drawn):
    partition, when = drawn
    start, end = partition.floor(when), partition.next(when)
    assert start <= when < end
    assert (partition.floor(start), partition.floor(end)) == (start, end)
    plain = TimePartition(partition.by, "UTC")  # has the days that clocks elsewhere skip
    nominal, _ = plain.parse_key(partition.key(start))
    shown = plain.local_start(nominal) + timedelta(seconds=partition.offset)
    assert partition.local_start(start) == shown
    local = int((shown - wall_clock(0, "UTC")) / timedelta(seconds=1))
    assert start == zone_offsets(partition.timezone).boundary(local)


@given(placed())
def test_keys_go_round(drawn):
    partition, when = drawn
    start = partition.floor(when)
    assert partition.parse_key(partition.key(start)) == (start, partition.next(start))
    assert partition.key(start) != partition.key(partition.next(start))


@given(placed(), st.integers(0, 40))
def test_counts_are_those_of_the_slots(drawn, slots):
    partition, when = drawn
    some = partition.cover(RangeSet.span(when, when + 1 + slots * LENGTHS[partition.by]))
    assert partition.count(some) == len(list(partition.slots(some)))
    assert RangeSet.from_pairs(partition.slots(some)) == some == partition.inside(some)


@given(placed())
def test_dates_tell_slots(drawn):
    partition, when = drawn
    start = partition.floor(when)
    assert partition.slot_of_date(partition.first_date(start)) == partition.slot_of_key_date(partition.key_date(start))
    assert partition.slot_of_key_date(partition.key_date(start)) == (start, partition.next(start))
    assert partition.first_date(start) < partition.first_date(partition.next(start))


@pytest.mark.parametrize(
    ("by", "offset", "instant", "key", "dated"),
    [
        ("day", 6 * 3600, "2025-03-02T05:59Z", "2025-03-01", "2025-03-01"),
        ("day", -6 * 3600, "2025-02-28T18:00Z", "2025-03-01", "2025-03-01"),
        ("week", -DAY, "2025-03-02T00:00Z", "2025-W10", "2025-03-02"),
        ("month", 14 * DAY, "2025-03-14T23:59Z", "2025-02", "2025-02-15"),
    ],
)
def test_examples(by, offset, instant, key, dated):
    partition = TimePartition(by, "UTC", offset=offset)
    start = partition.floor(at(instant))
    assert (partition.key(start), str(partition.first_date(start))) == (key, dated)


def test_a_day_from_six_to_six_needs_those_hours():
    days, hours = TimePartition("day", "Europe/Berlin", offset=6 * 3600), TimePartition("hour", "Europe/Berlin")
    day = RangeSet.span(*days.parse_key("2025-03-29"))
    assert hours.labels(OverlapMapping().required_ranges(day, consumer_time=days, inlet_time=hours)) == [
        "2025-03-29T06..2025-03-30T05"
    ]
    week = WindowMapping.trailing(Duration(days=7))
    assert hours.labels(week.required_ranges(day, consumer_time=days, inlet_time=hours)) == [
        "2025-03-23T06..2025-03-30T05"
    ]


@given(st.data(), placed(), mappings, st.sampled_from(list(LENGTHS)), zones)
def test_down_is_the_adjoint_of_up(data, drawn, mapping, by, zone):
    down, near = drawn
    up = TimePartition(by, zone)
    first = near + data.draw(st.integers(-3, 3)) * LENGTHS[by]
    changed = up.cover(RangeSet.span(first, first + data.draw(st.integers(1, 2 * LENGTHS[by]))))
    touched = mapping.affected_ranges(changed, consumer_time=down, inlet_time=up)
    for edge in {down.floor(end) for some in (touched, changed) for pair in some.pairs() for end in pair}:
        partition = down.previous(edge)
        for _ in range(3):
            slot = RangeSet.span(partition, down.next(partition))
            needs = mapping.required_ranges(slot, consumer_time=down, inlet_time=up)
            assert touched.covers(slot) == touched.overlaps(slot) == needs.overlaps(changed)
            partition = down.next(partition)


# ------------------------------------------------------------------ ahead of now

AHEAD = ["2d", "36h", "1mo", "15m", "1d6h"]


@given(st.data(), st.sampled_from(list(LENGTHS)), zones, st.sampled_from(AHEAD))
def test_a_slot_counts_as_soon_as_it_ends_no_further_ahead(data, by, zone, ahead):
    time = TimePartition(by, zone, ahead=ahead)
    partitioning, now = Partitioning(time), data.draw(instants_near_changes(zone))
    over = partitioning.finished_partitions(now)
    start = time.floor(now)
    for _ in range(80):
        end = time.next(start)
        counts = time.shift(end, -Duration.parse(ahead)) <= now
        assert over.time.covers(RangeSet.span(start, end)) == counts
        start = end
    change = partitioning.next_rollover(now)
    assert now < change
    assert partitioning.finished_partitions(change - 1) == over != partitioning.finished_partitions(change)
    following = PartitionSet.span(over.last, time.next(over.last))
    assert partitioning.first_finish_time(following) == partitioning.last_finish_time(following) == change


def test_ahead_is_calendar_time():
    days = TimePartition("day", "Europe/Berlin", ahead="2d")
    assert days.key(days.last_counted_end(at("2025-03-29T00:00", "Europe/Berlin"))) == "2025-03-31"
    assert days.key(days.last_counted_end(at("2025-03-28T23:59", "Europe/Berlin"))) == "2025-03-30"
