"""The same daily pipeline by sparkassets, SQLMesh, dbt, Dagster and Airflow: a backfill of a year, then new days.

Three tables, each made of the one before, a partition a day, on Spark with Delta in `local[2]`; the source is a Delta
table of 2,000 rows a day. Each command is a process of its own, as cron would start it. Every tool has its own virtual
environment, because they pin different versions of Spark. The rows that each wrote must be those expected.

``python -m tests.benchmark.peers FOLDER`` makes the environments that are missing in a folder and, when all tools have
run, writes the table that `make bench` puts on its page. Names after the folder choose some tools, and only print. On
Linux, where the CPU of a JVM counts whose Python ended before it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
from deltalake import DeltaTable, write_deltalake

from sparkassets.errors import SparkAssetsError
from sparkassets.frozen import frozen
from sparkassets.spark.installation import JarFetch, find_java
from tests.benchmark.peer_projects import PEERS, SAMPLE, Peer

TABLE: Final = Path(__file__).with_suffix(".md")
FIRST: Final = date(2013, 1, 1)
DAYS, ROWS, NEW_DAYS = 365, 2_000, 3
COMMAND_SECONDS: Final = 1800
"""What one command may take."""
COMPARED: Final = {"carriers": ["day", "carrier", "n", "delay"], "totals": ["day", "n", "worst"]}
"""Columns of the tables whose rows are compared: the counts and sums of the first are those of `clean`."""

SPARK: Final = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
}
"""What everybody gets by `spark-defaults.conf`; sparkassets sets its own besides, by its profile for small data."""


@frozen
class Spent:
    """What commands took.

    Attributes:
        seconds: On the clock.
        cpu_seconds: Of all their processes.
    """

    seconds: float
    cpu_seconds: float

    def scaled(self, factor: float) -> Spent:
        """That of so many times as much."""
        return Spent(self.seconds * factor, self.cpu_seconds * factor)


class PeerFailedError(Exception):
    """A tool's command failed, or it computed other rows."""


def main(environments: Path, *names: str) -> None:
    """Prints what each tool takes, of these names or of all; of all it writes the table as well."""
    adopt_orphans()
    chosen = [peer for peer in PEERS if not names or peer.name in names]
    with tempfile.TemporaryDirectory() as folder:
        landed = Path(folder, "landed")
        land(landed, FIRST, DAYS)
        homes = [Path(folder, peer.name.replace(" ", "")) for peer in chosen]
        benches = [Bench(peer, home, landed, environments) for peer, home in zip(chosen, homes, strict=True)]
        benches = attempt(benches, Bench.prepare)
        last = FIRST + timedelta(days=DAYS - 1)
        benches = attempt(benches, lambda bench: bench.backfill(FIRST, last))
        for number in range(1, NEW_DAYS + 1):
            day = last + timedelta(days=number)
            land(landed, day, 1)
            benches = attempt(benches, lambda bench, day=day: bench.new_day(day))
        expected = expected_rows(landed)
        benches = attempt(benches, lambda bench: bench.check(expected))
        table = render_table(benches, missing={peer.name for peer in chosen} - {bench.peer.name for bench in benches})
        print(table)
        if not names:
            TABLE.write_text(table, "utf-8")


def attempt(benches: Sequence[Bench], work: Callable[[Bench], None]) -> list[Bench]:
    """Does some work with each tool; returns those that did not fail."""
    going = []
    for bench in benches:
        try:
            work(bench)
        except (PeerFailedError, SparkAssetsError, subprocess.SubprocessError) as error:
            print(error, flush=True)
        else:
            going.append(bench)
    return going


def adopt_orphans() -> None:
    """Makes this process the parent of those whose parent ends before them, so that their CPU counts."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def expected_rows(landed: Path) -> dict[str, list[tuple[object, ...]]]:
    """By table the rows that the landed ones give, sorted."""
    rows = DeltaTable(landed).to_pyarrow_table()
    delays = rows.filter(pc.is_valid(rows["delay"])).group_by(["day", "carrier"])
    carriers = delays.aggregate([("delay", "count"), ("delay", "sum")])
    totals = carriers.group_by("day").aggregate([("delay_count", "sum"), ("delay_sum", "max")])
    return {"carriers": sorted_rows(carriers), "totals": sorted_rows(totals)}


def sorted_rows(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows as tuples, sorted."""
    return sorted(tuple(row.values()) for row in table.to_pylist())


def render_table(benches: Sequence[Bench], *, missing: Collection[str]) -> str:
    """The table in Markdown, with what a reader must know of it."""
    lines = [
        f"Three tables by day on Delta, {ROWS:,} rows a day, `local[2]`; each command is a process of its own, as cron",
        f"starts it. Medians of {NEW_DAYS} new days, the tools by turns; a backfill is measured once. CPU includes the",
        "JVM. All tools wrote the same rows. By `make peers`, which installs the tools.",
        *([f"Failed: {', '.join(sorted(missing))}."] if missing else []),
        "",
        "| tool | one new day | its CPU | a backfill of a year | its CPU | which is |",
        "|---|---|---|---|---|---|",
    ]
    for bench in benches:
        seconds = [day.seconds for day in bench.days]
        lines.append(
            f"| {bench.title()} | {statistics.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f}) "
            f"| {statistics.median(day.cpu_seconds for day in bench.days):.1f} s | {bench.year.seconds:,.0f} s "
            f"| {bench.year.cpu_seconds:,.0f} s | {bench.peer.note} |"
        )
    return "\n".join([*lines, ""])


