"""A partitioning of time alone answers as its dimension does; the whole of an asset is one partition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    UNPARTITIONED,
    PartitionError,
    Partitioning,
    PartitionSet,
    RangeSet,
    TimePartition,
)
from tests.core.clocks import instants_near_changes, zones

DAY = 86_400
SLOT_SECONDS = {"hour": 3600, "day": DAY, "week": 7 * DAY, "month": 31 * DAY, "quarter": 92 * DAY, "year": 366 * DAY}
PAST, FUTURE = RangeSet.always().first, RangeSet.always().last
DAYS = Partitioning(TimePartition("day", "UTC"))


def days(keys):
    return DAYS.parse(keys)


@st.composite
def partitions_and_time(draw):
    """A dimension of time, and some time near a change of its clocks."""
    time = TimePartition(draw(st.sampled_from(sorted(SLOT_SECONDS))), draw(zones))
    length = SLOT_SECONDS[time.by]
    start = draw(instants_near_changes(time.timezone)) - draw(st.integers(0, 3)) * length
    pairs = []
    for _ in range(draw(st.integers(0, 4))):
        end = start + draw(st.integers(1, 4 * length))
        pairs.append((start, end))
        start = end + draw(st.integers(1, 2 * length))
    ranges = RangeSet.from_pairs(pairs)
    return time, draw(st.sampled_from([ranges, time.cover(ranges), time.inside(ranges)]))


# ------------------------------------------------------------------ time alone


@given(partitions_and_time())
def test_sets_are_those_of_time(drawn):
    time, ranges = drawn
    partitioning, parts = Partitioning(time), PartitionSet(ranges)
    assert partitioning.is_partitioned
    assert partitioning.cover(parts) == PartitionSet(time.cover(ranges))
    assert partitioning.inside(parts) == PartitionSet(time.inside(ranges))
    assert partitioning.count(parts) == time.count(ranges)
    assert list(partitioning.each_partition(parts)) == [PartitionSet.span(*slot) for slot in time.slots(ranges)]
    assert list(partitioning.stretches(parts)) == [PartitionSet.span(*pair) for pair in time.inside(ranges).pairs()]


@given(partitions_and_time(), st.integers(1, 5))
def test_chunks_are_those_of_time(drawn, most):
    time, ranges = drawn
    partitioning, parts = Partitioning(time), PartitionSet(ranges)
    assert partitioning.split_into_chunks(parts, most) == [
        PartitionSet(chunk) for chunk in time.split_into_chunks(ranges, most)
    ]
    assert partitioning.oldest(parts, most) == PartitionSet(time.oldest(ranges, most))


@given(partitions_and_time(), st.none() | st.integers(0, 3))
def test_keys_are_those_of_time(drawn, most):
    time, ranges = drawn
    partitioning, parts = Partitioning(time), PartitionSet(ranges)
    labels = time.labels(ranges)
    assert partitioning.labels(parts) == labels
    assert partitioning.labels(parts, most=most) == labels[:most]
    assert partitioning.label_count(parts) == len(labels)
    assert list(partitioning.keys(parts)) == [time.key(start) for start, _ in time.slots(ranges)]
    assert [partitioning.parse(label) for label in labels] == list(partitioning.stretches(parts))


@given(st.data(), partitions_and_time())
def test_what_is_over_follows_from_the_clock(data, drawn):
    time, ranges = drawn
    partitioning, parts = Partitioning(time), PartitionSet(ranges)
    now = data.draw(instants_near_changes(time.timezone))
    assert partitioning.finished_partitions(now) & parts == parts.clip(None, time.floor(now))
    assert parts - partitioning.finished_partitions(now) == parts.clip(time.floor(now), None)
    turn = partitioning.next_rollover(now)
    assert (
        partitioning.finished_partitions(now)
        == partitioning.finished_partitions(turn - 1)
        != partitioning.finished_partitions(turn)
    )
    assert list(partitioning.each_partition(partitioning.newest_finished(now))) == [partitioning.newest_finished(now)]
    assert partitioning.newest_finished(now).last == partitioning.finished_partitions(now).last
    if parts:
        slots = list(time.slots(time.cover(ranges)))
        assert (partitioning.first_finish_time(parts), partitioning.last_finish_time(parts)) == (
            slots[0][1],
            slots[-1][1],
        )


@given(partitions_and_time(), st.booleans(), st.booleans())
def test_between_is_by_where_partitions_begin(drawn, since, until):
    time, ranges = drawn
    if not ranges:
        return
    low, high = ranges.first if since else None, ranges.last if until else None
    around = time.cover(RangeSet.span(time.previous(ranges.first), time.next(ranges.last)))
    begins = [
        slot for slot in time.slots(around) if (low is None or low <= slot[0]) and (high is None or slot[0] < high)
    ]
    found = Partitioning(time).partitions_between(low, high)
    assert found & PartitionSet(around) == PartitionSet.from_time_pairs(begins)
    if found:
        assert (found.first == PAST, found.last == FUTURE) == (not since, not until)


@given(partitions_and_time(), st.sampled_from(["1h", "36h", "1d", "7d", "1mo"]))
def test_before_is_the_partitions_that_overlap_the_time_before_each_stretch(drawn, text):
    time, ranges = drawn
    length = Duration.parse(text)
    behind = RangeSet.from_pairs(((-length).add_to(start, time.timezone), start) for start, _ in ranges.pairs())
    assert Partitioning(time).partitions_before(PartitionSet(ranges), length) == PartitionSet(time.cover(behind))


@given(partitions_and_time(), st.booleans(), st.booleans())
def test_what_is_open_at_a_side_is_covered_to_that_side(drawn, past, future):
    time, ranges = drawn
    if not ranges:
        return
    opened = ranges | RangeSet.span(PAST if past else ranges.first, ranges.ends[0])
    opened = opened | RangeSet.span(ranges.starts[-1], FUTURE if future else ranges.last)
    near = RangeSet.span(time.previous(time.previous(ranges.first)), time.next(time.next(ranges.last)))
    margin = 3 * SLOT_SECONDS[time.by]
    cut = opened.clip(ranges.first - margin if past else None, ranges.last + margin if future else None)
    for found, expected in (
        (Partitioning(time).cover(PartitionSet(opened)), time.cover(cut)),
        (Partitioning(time).inside(PartitionSet(opened)), time.inside(cut)),
    ):
        assert found.clip(near.first, near.last) == PartitionSet(expected).clip(near.first, near.last)
        assert (bool(found) and found.first == PAST, bool(found) and found.last == FUTURE) == (past, future)


def test_every_tuple_is_covered_for_itself():
    parts = PartitionSet.by_segment({("nl",): RangeSet.span(1, DAY + 1)}, RangeSet.span(0, DAY))
    covered = PartitionSet.by_segment({("nl",): RangeSet.span(0, 2 * DAY)}, RangeSet.span(0, DAY))
    assert DAYS.cover(parts) == covered
    assert DAYS.inside(parts) == PartitionSet.by_segment({("nl",): RangeSet()}, RangeSet.span(0, DAY))


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Partitioning(TimePartition("day", "UTC", "day", 0, DAY)), True),
        (Partitioning(TimePartition("hour", "UTC")), False),
        (Partitioning(TimePartition("day", "Europe/Berlin")), False),
        (UNPARTITIONED, False),
    ],
)
def test_same_grid(other, same):
    assert DAYS.same_grid(other) == other.same_grid(DAYS) == same


def test_everything_stays_everything_and_needs_no_name():
    assert DAYS.cover(EVERYTHING) is EVERYTHING
    assert DAYS.inside(EVERYTHING) is EVERYTHING
    assert DAYS.labels(EVERYTHING) == []
    assert DAYS.label_count(EVERYTHING) == 0
    assert list(DAYS.stretches(EVERYTHING)) == [EVERYTHING]
    assert DAYS.partitions_between(None, None) is EVERYTHING


def test_what_is_covered_already_is_returned_as_it_is():
    parts = days("2025-03-01..2025-03-09")
    assert DAYS.cover(parts) is parts
    assert DAYS.inside(parts) is parts


def test_keys_that_are_none():
    with pytest.raises(PartitionError) as error:
        DAYS.parse("2025-03-09..2025-03-01")
    assert str(error.value).startswith("partition range '2025-03-09..2025-03-01' ends before it starts")


# ------------------------------------------------------------------ the whole of an asset


def test_the_whole_is_one_partition():
    whole = UNPARTITIONED
    assert not whole.is_partitioned
    assert whole.same_grid(Partitioning())
    assert whole.count(EVERYTHING) == 1
    assert list(whole.each_partition(EVERYTHING)) == list(whole.stretches(EVERYTHING)) == [EVERYTHING]
    assert whole.split_into_chunks(EVERYTHING, 1) == [EVERYTHING]
    assert whole.oldest(EVERYTHING, 1) is EVERYTHING


@pytest.mark.parametrize("parts", [NOTHING, PartitionSet.span(0, DAY), EVERYTHING - PartitionSet.span(0, DAY)])
def test_less_than_the_whole_is_no_partition(parts):
    whole = UNPARTITIONED
    assert whole.cover(parts) is (EVERYTHING if parts else NOTHING)
    assert whole.inside(parts) is NOTHING
    assert whole.count(parts) == 0
    assert list(whole.each_partition(parts)) == list(whole.stretches(parts)) == whole.split_into_chunks(parts, 1) == []
    assert whole.oldest(parts, 1) is NOTHING


def test_the_whole_has_no_name():
    assert UNPARTITIONED.labels(EVERYTHING) == list(UNPARTITIONED.keys(EVERYTHING)) == []
    assert UNPARTITIONED.label_count(EVERYTHING) == 0
    with pytest.raises(PartitionError) as error:
        UNPARTITIONED.parse("2025-03-01")
    assert str(error.value) == "'2025-03-01' names a partition, but the asset has none\n  hint: leave it out"


def test_the_whole_knows_no_time():
    whole = UNPARTITIONED
    assert whole.finished_partitions(0) is whole.newest_finished(0) is whole.partitions_between(0, DAY) is EVERYTHING
    assert whole.next_rollover(0) is whole.first_finish_time(EVERYTHING) is whole.last_finish_time(EVERYTHING) is None
    assert whole.partitions_before(EVERYTHING, Duration(days=1)) is NOTHING
