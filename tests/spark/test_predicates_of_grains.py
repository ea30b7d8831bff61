"""Rows of slots by crons and of shifted slots, as predicates; and that a Delta file's values tell the same slots."""

from datetime import date, datetime

import pyarrow as pa
import pytest

from sparkassets.core.instants import parse_instant, to_unix
from sparkassets.core.partitions import Partitioning, RangeSet, TimePartition
from sparkassets.delta.partition_columns import FileTimes, PartitionColumn
from sparkassets.delta.rows import count_slots
from sparkassets.errors import RunError
from sparkassets.spark.predicates import partitions_table, time_predicate

QUARTERS = TimePartition("*/15 * * * *", "Europe/Berlin")
SUNDAYS = TimePartition("0 0 * * SUN", "Europe/Berlin")
SHIFTED = TimePartition("day", "Europe/Berlin", offset=6 * 3600)
MONTHS = TimePartition("month", "Europe/Berlin", offset=14 * 86_400)
WORKDAYS = TimePartition("day", "Europe/Berlin", exclude="* * * * SAT,SUN")


@pytest.mark.parametrize(
    ("partition", "kind", "keys", "expected"),
    [
        (
            QUARTERS,
            "timestamp",
            "2025-03-30T01:45..2025-03-30T03:00",
            "(`at` >= TIMESTAMP'2025-03-30T00:45:00Z' AND `at` < TIMESTAMP'2025-03-30T01:15:00Z')",
        ),
        (
            QUARTERS,
            "string",
            "2025-10-26T02:45+02:00..2025-10-26T02:00+01:00",
            "`at` IN ('2025-10-26T02:45+02:00', '2025-10-26T02:00+01:00')",
        ),
        (SUNDAYS, "date", "2025-03-30", "(`at` >= DATE'2025-03-30' AND `at` < DATE'2025-04-06')"),
        (
            SUNDAYS,
            "timestamp_ntz",
            "2025-03-30",
            "(`at` >= TIMESTAMP_NTZ'2025-03-30T00:00:00' AND `at` < TIMESTAMP_NTZ'2025-04-06T00:00:00')",
        ),
        (SHIFTED, "date", "2025-03-30", "(`at` >= DATE'2025-03-30' AND `at` < DATE'2025-03-31')"),
        (
            SHIFTED,
            "timestamp",
            "2025-03-29",
            "(`at` >= TIMESTAMP'2025-03-29T05:00:00Z' AND `at` < TIMESTAMP'2025-03-30T04:00:00Z')",
        ),
        (
            SHIFTED,
            "timestamp_ntz",
            "2025-03-29",
            "(`at` >= TIMESTAMP_NTZ'2025-03-29T06:00:00' AND `at` < TIMESTAMP_NTZ'2025-03-30T06:00:00')",
        ),
        (
            WORKDAYS,
            "date",
            "2025-03-06..2025-03-10",
            (
                "(`at` >= DATE'2025-03-06' AND `at` < DATE'2025-03-08')"
                " OR (`at` >= DATE'2025-03-10' AND `at` < DATE'2025-03-11')"
            ),
        ),
        (WORKDAYS, "string", "2025-03-07..2025-03-10", "`at` IN ('2025-03-07', '2025-03-10')"),
        (
            WORKDAYS,
            "timestamp",
            "2025-03-07",
            "(`at` >= TIMESTAMP'2025-03-06T23:00:00Z' AND `at` < TIMESTAMP'2025-03-07T23:00:00Z')",
        ),
        (
            WORKDAYS,
            "timestamp_ntz",
            "2025-03-07",
            "(`at` >= TIMESTAMP_NTZ'2025-03-07T00:00:00' AND `at` < TIMESTAMP_NTZ'2025-03-08T00:00:00')",
        ),
        (MONTHS, "date", "2025-03", "(`at` >= DATE'2025-03-15' AND `at` < DATE'2025-04-15')"),
        (MONTHS, "string", "2025-03", "`at` IN ('2025-03')"),
    ],
)
def test_predicates(partition, kind, keys, expected):
    ranges = RangeSet.span(*partition.parse_keys(keys))
    assert time_predicate("at", kind, partition=partition, ranges=ranges, owner="x") == expected


