"""What becomes of a run whose table changed between its computation and its commit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import AppendWrite
from sparkassets.errors import RunError
from tests.depth import deep
from tests.integration.orders import execute, order, rows, save, sql, stamp_of, table, target

pytestmark = pytest.mark.spark

COMMITS = pytest.mark.parametrize("commit", ["auto", deep("spark")])


def described(engine, folder, **more):
    """A second run of an appending asset that waits to be written."""
    asset = table("log", folder, write=AppendWrite(), **more, **sql("SELECT 1 AS n"))
    execute(engine, order(asset))
    run = order(asset)
    computation = engine.compute(run, attempt=1)
    return asset, lambda: target(engine, run).write(computation, stamp=stamp_of(run, computation))


def staged(folder):
    return [path for path in Path(folder).rglob("*.parquet") if "_delta_log" not in path.parts]


@COMMITS
def test_columns_that_others_gave_other_types_refuse_the_rows(engine, spark, tmp_path, commit):
    asset, write = described(engine, tmp_path, commit=commit)
    save(spark.sql("SELECT 'x' AS n"), asset, mode="overwrite", again=True)
    with pytest.raises(RunError) as refused:
        write()
    assert str(refused.value).startswith(
        "log: the result does not match the target: column 'n' is int, but string in the target\n"
    )
    assert rows(spark, asset) == [("x",)]


@COMMITS
@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_was_dropped_or_made_anew_refuses_the_rows(engine, spark, tmp_path, commit, again):
    asset, write = described(engine, tmp_path, commit=commit)
    shutil.rmtree(asset.storage.path)
    if again:
        save(spark.sql("SELECT 7 AS n"), asset)
    with pytest.raises(RunError) as refused:
        write()
    what = "re-created the table" if again else "removed the table"
    assert str(refused.value) == f"log: another writer {what} during the run"
    assert refused.value.retryable
    assert DeltaTable.is_deltatable(asset.storage.path) is again


@COMMITS
def test_rows_that_were_made_of_the_tables_own_refuse_what_others_added(engine, spark, tmp_path, commit):
    save(spark.sql("SELECT 1L AS n"), asset := table("own", tmp_path))
    counted = sql("SELECT count(*) AS n FROM {{ outlets.own }}")
    run = order(table("own", tmp_path, commit=commit, **counted))
    computation = engine.compute(run, attempt=1)
    save(spark.sql("SELECT 2L AS n"), asset)
    with pytest.raises(RunError) as refused:
        target(engine, run).write(computation, stamp=stamp_of(run, computation))
    assert str(refused.value) == (
        "own: another writer changed rows that the run replaces or read in version 1 during the run"
    )
    assert refused.value.retryable
    assert rows(spark, asset) == [(1,), (2,)]
    execute(engine, order(run.asset))
    assert rows(spark, asset) == [(2,)]


def test_a_table_that_was_given_deletion_vectors_is_sparks_from_then_on(engine, spark, tmp_path):
    asset, write = described(engine, tmp_path)
    spark.sql(f"ALTER TABLE delta.`{asset.storage.path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    write()
    assert rows(spark, asset) == [(1,), (1,)]
    assert DeltaTable(asset.storage.path).history(1)[0]["engineInfo"].startswith("Apache-Spark")


def test_a_run_that_is_in_is_neither_computed_nor_staged_again(engine, spark, tmp_path):
    asset, write = described(engine, tmp_path)
    write()
    before = staged(tmp_path)
    write()
    assert staged(tmp_path) == before
    assert rows(spark, asset) == [(1,), (1,)]


def test_a_folder_that_is_there_already_is_left_as_it_is(engine, spark, tmp_path):
    asset = table("log", tmp_path, write=AppendWrite(), **sql("SELECT 1 AS n"))
    run = order(asset)
    taken = tmp_path / "log" / f"{run.run}.{run.token}.1"
    taken.mkdir(parents=True)
    (taken / "part-0.parquet").write_bytes(b"of another")
    with pytest.raises(RunError, match=r"^log: \[PATH_ALREADY_EXISTS\]"):
        execute(engine, run)
    assert (taken / "part-0.parquet").read_bytes() == b"of another"
    assert not DeltaTable.is_deltatable(asset.storage.path)


def test_what_was_written_and_cannot_be_read_is_told_and_taken_away(engine, tmp_path, monkeypatch):
    def gone(*_, **__):
        raise OSError("[Errno 5] Input/output error")

    monkeypatch.setattr("sparkassets.delta.staging.read_footers", gone)
    asset = table("log", tmp_path, **sql("SELECT 1 AS n"))
    with pytest.raises(RunError) as refused:
        execute(engine, order(asset))
    assert str(refused.value) == "log: the files that Spark wrote cannot be read: [Errno 5] Input/output error"
    assert refused.value.retryable
    assert staged(tmp_path) == []


def test_a_column_that_must_not_be_null_stays_so_when_others_come_with_all_rows(engine, spark, tmp_path):
    asset = table("full", tmp_path, **sql("SELECT CAST(NULL AS INT) AS n, 2 AS m"))
    spark.sql(f"CREATE TABLE delta.`{asset.storage.path}` (n INT NOT NULL) USING delta")
    with pytest.raises(RunError, match="n"):
        execute(engine, order(asset))
    assert rows(spark, asset) == []


def test_names_that_differ_in_case_alone_are_one_also_where_a_session_tells_them_apart(spark, tmp_path):
    from sparkassets.spark.engine import SparkEngine
    from tests.integration.orders import project

    own = spark.newSession()
    own.conf.set("spark.sql.caseSensitive", "true")
    engine = SparkEngine(project(), own)
    execute(engine, order(table("log", tmp_path, **sql("SELECT 1 AS Day, 2 AS n"))))
    asset = table("log", tmp_path, **sql("SELECT 3 AS n, 4 AS day"))
    execute(engine, order(asset))
    assert rows(spark, asset, "Day", "n") == [(4, 3)]
