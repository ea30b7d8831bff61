"""Real processes killed at each moment of a run: the next start loses nothing and doubles nothing.

`make test` kills where Spark matters most: in a commit of Spark's that is in flight, and by Ctrl-C; `make crash` at all
moments. Drivers without a JVM are killed at every point, in tests/crash.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from urllib.parse import unquote

import psutil
import pytest
from deltalake import DeltaTable

from sparkassets import Project
from sparkassets.cache import cache_folder
from tests.e2e.projects import COMMAND, environment, rows, sell, stamps, write

pytestmark = pytest.mark.spark
SCRIPT = Path(__file__).with_name("crashing.py")
PATIENCE_SECONDS = 300
PROJECT = {
    "project.yml": """
        project: shop
        state: ../state
        warehouse: ../warehouse
        assets: [assets/]
        defaults: {retries: 0}
        spark: {sparkassets.small_data: "true"}
    """,
    "assets/sales.yml": """
        asset: sales
        source: delta
        path: ../landed/sales
        partition: {by: day, column: day}
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
    "assets/prices.yml": """
        asset: prices
        inlets: {sales: {read: {after: id}}}
        write: {upsert: {keys: [day], newest_by: _id, delete_when: _amount < 0}}
        sql: SELECT day, amount, id AS _id, amount AS _amount FROM {{ inlets.sales }}
    """,
}
SLOW = {
    "conf/project.yml": PROJECT["project.yml"].replace("spark:", "python: [tasks]\n        spark:"),
    "conf/assets/daily.yml": """
        asset: daily
        partition: {by: day, column: day}
        python: tasks.work:daily
    """,
    "tasks/work.py": """
        import time
        from pathlib import Path

        from pyspark.sql import functions as sql

        HOME = Path(__file__).parents[1]


        def daily(sales):
            frame = sales.groupBy("day").agg(sql.sum("amount").alias("amount"))
            if (HOME / "quick").exists():
                return frame

            def slowly(amount):
                (HOME / "writing-by-a-worker").touch()
                time.sleep(600)
                return amount

            return frame.withColumn("amount", sql.udf(slowly, "bigint", useArrow=False)("amount"))
    """,
}
"""The same `daily` by a function whose Spark job does not end until there is a file ``quick``."""
FIRST = [(1, "2025-01-01", 10), (2, "2025-01-01", 5)]
SECOND = [(3, "2025-01-02", 7), (4, "2025-01-03", 1), (5, "2025-01-03", 2)]
EXPECTED = {
    "daily": {"2025-01-01": 15, "2025-01-02": 7, "2025-01-03": 3},
    "ledger": {1: 10, 2: 5, 3: 7, 4: 1, 5: 2},
    "prices": {"2025-01-01": 5, "2025-01-02": 7, "2025-01-03": 2},
}


class Shop:
    """A project with two assets, a `replace` by day and an `append` after a watermark, and its drivers."""

    def __init__(self, home: Path, spark) -> None:
        self.home = home
        self.folder = write(home / "conf", PROJECT)
        self.spark = spark
        self.victims: list[Victim] = []

    def sell(self, sales) -> None:
        sell(self.home / "landed" / "sales", *sales)

    def start(self, asset):
        """The next start of a driver, in this process."""
        return Project.load(self.folder).run(self.spark, select=[asset])

    def victim(self, asset: str, moment: str, *more: str) -> Victim:
        """A driver that reached ``moment`` of its run and stands there."""
        marker = self.home / f"{moment}-{len(self.victims)}"
        command = [sys.executable, str(SCRIPT), str(self.folder), asset, moment, str(marker), *more]
        return self._stopped(command, marker="writing-*" if moment == "writing" else marker.name)

    def commit_by_spark(self, asset: str) -> None:
        """From now on."""
        file = f"assets/{asset}.yml"
        write(self.folder, {file: f"{dedent(PROJECT[file])}commit: spark\n"})

    def loop(self) -> Victim:
        """A driver that goes on and on."""
        self.victims.append(Victim([str(COMMAND), "run", "--loop", "1s"], self.home))
        return self.victims[-1]

    def await_(self, what: Callable[[], bool]) -> None:
        """Until it is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not what():
            assert time.monotonic() < deadline, [victim.said.read_text() for victim in self.victims]
            time.sleep(0.05)

    def staged(self, asset: str) -> list[str]:
        """The folders of attempts that are in a table's folder."""
        return sorted(path.name for path in self.table(asset).glob(f"{asset}-*"))

    def left(self, asset: str) -> list[str]:
        """Those that no commit refers to."""
        files = self.table(asset).glob("_delta_log/*.json")
        adds = [json.loads(line).get("add") for file in files for line in file.read_text().splitlines()]
        known = {unquote(add["path"]).partition("/")[0] for add in adds if add}
        return [folder for folder in self.staged(asset) if folder not in known]

    def command(self, asset: str) -> Victim:
        """`sparkassets run` while a task of its Spark job runs."""
        return self._stopped([str(COMMAND), "run", "--select", asset], marker="writing-*")

    def _stopped(self, command: list[str], *, marker: str) -> Victim:
        self.victims.append(Victim(command, self.home))
        return self.victims[-1].reaches(marker)

    def planned(self, asset: str):
        return [run for run in Project.load(self.folder).plan().runs if run.asset == asset]

    def history(self, asset: str, *kinds: str):
        return Project.load(self.folder).history.rows(asset=asset, kinds=kinds)

    def table(self, asset: str) -> Path:
        return self.home / "warehouse" / asset

    def contents(self, asset: str):
        if not DeltaTable.is_deltatable(str(self.table(asset))):
            return {}
        key = "id" if asset == "ledger" else "day"
        found = rows(self.table(asset), key, "amount")
        assert len(dict(found)) == len(found), "a row is there twice"
        return {key if asset == "ledger" else str(key): amount for key, amount in found}

    def check(self, asset: str, *, runs: int) -> None:
        """The target holds every row once; the journal tells of exactly these ``runs``; nothing is left to do."""
        assert self.contents(asset) == EXPECTED[asset]
        successes = [row.run for row in self.history(asset, "success")]
        assert successes == [marker["run"] for marker in stamps(self.table(asset))]
        assert len(set(successes)) == runs
        project = Project.load(self.folder)
        if asset == "daily":
            assert dict(project.partitions.statuses(asset)) == dict.fromkeys(EXPECTED[asset], "current")
        assert self.planned(asset) == []
        assert self.left(asset) == []
        assert self.start(asset).runs == ()
        numbers = [row.seq for row in project.history.rows()]
        assert numbers == list(range(1, len(numbers) + 1))


