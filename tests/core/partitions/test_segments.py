"""Partitionings with segments: by ranges and tuples, and equal to what single partitions say."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    UNPARTITIONED,
    Dependency,
    OverlapMapping,
    PartitionError,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
    WindowMapping,
)
from sparkassets.core.partitions.segments import WHOLE, decode_segment, encode_segment

HOUR, DAY = 3600, 86_400
DAYS, HOURS = TimePartition("day", "UTC"), TimePartition("hour", "UTC")
REGIONS = SegmentPartition("region", ("de", "nl", "us"))
STORES = SegmentPartition("store", ("a", "b"))
TIERS = SegmentPartition("tier", ("x", "y"))

partitionings = st.tuples(
    st.sampled_from([None, DAYS, HOURS]),
    st.permutations([REGIONS, STORES, TIERS]),
    st.integers(0, 2),
    st.integers(0, 2),
).map(lambda drawn: Partitioning(drawn[0], tuple(drawn[1][: drawn[2]]), min(drawn[2:])))


def slots(partitioning):
    """Every single partition of two days."""
    keys = list(product(*(each.keys for each in partitioning.segments)))
    if partitioning.time is None:
        return [(key, None) for key in keys]
    length = DAY if partitioning.time.by == "day" else HOUR
    return [(key, at) for key in keys for at in range(0, 2 * DAY, length)]


def length(partitioning):
    return DAY if partitioning.time.by == "day" else HOUR


def set_of(partitioning, chosen):
    """The set of single partitions."""
    times = {}
    for key, at in chosen:
        always = at is None
        times.setdefault(key, []).append(RangeSet.always() if always else RangeSet.span(at, at + length(partitioning)))
    united = {key: RangeSet.union(ranges) for key, ranges in times.items()}
    return PartitionSet.by_segment(united) if partitioning.segments else PartitionSet(united.get((), RangeSet()))


@st.composite
def chosen(draw):
    partitioning = draw(partitionings)
    some = draw(st.lists(st.sampled_from(slots(partitioning)), unique=True, max_size=20))
    return partitioning, sorted(some, key=lambda each: (each[1] or 0, each[0]))


@given(st.text(max_size=8).filter(lambda text: text != WHOLE))
def test_a_key_of_any_text_is_read_back(text):
    key = encode_segment(text)
    assert decode_segment(key) == text
    assert not set(key) & {",", "\n", "\x1b"}
    assert key not in ("", "*")
    assert ".." not in key


def test_a_key_that_is_no_text_is_refused():
    with pytest.raises(PartitionError, match="'%ff' cannot be a segment key: its bytes are not UTF-8"):
        decode_segment("%ff")


@given(chosen(), st.integers(1, 7))
def test_partitions_are_counted_listed_and_cut_as_they_are(drawn, most):
    partitioning, some = drawn
    parts, singles = set_of(partitioning, some), [set_of(partitioning, [each]) for each in some]
    assert partitioning.count(parts) == len(some)
    assert list(partitioning.each_partition(parts)) == singles
    known = [(key, None if partitioning.time is None else at) for at, _, key in partitioning.slots(parts)]
    assert known == some
    assert partitioning.cover(parts) == partitioning.inside(parts) == parts
    whole = not partitioning.is_partitioned
    if not whole:
        cuts = [PartitionSet.union(singles[i : i + most]) for i in range(0, len(singles), most)]
        assert partitioning.split_into_chunks(parts, most) == cuts
        assert partitioning.oldest(parts, most) == PartitionSet.union(singles[:most])
        keys = list(partitioning.keys(parts))
        assert [partitioning.parse(key) for key in keys] == singles
        labels = partitioning.labels(parts)
        assert PartitionSet.union(map(partitioning.parse, labels)) == parts
        assert list(partitioning.stretches(parts)) == [partitioning.parse(label) for label in labels]
        assert partitioning.label_count(parts) == len(labels)
        assert partitioning.labels(parts, most=2) == labels[:2]


@given(chosen(), st.randoms(use_true_random=False))
def test_what_was_recorded_is_read_whatever_is_known_now(drawn, random):
    partitioning, some = drawn
    left = [
        SegmentPartition(each.column, tuple(k for k in each.keys if random.random() < 0.5))
        for each in partitioning.segments
    ]
    now = Partitioning(partitioning.time, tuple(left), partitioning.time_at)
    if partitioning.is_partitioned:
        parts = set_of(partitioning, some)
        labels = partitioning.labels(parts)
        assert PartitionSet.union(now.parse(label, recorded=True) for label in labels) == parts


@given(chosen())
def test_what_is_cut_counts_as_a_whole_or_not_at_all(drawn):
    partitioning, some = drawn
    if partitioning.time is None:
        return
    cut = set_of(partitioning, some).map_time(
        lambda ranges: RangeSet.from_pairs((start, start + 1) for start, _ in partitioning.time.slots(ranges))
    )
    assert partitioning.cover(cut) == set_of(partitioning, some)
    assert partitioning.inside(cut) == NOTHING


def test_what_is_the_same_for_all_is_that_of_the_known_keys():
    both = Partitioning(DAYS, (REGIONS,), time_at=1)
    assert both.count(PartitionSet.span(0, 2 * DAY)) == 6
    assert both.labels(PartitionSet.span(0, DAY)) == ["de,1970-01-01", "nl,1970-01-01", "us,1970-01-01"]
    assert both.finished_partitions(DAY + 5) == both.known_partitions & PartitionSet.span(RangeSet.always().first, DAY)
    assert both.newest_finished(DAY + 5) == both.known_partitions & PartitionSet.span(0, DAY)
    assert both.partitions_between(1, 2 * DAY) == both.known_partitions & PartitionSet.span(DAY, 2 * DAY)
    assert Partitioning(None, (REGIONS,)).finished_partitions(0) == Partitioning(None, (REGIONS,)).known_partitions
    gone = PartitionSet.by_segment({("gone",): RangeSet.span(0, DAY)})
    assert not gone & both.known_partitions
    assert both.labels(gone) == ["gone,1970-01-01"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1970-01-01,nk", "'nk' is not a segment of region\n  hint: known are de, nl, us"),
        ("1970-01-01,nl,a", "'1970-01-01,nl,a' has 3 parts separated by commas; expected day,region"),
        ("1970-01,nl", "'1970-01' is not a partition key by day; expected one such as 2013-01-05"),
    ],
)
def test_a_wrong_key_says_what_is_wrong(text, said):
    with pytest.raises(PartitionError) as caught:
        Partitioning(DAYS, (REGIONS,)).parse(text)
    assert str(caught.value).startswith(said)


def test_everything_needs_no_name():
    both = Partitioning(DAYS, (REGIONS,))
    assert both.display_labels(EVERYTHING) == both.labels(EVERYTHING) == []
    assert both.display_label_count(EVERYTHING) == both.label_count(EVERYTHING) == 0


def test_a_star_or_nothing_means_all():
    both = Partitioning(DAYS, (REGIONS, STORES))
    day = PartitionSet.span(0, DAY)
    assert both.parse("1970-01-01") == both.parse("1970-01-01,*,") == both.known_partitions & day
    assert both.parse("1970-01-01,,a") == PartitionSet.union(
        both.parse(f"1970-01-01,{region},a") for region in REGIONS.keys
    )
    assert both.parse("*,nl,a") == PartitionSet.by_segment({("nl", "a"): RangeSet.always()})


def needed(both, partition):
    """What a partition needs, one inlet partition after the other."""
    (key, at), down, up = partition, both.consumer, both.inlet
    own = {each.column: value for each, value in zip(down.segments, key, strict=True)}
    found = []
    for other, then in slots(up):
        theirs = {each.column: value for each, value in zip(up.segments, other, strict=True)}
        agree = all(own[column] == theirs[column] for column in own.keys() & theirs.keys())
        meets = at is None or then is None
        if not meets:
            low, high = both.mapping.window(at, at + length(down), consumer_time=down.time)
            meets = then < high and low < then + length(up)
        if agree and meets:
            found.append((other, then))
    return found


mappings = st.sampled_from(
    [OverlapMapping(), WindowMapping.trailing(Duration(days=2)), WindowMapping.trailing(Duration(seconds=7200))]
)


@given(partitionings, partitionings, mappings, st.data())
def test_dependencies_are_those_of_single_partitions_and_adjoint(consumer, inlet, mapping, data):
    both = Dependency(mapping, consumer, inlet)
    if not both.is_mapped:
        assert both.required_partitions(set_of(consumer, slots(consumer))) in (EVERYTHING, NOTHING)
        return
    two_days = PartitionSet.span(0, 2 * DAY) if inlet.time else EVERYTHING
    partition = data.draw(st.sampled_from(slots(consumer)))
    expected = needed(both, partition)
    assert inlet.inside(
        both.required_partitions(set_of(consumer, [partition])) & two_days & inlet.known_partitions
    ) == set_of(inlet, expected)
    changed = data.draw(st.sampled_from(slots(inlet)))
    touched = both.affected_partitions(set_of(inlet, [changed]))
    for each in slots(consumer):
        assert touched.overlaps(set_of(consumer, [each])) == (changed in needed(both, each))


@given(partitionings, partitionings, st.integers(1, 4), st.data())
def test_enough_counts_what_each_partition_needs(consumer, inlet, least, data):
    both = Dependency(OverlapMapping(), consumer, inlet)
    there = set_of(inlet, data.draw(st.lists(st.sampled_from(slots(inlet)), unique=True, max_size=12)))
    partitions = set_of(consumer, data.draw(st.lists(st.sampled_from(slots(consumer)), unique=True, max_size=6)))
    if both.is_mapped:
        many = [
            each
            for each in both.consumer.each_partition(partitions)
            if inlet.count(both.required_partitions(each) & there) >= least
        ]
        assert both.having_enough(partitions, there, least) == PartitionSet.union(many)


def test_nothing_in_common_is_all_of_it():
    both = Dependency(OverlapMapping(), Partitioning(DAYS), Partitioning(None, (REGIONS,)))
    assert not both.is_mapped
    assert both.required_partitions(PartitionSet.span(0, DAY)) is EVERYTHING
    assert not Dependency(None, Partitioning(None, (REGIONS,)), Partitioning(None, (REGIONS,))).is_mapped
    assert not Dependency(OverlapMapping(), UNPARTITIONED, Partitioning(None, (REGIONS,))).is_mapped


@given(partitionings, partitionings, mappings)
def test_the_most_that_a_partition_can_need(consumer, inlet, mapping):
    both = Dependency(mapping, consumer, inlet)
    most = both.max_required(RangeSet.span(0, 2 * DAY), 400)
    if not both.is_mapped or (inlet.time and not consumer.time):
        assert most is None
    else:
        partitions = both.consumer.each_partition(set_of(consumer, slots(consumer)))
        assert most == max(inlet.count(both.required_partitions(partition)) for partition in partitions)
