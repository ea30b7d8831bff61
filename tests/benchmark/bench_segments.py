"""A fused run over 1,000 changed segments of 100,000, against the same write by hand.

From the order to the commit: what the planner takes for so many segments is measured elsewhere. Ours and the hand's
repetitions alternate in one session; medians, with the spread. On Linux.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from sparkassets.core.partitions import PartitionSet, RangeSet
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.bench_runs import SMALL_DATA, Goals, alternate
from tests.integration.orders import execute, newest, order, project, segmented, sql, table

KEYS = 100_000
CHANGED = 1_000
ROWS = 10
TOTALS = "SELECT customer, count(*) AS n, sum(v) AS v FROM {} GROUP BY ALL"


def main() -> None:
    """Prints one line each way."""
    with tempfile.TemporaryDirectory() as folder:
        engine = SparkEngine(project(spark=SMALL_DATA))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        assert spark is not None
        compare(engine, spark, Path(folder))
        engine.close()


def compare(engine: SparkEngine, spark: Any, folder: Path) -> None:
    """Both tables are full when the measurement begins."""
    keys = [f"c{number:06}" for number in range(KEYS)]
    source = segmented(table("source", folder), customer=keys)
    totals = segmented(table("totals", folder, **sql(TOTALS.format("{{ inlets.source }}"), "source")), customer=keys)
    rows = spark.range(KEYS * ROWS).selectExpr(f"format_string('c%06d', id % {KEYS}) AS customer", "id AS v")
    rows.write.format("delta").save(source.storage.path)
    by_hand_path = str(folder / "hand")
    execute(engine, replace(order(totals, source), partitions=totals.partitioning.known_partitions))
    spark.read.format("delta").load(totals.storage.path).write.format("delta").save(by_hand_path)
    changed: list[str] = []
    first = count()

    def touch() -> None:
        changed[:] = keys[next(first) :: KEYS // CHANGED]

    def by_hand() -> None:
        where = f"customer IN ({', '.join(map(repr, changed))})"
        spark.read.format("delta").load(source.storage.path).where(where).createOrReplaceTempView("changed")
        written = spark.sql(TOTALS.format("changed")).write.format("delta").mode("overwrite")
        written.option("replaceWhere", where).save(by_hand_path)

    def run() -> None:
        partitions = PartitionSet.by_segment({(key,): RangeSet.always() for key in changed})
        execute(
            engine,
            replace(order(totals, source, pins={"source": newest(source, parts=partitions)}), partitions=partitions),
        )

    what = f"a fused run over {CHANGED:,} of {KEYS:,} segments of {ROWS} rows each"
    alternate(
        what,
        touch,
        by_hand,
        run,
        warm=2,
        repeats=5,
        goals=Goals(1.2, limit="the files with a changed segment are written once more"),
    )
    same = [spark.read.format("delta").load(path) for path in (totals.storage.path, by_hand_path)]
    assert same[0].exceptAll(same[1]).isEmpty()


if __name__ == "__main__":
    main()
