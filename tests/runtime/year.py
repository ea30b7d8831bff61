"""A project that a loop drives for a simulated year: hours and days, sources that change, and runs that fail.

The loop, the state, the files, the logs and whoever looks at sources are the real ones; tables are in memory and keep
their newest commits alone, and the clock goes on whenever the loop is idle. It is a process of its own, which tells
what it holds: `measured`.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import psutil
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from sparkassets.cli.run_loop import InterruptedBySignalError, SignalStopper, drive
from sparkassets.ports import CommitStamp, DataCommit, Enlist, RunOrder
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.state import maintenance
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring import Project
from tests.runtime.fakes import FakeEngine, FakeOutlets, FakeTarget, FakeTargets, Result

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
LANDED_DAYS = 10
"""How long files and rows of sources are there."""
MONTH = 30
"""Days."""
COMMITS_KEPT = 4
"""Of a table in memory."""
STATE_TABLES = ("journal", "watermarks", "base")

PROJECT = """
project: year
state: {path: ../state, retention: 14d}
warehouse: ../warehouse
assets: [assets.yml]
defaults: {retries: 0}
"""
SOURCES = """
{asset: orders, source: csv, path: '../landing/orders/{day:%Y%m%d}/*.csv', start: 2025-01-01, DAY}
{asset: clicks, source: csv, path: '../landing/clicks/{hour:%Y%m%d%H}.csv', start: 2025-01-01, HOUR}
{asset: ledger, source: delta, path: ../landing/ledger, start: 2025-01-01, DAY}
{asset: prices, source: true}
"""
COMPUTED = """
{asset: hour_0, HOUR, FROM clicks}
{asset: hour_1, HOUR, FROM clicks}
{asset: hour_2, HOUR, FROM hour_0}
{asset: hour_3, HOUR, FROM flaky_hour}
{asset: flaky_hour, HOUR, FROM clicks}
{asset: each, schedule: 0 */6 * * *, start: 2025-01-01, strategy: every_instance, write: append, NOTHING}
{asset: broken, schedule: '@hourly', NOTHING}
{asset: day_0, DAY, FROM orders}
{asset: day_1, DAY, FROM day_0}
{asset: day_2, DAY, FROM ledger}
{asset: day_3, DAY, FROM hour_0}
{asset: flaky_day, DAY, FROM orders}
{asset: broken_day, DAY, FROM orders}
{asset: window, DAY, inlets: {day_0: {window: 7d}}, FROM day_0}
{asset: week, partition: {by: week, column: week}, FROM day_0}
{asset: priced, inlets: [prices], schedule: prices & day_0, NOTHING}
{asset: report, FROM day_1, schedule: 0 6 * * *}
"""
MEANS = {
    "DAY": "partition: {by: day, column: day}",
    "HOUR": "partition: {by: hour, column: hour}",
    "NOTHING": "sql: SELECT 1 AS n",
    "}\n{": "}\n---\n{",
}

Forgotten = Counter[str]


@dataclass
class Table(FakeTarget):
    """One that keeps its newest commits."""

    forgotten: Forgotten = field(default_factory=Counter)

    def commit(self, stamp: CommitStamp, order: RunOrder | None) -> None:
        super().commit(stamp, order)
        old = self.engine.tables[self.name][:-COMMITS_KEPT]
        del self.engine.tables[self.name][: len(old)]
        self.forgotten[self.name] += len(old)

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        gone = self.forgotten[self.name]
        return [replace(each, version=each.version + gone) for each in super().find_commits(runs, above=above)]


@dataclass
class Tables(FakeOutlets):
    """Those."""

    forgotten: Forgotten = field(default_factory=Counter)

    def open_target(self, asset: Any, *, app_id: str, enlist: Enlist) -> Table:
        return Table(self.engine, asset.name, app_id, enlist, self.forgotten)


class Failing(FakeEngine):
    """Computes nothing, and fails for some assets, always or now and then."""

    def compute(self, order: RunOrder, *, attempt: int) -> Result:
        name = order.asset.name
        if name.startswith("broken") or (name.startswith("flaky") and not crc32(order.run.encode()) % 5):
            raise RuntimeError(f"{order.run} is to fail")
        logging.getLogger("year").warning("%s computes", order.run)
        return super().compute(order, attempt=attempt)


class Hours:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = BEGIN

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()


class OneOfMany:
    """Names of runs and invocations, as a new process would have them."""

    def __init__(self) -> None:
        self._count = 0

    def invocation_id(self) -> str:
        self._count += 1
        return f"i{self._count}"

    def run_id(self, asset: str, at: datetime) -> str:
        self._count += 1
        return f"{asset}-{at:%Y%m%dT%H%M%S}-{self._count}"


@dataclass(frozen=True)
class Size:
    """What there is.

    Attributes:
        day: After how many days.
        ticks: Of the loop.
        runs: By what became of them.
        resident: Bytes of this process.
        objects: That the garbage collector sees.
        cached: What the caches of the package's functions hold.
        unbounded: The same, by function, of those that forget nothing.
        state_files, state_bytes: Of the state, logs of runs left out.
        rows: Of the newest snapshot.
        known: Characters of all of these.
        entries: Of the journal that are kept.
        logs: Files.
        kinds: How many objects there are of each type.
    """

    day: int
    ticks: int
    runs: Mapping[str, int]
    resident: int
    objects: int
    cached: int
    unbounded: Mapping[str, int]
    state_files: int
    state_bytes: int
    rows: int
    known: int
    entries: int
    logs: int
    kinds: Mapping[str, int] = field(repr=False)

    @property
    def text(self) -> str:
        """A line of a table."""
        memory = f"{self.resident / 2**20:11.0f}  {self.objects:7}  {self.cached:6}"
        state = f"{self.state_files:11}  {self.state_bytes // 1000:8}  {self.rows:4}  {self.known // 1000:8}"
        return f"{memory}  {state}  {self.entries:7}  {self.logs:4}"

    def grown_since(self, before: Size) -> list[tuple[str, int]]:
        """The types of which there are most more."""
        return (Counter(self.kinds) - Counter(before.kinds)).most_common(10)


class Year:
    """One project and its loop.

    Args:
        home: An empty folder.
        hours: Between two ticks.
        in_memory: Whether its journal is.
    """

    def __init__(self, home: Path, *, hours: int, in_memory: bool) -> None:
        self.home, self.hours, self.ticks = home, hours, 0
        assets = f"{SOURCES.strip()}\n{COMPUTED.strip()}\n"
        for word, meaning in MEANS.items():
            assets = assets.replace(word, meaning)
        assets = re.sub(r"FROM (\w+)", r"sql: 'SELECT * FROM {{ inlets.\1 }}'", assets)
        (home / "conf").mkdir()
        (home / "conf/project.yml").write_text(PROJECT)
        (home / "conf/assets.yml").write_text(assets)
        for name in ("orders", "clicks"):
            (home / "landing" / name).mkdir(parents=True)
        self.clock = Hours()
        self._land()
        self.project = Project.load(home / "conf", env={})
        engine, self._aged = Failing(), set[str]()
        outlets = Tables(engine)
        leases = partial(LeaseMonitor, host="h", process=(1, 0.0), alive=lambda _: True, clock=self.clock)
        given = self.project._context.adapters
        self.project._context.adapters = replace(
            given,
            store=MemoryStore() if in_memory else given.store,
            open_engine=lambda _: (engine, outlets),
            make_target_observer=FakeTargets,
            clock=self.clock,
            ids=OneOfMany(),
            make_lease_monitor=leases,
        )
        self.runs: Counter[str] = Counter()

    def drive(self, until: datetime) -> None:
        """Lets the loop of `run --loop` go on until then."""

        def idle(_: SignalStopper, seconds: float) -> None:
            assert seconds == self.hours * 3600
            self.ticks += 1
            self.clock.time += timedelta(hours=self.hours)
            self._land()
            self._age()
            if self.clock.time >= until:
                raise InterruptedBySignalError

        def work(progress: Any) -> Any:
            summary = self.project.run(progress=progress, check=False)
            self.runs.update(run.status for run in summary.runs)
            return summary

        SignalStopper.sleep_until = idle  # type: ignore[method-assign]
        drive(self.project, work, as_json=False, every_seconds=self.hours * 3600.0)

    def size(self) -> Size:
        """What there is now."""
        gc.collect()
        objects = gc.get_objects()
        caches = [each for each in objects if type(each).__name__ == "_lru_cache_wrapper"]
        caches = [each for each in caches if str(each.__module__).startswith("sparkassets")]
        kinds = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in objects)
        state = self.home / "state"
        files = [each for each in state.rglob("*") if each.is_file() and each.suffix != ".log"]
        store = self.project._context.adapters.store
        image = store.read_image(project="year")
        newest = image.tail[-1].seq if image.tail else image.snapshot_seq
        return Size(
            day=(self.clock.time - BEGIN).days,
            ticks=self.ticks,
            runs=dict(self.runs),
            resident=psutil.Process().memory_info().rss,
            objects=len(objects),
            cached=sum(each.cache_info().currsize for each in caches),
            unbounded=_unbounded(caches),
            state_files=len(files),
            state_bytes=sum(each.stat().st_size for each in files),
            rows=len(image.snapshot),
            known=sum(len(str(row)) for row in image.snapshot),
            entries=newest + 1 - store.oldest_seq(),
            logs=len(list((state / "logs").glob("*.log"))),
            kinds=dict(kinds),
        )

    # ------------------------------------------------------------------ the world

    def _land(self) -> None:
        """What others write in these hours, and what they remove."""
        now, landing = self.clock.time, self.home / "landing"
        for hour in (now - timedelta(hours=back) for back in range(self.hours)):
            (landing / f"clicks/{hour:%Y%m%d%H}.csv").write_text("n\n1\n")
        day = landing / f"orders/{now:%Y%m%d}"
        day.mkdir(exist_ok=True)
        (day / f"{now:%H}.csv").write_text(f"n\n{now.hour}\n")
        old = now - timedelta(days=LANDED_DAYS)
        for gone in (old - timedelta(days=back) for back in range(self.hours // 24 + 1)):
            for number in range(24):
                (landing / f"clicks/{gone:%Y%m%d}{number:02}.csv").unlink(missing_ok=True)
            shutil.rmtree(landing / f"orders/{gone:%Y%m%d}", ignore_errors=True)
        if now.hour == 0:
            self._ledger(now, old)
        if now.hour == 0 and self.ticks:
            self.project.events.add("prices")

    def _ledger(self, now: datetime, old: datetime) -> None:
        path = str(self.home / "landing/ledger")
        write_deltalake(path, pa.table({"day": [f"{now:%Y-%m-%d}"], "n": [1]}), mode="append", partition_by=["day"])
        table = DeltaTable(path)
        table.delete(f"day = '{old:%Y-%m-%d}'")
        if now.day % 7 == 0:
            table.create_checkpoint()
            table.vacuum(0, dry_run=False, enforce_retention_duration=False)

    def _age(self) -> None:
        """As if the files that merges leave behind were older than an hour."""
        for name in STATE_TABLES:
            if name not in self._aged and (self.home / "state" / name).is_dir():
                table = DeltaTable(self.home / "state" / name)
                table.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 0 seconds"})
                self._aged.add(name)


def measured(home: Path, days: Sequence[int], *, hours: int, in_memory: bool) -> list[Size]:
    """What the process of a loop holds after so many days."""
    command = [sys.executable, "-m", __name__, str(home), str(hours), str(in_memory), *map(str, days)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-4000:]
    return [Size(**json.loads(line)) for line in done.stdout.splitlines()]


def main(home: str, hours: str, in_memory: str, *days: str) -> None:
    """Drives, and prints a line after each of these days; what a loop tells people is thrown away."""
    maintenance._RETENTION_MILLISECONDS = 0
    year = Year(Path(home), hours=int(hours), in_memory=in_memory == "True")
    for day in map(int, days):
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # noqa: PTH123
            year.drive(BEGIN + timedelta(days=day))
        print(json.dumps(asdict(year.size())), flush=True)  # noqa: T201


def _unbounded(caches: Sequence[Any]) -> dict[str, int]:
    """What those caches hold that forget nothing."""
    found: Counter[str] = Counter()
    for each in caches:
        if each.cache_info().maxsize is None:
            found[f"{each.__module__}.{each.__qualname__}"] += each.cache_info().currsize
    return dict(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