def land(path: Path, first: date, count: int) -> None:
    """Appends the rows of some days to the source."""
    days = [first + timedelta(days=number) for number in range(count) for _ in range(ROWS)]
    rows = range(len(days))
    carriers, delays = [f"c{n % 16}" for n in rows], [None if n % 50 == 0 else n * 7 % 91 for n in rows]
    table = pa.table({"day": days, "carrier": carriers, "delay": pa.array(delays, pa.int32())})
    write_deltalake(path, table, mode="append", partition_by=["day"])


class Bench:
    """One tool's project in a folder of its own, and what it took.

    Attributes:
        days: What each new day took.
        year: What the backfill took.
    """

    def __init__(self, peer: Peer, home: Path, landed: Path, environments: Path) -> None:
        self.peer, self.home = peer, home
        self.days: list[Spent] = []
        self.year = Spent(0, 0)
        self._landed, self._environments = landed, environments

    def prepare(self) -> None:
        """Makes the tool's environment, if it is missing, and its project."""
        peer, home = self.peer, self.home
        self.python = sys.executable
        if peer.requires:
            self.python = make_environment(self._environments / peer.name, peer.requires)
        folder = Path(self.python).parent
        self._words = {
            "LANDED": f"delta.`{self._landed}`",
            "SOURCE": str(self._landed),
            "HOME": str(home),
            "PYTHON": self.python,
            "BIN": str(folder),
        }
        for name, text in peer.files.items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._fill(text))
        settings = {
            **SPARK,
            "spark.driver.extraClassPath": os.pathsep.join(map(str, self._jars())),
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            **({"spark.sql.catalogImplementation": "hive"} if peer.catalog else {}),
        }
        conf = home / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        self._environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "SPARK_CONF_DIR": str(conf),
            "PYSPARK_PYTHON": self.python,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "DAGSTER_HOME": str(home),
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        }
        if peer.name == "airflow":
            self._run([["BIN/airflow", "db", "migrate"]])

    def title(self) -> str:
        """Its name and versions."""
        own = self.peer.requires[0].partition("==")[2] if self.peer.requires else ""
        return f"{' '.join(filter(None, (self.peer.name, own)))}, Spark {self._version('pyspark')}"

    def backfill(self, first: date, last: date) -> None:
        """Measures the whole range; by a process for each day where the tool has no ranges, scaled from some."""
        if self.peer.ranges:
            self.year = self._run(self.peer.backfill(first, last))
        else:
            sample = self._run(self.peer.backfill(first, first + timedelta(days=SAMPLE - 1)))
            self.year = sample.scaled(((last - first).days + 1) / SAMPLE)

    def new_day(self, day: date) -> None:
        """Measures one new day."""
        self.days.append(self._run(self.peer.day(day)))

    def check(self, expected: Mapping[str, list[tuple[object, ...]]]) -> None:
        """Raises `PeerFailedError` if the tool wrote other rows, or not all days that it was to compute."""
        wanted = (DAYS if self.peer.ranges else SAMPLE) + NEW_DAYS
        for name, rows in self.rows().items():
            days = {row[0] for row in rows}
            if len(days) != wanted or rows != [row for row in expected[name] if row[0] in days]:
                raise PeerFailedError(f"{self.peer.name}: other rows of {name}, {len(rows)} of {len(days)} days")

    def rows(self) -> dict[str, list[tuple[object, ...]]]:
        """The rows of each table that is compared, sorted."""
        found = {}
        for name, columns in COMPARED.items():
            (log,) = [path for path in self.home.rglob("_delta_log") if name in str(path.parent.relative_to(self.home))]
            found[name] = sorted_rows(DeltaTable(log.parent).to_pyarrow_table(columns=columns))
        return found

    def _run(self, commands: Sequence[Sequence[str]]) -> Spent:
        begin, before = time.perf_counter(), cpu_of_children()
        for command in commands:
            words = [self._fill(word) for word in command]
            done = subprocess.run(
                words,
                cwd=self.home,
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_SECONDS,
            )
            if done.returncode:
                raise PeerFailedError(f"{' '.join(words)}\n{done.stdout}\n{done.stderr}")
        seconds = time.perf_counter() - begin
        wait_for_orphans()
        print(f"{self.peer.name}: {seconds:.1f} s", flush=True)
        return Spent(seconds, cpu_of_children() - before)

    def _fill(self, text: str) -> str:
        for word, value in self._words.items():
            text = text.replace(word, value)
        return text

    def _version(self, name: str) -> str:
        code = f"from importlib.metadata import version; print(version({name!r}))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    def _jars(self) -> list[Path]:
        """Delta's jars for this environment's Spark, fetched into it once."""
        done = subprocess.run([self.python, "-c", COORDINATES], capture_output=True, text=True, check=True)
        _, name, version = done.stdout.strip().split(":")
        module = IVY.format(name=name, version=version)
        fetch = JarFetch("Delta's jars", name, module, Path(self.python).parent / "delta-jars")
        return fetch.jars(Path(pyspark.__file__).parent, find_java())


def make_environment(folder: Path, requires: Sequence[str]) -> str:
    """The Python of a virtual environment with these distributions, made if it is missing."""
    python = folder.absolute() / "bin" / "python"
    if not python.exists():
        uv = str(Path(sys.executable).parent / "uv")
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *requires], check=True)
    return str(python)


def cpu_of_children() -> float:
    """Seconds of CPU of the children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_for_orphans() -> None:
    """Returns when no process of a command is left."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


COORDINATES: Final = """
from delta.pip_utils import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
print(configure_spark_with_delta_pip(SparkSession.Builder())._options["spark.jars.packages"])
"""
IVY: Final = """<ivy-module version="2.0">
  <info organisation="benchmark" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="io.delta" name="{name}" rev="{version}" conf="default->default"/>
    <exclude org="^(?!io\\.(delta|unitycatalog)$).*" matcher="regexp"/>
  </dependencies>
</ivy-module>
"""


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
