import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions.segment_functions import (
    OneSidedRule,
    combine_values,
    from_mapping,
    map_values,
    value_at,
)

SEGMENTS = [(name,) for name in "abcdefgh"]
values = st.integers(0, 3)
mappings = st.dictionaries(st.sampled_from(SEGMENTS), values)
functions = st.builds(from_mapping, values, mappings)
OTHER = ("other",)


def assert_is(lifted, f):
    usual, apart = lifted
    assert [value_at(lifted, segment) for segment in [*SEGMENTS, OTHER]] == [
        f(segment) for segment in [*SEGMENTS, OTHER]
    ]
    assert [segment for segment, _ in apart] == sorted({segment for segment, _ in apart})
    assert all(value != usual for _, value in apart)


@given(values, mappings)
def test_from_mapping(usual, given_values):
    assert_is(from_mapping(usual, given_values), lambda segment: given_values.get(segment, usual))


@given(functions)
def test_mapped_is_of_every_value(a):
    assert_is(map_values(lambda value: value // 2, a), lambda segment: value_at(a, segment) // 2)


@given(functions, functions)
def test_combined_is_of_both_values(a, b):
    def f(one, other):
        return (3 * one - other) % 4

    assert_is(combine_values(f, a, b), lambda segment: f(value_at(a, segment), value_at(b, segment)))


@given(functions, mappings, mappings)
def test_what_is_said_of_values_alone_changes_nothing_but_the_time_that_it_takes(a, low, high):
    nothing, most = from_mapping(0, low), from_mapping(3, high)
    assert combine_values(max, a, nothing, left_rule=OneSidedRule.KEPT) == combine_values(max, a, nothing)
    assert combine_values(max, a, most, left_rule=OneSidedRule.LOST) == combine_values(max, a, most)
    assert combine_values(min, nothing, a, right_rule=OneSidedRule.LOST) == combine_values(min, nothing, a)
    assert combine_values(min, most, a, right_rule=OneSidedRule.KEPT) == combine_values(min, most, a)


@pytest.mark.parametrize("fate", [OneSidedRule.KEPT, OneSidedRule.LOST])
def test_what_is_said_of_values_alone_is_not_asked_one_by_one(fate):
    asked = []
    many = from_mapping(0, {(str(k),): 1 for k in range(1000)})
    few = from_mapping(0, {("500",): 2})
    combine_values(lambda a, b: asked.append((a, b)), many, few, left_rule=fate)
    assert asked == [(0, 0), (1, 2)]
