"""Very large sets that come again: what is remembered of them is what is computed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    Dependency,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
    WindowMapping,
    segment_functions,
)
from sparkassets.core.partitions import partition_set as sets_
from tests.core.partitions.segmented import assert_is, bounded_sets, members, sets

DAYS = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("a", ("be", "de")), SegmentPartition("b", ("x",))))
WEEKS = Partitioning(TimePartition("week", "UTC"), (SegmentPartition("a", ("be", "de")),))
mappings = st.sampled_from([OverlapMapping(), WindowMapping.trailing(Duration.parse("2d"))])
anything = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def everything_is_large(monkeypatch):
    for module in (segment_functions, sets_):
        monkeypatch.setattr(module, "MANY", 0)


@anything
@given(sets, sets)
def test_the_algebra(everything_is_large, a, b):
    for _ in range(2):
        assert_is(a | b, members(a) | members(b))
        assert_is(a & b, members(a) & members(b))
        assert_is(a - b, members(a) - members(b))


@given(sets, bounded_sets, mappings)
def test_what_is_asked_of_partitionings(a, b, mapping):
    both = Dependency(mapping, WEEKS, DAYS)
    plain = [
        DAYS.cover(a),
        DAYS.inside(a),
        both.affected_partitions(b),
        both.required_partitions(b & WEEKS.known_partitions),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_functions, "MANY", 0)
        for _ in range(2):
            assert [
                DAYS.cover(a),
                DAYS.inside(a),
                both.affected_partitions(b),
                both.required_partitions(b & WEEKS.known_partitions),
            ] == plain


def many(count, *, since=0):
    return PartitionSet.by_segment({(f"{number:05}",): RangeSet.span(since, 9) for number in range(count)})


def test_the_same_sets_come_to_the_same_set():
    a, b = many(2000), many(3000, since=5)
    assert (a | b) is (a | b)
    assert (a & a) is a
    assert (a | many(10)) is a
    assert (a & many(3000)) is a


def test_a_dimension_of_very_many_keys_is_compared_by_all_of_them():
    keys = tuple(map(str, range(1000)))
    one, other = SegmentPartition("a", keys), SegmentPartition("a", ("0", *map(str, range(2, 1001)), "999"))
    assert one == SegmentPartition("a", tuple(map(str, range(1000))))
    assert hash(one) == hash(SegmentPartition("a", tuple(map(str, range(1000)))))
    assert one != other
