from __future__ import annotations

from types import SimpleNamespace

import pytest

from sparkassets.core.partitions import (
    EVERYTHING,
    Partitioning,
    PartitionSet,
    RangeSet,
    SegmentPartition,
    TimePartition,
)
from sparkassets.errors import RunError
from sparkassets.spark.predicates import partition_predicate, time_predicate


def of(by, zone, kind, *keys):
    partition = TimePartition(by, zone)
    ranges = RangeSet.from_pairs(partition.parse_keys(key) for key in keys)
    return time_predicate("d`y", kind, partition=partition, ranges=ranges, owner="x")


def test_adjacent_partitions_are_one_range():
    assert of("day", "UTC", "date", "2013-01-01..2013-01-03", "2013-01-05") == (
        "(`d``y` >= DATE'2013-01-01' AND `d``y` < DATE'2013-01-04')"
        " OR (`d``y` >= DATE'2013-01-05' AND `d``y` < DATE'2013-01-06')"
    )


def test_timestamps_are_instants_and_ntz_the_wall_clock():
    assert of("day", "Europe/Amsterdam", "timestamp", "2013-03-31") == (
        "(`d``y` >= TIMESTAMP'2013-03-30T23:00:00Z' AND `d``y` < TIMESTAMP'2013-03-31T22:00:00Z')"
    )
    assert of("month", "Europe/Amsterdam", "timestamp_ntz", "2013-03") == (
        "(`d``y` >= TIMESTAMP_NTZ'2013-03-01T00:00:00' AND `d``y` < TIMESTAMP_NTZ'2013-04-01T00:00:00')"
    )


def test_text_holds_keys():
    assert of("quarter", "UTC", "string", "2013-Q4..2014-Q1") == "`d``y` IN ('2013-Q4', '2014-Q1')"


def test_no_partitions_are_no_rows():
    assert of("day", "UTC", "date") == "false"


@pytest.mark.parametrize(
    ("by", "zone", "kind", "message"),
    [
        ("day", "UTC", "int", "INT, which cannot hold a partition by day\n  hint: make it DATE, TIMESTAMP or STRING"),
        ("hour", "UTC", "date", "DATE, which cannot hold a partition by hour\n  hint: make it TIMESTAMP or STRING"),
        (
            "hour",
            "Europe/Amsterdam",
            "timestamp_ntz",
            (
                "TIMESTAMP_NTZ, which cannot hold a partition by hour (a repeated hour would be ambiguous)\n  "
                "hint: make it TIMESTAMP or STRING"
            ),
        ),
    ],
)
def test_types_that_cannot_tell_partitions_apart(by, zone, kind, message):
    with pytest.raises(RunError) as error:
        of(by, zone, kind)
    assert str(error.value) == f"the column 'd`y' of x is {message}"


def test_hours_in_utc_may_be_wall_clock():
    assert of("hour", "UTC", "timestamp_ntz", "2013-01-01T05") == (
        "(`d``y` >= TIMESTAMP_NTZ'2013-01-01T05:00:00' AND `d``y` < TIMESTAMP_NTZ'2013-01-01T06:00:00')"
    )


DAYS = TimePartition("day", "UTC", column="day")
STORES, REGIONS = SegmentPartition("store", ("1", "2", "3")), SegmentPartition("Region", ("de", "nl's"))


class Schema:
    """What is asked of a schema of Spark's, which tests without Spark do not have."""

    def __init__(self, **kinds):
        self.fields = [
            SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda k=k: k))
            for name, k in kinds.items()
        ]
        self.names = list(kinds)


SCHEMA = Schema(day="date", store="int", region="string", cents="double")


def belongs(partitioning, *keys, schema=SCHEMA):
    parts = PartitionSet.union(map(partitioning.parse, keys))
    return partition_predicate(schema, parts, partitioning=partitioning, owner="x")


def test_segments_are_one_list_of_values_of_their_column():
    stores = Partitioning(None, (STORES,))
    assert belongs(stores, "1", "3") == "`store` IN (1, 3)"
    assert belongs(stores, "*") == "`store` IN (1, 2, 3)"
    assert belongs(stores) == "false"
    assert partition_predicate(SCHEMA, EVERYTHING, partitioning=stores, owner="x") is None


def test_equal_times_of_a_product_are_told_together():
    both = Partitioning(DAYS, (STORES,))
    first = "((`day` >= DATE'2025-01-01' AND `day` < DATE'2025-01-03'))"
    assert belongs(both, "2025-01-01..2025-01-02") == f"{first} AND (`store` IN (1, 2, 3))"
    assert belongs(both, "2025-01-01..2025-01-02,1", "2025-01-05,2", "2025-01-01..2025-01-02,3") == (
        f"({first} AND (`store` IN (1, 3))) OR "
        "(((`day` >= DATE'2025-01-05' AND `day` < DATE'2025-01-06')) AND (`store` IN (2)))"
    )


def test_dimensions_of_segments_are_told_together_as_far_as_they_are_a_product():
    grid = Partitioning(None, (STORES, REGIONS))
    assert belongs(grid, "*,*") == "(`store` IN (1, 2, 3)) AND (`region` IN ('de', CAST(X'6E6C2773' AS STRING)))"
    assert belongs(grid, "1,*", "2,de", "3,de") == (
        "((`store` IN (1)) AND (`region` IN ('de', CAST(X'6E6C2773' AS STRING)))) OR "
        "((`store` IN (2, 3)) AND (`region` IN ('de')))"
    )


def test_all_but_some_leaves_out_rows_without_a_segment():
    both = Partitioning(DAYS, (STORES,))
    parts = PartitionSet.span(0, 86400) - both.parse("*,2")
    assert partition_predicate(SCHEMA, parts, partitioning=both, owner="x") == (
        "((`day` >= DATE'1970-01-01' AND `day` < DATE'1970-01-02'))"
        " AND (`store` IS NOT NULL) AND (NOT (`store` IN (2)))"
    )


def test_time_without_a_column_tells_nothing_beside_the_columns_there_are():
    assert belongs(Partitioning(TimePartition("day", "UTC"), (STORES,)), "2025-01-01,1") == "`store` IN (1)"
    assert belongs(Partitioning(TimePartition("day", "UTC")), "2025-01-01") is None


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        (
            SegmentPartition("cents", ("1",)),
            (
                "the column 'cents' of x is DOUBLE, which cannot hold segments\n  hint: change it to STRING, a "
                "whole number, DECIMAL, DATE or BOOLEAN"
            ),
        ),
        (SegmentPartition("stor", ("1",)), "x has no column 'stor'\n  hint: did you mean 'store'?"),
        (
            SegmentPartition("store", ("1", "north")),
            "the segment 'north' is not a value of the column 'store' of x, which is INT",
        ),
    ],
)
def test_columns_that_cannot_hold_the_segments(dimension, message):
    with pytest.raises(RunError) as error:
        belongs(Partitioning(None, (dimension,)), "*")
    assert str(error.value) == message


def test_a_number_that_is_written_in_another_way_is_told():
    priced = Partitioning(None, (SegmentPartition("price", ("1.50",)),))
    with pytest.raises(RunError, match=r"the segment '1.50' is not a value of .* DECIMAL\(9,2\)\n  hint: .* '1.5'$"):
        belongs(priced, "*", schema=Schema(price="decimal(9,2)"))