class Victim:
    """A driver in a process of its own, and the JVM below it; itself where it has none."""

    def __init__(self, command: list[str], home: Path) -> None:
        self.home = home
        self.said = home / f"victim-{time.monotonic_ns()}.txt"
        temporary = environment(JAVA_TOOL_OPTIONS=f"-Djava.io.tmpdir={home}")
        with self.said.open("w") as out:
            self.process = subprocess.Popen(
                command, cwd=home, env=temporary, stdout=out, stderr=out, start_new_session=True
            )
        self.jvm = psutil.Process()

    def reaches(self, marker: str) -> Victim:
        """Waits for a file that is named like ``marker``."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not list(self.home.glob(marker)):
            assert self.process.poll() is None, self.said.read_text()
            assert time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.02)
        itself = psutil.Process(self.process.pid)
        (self.jvm,) = [each for each in itself.children(recursive=True) if each.name() == "java"] or [itself]
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(PATIENCE_SECONDS) == 143, self.said.read_text()

    def kill_and_wait_for_its_jvm(self) -> None:
        self.kill()
        self.jvm.wait(PATIENCE_SECONDS)


@pytest.fixture
def shop(tmp_path, spark, record_property):
    shop = Shop(tmp_path, spark)
    yield shop
    record_property("kills", {"kills": sum(each.process.poll() == -signal.SIGKILL for each in shop.victims)})
    for victim in shop.victims:
        victim.kill()


@pytest.mark.crash
@pytest.mark.parametrize(
    ("asset", "exists", "moment"),
    [
        ("daily", False, "claimed"),
        ("daily", True, "staged"),
        ("ledger", True, "written"),
        ("daily", False, "recorded"),
        ("ledger", True, "claimed"),
        ("daily", False, "computed"),
        ("ledger", True, "computed"),
        ("daily", False, "writing"),
        ("ledger", True, "writing"),
        ("daily", False, "staged"),
        ("ledger", True, "staged"),
        ("daily", True, "read"),
        ("ledger", False, "read"),
        ("daily", False, "put"),
        ("ledger", True, "put"),
        ("daily", False, "written"),
        ("ledger", True, "recorded"),
    ],
)
def test_the_next_start_loses_and_doubles_nothing(shop, asset, exists, moment):
    shop.sell(FIRST)
    if exists:
        assert shop.start(asset).ok
    shop.sell(SECOND)
    shop.victim(asset, moment).kill_and_wait_for_its_jvm()
    killed = shop.history(asset, "claim")[-1].run
    is_in = moment in ("put", "written", "recorded")
    assert (shop.contents(asset) == EXPECTED[asset]) == is_in
    if moment != "writing":  # its job may not have come to its first file
        there = [folder.partition(".")[0] for folder in shop.staged(asset)].count(killed)
        assert there == (is_in or moment in ("staged", "read"))
    assert (killed in [row.run for row in shop.history(asset, "success")]) == (moment == "recorded")
    summary = shop.start(asset)
    assert summary.ok
    if moment == "recorded":
        assert summary.runs == ()
    else:
        (settled,) = summary.runs
        assert settled.adopted == (killed if is_in else None)
        assert settled.reason.startswith(f"takes over {killed}, which never ended")
    shop.check(asset, runs=1 + exists)


@pytest.mark.crash
def test_a_driver_that_dies_while_it_takes_over_is_taken_over_too(shop):
    shop.sell(FIRST)
    assert shop.start("ledger").ok
    shop.sell(SECOND)
    for moment in ("computed", "fenced"):
        shop.victim("ledger", moment).kill_and_wait_for_its_jvm()
        assert shop.contents("ledger") == {1: 10, 2: 5}
        assert len(shop.history("ledger", "success")) == 1
    first, second = [row.run for row in shop.history("ledger", "claim")][-2:]
    (settled,) = shop.start("ledger").runs
    assert (settled.status, settled.adopted) == ("success", None)
    assert settled.reason.startswith(f"takes over {first} and {second}, which never ended")
    shop.check("ledger", runs=2)


@pytest.mark.crash
@pytest.mark.parametrize(
    "moment",
    [
        "remembered",
        "computed",
        "merged",
        "written",
        "recorded",
    ],
)
def test_an_upsert_that_is_killed_is_completed_once(shop, moment):
    shop.sell(FIRST)
    assert shop.start("prices").ok
    shop.sell([(3, "2025-01-01", -1), (4, "2025-01-02", 9)])
    shop.victim("prices", moment).kill_and_wait_for_its_jvm()
    is_in = moment in ("merged", "written", "recorded")
    assert shop.contents("prices") == ({"2025-01-02": 9} if is_in else {"2025-01-01": 5})
    assert shop.start("prices").ok
    assert shop.contents("prices") == {"2025-01-02": 9}
    shop.sell([(5, "2025-01-01", 5), (6, "2025-01-02", 7), (7, "2025-01-03", 2)])
    assert shop.start("prices").ok
    shop.check("prices", runs=3)
    assert list(shop.table("prices").glob("_sparkassets/prices-*")) == []


@pytest.mark.crash
@pytest.mark.parametrize("moment", ["writing", "staged"])
def test_who_commits_itself_takes_over_at_once_whatever_the_jvm_of_the_dead_driver_does(shop, moment):
    shop.sell(FIRST + SECOND)
    victim = shop.victim("daily", moment)
    victim.jvm.suspend()
    try:
        victim.kill()
        killed = shop.history("daily", "claim")[-1].run
        (settled,) = shop.start("daily").runs
        assert (settled.status, settled.adopted) == ("success", None)
        assert settled.reason.startswith(f"takes over {killed}, which never ended")
        assert victim.jvm.status() == psutil.STATUS_STOPPED
        shop.check("daily", runs=1)
    finally:
        victim.jvm.resume()
    victim.jvm.wait(PATIENCE_SECONDS)
    assert shop.contents("daily") == EXPECTED["daily"]
    assert [name for name in shop.left("daily") if not name.startswith(f"{killed}.")] == []


@pytest.mark.crash
def test_of_two_drivers_side_by_side_on_one_disk_the_other_goes_on_when_one_is_killed(shop):
    shop.sell(FIRST + SECOND)
    victim = shop.victim("daily", "staged")
    other = shop.loop()
    shop.await_(lambda: shop.contents("ledger") == EXPECTED["ledger"])
    assert shop.contents("daily") == {}
    victim.jvm.suspend()
    try:
        victim.kill()
        shop.await_(lambda: shop.contents("daily") == EXPECTED["daily"])
    finally:
        victim.jvm.resume()
    shop.await_(lambda: all(len(shop.history(asset, "success")) == 1 for asset in EXPECTED))
    other.stop()
    for asset in EXPECTED:
        shop.check(asset, runs=1)


@pytest.mark.crash
def test_drivers_that_are_killed_at_any_moment_beside_others_lose_and_double_nothing(shop):
    drivers = [shop.loop(), shop.loop()]
    sales = [(number, f"2025-01-{1 + number % 9:02}", number) for number in range(40)]
    moments = random.Random(11)  # noqa: S311  nothing to keep secret
    for start in range(0, len(sales), 10):
        before = len(shop.history("ledger", "claim"))
        shop.sell(sales[start : start + 10])
        shop.await_(lambda before=before: len(shop.history("ledger", "claim")) > before)
        time.sleep(moments.random() * 3)
        drivers.pop(0).kill()
        drivers.append(shop.loop())
    amounts = Counter[str]()
    for _, day, amount in sales:
        amounts[day] += amount
    expected = {"daily": dict(amounts), "ledger": {number: amount for number, _, amount in sales}}
    for asset, amount in expected.items():
        shop.await_(lambda asset=asset, amount=amount: shop.contents(asset) == amount)
        shop.await_(lambda asset=asset: shop.planned(asset) == [])
    for driver in drivers:
        driver.stop()
    for asset, amount in expected.items():
        successes = [row.run for row in shop.history(asset, "success")]
        assert successes == [marker["run"] for marker in stamps(shop.table(asset))]
        assert len(set(successes)) == len(successes)
        assert shop.contents(asset) == amount


def test_nobody_takes_over_while_the_jvm_of_the_dead_driver_may_still_commit(shop, monkeypatch):
    """The driver is killed at its first start, whose JVM is to write a class archive at its end, and writes none."""
    cache = shop.home / "cache"
    cache.mkdir()
    (cache / "jars").symlink_to(cache_folder() / "jars")
    monkeypatch.setenv("SPARKASSETS_CACHE", str(cache))
    shop.commit_by_spark("daily")
    shop.sell(FIRST + SECOND)
    victim = shop.victim("daily", "writing")
    victim.jvm.suspend()
    try:
        victim.kill()
        summary = shop.start("daily")
        assert summary.runs == ()
        (waiting,) = [each for each in summary.waiting if each.asset == "daily"]
        killed = shop.history("daily", "claim")[-1].run
        assert waiting.reason.startswith(f"running: {killed} since ")
        assert shop.contents("daily") == {}
        assert shop.history("daily", "success") == []
    finally:
        victim.jvm.resume()
    victim.jvm.wait(PATIENCE_SECONDS)
    assert list((cache / "archive").iterdir()) == []
    (settled,) = shop.start("daily").runs
    assert (settled.status, settled.adopted) == ("success", None)
    assert settled.reason.startswith(f"takes over {killed}, which never ended")
    shop.check("daily", runs=1)


NOISE = ("error:", "Traceback", "Exception", "Py4JNetworkError", "py4j.protocol.Py4JNetworkError:")
"""Words of what nobody should see."""


@pytest.mark.parametrize(
    ("signum", "to_all", "code", "statuses"),
    [
        pytest.param(signal.SIGINT, True, 130, {"cancelled"}, id="Ctrl-C, which a terminal sends to all its processes"),
        pytest.param(signal.SIGTERM, False, 143, {"cancelled"}, id="kill", marks=pytest.mark.crash),
        pytest.param(
            *(signal.SIGTERM, True, 143, {"cancelled"}),
            id="the end of a service, its JVM included",
            marks=pytest.mark.crash,
        ),
        pytest.param(
            *(signal.SIGHUP, True, 129, {"cancelled"}),
            id="the end of a terminal",
            marks=[
                pytest.mark.crash,
                pytest.mark.skipif(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, reason="under nohup"),
            ],
        ),
    ],
)
def test_a_signal_in_mid_run_loses_nothing(shop, signum, to_all, code, statuses):
    write(shop.home, {name: dedent(text) for name, text in SLOW.items()})
    shop.sell(FIRST + SECOND)
    victim = shop.command("daily")
    (os.killpg if to_all else os.kill)(victim.process.pid, signum)
    assert victim.process.wait(PATIENCE_SECONDS) == code
    said = victim.said.read_text()
    assert "stopping: " in said
    assert "1 run: 1 " in said
    assert not set(NOISE) & set(said.split())
    assert shop.contents("daily") == {}
    (cancelled,) = Project.load(shop.folder).history.runs(asset="daily")
    assert cancelled.status in statuses
    assert Project.load(shop.folder).history.events(asset="daily") == []
    victim.jvm.wait(PATIENCE_SECONDS)
    (shop.home / "quick").touch()
    (run,) = shop.start("daily").runs
    assert run.status == "success"
    shop.check("daily", runs=1)


@pytest.mark.crash
def test_the_end_of_the_jvm_in_mid_run_is_a_failure_in_one_line_and_the_next_start_goes_on(shop):
    write(shop.home, {name: dedent(text) for name, text in SLOW.items()})
    shop.sell(FIRST + SECOND)
    victim = shop.command("daily")
    victim.jvm.kill()
    assert victim.process.wait(PATIENCE_SECONDS) == 1
    said = victim.said.read_text()
    assert "daily failed: Spark's JVM was killed by SIGKILL" in said.splitlines()
    assert not set(NOISE) & set(said.split()), said
    (failed,) = Project.load(shop.folder).history.runs(asset="daily")
    assert (failed.status, failed.attempts) == ("failed", 1)
    (shop.home / "quick").touch()
    (run,) = shop.start("daily").runs
    assert run.status == "success"
    shop.check("daily", runs=1)