@pytest.mark.parametrize("kind", ["date", "timestamp_ntz", "int"])
def test_what_tells_no_quarter_is_refused(kind):
    why = " (a repeated hour would be ambiguous)" if kind == "timestamp_ntz" else ""
    with pytest.raises(RunError) as error:
        time_predicate("at", kind, partition=QUARTERS, ranges=RangeSet(), owner="x")
    assert str(error.value) == (
        f"the column 'at' of x is {kind.upper()}, which cannot hold a partition by '*/15 * * * *'{why}\n"
        "  hint: make it TIMESTAMP or STRING"
    )


@pytest.mark.parametrize(
    ("partition", "kind", "value", "key"),
    [
        (QUARTERS, "timestamp", "2025-03-30T01:14:59Z", "2025-03-30T03:00"),
        (QUARTERS, "string", "2025-03-30T03:15", "2025-03-30T03:15"),
        (SUNDAYS, "date", date(2025, 4, 5), "2025-03-30"),
        (SUNDAYS, "timestamp_ntz", datetime.fromisoformat("2025-04-05T23:59"), "2025-03-30"),
        (SUNDAYS, "string", "2025-03-30", "2025-03-30"),
        (SHIFTED, "date", date(2025, 3, 30), "2025-03-30"),
        (SHIFTED, "timestamp", "2025-03-30T03:59:59Z", "2025-03-29"),
        (SHIFTED, "timestamp_ntz", datetime.fromisoformat("2025-03-30T05:59"), "2025-03-29"),
        (MONTHS, "date", date(2025, 3, 14), "2025-02"),
        (MONTHS, "string", "2025-03", "2025-03"),
    ],
)
def test_values_of_files_tell_slots(partition, kind, value, key):
    times = FileTimes(PartitionColumn("at", kind, "at"), partition)
    assert times.of_value(value) == partition.parse_key(key)
    assert not times.ignored_values


def test_a_key_of_a_repeated_quarter_has_the_time_of_both():
    times = FileTimes(PartitionColumn("at", "string", "at"), QUARTERS)
    first, last = (to_unix(parse_instant(f"2025-10-26T{time}Z", zone="UTC")) for time in ("00:15", "01:30"))
    assert times.of_value("2025-10-26T02:15+01:00") == (first, last)


def test_values_that_begin_no_slot_are_left_out():
    times = FileTimes(PartitionColumn("at", "string", "at"), SUNDAYS)
    assert times.of_value("2025-03-31") is None
    assert times.ignored_values == {"2025-03-31"}


def test_values_of_what_is_excluded_are_left_out():
    for kind, value in (
        ("date", date(2025, 3, 1)),
        ("timestamp", "2025-03-01T12:00:00Z"),
        ("timestamp_ntz", datetime.fromisoformat("2025-03-02T23:59")),
        ("string", "2025-03-01"),
    ):
        times = FileTimes(PartitionColumn("at", kind, "at"), WORKDAYS)
        assert times.of_value(value) is None
        assert times.ignored_values == {str(value)}
        assert times.read_value_bounds(value, value, rows=1, nulls=0) is None


def test_instants_are_counted_by_the_slots_own_time():
    times = FileTimes(PartitionColumn("at", "timestamp", "at"), WORKDAYS)
    told = ("2025-02-28T12:00", "2025-03-01T12:00", "2025-03-02T12:00", "2025-03-03T12:00", "2025-03-03T13:00")
    values = pa.array([datetime.fromisoformat(f"{each}+01:00") for each in told], pa.timestamp("us", "UTC"))
    days = {WORKDAYS.parse_key("2025-02-28"): 1, WORKDAYS.parse_key("2025-03-03"): 2}
    assert count_slots(values, times) == days
    assert len(times.ignored_values) == 2


def test_partitions_end_before_what_is_excluded():
    days = Partitioning(WORKDAYS)
    partitions = days.parse("2025-03-06..2025-03-10")
    told = [
        (each["start"].isoformat(), each["end"].isoformat()) for each in partitions_table(days, partitions).to_pylist()
    ]
    assert told == [
        ("2025-03-05T23:00:00+00:00", "2025-03-06T23:00:00+00:00"),
        ("2025-03-06T23:00:00+00:00", "2025-03-07T23:00:00+00:00"),
        ("2025-03-09T23:00:00+00:00", "2025-03-10T23:00:00+00:00"),
    ]
