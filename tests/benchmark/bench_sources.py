"""Looking at sources of many files, as ratios to listing everything (docs/design/projects.md#observing-sources)."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, Schema
from deltalake.schema import Field, PrimitiveType
from deltalake.transaction import AddAction

from sparkassets.core.partitions import Partitioning, PartitionSet, SegmentPartition, TimePartition
from sparkassets.core.spec.model import AssetSpec, SourceSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import FileLocation
from sparkassets.ports import LastLook
from sparkassets.sources import make_observer
from tests.benchmark.figures import record
from tests.sources.texts import PlainTexts

REPEATS = 5
FIRST = date(1990, 1, 1)
STATS = '{"numRecords":1,"minValues":{"x":1},"maxValues":{"x":1},"nullCount":{"x":0}}'


@dataclass
class Source:
    """An asset and its position."""

    asset: AssetSpec
    table_id: str | None = None
    version: int | None = None
    cursor: dict[str, Any] = field(default_factory=dict)
    coverage: PartitionSet = field(default_factory=PartitionSet)

    def look(self) -> int:
        """Observes and takes over the position; the number of slots that changed or are gone."""
        watcher, now = make_observer(self.asset, texts=PlainTexts()), datetime.now(UTC)
        assert watcher is not None
        assert self.asset.partitioning is not None
        last = LastLook(self.table_id, self.version, self.cursor, self.coverage)
        seen = watcher.observe(self.asset, last, now=now)
        if seen is None:
            return 0
        self.table_id, self.version = seen.table_id, seen.version
        self.cursor = {key: value for key, value in {**self.cursor, **seen.cursor}.items() if value is not None}
        self.coverage = (self.coverage | seen.changed) - seen.removed
        return self.asset.partitioning.count(seen.changed) + self.asset.partitioning.count(seen.removed)


def source(path: str, kind: str) -> Source:
    """A daily source."""
    return Source(
        AssetSpec(
            name="landed",
            uri="landed",
            storage=StorageLocation(path, path),
            location=FileLocation("landed.yml"),
            source=SourceSpec("delta" if kind == "delta" else "csv"),
            partitioning=Partitioning(TimePartition("day", "UTC", column="day")),
        )
    )


def median(action: Callable[[], object], *, before: Callable[[int], object] = lambda _: None) -> float:
    """Milliseconds of ``action``; ``before`` runs untimed, with the number of the repetition."""
    times = []
    for repetition in range(REPEATS):
        before(repetition)
        begin = time.perf_counter()
        action()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def report(what: str, milliseconds: float, listing: float) -> None:
    """Prints one line."""
    print(f"  {what:<44} {milliseconds:>9.2f} ms {milliseconds / listing:>8.3f} x")


def days(count: int) -> list[str]:
    """Consecutive days as text."""
    return [(FIRST + timedelta(days=number)).isoformat() for number in range(count)]


def files(root: Path, count: int) -> None:
    """``count`` daily files."""
    write_files(root, count)

    def listing() -> int:
        with os.scandir(root) as entries:
            return sum(entry.stat().st_size for entry in entries)

    base = median(listing)
    daily = source(f"{root}/{{day}}.csv", "csv")
    print(f"{count:,} files, one a day; scandir and stat alone: {base:.0f} ms")
    report("first look", median(lambda: setattr(daily, "cursor", {}) or daily.look()), base)
    same = [(cpu_seconds(daily.look), cpu_seconds(listing)) for _ in range(REPEATS)]
    ratios = [ours / bare for ours, bare in same]
    report("nothing new", statistics.median(ours for ours, _ in same) * 1000, base)
    what, limit = f"a look at {count:,} files without change: CPU", "a `stat` of each file"
    against = "`scandir` and `stat`"
    record(what, statistics.median(ratios), "x", against=against, spread=ratios, goal=2.5, limit=limit)
    middle = Path(root, f"{days(count)[count // 2]}.csv")
    report("one file changed", median(daily.look, before=lambda n: middle.write_text("x" * (n + 1))), base)


def write_files(root: Path, count: int) -> None:
    """Writes a file for each of so many days."""
    for day in days(count):
        Path(root, f"{day}.csv").write_text("x")  # an empty file is not there


def table(root: Path, count: int) -> None:
    """A Delta table of ``count`` files, one a day."""
    path = str(root / f"table{count}")
    schema = Schema([Field("day", PrimitiveType("date")), Field("x", PrimitiveType("long"))])
    DeltaTable.create(path, schema=schema, partition_by=["day"])
    commit(path, days(count), "first")
    DeltaTable(path).create_checkpoint()

    def listing() -> int:
        return len(DeltaTable(path).get_add_actions(flatten=True).column("path").to_pylist())

    base = median(listing)
    daily = source(path, "delta")
    print(f"Delta, {count:,} files, one a day; opening the table and listing its files: {base:.0f} ms")

    def again() -> None:
        daily.version = None
        daily.look()

    report("first look", median(again), base)
    report("nothing new", median(daily.look), base)
    report("one commit came", median(daily.look, before=lambda n: commit(path, days(1), f"more{n}")), base)
    report("a day was deleted", median(daily.look, before=lambda n: delete(path, days(count)[-1 - n])), base)


def log_entries(root: Path, count: int) -> None:
    """A Delta table whose log has ``count`` entries."""
    path = write_log(root, count)
    daily = source(path, "delta")

    def first_look() -> None:
        daily.version = None
        daily.look()

    first_look()
    ratios = [cpu_seconds(first_look) / cpu_seconds(lambda: DeltaTable(path)) for _ in range(REPEATS)]
    what = f"the first look at a Delta source with {count:,} log entries: CPU"
    limit = "1: the log is read once"
    record(what, statistics.median(ratios), "x", against="`DeltaTable()`", spread=ratios, goal=1.2, limit=limit)


def write_log(root: Path, count: int) -> str:
    """Writes a table whose log has ``count`` entries and no checkpoint, with a file of one of 365 days in each."""
    path, keys = str(root / f"entries{count}"), days(365)
    schema = Schema([Field("day", PrimitiveType("date")), Field("x", PrimitiveType("long"))])
    DeltaTable.create(path, schema=schema, partition_by=["day"])
    for version in range(1, count):
        add = {"path": f"day={keys[version % 365]}/{version}.parquet", "partitionValues": {"day": keys[version % 365]}}
        add |= {"size": 1, "modificationTime": 0, "dataChange": True, "stats": STATS}
        Path(path, "_delta_log", f"{version:020}.json").write_text(json.dumps({"add": add}) + "\n")
    return path


def cpu_seconds(action: Callable[[], object]) -> float:
    """The CPU that an action takes."""
    begin = time.process_time()
    action()
    return time.process_time() - begin


def products(root: Path, count: int) -> None:
    """A Delta table of ``count`` customers, a file a customer of one day."""
    path, customers = str(root / f"products{count}"), [f"customer{number:06}" for number in range(count)]
    fields = [Field("day", PrimitiveType("date")), Field("customer", PrimitiveType("string"))]
    schema = Schema([*fields, Field("x", PrimitiveType("long"))])
    DeltaTable.create(path, schema=schema, partition_by=["day", "customer"])
    (day,) = days(1)

    def add(names: list[str], name: str) -> None:
        delta = DeltaTable(path)
        parts = [({"day": day, "customer": each}, f"day={day}/customer={each}/{name}.parquet") for each in names]
        adds = [AddAction(place, 1, values, 0, True, STATS) for values, place in parts]  # noqa: FBT003 - data changes
        delta.create_write_transaction(adds, "append", delta.schema(), ["day", "customer"])

    add(customers, "first")
    DeltaTable(path).create_checkpoint()
    base = median(lambda: len(DeltaTable(path).get_add_actions(flatten=True).column("path").to_pylist()))
    daily = source(path, "delta")
    dimensions = (SegmentPartition("customer", tuple(customers)),)
    daily.asset = replace(daily.asset, partitioning=Partitioning(daily.asset.partitioning.time, dimensions))
    daily.look()
    print(f"Delta, {count:,} customers by day; opening the table and listing its files: {base:.0f} ms")
    report("nothing new", median(daily.look), base)
    report("one commit came", median(daily.look, before=lambda n: add(customers[:1], f"more{n}")), base)


def commit(path: str, keys: list[str], name: str) -> None:
    """Appends one file a day, in the log alone: nothing here reads data."""
    delta = DeltaTable(path)
    adds = [AddAction(f"day={key}/{name}.parquet", 1, {"day": key}, 0, True, STATS) for key in keys]  # noqa: FBT003 - data changes
    delta.create_write_transaction(adds, "append", delta.schema(), ["day"])


def delete(path: str, key: str) -> None:
    """Deletes one day."""
    DeltaTable(path).delete(f"day = '{key}'")


def main() -> None:
    """Prints the tables."""
    with tempfile.TemporaryDirectory() as folder:
        landing = Path(folder, "landing")
        landing.mkdir()
        files(landing, 30_000)
        for count in (1_000, 10_000):
            table(Path(folder), count)
        log_entries(Path(folder), 4_000)
        products(Path(folder), 100_000)


if __name__ == "__main__":
    main()
