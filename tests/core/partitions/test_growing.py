"""Ranges that grow in place are what the values would be, addition by addition."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import RangeSet, StampedRanges
from sparkassets.core.partitions.stamped_partitions import GrowingRanges, GrowingStamps

pairs = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 30)), max_size=5)
some = pairs.map(lambda found: RangeSet.from_pairs((start, start + length) for start, length in found))
many = st.integers(0, 3).map(lambda first: RangeSet.from_pairs((first + 4 * k, first + 4 * k + 1) for k in range(100)))
sets = some | many


@given(sets, st.lists(st.tuples(st.booleans(), sets), max_size=6))
def test_growing_ranges_are_unions_and_differences(start, steps):
    growing, value = GrowingRanges(start), start
    for adds, ranges in steps:
        if adds:
            growing.add(ranges)
            value = value | ranges
        else:
            growing.remove(ranges)
            value = value - ranges
        assert growing.result() == value


@given(st.lists(st.tuples(sets, st.integers(1, 4)), max_size=7))
def test_growing_stamps_are_overlays(steps):
    growing, value = GrowingStamps(StampedRanges()), StampedRanges()
    for ranges, stamp in steps:
        growing.overlay(ranges, stamp)
        value = value.overlay(ranges, stamp)
        assert growing.result() == value


def test_what_grows_leaves_the_value_that_it_began_with():
    before = RangeSet.from_pairs([(1, 2), (5, 6)])
    growing = GrowingRanges(before)
    growing.add(RangeSet.span(2, 5))
    assert (before, growing.result()) == (RangeSet.from_pairs([(1, 2), (5, 6)]), RangeSet.span(1, 6))
