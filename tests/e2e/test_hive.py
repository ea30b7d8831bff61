"""A project whose tables are in a Hive metastore: each driver is a process, the database is Derby's, in a folder."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sparkassets import Project
from tests.e2e.projects import COMMAND, environment, rows, sell, stamps, write

pytestmark = [pytest.mark.spark, pytest.mark.deep]

CRASHING = Path(__file__).with_name("crashing.py")
PATIENCE_SECONDS = 300
FIRST = [(1, "2025-01-01", 10), (2, "2025-01-01", 5)]
SECOND = [(3, "2025-01-02", 7), (4, "2025-01-03", 1)]
ASSETS = """
asset: sales
source: delta
path: ../landed/sales
partition: {by: day, column: day}
---
asset: daily
table: daily
partition: {by: day, column: day}
sql: SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day
---
asset: ledger
table: default.ledger
inlets: {sales: {read: changes}}
write: append
sql: SELECT id, amount FROM {{ inlets.sales }}
---
asset: prices
table: spark_catalog.default.prices
partition: {by: day, column: day}
write: {upsert: {keys: [id]}}
sql: SELECT id, day, amount FROM {{ inlets.sales }}
---
asset: total
table: total
sql: SELECT sum(amount) AS amount FROM {{ inlets.daily }}
"""


class Lake:
    """The project, its metastore at ``url``, and the folder where that has the tables."""

    def __init__(self, home: Path, url: str | None = None) -> None:
        self.home = home
        url = url or f"jdbc:derby:;databaseName={home}/metastore;create=true"
        files = {
            "conf/project.yml": f"""
project: shop
state: ../state
assets: [assets.yml]
defaults: {{retries: 0}}
spark:
  sparkassets.small_data: "true"
  spark.sql.catalogImplementation: hive
  spark.sql.warehouse.dir: {home}/warehouse
  spark.hadoop.javax.jdo.option.ConnectionURL: "{url}"
""",
            "conf/assets.yml": ASSETS,
        }
        write(home, files)

    def run(self, *more: str) -> list[dict]:
        """One invocation of the command: its runs."""
        done = subprocess.run(
            [COMMAND, "run", "--json", *more],
            cwd=self.home,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: list[dict] = json.loads(done.stdout)["runs"]
        return found

    def killed(self, asset: str, moment: str) -> None:
        """A driver that is killed at a moment of a run, and its JVM with it."""
        marker = self.home / moment
        command = [sys.executable, str(CRASHING), str(self.home / "conf"), asset, moment, str(marker)]
        with (self.home / "said").open("w") as out:
            driver = subprocess.Popen(command, cwd=self.home, env=environment(), stdout=out, stderr=out)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not marker.exists():
            assert driver.poll() is None, (self.home / "said").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (jvm,) = [each for each in psutil.Process(driver.pid).children(recursive=True) if each.name() == "java"]
        driver.kill()
        driver.wait()
        jvm.wait(PATIENCE_SECONDS)

    def rows(self, table: str, *columns: str) -> list[tuple]:
        return [tuple(map(str, row)) for row in rows(self.home / "warehouse" / table, *columns)]

    def holds(self, *sold: tuple[int, str, int]) -> None:
        """Every table holds what came of these, once."""
        days = sorted({day for _, day, _ in sold})
        assert self.rows("ledger", "id", "amount") == [(str(number), str(amount)) for number, _, amount in sold]
        assert self.rows("prices", "id") == [(str(number),) for number, _, _ in sold]
        amounts = [(day, str(sum(amount for _, of, amount in sold if of == day))) for day in days]
        assert self.rows("daily", "day", "amount") == amounts
        assert self.rows("total", "amount") == [(str(sum(amount for _, _, amount in sold)),)]


def test_tables_of_a_hive_metastore_are_made(tmp_path):
    lake = Lake(tmp_path)
    sell(tmp_path / "landed" / "sales", *FIRST)
    assert {run["status"] for run in lake.run()} == {"success"}
    lake.holds(*FIRST)


def test_the_next_process_finds_them_takes_over_and_goes_on(tmp_path):
    lake = Lake(tmp_path)
    sell(tmp_path / "landed" / "sales", *FIRST)
    assert len(lake.run()) == 4
    assert lake.run() == []
    sell(tmp_path / "landed" / "sales", *SECOND)
    lake.killed("ledger", "computed")
    lake.killed("daily", "written")
    runs = {run["asset"]: run for run in lake.run()}
    assert runs["ledger"]["reason"].startswith("takes over ledger-")
    assert runs["daily"]["adopted"]
    assert {run["status"] for run in runs.values()} == {"success"}
    lake.holds(*FIRST, *SECOND)
    for table in ("ledger", "daily", "prices", "total"):
        told = [row.run for row in Project.load(tmp_path / "conf").history.rows(asset=table, kinds=["success"])]
        assert told == [each["run"] for each in stamps(tmp_path / "warehouse" / table)]
    assert lake.run() == []
