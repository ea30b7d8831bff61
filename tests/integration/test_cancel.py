from __future__ import annotations

import os
import threading
import time

import psutil
import pytest

from sparkassets.errors import RunError
from sparkassets.processes import read_start_time
from tests.integration.orders import execute, order, rows, sql, table, target

pytestmark = pytest.mark.spark

# A range looks every thousand rows whether its task was killed; a join's inner loop would hold a core after the test.
LONG = "SELECT sum(id % 7) AS n FROM range(1000000000000)"


def test_a_long_job_is_interrupted_from_another_thread(engine, tmp_path):
    report = table("report", tmp_path, **sql(LONG))
    run = order(report)
    raised = []

    def attempt():
        try:
            execute(engine, run)
        except RunError as error:
            raised.append(error)

    worker = threading.Thread(target=attempt)
    worker.start()
    time.sleep(3)
    began = time.monotonic()
    engine.cancel(run.run)
    assert time.monotonic() - began < 5
    worker.join(30)
    assert time.monotonic() - began < 20
    assert [str(error) for error in raised] == [f"{run.run} was cancelled"]
    assert target(engine, run).transaction_version() is None


def test_a_later_attempt_of_a_cancelled_run_is_not_cancelled(engine, spark, tmp_path):
    report = table("report", tmp_path, **sql("SELECT 1 AS n"))
    run = order(report)
    engine.cancel(run.run)
    execute(engine, run)
    assert rows(spark, report) == [(1,)]


def test_the_processes_that_may_commit_besides_the_driver(engine):
    engine.start()
    ((jvm, created),) = engine.processes()
    assert created == read_start_time(jvm)
    assert psutil.Process(jvm).name() == "java"
    assert psutil.Process(jvm).ppid() == os.getpid()
