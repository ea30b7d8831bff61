"""Sets of partitions that grow in place are what the values would be, change by change."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import NOTHING, PartitionSet, RangeSet, StampedPartitions
from sparkassets.core.partitions.stamped_partitions import GrowingPartitions, GrowingStampedPartitions
from tests.core.partitions.segmented import NAMED, overlays, sets, stamped

steps = st.lists(st.tuples(st.booleans(), sets), max_size=6)


@given(sets, steps)
def test_growing_partitions_are_unions_and_differences(start, given_steps):
    growing, value = GrowingPartitions(start), start
    for adds, parts in given_steps:
        if adds:
            growing.add(parts)
            value = value | parts
        else:
            growing.remove(parts)
            value = value - parts
        assert growing.result() == value


@given(overlays, overlays)
def test_growing_stamps_are_overlays(start, given_steps):
    growing, value = GrowingStampedPartitions(stamped(start)), stamped(start)
    for parts, stamp in given_steps:
        growing.overlay(parts, stamp)
        value = value.overlay(parts, stamp)
        assert growing.result() == value


def test_what_grows_leaves_the_value_that_it_began_with():
    before = PartitionSet.by_segment({NAMED[0]: RangeSet.span(1, 2)})
    growing = GrowingPartitions(before)
    growing.add(PartitionSet.by_segment({NAMED[0]: RangeSet.span(2, 3), NAMED[1]: RangeSet.span(0, 1)}))
    assert before == PartitionSet.by_segment({NAMED[0]: RangeSet.span(1, 2)})
    assert growing.result() == PartitionSet.by_segment({NAMED[0]: RangeSet.span(1, 3), NAMED[1]: RangeSet.span(0, 1)})


def test_what_stood_apart_and_is_like_the_others_again_does_not_stand_apart():
    growing = GrowingPartitions(PartitionSet.by_segment({NAMED[0]: RangeSet.span(0, 1)}))
    growing.remove(PartitionSet.span(0, 9))
    assert growing.result() == NOTHING
    marks = GrowingStampedPartitions(StampedPartitions())
    marks.overlay(PartitionSet.by_segment({NAMED[0]: RangeSet.span(0, 1)}), 7)
    marks.overlay(PartitionSet.span(0, 1), 8)
    assert marks.result().apart == ()
