"""Dimensions whose segments come to be known, against a look at single tuples."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import (
    EVERYTHING,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
)
from sparkassets.core.partitions.segments import WHOLE

REGIONS = ("de", "nl")
DAY = TimePartition("day", "UTC")
customers = st.lists(st.sampled_from("abc"), unique=True)
times = st.sampled_from([RangeSet.span(0, 86_400), RangeSet.span(86_400, 3 * 86_400), RangeSet.always()])


def partitioning(keys, *, by_time, listed_first):
    listed, learned = SegmentPartition("region", REGIONS), SegmentPartition("customer", tuple(keys), is_open=True)
    return Partitioning(
        DAY if by_time else None, (listed, learned) if listed_first else (learned, listed), int(by_time)
    )


@st.composite
def of_all(draw):
    """Partitions of which each is the whole of the open dimension."""
    first, by_time = draw(st.booleans()), draw(st.booleans())
    regions = draw(st.lists(st.sampled_from(REGIONS), unique=True, min_size=1))
    time = draw(times) if by_time else RangeSet.always()
    parts = {((region, WHOLE) if first else (WHOLE, region)): time for region in regions}
    return partitioning((WHOLE,), by_time=by_time, listed_first=first), PartitionSet.by_segment(parts)


@given(of_all(), customers)
def test_what_comes_out_is_each_segment_with_the_time_of_all(case, keys):
    whole, parts = case
    found = whole.resolve_whole(parts, {"customer": keys})
    expected = {
        tuple(key if part == WHOLE else part for part in segment): time
        for segment, time in parts.apart
        for key in keys or [WHOLE]
    }
    assert found == PartitionSet.by_segment(expected)
    assert whole.open_segments(found) == {"customer": set(keys)}


@given(st.dictionaries(st.tuples(*[st.sampled_from([WHOLE, "a", "b"])] * 2), times), customers, customers)
def test_what_comes_out_of_several_wholes_has_the_time_of_each(values, regions, keys):
    dimensions = (
        SegmentPartition("region", (WHOLE,), is_open=True),
        SegmentPartition("customer", (WHOLE,), is_open=True),
    )
    found = Partitioning(DAY, dimensions).resolve_whole(
        PartitionSet.by_segment(values), {"region": regions, "customer": keys}
    )
    for segment in product(*([*dict.fromkeys([*some, "a", "b", WHOLE])] for some in (regions, keys))):
        expected = [
            time
            for parts, time in values.items()
            if all(
                key in (some or [WHOLE]) if part == WHOLE else key == part
                for part, key, some in zip(parts, segment, (regions, keys), strict=True)
            )
        ]
        assert found.time_of(segment) == RangeSet.union(expected)


@given(of_all())
def test_rows_are_told_by_what_is_left(case):
    whole, parts = case
    less, rest = whole.without_whole_dimensions(parts)
    assert [each.column for each in less.segments] == ["region"]
    assert (less.time, less.time_at <= 1) == (whole.time, True)
    for segment, time in parts.apart:
        region = next(part for part in segment if part != WHOLE)
        assert rest.time_of((region,)) == time
    assert len(rest.apart) == len(parts.apart)


@given(customers, st.booleans(), st.dictionaries(st.tuples(st.sampled_from("dnx"), st.sampled_from("abcd")), times))
def test_what_is_admitted_is_listed_where_there_is_a_list(keys, by_time, values):
    own = partitioning(keys, by_time=by_time, listed_first=True)
    named = {"d": "de", "n": "nl", "x": "xx"}
    parts = PartitionSet.by_segment({(named[region], key): time for (region, key), time in values.items()})
    expected = {segment: time for segment, time in parts.apart if segment[0] in REGIONS}
    assert own.admissible_partitions(parts) == PartitionSet.by_segment(expected)


@given(customers, customers)
def test_keys_are_told_without_changing_the_grid(keys, more):
    own = partitioning(sorted(keys), by_time=True, listed_first=True)
    wider = own.with_keys({"customer": tuple(sorted({*keys, *more}))})
    assert wider.same_grid(own)
    assert wider.as_declared == own.as_declared
    assert (wider is own) == ({*keys, *more} == {*keys})
    assert wider.known_partitions == PartitionSet.by_segment(
        dict.fromkeys(product(REGIONS, sorted({*keys, *more})), EVERYTHING.time)
    )


@st.composite
def of_some(draw):
    """Partitions of which some are the whole of the open dimension, or of a key of it."""
    tuples = draw(st.lists(st.tuples(st.sampled_from(REGIONS), st.sampled_from(["a", "b", WHOLE])), unique=True))
    return PartitionSet.by_segment({segment: draw(times) for segment in tuples})


@given(of_some(), of_some(), customers)
def test_what_may_be_in_both_and_what_is_of_known_ones(one, other, keys):
    known = partitioning(keys, by_time=True, listed_first=True)

    def slots(parts):
        pool = {region: [*"abcd", *keys] for region in REGIONS}
        return {
            (region, key, day)
            for (region, own), ranges in parts.apart
            for key in (pool[region] if own == WHOLE else [own])
            for day in (-1, 0, 1, 2, 3)
            if ranges.overlaps(RangeSet.span(day * 86_400, (day + 1) * 86_400))
        }

    assert known.may_overlap(one, other) == bool(slots(one) & slots(other)) == known.may_overlap(other, one)
    times = [(segment, ranges) for segment, ranges in one.apart if segment[1] != WHOLE]
    wholes = [((region, key), ranges) for (region, own), ranges in one.apart if own == WHOLE for key in keys or [WHOLE]]
    assert known.resolve_known_whole(one) == PartitionSet.union(
        PartitionSet.by_segment(dict([each])) for each in times + wholes
    )
