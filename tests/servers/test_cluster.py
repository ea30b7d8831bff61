"""A standalone cluster with two workers: `spark-submit`, executors that come and go, and processes that are killed.

`make servers` runs this.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project
from tests.documents import ROOT
from tests.e2e.projects import COMMAND, rows, sell, write
from tests.integration.lossy import Lossy
from tests.servers.standalone import Cluster, kill_group, standalone, wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1800),
    pytest.mark.skipif("SPARKASSETS_MINIO" not in os.environ, reason="`make servers` runs it"),
]

PROJECT = {
    "project.yml": """
project: shop
state: ../state
warehouse: ../lake
assets: [assets.yml]
python: [shop]
defaults: {retries: 0}
spark: {sparkassets.small_data: "true"}
""",
    "assets.yml": """
asset: sales
source: delta
path: ../landed/sales
partition: {by: day, column: day}
---
asset: daily
partition: {by: day, column: day}
columns: {day: date, amount: bigint}
validations:
  - {not_null: [day, amount]}
  - {row_count: {min: 1, max: 1}}
sql: SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day
---
asset: good
partition: {by: day, column: day}
columns: {day: date, id: bigint}
validations: [{range: {id: {max: 1000}}, severity: quarantine}]
sql: SELECT day, id FROM {{ inlets.sales }}
---
asset: ledger
inlets: {sales: {read: changes}}
write: append
sql: SELECT id, amount FROM {{ inlets.sales }}
---
asset: prices
inlets: {sales: {read: changes}}
write: {upsert: {keys: [id]}}
sql: SELECT id, amount FROM {{ inlets.sales }}
---
asset: report
write: {publish: {keep: 3}}
sql: SELECT sum(amount) AS amount FROM {{ inlets.daily }}
""",
    "shop/__init__.py": "",
    "shop/deep/__init__.py": "",
    "shop/deep/factors.py": "MORE = 5\n",
    "shop/factors.py": "FACTOR = 2\n",
    "shop/scoring.py": """
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import functions as F

from sparkassets import PartitionByInterval, asset

from shop.factors import FACTOR


@F.pandas_udf("long")
def times(values: pd.Series) -> pd.Series:
    from shop.deep.factors import MORE

    return values * FACTOR * MORE


