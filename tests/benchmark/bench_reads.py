"""What an inlet's read costs from its files and by Delta, opened and summed up, for tables of several sizes.

Both ways alternate in one session, so that both meet the same machine; medians, with the spread.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet, TimePartition
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.engine import SparkEngine
from sparkassets.spark.predicates import partition_predicate
from tests.benchmark.figures import record
from tests.integration.orders import project

REPEATS = 5
DAYS = Partitioning(TimePartition("day", "UTC", column="day"))
FIRST = date(2013, 1, 1)


def main() -> None:
    """Prints a table."""
    with tempfile.TemporaryDirectory() as folder:
        engine = SparkEngine(project())
        engine.start()
        spark = SparkSession.getActiveSession()
        assert spark is not None
        one, year = str(Path(folder, "one")), str(Path(folder, "year"))
        save(one, days=1, rows=1000)
        save(year, days=365, rows=20)
        compare(spark, "one file of 1,000 rows", one, EVERYTHING)
        compare(spark, "one day of a year", year, DAYS.parse("2013-06-01"))
        compare(spark, "seven days of a year", year, DAYS.parse("2013-06-01..2013-06-07"))
        compare(spark, "a hundred days of a year", year, DAYS.parse("2013-06-01..2013-09-08"))
        engine.close()


def save(path: str, *, days: int, rows: int) -> None:
    """A table with a folder for each day."""
    column = [FIRST + timedelta(n) for n in range(days) for _ in range(rows)]
    write_deltalake(path, pa.table({"day": column, "v": range(len(column))}), partition_by=["day"])


def compare(spark: SparkSession, what: str, path: str, parts: PartitionSet) -> None:
    """One line each way."""

    def by_files() -> DataFrame:
        table = DeltaTable(path)
        frame, exact = read_version(spark, table, table.version(), path=path, parts=parts, partitioning=DAYS)
        return frame if exact else within(frame)

    def by_delta() -> DataFrame:
        return within(spark.read.format("delta").option("versionAsOf", DeltaTable(path).version()).load(path))

    def within(frame: DataFrame) -> DataFrame:
        predicate = partition_predicate(frame.schema, parts, partitioning=DAYS, owner="the table")
        return frame if predicate is None else frame.filter(predicate)

    ways = {"from files": by_files, "by Delta": by_delta}
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(REPEATS):
        for way, opened in ways.items():
            begin = time.perf_counter()
            opened().groupBy("day").sum("v").agg({"sum(v)": "sum"}).collect()
            spent[way].append((time.perf_counter() - begin) * 1000)
    print(what)
    for way, each in spent.items():
        print(f"  {way:<12} median {statistics.median(each):7.0f} ms   spread {min(each):.0f}-{max(each):.0f}")
    ratios = [files / delta for files, delta in zip(*spent.values(), strict=True)]
    record(f"an inlet's read: {what}", statistics.median(ratios), "x", against="Delta's own read", spread=ratios)


if __name__ == "__main__":
    main()
