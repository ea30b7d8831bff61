"""Stamped sets of partitions are a stamp for each tuple and instant that has one."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet, StampedPartitions, StampedRanges
from tests.core.partitions.segmented import (
    assert_is_canonical,
    members,
    overlays,
    sets,
    stamped,
    stamps,
    times,
)

numbers = st.integers(1, 5)


def assert_is(marked, expected):
    assert stamps(marked) == expected
    assert members(marked.stamped_partitions()) == set(expected)
    assert bool(marked) == bool(expected)
    assert marked.newest == max(expected.values(), default=None)
    assert_is_canonical(marked)
    assert_is_canonical(marked.stamped_partitions())


@given(overlays)
def test_overlay_keeps_the_newest(marks):
    expected = {}
    for parts, stamp in marks:
        expected |= {key: max(stamp, expected.get(key, 0)) for key in members(parts)}
    assert_is(stamped(marks), expected)


@given(overlays, overlays)
def test_merged_stamps_are_the_overlays_of_both(some, others):
    merged = stamped(some).merge(stamped(others))
    assert merged == stamped([*some, *others])
    assert merged.merged_stamps() == reduce(StampedRanges.merge, [each for _, each in merged.apart], merged.time)


@given(overlays, sets, numbers)
def test_clear_spares_what_is_newer(marks, parts, through):
    before, cleared = stamps(stamped(marks)), members(parts)
    after = {key: stamp for key, stamp in before.items() if key not in cleared or stamp > through}
    assert_is(stamped(marks).without_stamped(parts, through), after)


@given(overlays, numbers)
def test_since(marks, after):
    marked = stamped(marks)
    assert_is(marked.stamped_after(after), {key: stamp for key, stamp in stamps(marked).items() if stamp > after})


@given(overlays)
def test_items_are_each_stamp_with_all_that_has_it(marks):
    marked = stamped(marks)
    items = list(marked.items())
    assert [stamp for _, stamp in items] == sorted(set(stamps(marked).values()))
    for parts, stamp in items:
        assert members(parts) == {key for key, found in stamps(marked).items() if found == stamp}
        assert_is_canonical(parts)
    assert stamped(items) == marked


@given(st.lists(st.tuples(times, numbers), max_size=4), times, numbers)
def test_time_alone_is_stamped_time(marks, ranges, through):
    marked, plain = StampedPartitions(), StampedRanges()
    for some, stamp in marks:
        marked, plain = marked.overlay(PartitionSet(some), stamp), plain.overlay(some, stamp)
    assert marked == StampedPartitions(plain)
    assert marked.without_stamped(PartitionSet(ranges), through) == StampedPartitions(
        plain.without_stamped(ranges, through)
    )
    assert marked.stamped_partitions() == PartitionSet(plain.ranges())


def test_nothing_is_stamped_or_cleared_by_nothing():
    marked = StampedPartitions().overlay(PartitionSet.span(0, 9), 7)
    assert marked.overlay(NOTHING, 9) is marked
    assert marked.without_stamped(NOTHING, 9) is marked
    assert marked.stamped_after(6) is marked
    assert not marked.without_stamped(EVERYTHING, 7)
