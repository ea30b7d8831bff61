"""What a run costs over the same writes by hand, and a backfill of a year over the best hand-written job.

Ours and the hand's repetitions alternate in one session, so that both meet the same machine; medians, with the spread.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparkassets import BackfillRequest, Project
from sparkassets.core.partitions import Partitioning, TimePartition
from sparkassets.core.spec.model import (
    AssetSpec,
    InletSpec,
    ProjectSpec,
    Schedule,
    SourceSpec,
    SqlBody,
    StorageLocation,
)
from sparkassets.core.strategies import DateRange, FullRefresh
from sparkassets.core.writes import Replace
from sparkassets.spark import SparkEngine
from tests.builders import HERE, project

WAVE = 50
REPEATS = 3
PARALLEL = 4


def main() -> None:
    """Prints both tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(_project(root, _source(root, None)))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        wave(spark, root / "wave")
        year(spark, root / "year")
        engine.close()


def wave(spark: Any, root: Path) -> None:
    """Fifty small assets that one update makes due, against fifty plain Delta writes by hand."""
    source = _source(root, None)
    assets = [_asset(f"a{n}", root, "SELECT count(*) AS n FROM {{ inlets.source }}", None) for n in range(WAVE)]
    ours = Project(_project(root, source, *assets))
    path = str(root / "source")

    def touch() -> None:
        spark.range(100).write.format("delta").mode("append").save(path)

    def by_hand() -> None:
        with ThreadPoolExecutor(PARALLEL) as pool:
            list(pool.map(write, range(WAVE)))

    def write(n: int) -> None:
        (
            spark.read.format("delta")
            .load(path)
            .selectExpr("count(*) AS n")
            .write.format("delta")
            .mode("overwrite")
            .save(str(root / f"hand{n}"))
        )

    def run() -> None:
        summary = ours.run(spark)
        assert [result.status for result in summary.runs] == ["success"] * WAVE

    touch()
    by_hand()
    run()
    hand, mine = [], []
    for _ in range(REPEATS):
        touch()
        hand.append(_seconds(by_hand))
        mine.append(_seconds(run))
    overhead = [(m - h) / WAVE * 1000 for m, h in zip(mine, hand, strict=True)]
    print(f"wave of {WAVE} runs, {PARALLEL} side by side")
    _row("by hand, s", hand)
    _row("sparkassets, s", mine)
    _row("overhead a run, ms", overhead)
    print(f"  ratio {statistics.median(mine) / statistics.median(hand):.3f}")


def year(spark: Any, root: Path) -> None:
    """A fused backfill of 365 days, against one hand-written job that overwrites the same days."""
    source = _source(root, TimePartition("day", "UTC", column="day"))
    sql = "SELECT day, k % 10 AS k, count(*) AS n, sum(v) AS v FROM {{ inlets.source }} GROUP BY ALL"
    asset = _asset("daily", root, sql, TimePartition("day", "UTC", column="day"))
    ours = Project(_project(root, source, asset))
    days = "explode(sequence(date'2013-01-01', date'2013-12-31'))"
    frame = spark.range(2000).selectExpr(f"{days} AS day", "id AS k", "id * 3 AS v")
    frame.write.format("delta").partitionBy("day").save(str(root / "source"))

    def by_hand() -> None:
        rows = spark.read.format("delta").load(str(root / "source")).where("day >= '2013-01-01' AND day < '2014-01-01'")
        rows.createOrReplaceTempView("hand_source")
        (
            spark.sql("SELECT day, k % 10 AS k, count(*) AS n, sum(v) AS v FROM hand_source GROUP BY ALL")
            .write.format("delta")
            .mode("overwrite")
            .partitionBy("day")
            .option("replaceWhere", "day >= '2013-01-01' AND day < '2014-01-01'")
            .save(str(root / "hand"))
        )

    def run() -> None:
        summary = ours.backfill(BackfillRequest("daily", "2013-01-01..2013-12-31", force=True), spark)
        assert [result.status for result in summary.runs] == ["success"]

    by_hand()
    run()
    hand, mine = [], []
    for _ in range(REPEATS):
        hand.append(_seconds(by_hand))
        mine.append(_seconds(run))
    print("backfill of 365 days, one fused job")
    _row("by hand, s", hand)
    _row("sparkassets, s", mine)
    print(f"  ratio {statistics.median(mine) / statistics.median(hand):.3f}")


def _seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _row(what: str, values: list[float]) -> None:
    print(f"  {what:<20} median {statistics.median(values):7.2f}   spread {min(values):.2f}-{max(values):.2f}")


def _source(root: Path, partition: TimePartition | None) -> AssetSpec:
    place = StorageLocation(str(root / "source"), "source")
    return AssetSpec("source", "source", place, HERE, source=SourceSpec("delta"), partitioning=Partitioning(partition))


def _asset(name: str, root: Path, sql: str, partition: TimePartition | None) -> AssetSpec:
    return AssetSpec(
        name,
        name,
        StorageLocation(str(root / name), name),
        HERE,
        inlets={"source": InletSpec("source", "", None)},
        partitioning=Partitioning(partition),
        strategy=DateRange() if partition else FullRefresh(),
        write=Replace(),
        schedule=Schedule(default=True),
        body=SqlBody(sql, HERE),
    )


def _project(root: Path, *assets: AssetSpec) -> ProjectSpec:
    linked = project(*assets)
    settings = {"sparkassets.small_data": "true"}
    return replace(
        linked,
        root=str(root),
        state=str(root / "state"),
        warehouse=str(root),
        spark=settings,
        max_parallel_runs=PARALLEL,
    )


if __name__ == "__main__":
    main()
