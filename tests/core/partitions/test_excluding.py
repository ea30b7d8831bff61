"""Slots that are left out of a grid, against the grid without them, slot by slot."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.crons.cron import expand
from sparkassets.core.instants import DAY, Duration, day_number, local_date, local_seconds
from sparkassets.core.partitions import (
    Dependency,
    OverlapMapping,
    PartitionError,
    Partitioning,
    PartitionSet,
    RangeSet,
    TimePartition,
    WindowMapping,
)
from sparkassets.core.partitions.excluding_grid import excluded_text
from tests.core.clocks import instants_near_changes, zones
from tests.core.partitions.test_mappings import mappings
from tests.core.partitions.test_time_partition import at

LENGTHS = {
    "hour": 3600,
    "day": DAY,
    "week": 7 * DAY,
    "month": 31 * DAY,
    "*/15 2-20 * * *": 900,
    "0 */6 * * *": 6 * 3600,
    "0 6 * * *": DAY,
}
CRONS = ("* * * * SAT,SUN", "0 0 * * SUN", "* 0-5 * * *", "* * 1-14 * *", "0 1-23/2 * * *", "* * * 3,10 *")
LONG = {
    "day": ["* 0-5 * * *"],
    "week": ["* 0-5 * * *", "* * 1-14 * *"],
    "month": ["* 0-5 * * *", "* * 1-14 * *"],
}
"""What would exclude all of them."""


@st.composite
def excluding(draw, *, near=None):
    """A partition, the same without what is excluded, and an instant mostly near a change of its clocks."""
    by, zone = draw(st.sampled_from(list(LENGTHS))), draw(zones)
    when = draw(instants_near_changes(zone)) if near is None else near
    offset = draw(st.sampled_from([0, 6 * 3600, -6 * 3600])) if by in ("day", "week") else 0
    fitting = [cron for cron in CRONS if by not in LONG or cron not in LONG[by]]
    crons = draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))
    days = [when // DAY + draw(st.integers(-9, 9)) for _ in range(draw(st.integers(0, 4)))]
    partition = TimePartition(by, zone, offset=offset, exclude=excluded_text(crons, days))
    return partition, TimePartition(by, zone, offset=offset), when


def is_left(partition, plain, slot):
    """Whether a slot of the grid is none of those that are excluded, by what its key shows."""
    shown = local_seconds(plain.local_start(slot[0]))
    if plain.by in ("day", "week"):
        shown = day_number(plain.key_date(slot[0])) * DAY
    for part in partition.exclude.split("; "):
        if part[:4].isdigit() and part[4] == "-":
            if local_date(shown // DAY).isoformat() in part.split():
                return False
        elif shown - shown % 60 in expand(part).between(shown - shown % 60, shown - shown % 60 + 1):
            return False
    return True


def slots_left(partition, plain, low, high):
    """Those that are left of the slots that begin in ``[low, high)``."""
    found = plain.slots(plain.cover(RangeSet.span(low, high)))
    return [slot for slot in found if low <= slot[0] < high and is_left(partition, plain, slot)]


@given(excluding(), st.integers(1, 60))
def test_slots_are_those_that_are_left(drawn, length):
    partition, plain, when = drawn
    low = partition.floor(when)
    high = partition.floor(low + length * LENGTHS[partition.by])
    left = slots_left(partition, plain, low, high)
    some = RangeSet.span(low, high)
    assert [(start, partition.stop(start)) for start, _ in partition.slots(some)] == left
    assert RangeSet.from_pairs(partition.slots(some)) == some == partition.cover(some) == partition.inside(some)
    assert partition.count(some) == len(left)
    assert partition.exact(some) == RangeSet.from_pairs(left)
    assert list(partition.keys(low, high)) == [plain.key(start) for start, _ in left]
    assert [each for chunk in partition.split_into_chunks(some, 3) for each in partition.slots(chunk)] == [
        *partition.slots(some)
    ]
    for start, _ in left:
        key = partition.key(start)
        assert partition.parse_key(key) == (start, partition.next(start))
        assert partition.labels(RangeSet.span(start, partition.next(start))) == [key]


@given(excluding(), st.data())
def test_sets_of_time_are_covered_by_the_slots_that_they_touch_and_hold_those_that_lie_in_them(drawn, data):
    partition, plain, when = drawn
    length = LENGTHS[partition.by]
    pairs = data.draw(st.lists(st.tuples(st.integers(-9 * length, 9 * length), st.integers(1, 9 * length)), max_size=3))
    some = RangeSet.from_pairs((when + low, when + low + size) for low, size in pairs)
    low, high = partition.previous(when - 12 * length), partition.next(when + 20 * length)
    slots = [RangeSet.span(*slot) for slot in slots_left(partition, plain, low, high)]
    touched = RangeSet.union([slot for slot in slots if slot.overlaps(some)])
    held = RangeSet.union([slot for slot in slots if some.covers(slot)])
    assert partition.exact(partition.cover(some)) == touched
    assert partition.exact(partition.inside(some)) == held
    assert partition.cover(touched) == partition.inside(touched) == partition.cover(some)


@given(excluding(), st.lists(st.integers(0, 800), min_size=1, max_size=6))
def test_the_time_of_ranges_far_apart_is_that_of_each(drawn, steps):
    partition, _, when = drawn
    length = LENGTHS[partition.by]
    some = RangeSet.from_pairs((when + step * 5 * length, when + (step * 5 + 3) * length) for step in steps)
    each = [RangeSet.span(*pair) for pair in some.pairs()]
    assert partition.exact(some) == RangeSet.union([partition.exact(one) for one in each])
    assert partition.cover(some) == RangeSet.union([partition.cover(one) for one in each])


@given(excluding(), st.integers(0, 40))
def test_a_slot_is_over_when_its_own_time_is(drawn, step):
    partition, plain, when = drawn
    now = when + step * LENGTHS[partition.by] // 7
    over = Partitioning(partition).finished_partitions(now).time
    low = partition.previous(partition.previous(now))
    for start, end in slots_left(partition, plain, low, partition.next(now) + 1):
        assert over.covers(RangeSet.span(start, end)) == (end <= now)
    turn = Partitioning(partition).next_rollover(now)
    assert turn > now
    assert partition.last_finished_end(turn - 1) == partition.last_finished_end(now) < partition.last_finished_end(turn)
    assert Partitioning(partition).newest_finished(now).time.last == partition.last_finished_end(now)


@given(st.data(), excluding(), mappings)
def test_down_is_the_adjoint_of_up_and_both_go_by_the_time_that_is_left(data, drawn, mapping):
    one, one_plain, near = drawn
    both = data.draw(st.booleans())
    other = (
        data.draw(excluding(near=near)) if both else (TimePartition(data.draw(st.sampled_from(list(LENGTHS))), "UTC"),)
    )
    (down, down_plain), (up, up_plain) = (one, one_plain), (other[0], other[1] if both else other[0])
    if data.draw(st.booleans()):
        (down, down_plain), (up, up_plain) = (up, up_plain), (down, down_plain)
    size = LENGTHS[up.by]
    first = near + data.draw(st.integers(-3, 3)) * size
    changed = up.cover(RangeSet.span(first, first + data.draw(st.integers(1, 3 * size))))
    touched = mapping.affected_ranges(changed, consumer_time=down, inlet_time=up)
    for edge in [down.floor(end) for some in (touched, changed) for pair in some.pairs() for end in pair][:4]:
        partition = down.previous(edge)
        for _ in range(3):
            slot = RangeSet.span(partition, down.next(partition))
            needs = mapping.required_ranges(slot, consumer_time=down, inlet_time=up)
            assert needs == up.cover(needs) == up.inside(needs)
            assert touched.covers(slot) == touched.overlaps(slot) == needs.overlaps(changed)
            window = RangeSet.span(*mapping.window(partition, down_plain.next(partition), consumer_time=down_plain))
            low, high = window.first - 32 * DAY, window.last + 1
            for start, end in slots_left(up, up_plain, low, high) if up.exclude else []:
                assert up.exact(needs).covers(RangeSet.span(start, end)) == window.overlaps(RangeSet.span(start, end))
            partition = down.next(partition)


WORKDAYS = TimePartition("day", "UTC", exclude="* * * * SAT,SUN; 2025-03-05")


@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        (
            "2025-03-01",
            "partition key '2025-03-01' is excluded: a Saturday, by '* * * * SAT,SUN'",
            "the partitions around it are 2025-02-28 and 2025-03-03",
        ),
        (
            "2025-03-05",
            "partition key '2025-03-05' is excluded: a Wednesday, the day is excluded",
            "the partitions around it are 2025-03-04 and 2025-03-06",
        ),
    ],
)
def test_keys_of_what_is_excluded_are_refused(key, message, hint):
    for text in (key, f"{key}..2025-03-10", f"2025-02-03..{key}"):
        with pytest.raises(PartitionError) as error:
            WORKDAYS.parse_keys(text)
        assert (error.value.args[0], error.value.hint) == (message, hint)


def test_ranges_skip_what_is_excluded():
    some = RangeSet.span(*WORKDAYS.parse_keys("2025-02-28..2025-03-07"))
    assert WORKDAYS.labels(some) == ["2025-02-28..2025-03-07"]
    assert WORKDAYS.count(some) == 5
    assert WORKDAYS.slot_of_date(date(2025, 3, 1)) is None
    assert WORKDAYS.slot_of_local_time(datetime.fromisoformat("2025-03-01T12:00")) is None
    assert WORKDAYS.slot_of_instant(at("2025-03-02T12:00Z")) is None
    assert WORKDAYS.local_last(at("2025-02-28T00:00Z")) == datetime.fromisoformat("2025-02-28T23:59:59")


def test_a_month_needs_its_working_days_and_an_hour_of_a_weekend_none():
    months, hours = TimePartition("month", "UTC"), TimePartition("hour", "UTC")
    march = RangeSet.span(*months.parse_key("2025-03"))
    assert WORKDAYS.labels(OverlapMapping().required_ranges(march, consumer_time=months, inlet_time=WORKDAYS)) == [
        "2025-03-03..2025-03-31"
    ]
    friday = RangeSet.span(*WORKDAYS.parse_key("2025-02-28"))
    assert months.labels(OverlapMapping().affected_ranges(friday, consumer_time=months, inlet_time=WORKDAYS)) == [
        "2025-02"
    ]
    assert hours.labels(OverlapMapping().required_ranges(friday, consumer_time=WORKDAYS, inlet_time=hours)) == [
        "2025-02-28T00..2025-02-28T23"
    ]
    assert not OverlapMapping().required_ranges(
        RangeSet.span(*hours.parse_key("2025-03-01T05")), consumer_time=hours, inlet_time=WORKDAYS
    )
    week = WindowMapping.trailing(Duration(days=3))
    assert WORKDAYS.labels(
        week.required_ranges(
            RangeSet.span(*WORKDAYS.parse_key("2025-03-03")), consumer_time=WORKDAYS, inlet_time=WORKDAYS
        )
    ) == ["2025-03-03"]
    needs = Dependency(OverlapMapping(), Partitioning(months), Partitioning(WORKDAYS))
    assert needs.max_required(march, 1) == 20
    there = PartitionSet(RangeSet.span(*WORKDAYS.parse_keys("2025-02-28..2025-03-04")))
    assert not needs.having_enough(PartitionSet(march), there, 3)
    assert needs.having_enough(PartitionSet(march), there, 2) == PartitionSet(march)


def test_years_of_nothing_are_refused():
    with pytest.raises(PartitionError, match="all slots of the years around 2025 are excluded"):
        TimePartition("day", "UTC", exclude="* * * * *").next(int(datetime(2025, 1, 1, tzinfo=UTC).timestamp()))
