"""Functions that misbehave, side by side and one after the other in one session: each fails or is repaired, alone."""

import json
import locale
import os
import sys
import warnings
from pathlib import Path

import pytest

from sparkassets import Project
from sparkassets.cli import main

pytestmark = pytest.mark.spark

LINES = 200_000

CODE = """
import asyncio
import concurrent.futures
import locale
import logging
import os
import sys
import threading
import time
import tracemalloc
import warnings

from pyspark.sql import SparkSession
from sparkassets import asset


@asset(schedule="@once")
def exits(spark):
    sys.exit(3)


@asset(schedule="@once")
def interrupts(spark):
    raise KeyboardInterrupt


@asset(schedule="@once")
def cancels(spark):
    raise asyncio.CancelledError


@asset(schedule="@once")
def leaves_a_pool(spark):
    raise concurrent.futures.CancelledError("the pool is gone")


@asset(schedule="@once", timeout="2s")
def never_ends(spark):
    time.sleep(OVER)


@asset(schedule="@once")
def stops_spark(spark):
    spark.stop()


@asset(schedule="@once")
def stops_another():
    SparkSession.builder.getOrCreate().stop()


@asset(schedule="@once")
def in_another_zone(spark):
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return other.sql("SELECT 1 AS n")


@asset(schedule="@once")
def in_another_session(spark):
    return spark.newSession().sql("SELECT 2 AS n")


@asset(schedule="@once")
def changes_the_zone(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return spark.sql("SELECT 1 AS n")


@asset(schedule="@once")
def changes_all(spark):
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.sql("SELECT 1 AS n").createOrReplaceTempView("left_behind")
    threading.Thread(target=time.sleep, args=(OVER,), daemon=True).start()
    os.chdir("/")
    os.environ["LEFT_BEHIND"] = "1"
    os.environ.pop("TAKEN_AWAY", None)
    sys.setrecursionlimit(12_345)
    warnings.simplefilter("error", BytesWarning)
    locale.setlocale(locale.LC_ALL, "C")
    logging.getLogger().setLevel(1)
    return spark.sql("SELECT CAST('x' AS INT) AS n")


@asset(schedule="@once")
def prints(spark):
    tracemalloc.start()
    for number in range(LINES):
        print("x" * 100)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield {"most": most}
    yield spark.sql("SELECT 1 AS n")


asset("clean", sql="SELECT n, TRY_CAST('x' AS INT) AS m FROM {{ inlets.changes_all }}")


@asset
def sees_nothing(changes_all, spark):
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert not spark.catalog.tableExists("left_behind")
    return changes_all
"""


def process():
    return (
        Path.cwd(),
        dict(os.environ),
        sys.getrecursionlimit(),
        list(warnings.filters),
        locale.setlocale(locale.LC_ALL),
    )


def settings(spark):
    return tuple(spark.conf.get(f"spark.sql.{key}") for key in ("session.timeZone", "ansi.enabled"))


def test_none_harms_another(spark, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sparkassets.runtime.attempt_threads.GRACE_SECONDS", 0.5)
    monkeypatch.setenv("TAKEN_AWAY", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf/assets").mkdir(parents=True)
    (tmp_path / "wildwork").mkdir()
    (tmp_path / "conf/project.yml").write_text("project: wild\npython: [wildwork]\ndefaults: {retries: 0}\n")
    made, code = tmp_path / "wildwork/made.py", f"OVER = 20\nLINES = {LINES:_}\n{CODE}"
    made.write_text(code)
    before, theirs = process(), settings(spark)
    with Project.load(tmp_path / "conf") as project:
        first = project.run(spark, check=False, select=[each for each in project.spec.assets if each != "prints"])
        assert (process(), settings(spark)) == (before, theirs)
        assert project.run(spark, check=False, select=["clean", "sees_nothing"]).runs == ()

    def at(text):
        (line,) = (number for number, each in enumerate(code.splitlines(), 1) if each.strip() == text)
        return f"{made}:{line}"

    pool = 'raise concurrent.futures.CancelledError("the pool is gone")'
    stopped = "RuntimeError: spark.stop() would end other runs; do not stop the session"
    zone = "the rows come from a Spark session in the time zone Asia/Tokyo; expected UTC"
    assert {each.asset: each.error for each in first.runs} == {
        "exits": f"{at('sys.exit(3)')}: SystemExit: 3",
        "interrupts": f"{at('raise KeyboardInterrupt')}: KeyboardInterrupt",
        "cancels": f"{at('raise asyncio.CancelledError')}: CancelledError",
        "leaves_a_pool": f"{at(pool)}: CancelledError: the pool is gone",
        "never_ends": "never_ends: no result within its timeout of 2 s",
        "stops_spark": f"{at('spark.stop()')}: {stopped}",
        "stops_another": f"{at('SparkSession.builder.getOrCreate().stop()')}: {stopped}",
        "in_another_zone": f"in_another_zone: {zone}",
        "changes_the_zone": f"changes_the_zone: {zone}",
        **dict.fromkeys(["in_another_session", "changes_all", "clean", "sees_nothing"], ""),
    }
    capfd.readouterr()
    assert main(["run", "--project", str(tmp_path / "conf"), "--select", "prints", "--json"]) == 0
    out, err = capfd.readouterr()
    (run,) = json.loads(out)["runs"]
    assert (run["asset"], run["status"]) == ("prints", "success")
    assert err.count("x" * 100) == LINES
    (event,) = Project.load(tmp_path / "conf").history.events(asset="prints")
    assert event["extra"]["most"] < 100 * LINES / 10
