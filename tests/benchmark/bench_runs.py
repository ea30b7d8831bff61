"""What runs cost against the plain Delta writes that a person would have written by hand.

Ours and the hand's repetitions alternate in one session, so that both meet the same machine; medians, with the spread,
and medians of the pairs' ratios. On Linux.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable

from sparkassets import BackfillRequest, Project
from sparkassets.core.partitions import Partitioning, SegmentPartition, TimePartition
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, InletSpec, Schedule, SourceSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.strategies import DateRange, FullRefresh
from sparkassets.core.writes import ReplaceWrite
from sparkassets.spark import gateway
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.figures import record
from tests.builders import HERE, project

WAVE = 8
REPEATS = 3
PARALLEL = 4
WARM = 3
SMALL_REPEATS = 7
SMALL_DATA = {"sparkassets.small_data": "true"}


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        engine = SparkEngine(project_of(root, SMALL_DATA, source(root, None)))
        engine.start()
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        small(spark, root / "small")
        wave(spark, root / "wave")
        year_by_segment(spark, root / "segments")
        engine.close()


def small(spark: Any, root: Path) -> None:
    """One small asset that an update makes due: from planning to the record, in a warm process."""
    read = source(root, None)
    written = asset("one", root, "SELECT id % 10 AS k, count(*) AS n FROM {{ inlets.source }} GROUP BY ALL", None)
    ours = Project(project_of(root, SMALL_DATA, read, written))
    path = str(root / "source")

    def touch() -> None:
        spark.range(1000).write.format("delta").mode("overwrite").save(path)

    def by_hand() -> None:
        rows = spark.read.format("delta").load(path).selectExpr("id % 10 AS k").groupBy("k").count()
        rows.write.format("delta").mode("overwrite").save(str(root / "hand"))

    def run() -> None:
        assert [result.status for result in ours.run(spark).runs] == ["success"]

    alternate("a full refresh of one small table, warm", touch, by_hand, run, warm=WARM, repeats=SMALL_REPEATS)


def wave(spark: Any, root: Path) -> None:
    """Small assets that one update makes due, against as many plain Delta writes by hand."""
    read = source(root, None)
    assets = [asset(f"a{n}", root, "SELECT count(*) AS n FROM {{ inlets.source }}", None) for n in range(WAVE)]
    ours = Project(project_of(root, SMALL_DATA, read, *assets))
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

    alternate(f"a wave of {WAVE} small runs, {PARALLEL} in parallel", touch, by_hand, run)


def year_by_segment(spark: Any, root: Path) -> None:
    """A fused backfill of 365 days x 10 segments, and of one of these partitions, against the same writes by hand."""
    days, segments = TimePartition("day", "UTC", column="day"), SegmentPartition("k", tuple("0123456789"))
    sql = "SELECT day, k, v % 7 AS w, count(*) AS n FROM {} GROUP BY ALL"
    read = replace(source(root, None), partitioning=Partitioning(days, (segments,)))
    written = asset("spend", root, sql.format("{{ inlets.source }}"), None)
    written = replace(written, partitioning=read.partitioning, strategy=DateRange(max_partitions_per_run=10_000))
    ours = Project(project_of(root, SMALL_DATA, read, written))
    frame = spark.range(2000).selectExpr(
        "explode(sequence(date'2013-01-01', date'2013-12-31')) AS day", "CAST(id % 10 AS STRING) AS k", "id * 3 AS v"
    )
    frame.write.format("delta").partitionBy("day").save(str(root / "source"))

    def by_hand(where: str) -> None:
        rows = spark.read.format("delta").load(str(root / "source")).where(where)
        rows.createOrReplaceTempView("handsource")
        writer = spark.sql(sql.format("handsource")).write.format("delta").mode("overwrite").partitionBy("day")
        writer.option("replaceWhere", where).save(str(root / "hand"))

    def run(partitions: str) -> None:
        summary = ours.backfills.run(BackfillRequest("spend", partitions, force=True), spark)
        assert [result.status for result in summary.runs] == ["success"]

    all_days = "day >= '2013-01-01' AND day < '2014-01-01'"
    for title, where, partitions, goal in (
        ("a fused backfill of 365 days x 10 segments", all_days, "2013-01-01..2013-12-31,*", 0.9),
        ("a backfill of one segment of one day of these", "day = '2013-06-15' AND k = '7'", "2013-06-15,7", None),
    ):
        alternate(
            title,
            lambda: None,
            lambda where=where: by_hand(where),
            lambda each=partitions: run(each),
            goals=Goals(goal, limit="one job that reads, shuffles and writes"),
        )
        theirs, own = (len(DeltaTable(str(root / name)).file_uris()) for name in ("hand", "spend"))
        record(f"{title}: files", own / theirs, "x", against=f"{theirs:,} by hand", goal=1, limit="a file for each day")


class Goals(NamedTuple):
    """The largest ratios of time and of CPU time that meet a goal, and what bounds both in principle, for people."""

    time: float | None = None
    cpu: float | None = None
    limit: str = ""


def alternate(
    what: str,
    touch: Callable[[], None],
    by_hand: Callable[[], None],
    run: Callable[[], None],
    *,
    warm: int = 1,
    repeats: int = REPEATS,
    names: tuple[str, str] = ("by hand", "sparkassets"),
    goals: Goals = Goals(),  # noqa: B008  it is immutable
) -> None:
    """Records the ratios of what both take by turns, each pair after a ``touch`` that is not counted.

    Args:
        what: What is compared, for people.
        touch: Prepares a pair.
        by_hand: The work to compare with.
        run: The work that is measured.
        warm: Pairs before the measured ones.
        repeats: Pairs that are measured.
        names: What the two are called.
        goals: The goals for the ratios.
    """
    print(what)
    pairs: list[tuple[_Cost, _Cost]] = []
    for turn in range(warm + repeats):
        touch()
        pair = (_cost(by_hand), _cost(run))
        if turn >= warm:
            pairs.append(pair)
    for name, costs in zip(names, zip(*pairs, strict=True), strict=True):
        seconds = [cost.seconds for cost in costs]
        spread, used = f"{min(seconds):.2f}-{max(seconds):.2f}", statistics.median(cost.used for cost in costs)
        print(f"  {name:<12} median {statistics.median(seconds):7.2f} s   spread {spread:<13} CPU {used:.2f} s")
    for title, cost, goal in ((what, "seconds", goals.time), (f"{what}: CPU", "used", goals.cpu)):
        ratios = [getattr(ours, cost) / getattr(hand, cost) for hand, ours in pairs]
        record(title, statistics.median(ratios), "x", against=names[0], spread=ratios, goal=goal, limit=goals.limit)


class _Cost(NamedTuple):
    """Seconds on the clock, and of CPU that this process and its JVM used."""

    seconds: float
    used: float


def _cost(work: Callable[[], None]) -> _Cost:
    begin, used = time.perf_counter(), _cpu_seconds()
    work()
    return _Cost(time.perf_counter() - begin, _cpu_seconds() - used)


def _cpu_seconds() -> float:
    """Of this process and its JVM."""
    process = gateway.jvm_process()
    assert process is not None
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def source(root: Path, partition: TimePartition | None) -> AssetSpec:
    place = StorageLocation(str(root / "source"), "source")
    return AssetSpec("source", "source", place, HERE, source=SourceSpec("delta"), partitioning=Partitioning(partition))


def asset(name: str, root: Path, sql: str, partition: TimePartition | None) -> AssetSpec:
    return AssetSpec(
        name,
        name,
        StorageLocation(str(root / name), name),
        HERE,
        inlets={"source": InletSpec("source", "", None)},
        partitioning=Partitioning(partition),
        strategy=DateRange() if partition else FullRefresh(),
        write=ReplaceWrite(),
        schedule=Schedule(default=True),
        body=SqlBody(sql, HERE),
    )


def project_of(root: Path, settings: Mapping[str, str], *assets: AssetSpec) -> ProjectSpec:
    linked = project(*assets)
    return replace(
        linked,
        root=str(root),
        state=str(root / "state"),
        warehouse=str(root),
        spark=dict(settings),
        max_parallel_runs=PARALLEL,
    )


if __name__ == "__main__":
    main()
