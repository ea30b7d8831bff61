"""`require: any` and `at_least`: by ranges, and equal to a count of each partition's own inlet partitions."""

from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import (
    Dependency,
    OverlapMapping,
    Partitioning,
    PartitionSet,
    RangeSet,
    TimePartition,
    WindowMapping,
)
from tests.builders import at
from tests.core.partitions.test_mappings import neighbours
from tests.work import calls_of


def having(partitions, there, *, least, mapping, down, up):
    needed = Dependency(mapping, Partitioning(down), Partitioning(up))
    return needed.having_enough(PartitionSet(partitions), PartitionSet(there), least).time


HOURS, DAYS = TimePartition("hour", "UTC"), TimePartition("day", "UTC")


def plain(partitions, there, *, least, mapping, down, up):
    """The partitions one by one, and of each its inlet partitions one by one."""
    slots = set(up.slots(there))
    return RangeSet.from_pairs(
        partition
        for partition in down.slots(partitions)
        if sum(
            slot in slots
            for slot in up.slots(
                mapping.required_ranges(RangeSet.from_pairs([partition]), consumer_time=down, inlet_time=up)
            )
        )
        >= least
    )


@st.composite
def cases(draw):
    """Partitions near a clock change, some of their inlet partitions, and others that are there only in part."""
    mapping, down, up, partitions, elsewhere = draw(neighbours())
    slots = list(up.slots(mapping.required_ranges(partitions, consumer_time=down, inlet_time=up)))
    kept = draw(st.lists(st.sampled_from(slots), max_size=2 * len(slots)))
    cut = draw(st.lists(st.sampled_from(slots), max_size=2))
    part = RangeSet.from_pairs((start, (start + end) // 2) for start, end in cut)
    there = (RangeSet.from_pairs(kept) | elsewhere) - part if draw(st.booleans()) else RangeSet.from_pairs(kept) | part
    return mapping, down, up, partitions, there


@given(cases(), st.integers(1, 40))
def test_having_counts_what_each_partition_needs(case, least):
    mapping, down, up, partitions, there = case
    found = having(partitions, there, least=least, mapping=mapping, down=down, up=up)
    assert found == plain(partitions, there, least=least, mapping=mapping, down=down, up=up)


def test_any_takes_time_by_ranges_and_not_by_partitions():
    day = WindowMapping.trailing(Duration.parse("1d"))

    def work(days: int) -> int:
        partitions = RangeSet.span(at("2015-01-01"), at("2015-01-01") + days * 86_400)
        there = RangeSet.span(at("2015-01-01"), at("2015-01-02"))
        return calls_of(lambda: having(partitions, there, least=1, mapping=day, down=HOURS, up=HOURS))

    assert work(3_650) < 1.2 * work(365)


def test_at_least_counts_where_something_is_there_only():
    def work(days: int) -> int:
        partitions = RangeSet.span(at("2015-01-01"), at("2015-01-01") + days * 86_400)
        there = RangeSet.span(at("2015-02-01"), at("2015-02-02"))
        return calls_of(lambda: having(partitions, there, least=20, mapping=OverlapMapping(), down=DAYS, up=HOURS))

    assert work(3_650) < 1.2 * work(365)
