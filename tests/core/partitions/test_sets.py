"""A set of partitions is what Python's own set of tuples and instants is, for every operation, in one form only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet, RangeSet
from tests.core.partitions.segmented import (
    ALL,
    INSTANTS,
    NAMED,
    OTHER,
    SEGMENTS,
    SIZE,
    assert_is,
    bounded_sets,
    bounded_times,
    members,
    sets,
    times,
)


@given(sets, sets)
def test_algebra_is_that_of_sets(a, b):
    assert_is(a | b, members(a) | members(b))
    assert_is(a & b, members(a) & members(b))
    assert_is(a - b, members(a) - members(b))
    assert_is(EVERYTHING - a, ALL - members(a))


@given(sets, sets)
def test_questions_are_those_of_sets(a, b):
    assert a.covers(b) == (members(b) <= members(a))
    assert a.overlaps(b) == bool(members(a) & members(b))
    assert bool(a) == bool(members(a))
    assert (a == b) == (members(a) == members(b))
    assert a.is_everything == (members(a) == ALL)


@given(sets, sets, sets)
def test_laws(a, b, c):
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)
    assert a & (b | c) == (a & b) | (a & c)
    assert a | (b & c) == (a | b) & (a | c)
    assert EVERYTHING - (a | b) == (EVERYTHING - a) & (EVERYTHING - b)
    assert EVERYTHING - (a & b) == (EVERYTHING - a) | (EVERYTHING - b)
    assert EVERYTHING - (EVERYTHING - a) == a
    assert a - b == a & (EVERYTHING - b)
    assert (a - b) | (a & b) == a
    assert (a | b, a & b) == (b | a, b & a)


@given(st.lists(st.tuples(st.sampled_from([*SEGMENTS, OTHER]), st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)))))
def test_slots_are_united_by_their_tuples(slots):
    each = (PartitionSet.by_segment({segment: RangeSet.span(*pair)}) for segment, pair in slots)
    assert PartitionSet.from_slots(slots) == PartitionSet.union(each)
    assert PartitionSet.from_slots(((), pair) for _, pair in slots) == PartitionSet.from_time_pairs(
        pair for _, pair in slots
    )


@given(sets)
def test_nothing_and_everything(a):
    assert (a | NOTHING, a & EVERYTHING, a - NOTHING) == (a, a, a)
    assert (a | EVERYTHING, a & NOTHING, a - EVERYTHING, a - a) == (EVERYTHING, NOTHING, NOTHING, NOTHING)
    assert (a | a, a & a) == (a, a)


@given(st.lists(sets, max_size=6))
def test_union(given_sets):
    assert_is(PartitionSet.union(given_sets), set().union(*map(members, given_sets)))


@given(st.dictionaries(st.sampled_from(NAMED), times), st.none() | times)
def test_by_segment(given_times, others):
    parts = PartitionSet.by_segment(given_times, others)
    expected = {
        (segment, at) for segment in SEGMENTS for at in INSTANTS if at in given_times.get(segment, others or RangeSet())
    }
    assert_is(parts, expected)


@given(sets, st.none() | st.integers(-2, SIZE), st.none() | st.integers(-2, SIZE))
def test_clip(a, start, end):
    inside = [at for at in INSTANTS if (start is None or start <= at) and (end is None or at < end)]
    assert_is(a.clip(start, end), {(segment, at) for segment, at in members(a) if at in inside})


@given(sets)
def test_lift_is_of_every_tuple(a):
    lifted = a.map_time(lambda ranges: RangeSet.always() - ranges)
    assert_is(lifted, ALL - members(a))


@given(bounded_sets)
def test_hull_heads_and_what_goes_on(a):
    def of(segment):
        return sorted(at for each, at in members(a) if each == segment)

    spans = {segment: (min(of(segment)), max(of(segment))) for segment in SEGMENTS if of(segment)}
    assert_is(a.hull(), {(each, at) for each, (low, high) in spans.items() for at in INSTANTS if low <= at <= high})
    assert_is(a.from_first_on(), {(each, at) for each, (low, _) in spans.items() for at in INSTANTS if low <= at})
    assert_is(a.before_first(), {(each, at) for each, (low, _) in spans.items() for at in INSTANTS if at < low})
    assert_is(a.range_heads(), {(each, at) for each, at in members(a) if at - 1 not in of(each)})


@given(bounded_sets)
def test_first_last_and_extent(a):
    instants = [at for _, at in members(a)]
    if instants:
        assert (a.first, a.last) == (min(instants), max(instants) + 1)
        assert a.extent == (a.first, a.last)
    else:
        assert a.extent is None
        with pytest.raises(IndexError):
            _ = NOTHING.first


@given(sets, st.integers(-1, SIZE + 1))
def test_after(a, instant):
    found = [ranges.first_instant_from(instant) for ranges in map(a.time_of, SEGMENTS)]
    assert a.first_instant_from(instant) == min((at for at in found if at is not None), default=None)


@pytest.mark.parametrize(
    "ranges", [RangeSet.always(), RangeSet.always().clip(5, None), RangeSet.always().clip(None, 5)]
)
def test_what_is_open_at_a_side_has_no_extent(ranges):
    assert PartitionSet(ranges).extent is None


@given(bounded_times, bounded_times)
def test_time_alone_is_the_algebra_of_ranges(a, b):
    assert PartitionSet(a) | PartitionSet(b) == PartitionSet(a | b)
    assert PartitionSet(a) & PartitionSet(b) == PartitionSet(a & b)
    assert PartitionSet(a) - PartitionSet(b) == PartitionSet(a - b)
    assert PartitionSet.from_time_pairs(a.pairs()) == PartitionSet(a)


def test_what_holds_all_of_the_other_is_returned_as_it_is():
    some, around = PartitionSet.from_time_pairs([(1, 3), (5, 7)]), PartitionSet.span(0, 9)
    assert some & around is some
    assert around & some is some
    assert some | around is around
    assert around | some is around
    assert some - PartitionSet.span(20, 30) is some
    assert PartitionSet.union([some, NOTHING, PartitionSet.from_time_pairs([(1, 3), (5, 7)])]) is some
    assert some.clip(0, 9) is some


def test_all_but():
    but = EVERYTHING - PartitionSet.by_segment({NAMED[0]: RangeSet.span(3, 5)})
    assert but.time_of(OTHER) == RangeSet.always()
    assert list(but.time_of(NAMED[0]).pairs()) == [(RangeSet.always().first, 3), (5, RangeSet.always().last)]


def test_equal_sets_hash_alike_and_are_values():
    assert len({PartitionSet.from_time_pairs([(1, 2), (2, 3)]), PartitionSet.span(1, 3)}) == 1
    with pytest.raises(AttributeError):
        NOTHING.time = RangeSet.always()
