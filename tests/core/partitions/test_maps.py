"""Maps of keys, whole inlets, newest partitions: what partitions need, and what needs them, one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import (
    EVERYTHING,
    NOTHING,
    Dependency,
    NewestMapping,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentMatch,
    SegmentPartition,
    TimePartition,
    WholeMapping,
)

DAY = 86_400
DAYS = TimePartition("day", "UTC", column="day")
HOURS = TimePartition("hour", "UTC", column="hour")
GROUPS = SegmentPartition("group", ("amer", "apac", "emea"))
COUNTRIES = SegmentPartition("country", ("de", "jp", "nl", "us"))
PLACES = SegmentPartition("place", ("de", "jp"))
STORES = SegmentPartition("store", ("a", "b"))
DOWN = [(), (GROUPS,), (STORES, GROUPS), (GROUPS, STORES), (STORES,)]
UP = [(), (COUNTRIES,), (COUNTRIES, STORES), (STORES, COUNTRIES), (PLACES, STORES), (STORES,)]
SPAN = range(3)


@st.composite
def maps(draw):
    """What leads from groups to the keys of another dimension, and some of it to nothing."""
    to = draw(st.sampled_from([COUNTRIES, PLACES]))
    found = draw(st.dictionaries(st.sampled_from(GROUPS.keys), st.sets(st.sampled_from(to.keys)), max_size=3))
    return SegmentMatch("group", to.column, tuple(sorted((key, tuple(sorted(some))) for key, some in found.items())))


@st.composite
def dependencies(draw):
    """A dependency of two products, and what of the inlet is there."""
    times = st.sampled_from([None, DAYS])
    consumer = Partitioning(draw(times), draw(st.sampled_from(DOWN)))
    inlet = Partitioning(draw(st.sampled_from([None, DAYS, HOURS])), draw(st.sampled_from(UP)))
    said = []
    columns = {each.column for each in inlet.segments}
    if GROUPS in consumer.segments and draw(st.booleans()):
        to = draw(maps())
        said += [to] if to.inlet in columns else []
    if STORES in consumer.segments and "store" in columns and draw(st.booleans()):
        said.append(SegmentMatch("store", "store"))
    matches = draw(st.sampled_from([None, tuple(said)]))
    mapping = draw(st.sampled_from([OverlapMapping(), WholeMapping(), *([NewestMapping()] if inlet.time else [])]))
    both = Dependency(mapping, consumer, inlet, matches)
    return both, PartitionSet.union(draw(st.lists(st.sampled_from(partitions_of(inlet)), max_size=6)))


def partitions_of(partitioning):
    """All of a few days, one by one."""
    if not partitioning.is_partitioned:
        return [EVERYTHING]
    time = partitioning.time
    spans = [RangeSet.span(start, end) for start, end in time.slots(RangeSet.span(0, 3 * DAY))] if time else []
    spans = spans[:: 8 if time is HOURS else 1]
    keys = product(*(each.keys for each in partitioning.segments))
    return [
        PartitionSet.by_segment({key: span}) if key else PartitionSet(span)
        for key in keys
        for span in (spans or [RangeSet.always()])
    ]


def needs(both, partition, part, there):
    """Whether the partition needs the part, by looking at both."""
    down, up = both.consumer, both.inlet
    own, other = (dict(zip([each.column for each in side.segments], _key(one), strict=True)) for side, one in
                  ((down, partition), (up, part)))  # fmt: skip
    matches = both.matches
    if matches is None:
        matches = [SegmentMatch(column, column) for column in own if column in other]
    for match in matches:
        keys = {key: [key] for key in own.values()} if match.keys is None else dict(match.keys)
        if other[match.inlet] not in keys.get(own[match.column], ()):
            return False
    if isinstance(both.mapping, NewestMapping):
        later = [each for each in partitions_of(up) if _key(each) == _key(part) and there.covers(each)]
        return bool(later) and later[-1] == part
    if isinstance(both.mapping, WholeMapping) or not down.time or not up.time:
        return True
    return partition.any_time().overlaps(part.any_time())


def _key(part):
    return part.apart[0][0] if part.apart else ()


@given(dependencies())
def test_both_ways_are_what_single_partitions_say(drawn):
    both, there = drawn
    both = both.with_available(there)
    if not both.is_mapped:
        assert both.affected_partitions(there) == (EVERYTHING if there else NOTHING)
        return
    partitions, parts = partitions_of(both.consumer), partitions_of(both.inlet)
    for partition in partitions:
        found = both.required_partitions(partition)
        assert {_name(each) for each in parts if found.covers(each)} == {
            _name(each) for each in parts if needs(both, partition, each, there)
        }
    for part in parts:
        touched = both.affected_partitions(part)
        assert {_name(each) for each in partitions if touched.overlaps(each)} == {
            _name(each) for each in partitions if needs(both, each, part, there)
        }
        assert all(touched.covers(each) == touched.overlaps(each) for each in partitions)


@given(dependencies(), st.integers(1, 3))
def test_enough_of_what_is_there(drawn, least):
    both, there = drawn
    both = both.with_available(there)
    if not both.is_mapped:
        return
    partitions, parts = partitions_of(both.consumer), partitions_of(both.inlet)
    for partition in partitions:
        some = [each for each in parts if there.covers(each) and needs(both, partition, each, there)]
        count = both.inlet.count(both.required_partitions(partition) & there)
        assert both.having_enough(partition, there, least) == (partition if count >= least else NOTHING)
        assert len(some) == count


@given(dependencies())
def test_what_asks_for_nothing_is_what_no_partition_is_for(drawn):
    both, _ = drawn
    if both.is_mapped:
        partitions, parts = partitions_of(both.consumer), partitions_of(both.inlet)
        for partition in partitions:
            asks = any(_fits(both, partition, each) for each in parts)
            assert both.needing_inlet(partition) == (partition if asks else NOTHING)


def _fits(both, partition, part):
    """Whether their segments fit, at any time."""
    timeless = Dependency(OverlapMapping(), both.consumer.timeless, both.inlet.timeless, both.matches)
    return not timeless.is_mapped or needs(timeless, partition.map_time(_all), part.map_time(_all), NOTHING)


def _all(time):
    return RangeSet.always() if time else time


@given(dependencies())
def test_the_most_that_a_partition_needs(drawn):
    both, _ = drawn
    most = both.max_required(RangeSet.span(0, 1), 3)
    if not both.is_mapped or both.is_open:
        assert most is None
    else:
        time = RangeSet.span(0, 3 * DAY)
        every = [
            both.inlet.count(both.required_partitions(each))
            for each in both.consumer.each_partition(both.consumer.cover(_of(both, time)))
        ]
        assert most == max(every)


def _of(both, time):
    return (
        both.consumer.known_partitions.map_time(lambda ranges: ranges & time)
        if both.consumer.time
        else both.consumer.known_partitions
    )


def _name(part):
    return _key(part), part.any_time().starts


def test_the_newest_partition_is_told_for_each_tuple():
    consumer = Partitioning(None, (GROUPS,))
    inlet = Partitioning(DAYS, (COUNTRIES,))
    match = (SegmentMatch("group", "country", (("apac", ("jp",)), ("emea", ("de", "nl")))),)
    both = Dependency(NewestMapping(), consumer, inlet, match)
    there = inlet.parse("1970-01-01..1970-01-03,de") | inlet.parse("1970-01-02,nl")
    given_ = both.with_available(there)
    assert inlet.labels(given_.required_partitions(consumer.parse("emea"))) == ["1970-01-02,nl", "1970-01-03,de"]
    assert inlet.labels(given_.required_partitions(consumer.parse("apac"))) == []
    assert consumer.labels(given_.affected_partitions(inlet.parse("1970-01-03,de"))) == ["emea"]
    assert consumer.labels(given_.affected_partitions(inlet.parse("1970-01-02,de"))) == []
    assert consumer.labels(both.affected_partitions(inlet.parse("1970-01-02,de"))) == ["emea"]
