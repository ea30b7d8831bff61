"""What partitions need and what needs them are adjoint, mapped or not, also of time that is open at a side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    UNPARTITIONED,
    Dependency,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    TimePartition,
    WindowMapping,
)
from tests.core.partitions.test_mappings import SLOT_SECONDS, neighbours

DAY = 86_400
YEARS = 5 * 366 * DAY
PAST, FUTURE = RangeSet.always().first, RangeSet.always().last
DAYS, HOURS = Partitioning(TimePartition("day", "UTC")), Partitioning(TimePartition("hour", "UTC"))


def dependency(mapping, down, up):
    return Dependency(mapping, Partitioning(down), Partitioning(up))


@given(neighbours())
def test_time_alone_goes_by_the_mapping(drawn):
    mapping, down, up, partitions, changed = drawn
    both = dependency(mapping, down, up)
    assert both.is_mapped
    assert both.required_partitions(PartitionSet(partitions)) == PartitionSet(
        mapping.required_ranges(partitions, consumer_time=down, inlet_time=up)
    )
    assert both.affected_partitions(PartitionSet(changed)) == PartitionSet(
        mapping.affected_ranges(changed, consumer_time=down, inlet_time=up)
    )


@given(neighbours())
def test_down_is_the_adjoint_of_up(drawn):
    mapping, down, up, partitions, changed = drawn
    both, changed = dependency(mapping, down, up), PartitionSet(changed)
    touched = both.affected_partitions(changed)
    for partition in list(both.consumer.each_partition(PartitionSet(partitions) | touched))[:12]:
        assert (
            touched.covers(partition)
            == touched.overlaps(partition)
            == both.required_partitions(partition).overlaps(changed)
        )


@given(neighbours(), st.booleans(), st.booleans())
def test_down_is_the_adjoint_of_up_where_time_is_open(drawn, past, future):
    mapping, down, up, partitions, changed = drawn
    both = dependency(mapping, down, up)
    opened = PartitionSet(
        changed
        | RangeSet.span(PAST if past else changed.first, changed.ends[0])
        | RangeSet.span(changed.starts[-1], FUTURE if future else changed.last)
    )
    touched = both.affected_partitions(opened)
    assert (bool(touched) and touched.first == PAST, bool(touched) and touched.last == FUTURE) == (past, future)
    width = 3 * SLOT_SECONDS[down.by]
    edges = [at for pair in changed.pairs() for at in pair]
    near = both.consumer.cover(
        PartitionSet.from_time_pairs((at - width, at + width) for at in edges) | PartitionSet(partitions)
    )
    for partition in list(both.consumer.each_partition(near))[:24]:
        assert (
            touched.covers(partition)
            == touched.overlaps(partition)
            == both.required_partitions(partition).overlaps(opened)
        )


@given(neighbours())
def test_up_of_partitions_that_go_on_begins_as_that_of_the_first(drawn):
    mapping, down, up, partitions, _ = drawn
    both, partitions = dependency(mapping, down, up), PartitionSet(partitions)
    needed = both.required_partitions(partitions.from_first_on())
    assert needed.first == both.required_partitions(partitions).first
    assert needed.last == FUTURE
    assert needed.covers(both.required_partitions(partitions))


@given(neighbours(), st.integers(1, 4))
def test_enough_counts_what_each_partition_needs(drawn, least):
    mapping, down, up, partitions, there = drawn
    both = dependency(mapping, down, up)
    found = both.having_enough(PartitionSet(partitions), PartitionSet(there), least)
    expected = [
        partition
        for partition in both.consumer.each_partition(PartitionSet(partitions))
        if both.inlet.count(both.required_partitions(partition) & PartitionSet(there)) >= least
    ]
    assert found == PartitionSet.union(expected)


@pytest.mark.parametrize(
    "both",
    [
        Dependency(None, DAYS, HOURS),
        Dependency(OverlapMapping(), DAYS, UNPARTITIONED),
        Dependency(OverlapMapping(), UNPARTITIONED, HOURS),
        Dependency(None, UNPARTITIONED, UNPARTITIONED),
    ],
)
def test_unmapped_all_partitions_need_all(both):
    some = PartitionSet.span(0, DAY)
    assert not both.is_mapped
    assert (
        both.required_partitions(some)
        is both.affected_partitions(some)
        is both.required_partitions(EVERYTHING)
        is EVERYTHING
    )
    assert both.required_partitions(NOTHING) is both.affected_partitions(NOTHING) is NOTHING
    assert both.having_enough(some, PartitionSet.span(0, 1), 5) is some
    assert both.having_enough(some, NOTHING, 1) is NOTHING


@pytest.mark.parametrize("mapping", [OverlapMapping(), WindowMapping.trailing(Duration(days=7))])
def test_nothing_and_everything(mapping):
    both = Dependency(mapping, DAYS, HOURS)
    assert not both.required_partitions(NOTHING)
    assert not both.affected_partitions(NOTHING)
    assert both.required_partitions(EVERYTHING) is both.affected_partitions(EVERYTHING) is EVERYTHING


def test_every_tuple_is_mapped_for_itself():
    changed = PartitionSet.by_segment({("nl",): RangeSet.span(0, 3600), ("de",): RangeSet.span(DAY, DAY + 3600)})
    partitions = PartitionSet.by_segment({("nl",): RangeSet.span(0, DAY), ("de",): RangeSet.span(DAY, 2 * DAY)})
    assert Dependency(OverlapMapping(), DAYS, HOURS).affected_partitions(changed) == partitions
    assert Dependency(OverlapMapping(), HOURS, DAYS).required_partitions(changed) == partitions
