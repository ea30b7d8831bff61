"""The partition that Spark puts a row into is the one that the partitioning does, whatever slots, zones and types."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sparkassets.core.partitions import Partitioning, PartitionSet, SegmentPartition, TimePartition
from sparkassets.spark.validation import PartitionGrouping

pytestmark = pytest.mark.spark
ZONE = "Europe/Amsterdam"


def time(by, zone="UTC", **more):
    return TimePartition(by, zone, column="at", **more)


@pytest.mark.parametrize(
    ("dimension", "keys", "kind"),
    [
        (time("day"), "2025-03-28..2025-04-02", "date"),
        (time("day"), "2025-03-30", "date"),
        (time("day", ZONE), "2025-03-28..2025-04-02", "timestamp"),
        (time("day", ZONE), "2025-03-28..2025-04-02", "timestamp_ntz"),
        (time("day"), "2025-03-28..2025-04-02", "string"),
        (time("hour", ZONE), "2025-03-29T20..2025-03-30T12", "timestamp"),
        (time("week"), "2025-W10..2025-W14", "date"),
        (time("month", ZONE), "2024-11..2025-04", "timestamp"),
        (time("month"), "2024-11..2025-04", "date"),
        (time("30 5,17 * * MON-FRI"), "2025-03-28T05:30..2025-04-01T17:30", "timestamp"),
        (time("day", exclude="* * * * SAT,SUN"), "2025-03-28..2025-04-02", "date"),
    ],
    ids=str,
)
def test_a_row_is_put_into_its_own_partition(spark, dimension, keys, kind):
    segments = (SegmentPartition("region", ("de,at", "n..l")),) if kind != "string" else ()
    partitioning = Partitioning(dimension, segments)
    partitions = PartitionSet.union(map(partitioning.parse, [keys + (",*" if segments else "")]))
    frame = rows(spark, partitioning, partitions, kind)
    told = PartitionGrouping.from_schema(frame.schema, partitions, partitioning=partitioning, owner="rows")
    found = frame.selectExpr("partition", f"{told.label(partitioning)} AS label", *told.keys).distinct().collect()
    seen = {row[0]: (told.find_partition(tuple(row)[2:]), row[1]) for row in found}
    expected = {partitioning.labels(each)[0]: each for each in told.partitions}
    assert {label: partition for label, (partition, _) in seen.items()} == expected
    assert len(told.partitions) == 1 or {label: same for label, (_, same) in seen.items()} == {
        key: key for key in expected
    }


def test_a_run_of_all_is_one_partition(spark):
    partitioning, frame = Partitioning(time("day")), spark.sql("SELECT DATE'2025-01-01' AS at")
    everything = PartitionSet.union([partitioning.known_partitions])
    assert PartitionGrouping.from_schema(
        frame.schema, everything, partitioning=partitioning, owner="rows"
    ).partitions == (everything,)


def rows(spark, partitioning, partitions, kind):
    """Some rows at the edges and in the middle of each partition, with its label."""
    told = []
    for start, end, segment in partitioning.slots(partitions):
        label = partitioning.labels(
            PartitionSet.from_slots([(segment, (start, end))]) if segment else PartitionSet.span(start, end)
        )[0]
        time = partitioning.time
        last = time.first_date(end) - timedelta(days=1) if kind == "date" else None
        match kind:
            case "date":
                values = {str(time.first_date(start)), str(last)}
            case "string":
                values = {time.key(start)}
            case "timestamp_ntz":
                low, high = (time.local_start(each).replace(tzinfo=None) for each in (start, end))
                values = {str(low), str(high - timedelta(microseconds=1))}
            case _:
                low, high = (datetime.fromtimestamp(each, UTC) for each in (start, end))
                values = {str(low), str(low + (high - low) / 2), str(high - timedelta(microseconds=1))}
        told += [(label, value, *segment) for value in values]
    names = ["partition", "at", *(each.column for each in partitioning.segments)]
    frame = spark.createDataFrame(told, ", ".join(f"{name} string" for name in names))
    return frame.withColumn("at", frame["at"].cast(kind))
