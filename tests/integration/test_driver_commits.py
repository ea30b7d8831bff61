"""What the driver commits is for every reader as if Spark's Delta had written it."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import AppendWrite
from tests.integration.orders import execute, order, rows, save_by_spark, sql, stamp_of, table, target
from tests.integration.skipping import FILTERS, WIDE, files_read

pytestmark = pytest.mark.spark

ODD = (
    "a b",
    "ü/%",
    "a=b",
    "x:y#z?",
    "{}[]\"^'",
    "日本",
    "a+b&c",
    "tab\tnew\n",
    "%20",
    "back\\slash",
    "~-_.!*(),;@$",
    None,
)
COLUMNS = "n int, place string, day date, at timestamp, ok boolean, exact decimal(9,2), note string"
FOLDERS = ("day", "place", "at", "ok", "exact")


def adds(folder: Path) -> list[dict[str, Any]]:
    """The add actions of all commits."""
    logs = sorted(folder.glob("_delta_log/*.json"))
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return [each["add"] for each in actions if "add" in each]


def by_driver(folder: Path) -> bool:
    """Whether the newest commit is the driver's."""
    return DeltaTable(folder).history(1)[0]["engineInfo"].startswith("delta-rs")


@pytest.fixture
def odd(spark, engine, tmp_path):
    """A table by Delta and one by the driver of the same rows, in folders of odd names."""
    values = [
        (n, place, date(2020, 1, 1), datetime(2020, 1, 2, 3, 4, 5, n * 1000 + n, tzinfo=UTC), n % 2 == 0, n, "x")
        for n, place in enumerate(ODD)
    ]
    spark.createDataFrame(values, COLUMNS.replace("decimal(9,2)", "int")).createOrReplaceGlobalTempView("odd")
    query = "SELECT n, place, day, at, ok, CAST(exact AS DECIMAL(9, 2)) AS exact, note FROM global_temp.odd"
    theirs, ours = table("theirs", tmp_path), table("ours", tmp_path, **sql(query))
    for each in (theirs, ours):
        spark.sql(
            f"CREATE TABLE delta.`{each.storage.path}` ({COLUMNS}) USING delta PARTITIONED BY ({', '.join(FOLDERS)})"
        )
    save_by_spark(spark.sql(query), theirs)
    execute(engine, order(ours))
    assert by_driver(Path(ours.storage.path))
    return theirs, ours


def test_folders_are_named_and_escaped_as_delta_does(odd):
    theirs, ours = ({unquote(add["path"]).rpartition("/")[0] for add in adds(Path(each.storage.path))} for each in odd)
    assert {each.partition("/")[2] for each in ours} == theirs


def test_readers_see_the_same_values_of_folders(odd, spark, engine):
    theirs, ours = odd
    expected = rows(spark, theirs, "to_json(struct(*))")
    assert rows(spark, ours, "to_json(struct(*))") == expected
    for again in range(2):
        execute(engine, order(ours))
        assert rows(spark, ours, "to_json(struct(*))") == expected, again
    frames = [DeltaTable(each.storage.path).to_pyarrow_table().sort_by("n").to_pylist() for each in odd]
    assert frames[0] == frames[1]
    assert [row["place"] for row in frames[1]] == list(ODD)


def test_instants_that_folders_are_named_by_are_the_same_in_every_zone(odd, spark):
    theirs, ours = odd
    values = [{add["partitionValues"]["at"] for add in adds(Path(each.storage.path))} for each in odd]
    assert values[0] == values[1]
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "America/New_York")
    assert rows(own, ours, "n", "unix_micros(at)") == rows(spark, theirs, "n", "unix_micros(at)")


def test_text_that_stands_for_no_value_is_none(spark, engine, tmp_path):
    words = "SELECT n, p FROM VALUES (1, ''), (2, NULL), (3, '__HIVE_DEFAULT_PARTITION__'), (4, 'null') AS v(n, p)"
    found = []
    for commit in ("auto", "spark"):
        asset = table(commit, tmp_path, write=AppendWrite(), commit=commit, **sql(words))
        spark.sql(f"CREATE TABLE delta.`{asset.storage.path}` (n INT, p STRING) USING delta PARTITIONED BY (p)")
        execute(engine, order(asset))
        assert by_driver(tmp_path / commit) == (commit == "auto")
        found.append(rows(spark, asset))
    assert found[0] == found[1] == [(1, None), (2, None), (3, None), (4, "null")]


