"""A run that the driver commits, and a Spark writer of somebody else's, both in flight at the same time."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sparkassets.errors import SparkAssetsError
from sparkassets.spark.failures import error_condition
from tests.integration.orders import execute, order, rows, save_by_spark, sql, table

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.spark

WAITING = """
    SELECT DATE'2013-01-0{day}' AS day, 0 AS n FROM range(0, 3000, 1, 1)
    WHERE java_method('java.lang.System', 'setProperty', 'test.begun', CAST(id AS STRING)) = 'never'
    OR (java_method('java.lang.System', 'getProperty', concat('test.', substr('leave', 1, 5 + id * 0))) = 'null'
        AND java_method('java.lang.Thread', 'sleep', 100L + id * 0) = 'never')
    OR id = 2999
"""
"""One row; says that it has begun, then waits five minutes at most for leave to end."""


@pytest.fixture
def daily(tmp_path):
    """Two days, a file each, in folders."""
    asset = table("daily", tmp_path, by="day")
    for day in (1, 2):
        rows = pa.table({"day": [date(2013, 1, day)], "n": pa.array([0], pa.int32())})
        write_deltalake(asset.storage.path, rows, mode="append", partition_by=["day"])
    return asset


@pytest.fixture
def beside(spark):
    """Begins one write, makes another one while it waits, and returns what the first raised, if anything."""
    system = spark.sparkContext._jvm.java.lang.System

    def run(first: Callable[[], object], second: Callable[[], object]) -> Exception | None:
        raised: list[Exception] = []

        def begin() -> None:
            try:
                first()
            except Exception as error:  # noqa: BLE001  returned
                raised.append(error)

        for name in ("test.begun", "test.leave"):
            system.clearProperty(name)
        worker = threading.Thread(target=begin)
        worker.start()
        while system.getProperty("test.begun") is None and worker.is_alive():
            time.sleep(0.05)
        assert worker.is_alive()
        second()
        system.setProperty("test.leave", "now")
        worker.join(120)
        return raised[0] if raised else None

    return run


def theirs(spark, asset, day: int, query: str):
    """Somebody else's replacement of a day by Spark."""
    return lambda: save_by_spark(spark.sql(query), asset, mode="overwrite", replaceWhere=f"day = '2013-01-0{day}'")


def ours(engine, asset, day: int, query: str):
    return lambda: execute(engine, order(replace(asset, **sql(query)), keys=f"2013-01-0{day}"))


def quick(day: int, n: int) -> str:
    return f"SELECT DATE'2013-01-0{day}' AS day, {n} AS n"


def held(spark, asset):
    return [(day.day, n) for day, n in rows(spark, asset)]


def test_a_spark_writer_of_another_day_and_the_run_both_land(spark, engine, daily, beside):
    assert beside(theirs(spark, daily, 1, WAITING.format(day=1)), ours(engine, daily, 2, quick(2, 7))) is None
    assert held(spark, daily) == [(1, 0), (2, 7)]


def test_a_spark_writer_of_the_same_day_gets_its_conflict(spark, engine, daily, beside):
    raised = beside(theirs(spark, daily, 1, WAITING.format(day=1)), ours(engine, daily, 1, quick(1, 7)))
    assert raised is not None
    assert error_condition(raised).startswith("DELTA_CONCURRENT_")
    assert held(spark, daily) == [(1, 7), (2, 0)]


def test_the_run_lands_over_a_spark_writer_of_another_day(spark, engine, daily, beside):
    assert beside(ours(engine, daily, 1, WAITING.format(day=1)), theirs(spark, daily, 2, quick(2, 7))) is None
    assert held(spark, daily) == [(1, 0), (2, 7)]


def test_the_run_is_refused_over_a_spark_writer_of_the_same_day(spark, engine, daily, beside):
    raised = beside(ours(engine, daily, 1, WAITING.format(day=1)), theirs(spark, daily, 1, quick(1, 7)))
    assert isinstance(raised, SparkAssetsError)
    assert str(raised) == (
        "daily: another writer changed rows that the run replaces or read in version 2 during the run"
    )
    assert raised.retryable
    assert held(spark, daily) == [(1, 7), (2, 0)]
