import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import RangeSet

SIZE = 40
pairs = st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)), max_size=12)
range_sets = pairs.map(RangeSet.from_pairs)


def members(ranges):
    """The set as Python's own, the model of the algebra."""
    return {unix for start, end in ranges.pairs() for unix in range(start, end)}


def assert_is(ranges, expected):
    assert members(ranges) == expected
    assert all(start < end for start, end in ranges.pairs())
    assert all(end < start for end, start in zip(ranges.ends, ranges.starts[1:], strict=False))


@given(pairs)
def test_of_is_the_union_of_its_pairs(given_pairs):
    assert_is(RangeSet.from_pairs(given_pairs), {unix for start, end in given_pairs for unix in range(start, end)})


@given(range_sets, range_sets)
def test_algebra_is_that_of_sets(a, b):
    assert_is(a | b, members(a) | members(b))
    assert_is(a & b, members(a) & members(b))
    assert_is(a - b, members(a) - members(b))


@given(range_sets, range_sets)
def test_questions_are_those_of_sets(a, b):
    assert a.covers(b) == (members(b) <= members(a))
    assert a.overlaps(b) == bool(members(a) & members(b))
    assert [unix in a for unix in range(-1, SIZE + 1)] == [unix in members(a) for unix in range(-1, SIZE + 1)]
    assert bool(a) == bool(members(a))
    assert (a == b) == (members(a) == members(b))


@given(range_sets, range_sets)
def test_minus_then_union_restores(a, b):
    assert (a - b) | (a & b) == a


@given(range_sets, st.none() | st.integers(-2, SIZE), st.none() | st.integers(-2, SIZE))
def test_clip(a, start, end):
    low, high = -10 if start is None else start, SIZE + 10 if end is None else end
    assert_is(a.clip(start, end), members(a) & set(range(low, high)))


@given(range_sets, st.integers(-2, SIZE + 2))
def test_after(a, unix):
    assert a.first_instant_from(unix) == min((each for each in members(a) if each >= unix), default=None)


@given(range_sets.filter(bool))
def test_first_and_last(a):
    assert (a.first, a.last) == (min(members(a)), max(members(a)) + 1)


def test_empty_has_no_ends():
    assert len(RangeSet()) == 0
    with pytest.raises(IndexError):
        _ = RangeSet().first


@pytest.mark.parametrize(("start", "end", "expected"), [(1, 3, [(1, 3)]), (3, 3, []), (3, 1, [])])
def test_span(start, end, expected):
    assert list(RangeSet.span(start, end).pairs()) == expected


def test_equal_sets_hash_alike():
    assert len({RangeSet.from_pairs([(1, 2), (2, 3)]), RangeSet.span(1, 3)}) == 1


def test_is_a_value():
    with pytest.raises(AttributeError):
        RangeSet().starts = (1,)


def test_what_one_range_holds_is_returned_as_it_is():
    some, around = RangeSet.from_pairs([(1, 3), (5, 7)]), RangeSet.span(0, 9)
    assert some & around is some
    assert around & some is some
    assert some | around is around
    assert around | some is around
    assert not some - around
    assert RangeSet.union([some, RangeSet(), RangeSet.from_pairs(some.pairs())]) is some