def test_duckdb_reads_it_through_deltalake(odd):
    import duckdb

    _, ours = odd
    dataset = DeltaTable(ours.storage.path).to_pyarrow_dataset()
    assert isinstance(dataset, ds.Dataset)
    with duckdb.connect() as connection:
        connection.register("ours", dataset)
        found = connection.execute("SELECT place, n FROM ours WHERE n BETWEEN 4 AND 6 ORDER BY n").fetchall()
    assert found == [(ODD[4], 4), (ODD[5], 5), (ODD[6], 6)]


def test_data_skipping_reads_the_files_that_it_would_of_deltas_own(spark, engine, tmp_path):
    theirs = table("theirs", tmp_path)
    for first in range(0, 4000, 1000):
        query = WIDE.format(first=first, last=first + 1000)
        save_by_spark(spark.sql(query), theirs)
        execute(engine, order(table("ours", tmp_path, write=AppendWrite(), **sql(query))))
    folders = (tmp_path / "theirs", tmp_path / "ours")
    assert by_driver(folders[1])
    numbers = [{Path(add["path"]).name: number for number, add in enumerate(adds(folder))} for folder in folders]
    assert [len(each) for each in numbers] == [4, 4]
    pruned = 0
    for condition in FILTERS:
        expected, found = (
            {numbers[side][name] for name in files_read(spark, folders[side], condition)} for side in (0, 1)
        )
        assert found == expected, condition
        pruned += len(expected) < 4
    assert pruned > 15


def test_describe_history_tells_operation_and_metrics(spark, engine, tmp_path):
    query = "SELECT id, id % 2 AS even FROM range(10)"
    ours = table("ours", tmp_path, **sql(query))
    theirs = table("theirs", tmp_path)
    for _ in range(2):
        execute(engine, order(ours))
        save_by_spark(spark.sql(query), theirs, mode="overwrite")
    newest = {}
    for each in (theirs, ours):
        told = spark.sql(f"DESCRIBE HISTORY delta.`{each.storage.path}`").collect()
        assert [row["version"] for row in told] == [1, 0]
        newest[each.name] = told[0]
    mine, delta = newest["ours"], newest["theirs"]
    assert (mine["operation"], mine["operationParameters"]["mode"]) == (delta["operation"], "Overwrite")
    assert mine["operationMetrics"].keys() >= delta["operationMetrics"].keys()
    for key in ("numFiles", "numOutputRows", "numRemovedFiles"):
        assert mine["operationMetrics"][key] == delta["operationMetrics"][key], key
    assert int(mine["operationMetrics"]["numOutputBytes"]) > 0
    assert json.loads(mine["userMetadata"])["run"].startswith("ours-")
    assert mine["isBlindAppend"] is False


def test_a_long_log_is_checkpointed_and_cleaned_and_read_by_everyone(spark, engine, tmp_path):
    ours = table("ours", tmp_path, write=AppendWrite(), **sql("SELECT 1 AS n"))
    folder = tmp_path / "ours"
    spark.sql(f"CREATE TABLE delta.`{folder}` (n int) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '5')")
    execute(engine, order(ours))
    for _ in range(12):
        run = order(ours)
        target(engine, run).fence(None, stamp=stamp_of(run, kind="fence", version=2 * run.token))
    old = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
    for log in folder.glob("_delta_log/*.*"):
        os.utime(log, (old, old))
    for _ in range(12):
        run = order(ours)
        target(engine, run).fence(None, stamp=stamp_of(run, kind="fence", version=2 * run.token))
    execute(engine, run := order(ours))
    (committed,) = target(engine, run).find_commits([run.run])
    assert committed.run == run.run
    names = sorted(path.name for path in folder.glob("_delta_log/*.json"))
    assert int(names[0].partition(".")[0]) >= 10
    assert int(names[-1].partition(".")[0]) == 26
    assert json.loads((folder / "_delta_log" / "_last_checkpoint").read_text())["version"] == 25
    shutil.copytree(folder, copy := tmp_path / "copy")  # no reader of it remembers anything
    assert rows(spark, table("copy", tmp_path)) == [(1,), (1,)]
    assert DeltaTable(copy).to_pyarrow_table().to_pylist() == [{"n": 1}, {"n": 1}]
    save_by_spark(spark.sql("SELECT 2 AS n"), table("copy", tmp_path))
    assert rows(spark, table("copy", tmp_path)) == [(1,), (1,), (2,)]
    assert DeltaTable(copy).transaction_version(run.app_id) == 2 * run.token + 1
