from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import RangeSet, StampedRanges

SIZE = 30
pairs = st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)), max_size=6)
range_sets = pairs.map(RangeSet.from_pairs)
stamps = st.integers(1, 5)
overlays = st.lists(st.tuples(range_sets, stamps), max_size=5)


def stamped(marks):
    found = StampedRanges()
    for ranges, stamp in marks:
        found = found.overlay(ranges, stamp)
    return found


def model(marked):
    """Epoch to stamp."""
    return {unix: stamp for start, end, stamp in marked.items() for unix in range(start, end)}


def assert_is(marked, expected):
    assert model(marked) == expected
    items = list(marked.items())
    assert all(start < end for start, end, _ in items)
    for (_, end, stamp), (start, _, next_stamp) in pairwise(items):
        assert end < start or (end == start and stamp != next_stamp)
    assert marked.ranges() == RangeSet.from_pairs((unix, unix + 1) for unix in expected)


@given(overlays)
def test_overlay_keeps_the_newest(marks):
    expected = {}
    for ranges, stamp in marks:
        for start, end in ranges.pairs():
            expected |= {unix: max(stamp, expected.get(unix, 0)) for unix in range(start, end)}
    assert_is(stamped(marks), expected)


@given(overlays, range_sets, stamps)
def test_clear_spares_what_is_newer(marks, ranges, through):
    before = model(stamped(marks))
    after = {unix: stamp for unix, stamp in before.items() if unix not in ranges or stamp > through}
    assert_is(stamped(marks).without_stamped(ranges, through), after)


@given(overlays, stamps)
def test_since(marks, after):
    marked = stamped(marks)
    assert_is(marked.stamped_after(after), {unix: stamp for unix, stamp in model(marked).items() if stamp > after})


def test_length_and_truth():
    assert len(stamped([(RangeSet.from_pairs([(0, 1), (2, 3)]), 7)])) == 2
    assert not StampedRanges()
