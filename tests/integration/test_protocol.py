"""What the run protocol needs of a target: one commit a stamp, fences, and a history that tells who is in."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.runs import InletPin
from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from sparkassets.ports import FenceConflictError, HistoryGoneError, TargetMissingError
from sparkassets.spark.commit_stamps import format_stamp
from tests.integration.orders import computed, execute, order, rows, save, sql, stamp_of, table, target

pytestmark = pytest.mark.spark

ONE = "SELECT DATE'2013-01-01' AS day, 1 AS n"


@pytest.fixture
def log(tmp_path):
    return table("log", tmp_path, write=AppendWrite(), **sql(ONE))


def test_the_same_stamp_lands_once(engine, spark, log):
    run = order(log)
    execute(engine, run)
    execute(engine, run, attempt=2)
    assert len(rows(spark, log)) == 1
    (committed,) = target(engine, run).find_commits([run.run])
    assert (committed.run, committed.token, committed.attempt, committed.version) == (run.run, run.token, 1, 0)
    assert committed.metrics["numOutputRows"] == 1
    assert committed.table_id == str(DeltaTable(log.storage.path).metadata().id)
    assert target(engine, run).transaction_version() == 2 * run.token + 1


def test_a_fence_keeps_older_runs_out(engine, spark, log):
    first, zombie, newer = order(log), order(log), order(log)
    execute(engine, first)
    computation = engine.compute(zombie, attempt=1)
    target(engine, newer).fence(None, stamp=stamp_of(newer, kind="fence", version=2 * newer.token))
    target(engine, zombie).write(computation, stamp=stamp_of(zombie, computation))
    assert len(rows(spark, log)) == 1
    assert target(engine, zombie).find_commits([zombie.run]) == ()
    execute(engine, newer)
    assert [each.run for each in target(engine, newer).find_commits([zombie.run, newer.run])] == [newer.run]


def test_a_fence_creates_a_missing_table_with_the_schema_and_layout_of_the_run(engine, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(ONE))
    run = order(daily, keys="2013-01-01")
    target(engine, run).fence(engine.compute(run, attempt=1), stamp=stamp_of(run, kind="fence", version=2 * run.token))
    there = DeltaTable(daily.storage.path)
    assert [(each.name, str(each.type)) for each in there.schema().fields] == [
        ("day", 'PrimitiveType("date")'),
        ("n", 'PrimitiveType("integer")'),
    ]
    assert there.metadata().partition_columns == ["day"]
    assert target(engine, run).transaction_version() == 2 * run.token
    assert target(engine, run).find_commits([run.run]) == ()
    execute(engine, run)
    assert [each.version for each in target(engine, run).find_commits([run.run])] == [1]


def test_a_fence_of_a_missing_table_takes_the_declared_columns(engine, tmp_path):
    declared = table("declared", tmp_path, columns={"day": "date", "n": "int"}, **sql(ONE))
    run = order(declared)
    target(engine, run).fence(None, stamp=stamp_of(run, kind="fence", version=2 * run.token))
    assert target(engine, run).transaction_version() == 2 * run.token


def test_a_fence_without_table_and_schema_asks_for_one(engine, log):
    run = order(log)
    with pytest.raises(TargetMissingError, match=r"^log: the table at .*/log does not exist yet$"):
        target(engine, run).fence(None, stamp=stamp_of(run, kind="fence", version=2 * run.token))


def test_no_table_means_no_transaction_and_no_history(engine, log):
    nowhere = target(engine, order(log))
    assert nowhere.transaction_version() is None
    assert not nowhere.find_commits(["log-1"])


@pytest.mark.parametrize(
    ("commit", "told"),
    [
        ("auto", []),
        ("spark", ["log: another writer committed to the target during the run (DELTA_CONCURRENT_TRANSACTION)"]),
    ],
)
def test_a_write_in_flight_does_not_land_when_it_is_fenced(engine, spark, log, commit, told):
    log = replace(log, commit=commit)
    execute(engine, order(log))
    system = spark.sparkContext._jvm.java.lang.System
    for name in ("test.begun", "test.leave"):
        system.clearProperty(name)
    # says that it has begun, then waits five minutes at most for leave to end
    waits = """
        SELECT DATE'2013-01-01' AS day, CAST(id AS INT) AS n FROM range(0, 3000, 1, 1)
        WHERE java_method('java.lang.System', 'setProperty', 'test.begun', CAST(id AS STRING)) = 'never'
        OR (java_method('java.lang.System', 'getProperty', concat('test.', substr('leave', 1, 5 + id * 0))) = 'null'
            AND java_method('java.lang.Thread', 'sleep', 100L + id * 0) = 'never')
    """
    zombie, newer = order(replace(log, **sql(waits))), order(log)
    raised = []

    def write():
        try:
            execute(engine, zombie)
        except RunError as error:
            raised.append(error)

    worker = threading.Thread(target=write)
    worker.start()
    while system.getProperty("test.begun") is None:
        time.sleep(0.1)
    target(engine, newer).fence(None, stamp=stamp_of(newer, kind="fence", version=2 * newer.token))
    system.setProperty("test.leave", "now")
    worker.join(60)
    assert [str(error) for error in raised] == told
    assert all(error.retryable for error in raised)
    assert len(rows(spark, log)) == 1


def test_of_two_fences_at_once_one_may_be_told_to_look_again(engine, log):
    first, second = order(log), order(log)
    schema = engine.compute(first, attempt=1)
    said = []

    def fence(run):
        try:
            target(engine, run).fence(schema, stamp=stamp_of(run, kind="fence", version=2 * run.token))
            said.append("fenced")
        except FenceConflictError as error:
            said.append(str(error))

    threads = [threading.Thread(target=fence, args=(run,)) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(said) == 2
    assert "fenced" in said
    assert all(each == "fenced" or each.startswith("log: another writer ") for each in said)


def test_commits_of_others_do_not_hide_a_run(engine, log):
    run = order(log)
    execute(engine, run)
    for days in range(10):
        retention = {"delta.logRetentionDuration": f"interval {40 + days} days"}
        DeltaTable(log.storage.path).alter.set_table_properties(retention)
    assert [each.version for each in target(engine, run).find_commits([run.run])] == [0]
    assert target(engine, replace(run, app_id="another/log")).find_commits([run.run]) == ()


def test_a_restore_after_the_commit_asks_a_person(engine, log):
    execute(engine, order(log))
    run = order(log)
    execute(engine, run)
    DeltaTable(log.storage.path).restore(0)
    with pytest.raises(HistoryGoneError) as error:
        target(engine, run).find_commits([run.run])
    assert str(error.value) == (
        f"log: its table was restored after version 1 of run {run.run}\n  hint: the next `sparkassets run` fences "
        "the unfinished run, and then asks for its outcome"
    )


def test_a_log_that_is_too_short_asks_a_person(engine, spark, log):
    run = order(log)
    execute(engine, run)
    save(spark.sql(ONE), log)
    spark.sql(f"OPTIMIZE delta.`{log.storage.path}`")
    DeltaTable(log.storage.path).create_checkpoint()
    for version in (0, 1):
        Path(log.storage.path, "_delta_log", f"{version:020}.json").unlink()
    assert target(engine, run).transaction_version() == 2 * run.token + 1
    with pytest.raises(HistoryGoneError) as error:
        target(engine, run).find_commits([run.run])
    assert str(error.value) == (
        f"log: whether run {run.run} committed cannot be determined: its table's log begins at version 2\n  hint: "
        "the next `sparkassets run` fences the unfinished run, and then asks for its outcome"
    )


def test_a_run_that_fenced_itself_is_not_in_however_short_the_log_is(engine, log):
    execute(engine, order(log))
    run = order(log)
    target(engine, run).fence(None, stamp=stamp_of(run, kind="fence"))
    DeltaTable(log.storage.path).create_checkpoint()
    Path(log.storage.path, "_delta_log", f"{0:020}.json").unlink()
    assert target(engine, run).find_commits([run.run]) == ()


def test_a_path_may_hold_spaces_but_no_escapes(engine, tmp_path):
    odd = table("odd", tmp_path / "a b+ü[c]{d}*&=,;:'", write=AppendWrite(), **sql(ONE))
    run = order(odd)
    execute(engine, run)
    assert [each.version for each in target(engine, run).find_commits([run.run])] == [0]
    copy = table("copy", tmp_path, **sql("SELECT * FROM {{ inlets.odd }}", "odd"))
    assert len(computed(engine, order(copy, odd, pins={"odd": InletPin("x", 1, version=0)}))) == 1
    misread = {"%20": "an escape", "\\": "the end of a folder", "#": "the end of a path", "?": "the end of a path"}
    for text, what in misread.items():
        escaped = table("escaped", tmp_path / f"a{text}b", **sql(ONE))
        with pytest.raises(RunError) as error:
            engine.compute(order(escaped), attempt=1)
        assert str(error.value) == (
            f"the path {escaped.storage.path} contains '{text[0]}', which Delta's libraries read as {what}\n  "
            "hint: rename the folder"
        )


def test_what_a_commit_says_of_itself(log):
    run = order(log)
    assert json.loads(format_stamp(stamp_of(run, partitions=("2013-01-01",), measures={"watermarks": {"a": "1"}}))) == {
        "app": run.app_id,
        "version": 2 * run.token + 1,
        "epoch": run.token,
        "run": run.run,
        "attempt": 1,
        "kind": "data",
        "partitions": ["2013-01-01"],
        "measures": {"watermarks": {"a": "1"}},
    }


def test_the_wrong_kind_of_computation_is_a_mistake_of_the_caller(engine, log):
    with pytest.raises(TypeError, match="expected what compute returned, got object"):
        target(engine, order(log)).write(object(), stamp=stamp_of(order(log)))


def test_however_short_the_log_is_what_no_version_of_the_transaction_tells_is_not_in(engine, spark, log):
    execute(engine, order(log))
    run = order(log)
    save(spark.sql(ONE), log)
    DeltaTable(log.storage.path).create_checkpoint()
    Path(log.storage.path, "_delta_log", f"{0:020}.json").unlink()
    with pytest.raises(HistoryGoneError):
        target(engine, run).find_commits([run.run])
    there = target(engine, run)
    assert there.find_commits([run.run], above=2 * run.token) == ()
    assert there.transaction_version() is not None
    there.fence(None, stamp=stamp_of(run, version=2 * run.token, kind="fence"))
    assert there.find_commits([run.run], above=2 * run.token) == ()
