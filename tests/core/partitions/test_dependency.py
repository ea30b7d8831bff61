"""What blocks need and what needs them are adjoint, mapped or not, also of time that is open at a side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    UNPARTITIONED,
    Dependency,
    Overlap,
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
    mapping, down, up, blocks, changed = drawn
    both = dependency(mapping, down, up)
    assert both.is_mapped
    assert both.up(PartitionSet(blocks)) == PartitionSet(mapping.up(blocks, down=down, up=up))
    assert both.down(PartitionSet(changed)) == PartitionSet(mapping.down(changed, down=down, up=up))


@given(neighbours())
def test_down_is_the_adjoint_of_up(drawn):
    mapping, down, up, blocks, changed = drawn
    both, changed = dependency(mapping, down, up), PartitionSet(changed)
    touched = both.down(changed)
    for block in list(both.consumer.each(PartitionSet(blocks) | touched))[:12]:
        assert touched.covers(block) == touched.overlaps(block) == both.up(block).overlaps(changed)


@given(neighbours(), st.booleans(), st.booleans())
def test_down_is_the_adjoint_of_up_where_time_is_open(drawn, past, future):
    mapping, down, up, blocks, changed = drawn
    both = dependency(mapping, down, up)
    opened = PartitionSet(
        changed
        | RangeSet.span(PAST if past else changed.first, changed.ends[0])
        | RangeSet.span(changed.starts[-1], FUTURE if future else changed.last)
    )
    touched = both.down(opened)
    assert (bool(touched) and touched.first == PAST, bool(touched) and touched.last == FUTURE) == (past, future)
    width = 3 * SLOT_SECONDS[down.by]
    edges = [at for pair in changed.pairs() for at in pair]
    near = both.consumer.cover(PartitionSet.of_time((at - width, at + width) for at in edges) | PartitionSet(blocks))
    for block in list(both.consumer.each(near))[:24]:
        assert touched.covers(block) == touched.overlaps(block) == both.up(block).overlaps(opened)


@given(neighbours())
def test_up_of_blocks_that_go_on_begins_as_that_of_the_first(drawn):
    mapping, down, up, blocks, _ = drawn
    both, blocks = dependency(mapping, down, up), PartitionSet(blocks)
    needed = both.up(blocks.onward())
    assert needed.first == both.up(blocks).first
    assert needed.last == FUTURE
    assert needed.covers(both.up(blocks))


@given(neighbours(), st.integers(1, 4))
def test_enough_counts_what_each_block_needs(drawn, least):
    mapping, down, up, blocks, there = drawn
    both = dependency(mapping, down, up)
    found = both.enough(PartitionSet(blocks), PartitionSet(there), least)
    expected = [
        block
        for block in both.consumer.each(PartitionSet(blocks))
        if both.inlet.count(both.up(block) & PartitionSet(there)) >= least
    ]
    assert found == PartitionSet.union(expected)


@pytest.mark.parametrize(
    "both",
    [
        Dependency(None, DAYS, HOURS),
        Dependency(Overlap(), DAYS, UNPARTITIONED),
        Dependency(Overlap(), UNPARTITIONED, HOURS),
        Dependency(None, UNPARTITIONED, UNPARTITIONED),
    ],
)
def test_unmapped_all_blocks_need_all(both):
    some = PartitionSet.span(0, DAY)
    assert not both.is_mapped
    assert both.up(some) is both.down(some) is both.up(EVERYTHING) is EVERYTHING
    assert both.up(NOTHING) is both.down(NOTHING) is NOTHING
    assert both.enough(some, PartitionSet.span(0, 1), 5) is some
    assert both.enough(some, NOTHING, 1) is NOTHING


@pytest.mark.parametrize("mapping", [Overlap(), WindowMapping.trailing(Duration(days=7))])
def test_nothing_and_everything(mapping):
    both = Dependency(mapping, DAYS, HOURS)
    assert not both.up(NOTHING)
    assert not both.down(NOTHING)
    assert both.up(EVERYTHING) is both.down(EVERYTHING) is EVERYTHING


def test_every_tuple_is_mapped_for_itself():
    changed = PartitionSet.by_segment({("nl",): RangeSet.span(0, 3600), ("de",): RangeSet.span(DAY, DAY + 3600)})
    blocks = PartitionSet.by_segment({("nl",): RangeSet.span(0, DAY), ("de",): RangeSet.span(DAY, 2 * DAY)})
    assert Dependency(Overlap(), DAYS, HOURS).down(changed) == blocks
    assert Dependency(Overlap(), HOURS, DAYS).up(changed) == blocks
