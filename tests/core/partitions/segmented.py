"""A small universe of partitions for the tests of sets: a set as Python's own, by tuple and instant.

Two tuples of segments that may stand apart and one that never does, for all others; every instant of a short time, and
one far before and one far after, for what is open at a side.
"""

from __future__ import annotations

from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, PartitionSet, RangeSet, StampedPartitions, StampedRanges
from sparkassets.core.partitions.segment_functions import value_at

SIZE = 12
NAMED = [("be", "x"), ("de", "x")]
OTHER = ("zz", "x")
SEGMENTS = [*NAMED, OTHER]
INSTANTS = [-(1 << 61), *range(-1, SIZE + 2), 1 << 61]

pairs = st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)), max_size=4)
bounded_times = pairs.map(RangeSet.from_pairs)
times = bounded_times | bounded_times.map(lambda ranges: RangeSet.always() - ranges)


def _sets(some):
    apart = st.dictionaries(st.sampled_from(NAMED), some, max_size=2)
    return some.map(PartitionSet) | st.builds(PartitionSet.by_segment, apart, some)


bounded_sets = _sets(bounded_times)
sets = _sets(times)
overlays = st.lists(st.tuples(sets, st.integers(1, 5)), max_size=4)


def members(parts):
    """The set as Python's own."""
    return {(segment, at) for segment in SEGMENTS for at in INSTANTS if at in parts.time_of(segment)}


ALL = members(EVERYTHING)


def assert_is(parts, expected):
    """It is that set, in the one form that such a set has."""
    assert members(parts) == expected
    assert_is_canonical(parts)
    for ranges in (parts.time, *(ranges for _, ranges in parts.apart)):
        assert all(start < end for start, end in ranges.pairs())
        assert all(end < start for end, start in zip(ranges.ends, ranges.starts[1:], strict=False))


def assert_is_canonical(lifted):
    segments = [segment for segment, _ in lifted.apart]
    assert segments == sorted(set(segments))
    assert all(value != lifted.time for _, value in lifted.apart)


def stamped(marks):
    found = StampedPartitions()
    for parts, stamp in marks:
        found = found.overlay(parts, stamp)
    return found


def stamp_at(marks: StampedRanges, at):
    return next((stamp for start, end, stamp in marks.items() if start <= at < end), None)


def stamps_of(marked: StampedPartitions, segment) -> StampedRanges:
    """The stamped time of one tuple."""
    return value_at((marked.time, marked.apart), segment)


def stamps(marked):
    """Tuple and instant to stamp."""
    found = {(segment, at): stamp_at(stamps_of(marked, segment), at) for segment in SEGMENTS for at in INSTANTS}
    return {key: stamp for key, stamp in found.items() if stamp is not None}
