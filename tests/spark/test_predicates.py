from __future__ import annotations

import pytest

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.errors import RunError
from sparkassets.spark.predicates import inside


def of(by, zone, kind, *keys):
    partition = TimePartition(by, zone)
    ranges = RangeSet.of(partition.parse_keys(key) for key in keys)
    return inside("d`y", kind, partition=partition, ranges=ranges, owner="x")


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
                "TIMESTAMP_NTZ, which cannot hold a partition by hour (it cannot tell a repeated hour)\n"
                "  hint: make it TIMESTAMP or STRING"
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