@asset(partition=PartitionByInterval("@daily", column="day"))
def scores(sales):
    def halve(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        from shop import factors

        for part in parts:
            yield part.assign(amount=part["amount"] * factors.FACTOR)

    scored = sales.select("id", "day", times("amount").alias("amount"))
    return scored.mapInPandas(halve, "id long, day date, amount long")
""",
}
FACTOR = 2 * 5 * 2
"""Of the two pandas functions together."""

SLOW = """
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from sparkassets import asset

HOME = Path(HERE)


@asset(schedule="@once")
def slow(spark):
    home = str(HOME)

    def wait(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield part
            if (part["id"] >= 750).any():
                Path(home, "begun").touch()
                while not Path(home, "go on").exists():
                    time.sleep(0.1)

    return spark.range(1000, numPartitions=4).mapInPandas(wait, "id long")
"""
FIRST = [(1, "2025-01-01", 10), (2, "2025-01-01", 5), (3, "2025-01-02", 7)]
SECOND = [(4, "2025-01-02", 1), (5, "2025-01-03", 2)]
STRANGE = [(5000, "2025-01-04", 4)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("cluster")) as found:
        yield found


class Shop:
    """A project beside `jobs/run.py`, and `spark-submit` of that."""

    def __init__(self, home: Path, cluster: Cluster) -> None:
        self.home = home
        self.cluster = cluster
        write(home / "conf", PROJECT)
        write(home, {"jobs/run.py": (ROOT / "jobs/run.py").read_text("utf-8")})

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """A driver of the cluster that is not waited for; `said` is what it prints."""
        conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"} | settings
        options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
        command = [COMMAND.with_name("spark-submit"), "--master", self.cluster.url, *options]
        with (self.home / "said").open("a") as out:
            return subprocess.Popen(
                [*command, "jobs/run.py", "--", "--project", "conf", *arguments],
                cwd=self.home,
                env=self.cluster.environment,
                stdout=out,
                stderr=out,
                text=True,
                start_new_session=True,
            )

    def begin_slow_run(self) -> subprocess.Popen[str]:
        """A driver whose executors have written rows, and go on once there is a file `go on`."""
        sell(self.home / "landed" / "sales", *FIRST)
        write(self.home / "conf", {"shop/slow.py": SLOW.replace("HERE", repr(str(self.home)))})
        driver = self.start("--select", "slow")
        wait_until((self.home / "begun").exists, "rows")
        return driver

    def run(self, *arguments: str) -> None:
        """A driver that succeeds."""
        assert self.start(*arguments).wait(600) == 0, self.output

    @property
    def output(self) -> str:
        return (self.home / "said").read_text()

    def table(self, name: str, *columns: str) -> list[tuple[str, ...]]:
        folder = self.home / "lake" / name
        return [tuple(map(str, row)) for row in rows(folder, *columns)] if (folder / "_delta_log").exists() else []

    def results(self, asset: str) -> Counter[str]:
        """How often the asset's runs ended how."""
        history = Project.load(self.home / "conf").history.rows(asset=asset)
        return Counter(row.kind for row in history)

    def holds(self, *sold: tuple[int, str, int], factor: int = FACTOR) -> None:
        """Every table holds what came of these, once."""
        days = sorted({day for _, day, _ in sold})
        sums = {day: sum(amount for _, of, amount in sold if of == day) for day in days}
        assert self.table("daily", "day", "amount") == [(day, str(amount)) for day, amount in sums.items()]
        for name in ("ledger", "prices"):
            assert self.table(name, "id", "amount") == sorted((str(key), str(amount)) for key, _, amount in sold)
        assert self.table("report", "amount") == [(str(sum(sums.values())),)]
        assert self.table("scores", "id", "amount") == sorted((str(key), str(factor * n)) for key, _, n in sold)
        usual = [(str(key),) for key, _, _ in sold if key <= 1000]
        assert self.table("good", "id") == sorted(usual)

    def strays(self, name: str) -> set[str]:
        """Data files in the table's folder that its newest version does not have."""
        folder = self.home / "lake" / name
        live = {uri.rpartition("/")[2] for uri in DeltaTable(folder).file_uris()}
        there = {file.name for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts}
        return there - live


ON_S3 = """
project: shop
state: s3a://lake/cluster/state
warehouse: s3a://lake/cluster
assets: [assets.yml]
python: [shop]
logs: ../logs
spark: {{sparkassets.small_data: "true"}}
storage:
  s3://lake: {{endpoint: "{address}", access_key: AWS_ACCESS_KEY_ID, secret_key: AWS_SECRET_ACCESS_KEY}}
"""


@pytest.fixture
def shop(tmp_path: Path, cluster: Cluster) -> Shop:
    return Shop(tmp_path, cluster)


def test_executors_come_and_go_and_find_the_package_as_it_is(shop: Shop) -> None:
    sell(shop.home / "landed" / "sales", *FIRST)
    allocation = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.timeout": "5s",
        "spark.dynamicAllocation.executorIdleTimeout": "5s",
        "spark.dynamicAllocation.initialExecutors": "2",
    }
    driver = shop.start("--loop", "1s", **allocation)
    try:
        wait_until(lambda: shop.table("report", "amount") == [("22",)] and len(shop.table("scores", "id")) == 3, "rows")
        wait_until(lambda: not shop.cluster.executors(), "idle executors to go")
        sell(shop.home / "landed" / "sales", *SECOND)
        wait_until(lambda: shop.table("report", "amount") == [("25",)] and len(shop.table("scores", "id")) == 5, "rows")
    finally:
        kill_group(driver)
    write(shop.home / "conf", {"shop/factors.py": "FACTOR = 3\n"})
    sell(shop.home / "landed" / "sales", *STRANGE)
    shop.run()
    assert shop.table("good_quarantine", "id") == [("5000",)]
    everything = [*FIRST, *SECOND, *STRANGE]
    assert shop.table("scores", "id", "amount")[-1:] == [("5000", str(4 * 3 * 5 * 3))]
    subprocess.run([COMMAND, "backfill", "scores", "--all", "--project", "conf"], cwd=shop.home, check=True)
    shop.holds(*everything, factor=3 * 5 * 3)


@pytest.mark.parametrize("killed", ["executors", "worker"])
def test_what_is_lost_is_spark_to_compute_again(shop: Shop, killed: str) -> None:
    driver = shop.begin_slow_run()
    try:
        if killed == "worker":
            shop.cluster.kill_worker()
        else:
            for executor in shop.cluster.executors():
                executor.kill()
        (shop.home / "go on").touch()
        assert driver.wait(600) == 0, shop.output
    finally:
        with suppress(ProcessLookupError):
            kill_group(driver)
        shop.cluster.start_workers()
    assert sorted(int(number) for (number,) in shop.table("slow", "id")) == list(range(1000))
    assert shop.strays("slow") == set()
    assert shop.results("slow")["success"] == 1


@pytest.mark.parametrize("killed", ["all", "python", "jvm"])
def test_a_driver_is_killed_while_executors_write(shop: Shop, killed: str) -> None:
    driver = shop.begin_slow_run()
    if killed == "all":
        kill_group(driver)
    else:
        found = [psutil.Process(driver.pid), *psutil.Process(driver.pid).children(recursive=True)]
        next(each for each in found if each.name().startswith("java" if killed == "jvm" else "python")).kill()
        psutil.wait_procs(found, timeout=120)
        assert not [each for each in found if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        driver.wait()
    assert shop.table("slow", "id") == []
    (shop.home / "go on").touch()
    shop.run("--select", "slow")
    assert sorted(int(number) for (number,) in shop.table("slow", "id")) == list(range(1000))
    assert shop.strays("slow") == set()
    assert shop.results("slow")["success"] == 1


def test_executors_write_to_a_bucket(s3: Lossy, shop: Shop) -> None:
    write(shop.home / "conf", {"project.yml": ON_S3.format(address=s3.address)})
    sell(shop.home / "landed" / "sales", *FIRST)
    shop.run("--select", "daily,scores")
    daily, scores = (DeltaTable(f"s3a://lake/cluster/{name}") for name in ("daily", "scores"))
    assert sorted(pa.table(daily.scan().read_all())["amount"].to_pylist()) == [7, 15]
    assert sorted(pa.table(scores.scan().read_all())["amount"].to_pylist()) == [5 * FACTOR, 7 * FACTOR, 10 * FACTOR]
    assert str(daily.history(1)[0]["engineInfo"]).startswith("delta-rs"), "the driver commits"
