"""What is asked of nearly the same very large set again: the same answer as from nothing, whatever changed."""

from operator import and_, or_, sub
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import PartitionSet, RangeSet
from sparkassets.core.partitions.common_ends import count_common_ends
from sparkassets.core.partitions.segment_functions import (
    DistinctValues,
    IncrementalAnswers,
    OneSidedRule,
    combine_values,
    differing_span,
    map_values,
)

KEYS = [(f"{number:03}",) for number in range(40)]
VALUES = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 3))


def apart(values):
    return tuple(sorted(values.items()))


@given(VALUES, st.lists(VALUES, max_size=6))
def test_answers_about_two_are_those_from_nothing(first, changes):
    nearby, ours, theirs = IncrementalAnswers(), apart(first), apart(first)
    for change in changes:
        ours = changed(ours, change)
        theirs = changed(theirs, {key: value for key, value in change.items() if value > 1})

        def joined(one, other):
            return combine_values(max, (0, one), (0, other), left_rule=OneSidedRule.KEPT, right_rule=OneSidedRule.KEPT)[
                1
            ]

        assert nearby.ask("max", (ours, theirs), joined) == joined(ours, theirs)
        less = nearby.ask("less", (theirs,), lambda some: map_values(str, (0, some))[1])
        assert less == tuple((key, str(value)) for key, value in theirs)


def changed(before, change):
    """Other values for some keys, the very same items for all else; a key with a 1 goes."""
    kept = [pair for pair in before if pair[0] not in change]
    return tuple(sorted([*kept, *((key, value) for key, value in change.items() if value > 1)]))


@given(VALUES, VALUES)
def test_both_differ_between_the_first_and_the_last_that_differ(one, other):
    keys = sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
    assert differing_span(apart(one), apart(other)) == ((keys[0], keys[-1]) if keys else None)


@given(st.text("ab"), st.text("ab"))
def test_what_both_have_in_common(one, other):
    start, end = count_common_ends(tuple(one), tuple(other))
    assert one[:start] == other[:start]
    assert not end or one[-end:] == other[-end:]
    assert start + end <= min(len(one), len(other))
    assert one[start : start + 1] != other[start : start + 1] or start == min(len(one), len(other))


@given(VALUES, st.lists(VALUES, max_size=6))
def test_the_different_values_are_known(first, changes):
    distinct, values = DistinctValues(), {number: RangeSet.span(0, number) for number in (1, 2, 3)}
    now = tuple((key, values[number]) for key, number in apart(first))
    for change in changes:
        moved = {**dict(now), **{key: values[number] for key, number in change.items()}}
        now = tuple((key, moved[key]) for key in sorted(moved))
        assert {id(each) for each in distinct.values(now)} == {id(time) for _, time in now}


@pytest.mark.parametrize("seed", range(4))
def test_very_large_sets_are_what_their_tuples_say(seed):
    random = Random(seed)  # noqa: S311  a test's own
    times = [RangeSet.span(start, start + 5) for start in range(0, 20, 2)]
    one, other = ({(f"{number:05}",): random.choice(times) for number in range(1_500)} for _ in range(2))
    for _ in range(6):
        for values in (one, other):
            for _ in range(random.choice([0, 1, 3])):
                values[(f"{random.randrange(1_600):05}",)] = random.choice([*times, RangeSet()])
        sets = PartitionSet.by_segment(one), PartitionSet.by_segment(other)
        for operator in (or_, and_, sub):
            found = operator(*sets)
            for key in {*one, *other}:
                assert found.time_of(key) == operator(one.get(key, RangeSet()), other.get(key, RangeSet()))
        assert sets[0].extent == (
            min(each.first for each in one.values() if each),
            max(each.last for each in one.values() if each),
        )
        hull = sets[0].hull()
        assert all(hull.time_of(key) == time for key, time in one.items())
