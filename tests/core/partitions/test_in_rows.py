"""What rows tell of partitions of which some dimensions have no column, against a look at single partitions."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, SegmentPartition, TimePartition

DAY = 86_400
KEYS = {"shop": ("a", "b"), "model": ("x", "y", "z")}


@st.composite
def partitionings(draw):
    """Time or none, and up to two dimensions of segments; of each it is drawn whether it has a column."""
    segments = tuple(
        SegmentPartition(name, KEYS[name], in_rows=draw(st.booleans()))
        for name in draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True))
    )
    time = draw(st.sampled_from([None, TimePartition("day", "UTC"), TimePartition("day", "UTC", "day")]))
    return Partitioning(time, segments, draw(st.integers(0, len(segments))) if time else 0)


def slots(partitioning):
    """All partitions of three days."""
    found = (
        partitioning.known_partitions
        if partitioning.time is None
        else partitioning.known_partitions & PartitionSet.span(0, 3 * DAY)
    )
    return list(partitioning.slots(found)) if partitioning.is_partitioned else []


def values_in_row(partitioning, slot):
    """What the columns of a row of that partition hold."""
    start, _, segment = slot
    values = [key for key, each in zip(segment, partitioning.segments, strict=True) if each.in_rows]
    return (start if partitioning.time is not None and partitioning.time.column else None, *values)


@given(partitionings(), st.data())
def test_partitions_are_told_by_the_columns_that_rows_have(partitioning, data):
    every = slots(partitioning)
    chosen = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    parts = PartitionSet.from_slots([(segment, (start, end)) for start, end, segment in chosen])
    less, found = partitioning.by_columns, partitioning.widen_to_rows(parts)
    assert less.columns == less.names == partitioning.columns
    if not chosen:
        assert found == NOTHING
        return
    expected = {values_in_row(partitioning, slot) for slot in chosen}
    if not less.is_partitioned:
        assert found == EVERYTHING
        return
    time = less.time is not None
    assert {(start if time else None, *segment) for start, _, segment in less.slots(found)} == expected


@given(partitionings())
def test_all_of_it_is_all_that_rows_tell(partitioning):
    known = partitioning.widen_to_rows(partitioning.known_partitions)
    assert known == partitioning.by_columns.known_partitions
    assert partitioning.has_columns is (partitioning.by_columns is partitioning)
    assert len(partitioning.names) == len(partitioning.segments) + (partitioning.time is not None)


def test_the_place_of_time_in_keys_stays_among_what_is_left():
    named = tuple(SegmentPartition(name, keys, in_rows=name == "model") for name, keys in KEYS.items())
    both = Partitioning(TimePartition("day", "UTC", "day"), named, 1)
    assert both.by_columns.names == ("day", "model")
    assert list(product(KEYS["shop"], KEYS["model"])) == [segment for _, _, segment in slots(both)[:6]]
