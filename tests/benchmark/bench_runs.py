"""What runs cost against the plain Delta writes that a person would have written by hand.

Ours and the hand's repetitions alternate in one session, so that both meet the same machine; medians, with the spread
and how busy the cores were. On Linux.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable

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
from sparkassets.core.writes import Append, Replace
from sparkassets.spark import SparkEngine, gateway
from tests.builders import HERE, project

WAVE = 50
REPEATS = 3
PARALLEL = 4
WARM = 3
SMALL_REPEATS = 9
ROWS = 50_000_000


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(_project(root, _source(root, None)))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        small(spark, root / "small")
        wave(spark, root / "wave")
        year(spark, root / "year")
        large(spark, root / "large")
        engine.close()


def small(spark: Any, root: Path) -> None:
    """One small asset that an update makes due: from planning to the record, in a warm process."""
    source = _source(root, None)
    asset = _asset("one", root, "SELECT id % 10 AS k, count(*) AS n FROM {{ inlets.source }} GROUP BY ALL", None)
    ours = Project(_project(root, source, asset))
    path = str(root / "source")

    def touch() -> None:
        spark.range(1000).write.format("delta").mode("overwrite").save(path)

    def by_hand() -> None:
        rows = spark.read.format("delta").load(path).selectExpr("id % 10 AS k").groupBy("k").count()
        rows.write.format("delta").mode("overwrite").save(str(root / "hand"))

    def run() -> None:
        assert [result.status for result in ours.run(spark).runs] == ["success"]

    print("one small run in a warm process, from planning to the record")
    _alternate(touch, by_hand, run, warm=WARM, repeats=SMALL_REPEATS)


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

    print(f"wave of {WAVE} runs, {PARALLEL} side by side")
    _alternate(touch, by_hand, run)


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

    print("backfill of 365 days, one fused job")
    _alternate(lambda: None, by_hand, run)


def large(spark: Any, root: Path) -> None:
    """Fifty million rows, added or in place of all that is there."""
    query = f"SELECT id, id % 1000 AS k, CAST(id AS STRING) AS t FROM range({ROWS})"
    for write in (Replace(), Append()):
        place = root / write.name
        asset = _asset("rows", place, query + " WHERE (SELECT count(*) FROM {{ inlets.source }}) > 0", None)
        asset = replace(asset, write=write)
        ours = Project(_project(place, _source(place, None), asset))
        mode = "overwrite" if write.name == "replace" else "append"

        def touch(place: Path = place) -> None:
            spark.range(1).write.format("delta").mode("append").save(str(place / "source"))

        def by_hand(place: Path = place, mode: str = mode) -> None:
            rows = spark.sql(query).where(f"(SELECT count(*) FROM delta.`{place / 'source'}`) > 0")
            rows.write.format("delta").mode(mode).save(str(place / "hand"))

        def run(ours: Project = ours) -> None:
            assert [result.status for result in ours.run(spark).runs] == ["success"]

        print(f"{ROWS // 1_000_000} million rows, {write.name}")
        _alternate(touch, by_hand, run, warm=0)
        files = [len(DeltaTable(str(place / name)).file_uris()) for name in ("hand", "rows")]
        print(f"  files {files[1]}, by hand {files[0]}")


def _alternate(
    touch: Callable[[], None],
    by_hand: Callable[[], None],
    run: Callable[[], None],
    *,
    warm: int = 1,
    repeats: int = REPEATS,
) -> None:
    """Prints what both take by turns, each pair after a ``touch`` that is not counted."""
    hand: list[_Cost] = []
    ours: list[_Cost] = []
    for turn in range(warm + repeats):
        touch()
        for costs, work in ((hand, by_hand), (ours, run)):
            cost = _cost(work)
            if turn >= warm:
                costs.append(cost)
    for name, costs in (("by hand", hand), ("sparkassets", ours)):
        seconds = [cost.seconds for cost in costs]
        spread, busy = f"{min(seconds):.2f}-{max(seconds):.2f}", statistics.median(cost.busy for cost in costs)
        print(f"  {name:<12} median {statistics.median(seconds):7.2f} s   spread {spread:<13} cores busy {busy:.0%}")
    medians = [statistics.median(cost.seconds for cost in costs) for costs in (ours, hand)]
    print(f"  ratio {medians[0] / medians[1]:.3f}")


class _Cost(NamedTuple):
    """Seconds on the clock, and the share of all cores' time that this process and its JVM took of them."""

    seconds: float
    busy: float


def _cost(work: Callable[[], None]) -> _Cost:
    begin, used = time.perf_counter(), _cpu_seconds()
    work()
    seconds = time.perf_counter() - begin
    return _Cost(seconds, (_cpu_seconds() - used) / (seconds * (os.cpu_count() or 1)))


def _cpu_seconds() -> float:
    """Of this process and its JVM."""
    fields = Path(f"/proc/{gateway.jvm_pid()}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
