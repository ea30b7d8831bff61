"""What the changes of one small commit cost on a table of 10,000 files: planned and read here, and by hand.

Both read the same versions in one session, one after the other, so that both meet the same machine; medians. Planning
reads the log's end; that it lists no file is seen from its time, which a table of 100 files costs as well.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from sparkassets.core.runs import InletPin, TablePosition
from sparkassets.core.spec.model import InletSpec, ReadChanges
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import AppendWrite
from sparkassets.delta.change_feed import table_changes
from sparkassets.delta.features import FEED
from sparkassets.spark.engine import SparkEngine
from tests.benchmark.figures import record
from tests.integration.orders import order, project, sql, table

REPEATS = 9
COMMITS = 3 * REPEATS


def main() -> None:
    """Prints medians and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        engine = SparkEngine(project())
        engine.start()
        spark = SparkSession.getActiveSession()
        assert spark is not None
        for files in (100, 10_000):
            path = str(Path(folder, f"of_{files}"))
            save(path, files=files)
            compare(spark, engine, path, files)
        engine.close()


def save(path: str, *, files: int) -> None:
    """A table of so many files that keeps a change feed, a checkpoint, and small commits after it."""
    rows = pa.table({"part": range(files), "v": range(files)})
    write_deltalake(path, rows, partition_by=["part"], configuration={FEED: "true"})
    DeltaTable(path).create_checkpoint()
    for number in range(COMMITS):
        write_deltalake(path, pa.table({"part": [number], "v": [number]}), mode="append")


def compare(spark: SparkSession, engine: SparkEngine, path: str, files: int) -> None:
    """One line each."""
    table_id = str(DeltaTable(path).metadata().id)
    source = replace(table("orders", Path(path).parent), storage=table(Path(path).name, Path(path).parent).storage)
    inlets = {"orders": InletSpec("orders", "orders", None, read=ReadChanges())}
    given = {**sql("SELECT v, _change_type FROM {{ inlets.orders }}"), "inlets": inlets}
    log = table("log", Path(path).parent, strategy=LatestOnly(), write=AppendWrite(), **given)

    def planned(version: int) -> None:
        assert table_changes(path, TablePosition(table_id, version - 1), version).availability.kind == "available"

    def ours(version: int) -> None:
        pin = InletPin("orders", 1, table_id, version, low=str(TablePosition(table_id, version - 1)))
        made = engine.compute(order(log, source, pins={"orders": pin}), attempt=1)
        assert len(made.frame.collect()) == 1  # type: ignore[attr-defined]

    def by_hand(version: int) -> None:
        reader = spark.read.format("delta").option("readChangeFeed", "true")
        rows = reader.option("startingVersion", version).option("endingVersion", version).load(path)
        assert len(rows.select("v", "_change_type").collect()) == 1

    spent: dict[str, list[float]] = {"planned": [], "read here": [], "by hand": []}
    ways: dict[str, Callable[[int], None]] = {"planned": planned, "read here": ours, "by hand": by_hand}
    for version in range(1, 3 * REPEATS, 3):
        for number, (way, does) in enumerate(ways.items()):
            begin = time.perf_counter()
            does(version + number)
            spent[way].append((time.perf_counter() - begin) * 1000)
    print(f"one small commit of a table of {files:,} files")
    for way, each in spent.items():
        print(f"  {way:<10} median {statistics.median(each):7.1f} ms   spread {min(each):.0f}-{max(each):.0f}")
    ratios = [ours / hand for ours, hand in zip(spent["read here"], spent["by hand"], strict=True)]
    what = f"the changes of one small commit, of {files:,} files"
    record(what, statistics.median(ratios), "x", against="`readChangeFeed` by hand", spread=ratios)


if __name__ == "__main__":
    main()
