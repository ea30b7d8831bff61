"""Two drivers on a real S3, killed while they work, before a network that drops and a store that refuses.

`make servers` builds MinIO and runs this; without it there is nothing to run it on.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.e2e.projects import COMMAND, environment, write
from tests.integration.lossy import Lossy

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(3600),
    pytest.mark.skipif("SPARKASSETS_MINIO" not in os.environ, reason="`make servers` runs it"),
]
LAKE = "s3a://lake/shop"
DAYS = 6
KILLS = int(os.environ.get("KILLS", "6"))
PATIENCE_SECONDS = 600
TROUBLES = [
    ("busy", r".*", range(1, 10_000, 7)),
    ("lose", r"PUT .*", range(2, 10_000, 9)),
    ("cut", r"PUT .*", range(3, 10_000, 11)),
    ("busy", r"^$", range(0)),
]
"""What the network does to requests, one after another; the last is nothing."""


def project(address: str) -> dict[str, str]:
    files = {
        "project.yml": f"""
            project: shop
            state: {LAKE}/state
            warehouse: {LAKE}/warehouse
            assets: [assets/]
            defaults: {{retries: 5, lease: 1m}}
            spark: {{sparkassets.small_data: "true"}}
            storage:
              s3://lake: {{endpoint: "{address}", access_key: AWS_ACCESS_KEY_ID, secret_key: AWS_SECRET_ACCESS_KEY}}
        """,
        "assets/sales.yml": f"""
            asset: sales
            source: delta
            path: {LAKE}/sales
            partition: {{by: day, column: day}}
        """,
        "assets/daily.yml": """
            asset: daily
            partition: {by: day, column: day}
            sql: SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day
        """,
        "assets/ledger.yml": """
            asset: ledger
            inlets: {sales: {read: {after: id}}}
            write: append
            sql: SELECT id, amount FROM {{ inlets.sales }}
        """,
    }
    return {name: dedent(text).lstrip() for name, text in files.items()}


class Drivers:
    """Two loops of the command line on one state."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.running = [self.start(), self.start()]
        self.kills = 0

    def start(self) -> subprocess.Popen[str]:
        with (self.home / "drivers.log").open("a") as log:
            return subprocess.Popen(
                [COMMAND, "run", "--project", "conf", "--loop", "1s"],
                cwd=self.home,
                env=environment(),
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def kill_one(self, chance: random.Random) -> None:
        """Ends one with its JVM at once, and starts another in its place."""
        place = chance.randrange(len(self.running))
        _end(self.running[place])
        self.kills += 1
        self.running[place] = self.start()

    def end(self) -> None:
        while self.running:
            _end(self.running.pop())


def _end(driver: subprocess.Popen[str]) -> None:
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


@pytest.fixture
def drivers(s3: Lossy, tmp_path: Path) -> Iterator[Drivers]:
    write(tmp_path / "conf", project(s3.address))
    sell(0)
    found = Drivers(tmp_path)
    yield found
    found.end()


def sell(wave: int) -> None:
    """One sale more on each day."""
    ids = [wave * DAYS + day for day in range(DAYS)]
    days = [date(2025, 1, 1 + day) for day in range(DAYS)]
    data = pa.table({"id": ids, "day": days, "amount": [each + 1 for each in ids]})
    write_deltalake(f"{LAKE}/sales", data, mode="append", partition_by=["day"])


def table(name: str) -> list[dict[str, object]]:
    return pa.table(DeltaTable(f"{LAKE}/warehouse/{name}").scan().read_all()).to_pylist()


def test_nothing_is_lost_or_doubled(drivers: Drivers, s3: Lossy, tmp_path: Path) -> None:
    chance = random.Random(33)  # noqa: S311  when to kill
    for wave in range(1, KILLS + 1):
        what, which, at = TROUBLES[wave % len(TROUBLES)]
        time.sleep(chance.uniform(5, 25))
        s3.begin()
        sell(wave)
        s3.begin(what, which, at)
        time.sleep(chance.uniform(5, 25))
        drivers.kill_one(chance)
    s3.begin()
    drivers.end()
    last = subprocess.run(
        [COMMAND, "run", "--project", "conf"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert last.returncode == 0, last.stdout + last.stderr
    ids = range((KILLS + 1) * DAYS)
    assert Counter(row["id"] for row in table("ledger")) == Counter(ids)
    assert {row["day"].day - 1: row["amount"] for row in table("daily")} == {
        day: sum(each + 1 for each in ids if each % DAYS == day) for day in range(DAYS)
    }
    assert drivers.kills == KILLS
