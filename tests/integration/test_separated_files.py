"""Files that mix partitions in a table with a change feed: a run reports the rows that it replaced, and no others."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparkassets.core.runs import TablePosition
from sparkassets.core.writes import PublishWrite
from sparkassets.delta import commit
from sparkassets.delta.change_feed import table_changes
from sparkassets.delta.commit import CommitConflictError
from sparkassets.delta.features import FEED
from sparkassets.spark.targets import driver_commit, replaced_files
from tests.depth import examples
from tests.integration.orders import execute, order, segmented, sql, table, target
from tests.integration.test_withholding import NOT_NULL, run

pytestmark = pytest.mark.spark

FIRST = date(2013, 1, 1)
SCHEMA = pa.schema([("day", pa.date32()), ("seg", pa.string()), ("n", pa.int64())])


def foreign(path, *files, folders=None, feed="true"):
    """Somebody else's files: of each the days of its rows, counted from the first, with their segments."""
    for number, cells in enumerate(files):
        days = [None if day is None else FIRST + timedelta(day) for day, _ in cells]
        data = {"day": days, "seg": [seg for _, seg in cells], "n": [number * 10 + n for n in range(len(cells))]}
        more = {"mode": "append", "partition_by": folders, "configuration": {FEED: feed}}
        write_deltalake(path, pa.table(data, SCHEMA), **more)


def made_by(folder, name, **more):
    """Replaces each partition by one row."""
    query = sql("SELECT day, seg, -1L AS n FROM {{ partitions }}")
    return segmented(table(name, folder, by="day", **query, **more), seg=["a", "b"])


def feed_of(path, after, spark=None):
    """What changed after a version, as Spark has it or else the driver: the rows of each version that changed any."""
    if spark is None:
        found = pa.table(DeltaTable(path).load_cdf(starting_version=after + 1)).to_pylist()
    else:
        reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", after + 1)
        found = [row.asDict() for row in reader.load(path).collect()]
    versions = {}
    for row in found:
        versions.setdefault(row["_commit_version"], []).append((row["_change_type"], row["day"], row["seg"], row["n"]))
    return [sorted(versions[version], key=str) for version in sorted(versions)]


def rows_of(path):
    return sorted(map(tuple, (each.values() for each in DeltaTable(path).to_pyarrow_table().to_pylist())), key=str)


def committers(path, after):
    """Who made the commits after a version, and whether each changed rows."""
    history = sorted(DeltaTable(path).history(), key=lambda each: each["version"])
    return [each["engineInfo"].startswith("delta-rs") for each in history if each["version"] > after]


def count_changed(path, after):
    """The number of versions that our own reader of the log finds changes in."""
    found = table_changes(path, TablePosition(str(DeltaTable(path).metadata().id), after), DeltaTable(path).version())
    assert found.availability.kind == "available"
    return sum(1 for each in found.feed_ranges for _ in range(each.first, each.last + 1))


CELLS = st.lists(
    st.tuples(st.none() | st.integers(0, 2), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=4
)
KEYS = st.sets(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=4)


@pytest.mark.spark_alone  # commits by Spark for comparison
@given(st.lists(CELLS, min_size=1, max_size=3), KEYS, st.sampled_from([None, ["day"], ["seg"]]))
@example([[(0, "a"), (0, "b"), (1, "c")], [(0, "a"), (0, "a")], [(2, None), (None, "a")]], {(0, "a"), (2, "b")}, None)
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_feed_is_that_of_sparks_commit(spark, engine, files, keys, folders):
    labels = ";".join(f"{FIRST + timedelta(day)},{seg}" for day, seg in sorted(keys))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for commit in ("auto", "spark"):
            asset = made_by(Path(folder), f"by_{commit}", commit=commit)
            path = asset.storage.path
            foreign(path, *files, folders=folders)
            after = DeltaTable(path).version()
            execute(engine, order(asset, keys=labels.split(";")))
            assert set(committers(path, after)) == {commit == "auto"}
            feed = feed_of(path, after, spark)
            assert feed == feed_of(path, after)
            assert count_changed(path, after) == len(feed)
            found.append((rows_of(path), feed))
    assert found[0] == found[1]


def run_of(asset, keys, rows):
    """A run that replaces these partitions by rows."""
    lines = ", ".join(f"(DATE'{day}', '{seg}', {'NULL' if n is None else n})" for day, seg, n in rows)
    query = f"SELECT day, seg, CAST(n AS BIGINT) AS n FROM VALUES {lines} AS t(day, seg, n)"  # noqa: S608
    return order(replace(asset, **sql(query)), keys=keys)


def changed(rows, kind):
    return [(kind, date.fromisoformat(day), seg, n) for day, seg, n in rows]


DAY = str(FIRST)
OLD = [(DAY, "a", 0), (DAY, "b", 1), (str(FIRST + timedelta(1)), "a", 2)]


@pytest.fixture(params=[None, ["day"]], ids=["whole", "by day"])
def shared(tmp_path, request):
    """A table whose one file of the first day has two segments, with a change feed."""
    asset = made_by(tmp_path, "shared")
    foreign(asset.storage.path, [(0, "a"), (0, "b"), (1, "a")], folders=request.param)
    return asset


@pytest.mark.alike
def test_a_feed_reports_what_the_run_replaced_and_brought(engine, shared):
    path, new = shared.storage.path, [(DAY, "b", 7), (DAY, "b", 8)]
    execute(engine, run_of(shared, [f"{DAY},b"], new))
    assert committers(path, 0) == [True, True]
    assert feed_of(path, 0) == [sorted(changed(OLD[1:2], "delete") + changed(new, "insert"), key=str)]
    assert count_changed(path, 0) == 1
    assert [row[2] for row in rows_of(path)] == [0, 7, 8, 2]
    execute(engine, run_of(shared, [f"{DAY},b"], [(DAY, "b", 9)]))
    assert committers(path, 0) == [True] * 3
    assert feed_of(path, 2) == [sorted(changed(new, "delete") + changed([(DAY, "b", 9)], "insert"), key=str)]


@pytest.mark.alike
def test_a_file_all_of_whose_rows_are_replaced_stays_one(engine, shared):
    """Also where statistics leave it open, because other segments lie between those of its rows."""
    wide = segmented(shared, seg=["a", "aa", "b"])
    new = [(DAY, "a", 7), (DAY, "b", 8)]
    execute(engine, run_of(wide, [f"{DAY},a", f"{DAY},b", f"{FIRST + timedelta(1)},a"], new))
    path = wide.storage.path
    assert committers(path, 0) == [True]
    assert feed_of(path, 0) == [sorted(changed(OLD, "delete") + changed(new, "insert"), key=str)]


@pytest.mark.alike
def test_what_is_withheld_keeps_its_rows_and_is_not_reported(engine, shared):
    ruled = replace(shared, rules=(NOT_NULL,))
    new = [(DAY, "a", None), (DAY, "b", 8)]
    judgement = run(engine, run_of(ruled, [f"{DAY},a", f"{DAY},b"], new))
    path = shared.storage.path
    assert shared.partitioning.labels(judgement.withheld) == [f"{DAY},a"]
    assert all(committers(path, 0))
    assert feed_of(path, 0) == [sorted(changed(OLD[1:2], "delete") + changed(new[1:], "insert"), key=str)]
    assert [row[2] for row in rows_of(path)] == [0, 8, 2]


@pytest.mark.alike
def test_what_came_out_unchanged_is_not_reported(engine, shared):
    path, same = shared.storage.path, replace(shared, unchanged="skip")
    known = (str(DeltaTable(path).metadata().id), 0)
    made = replace(run_of(same, [f"{DAY},a"], OLD[:1]), known_position=known)
    execute(engine, made)
    (committed,) = target(engine, made).find_commits([made.run])
    assert shared.partitioning.labels(committed.unchanged_partitions) == [f"{DAY},a"]
    assert feed_of(path, 0) == []
    assert [row[2] for row in rows_of(path)] == [0, 1, 2]


@pytest.mark.alike
def test_an_iteration_holds_no_row_of_others(engine, spark, tmp_path):
    asset = made_by(tmp_path, "published", write=PublishWrite(10))
    path = asset.storage.path
    foreign(path, [(0, "a"), (0, "b")], feed="false")
    execute(engine, run_of(asset, [f"{DAY},b"], [(DAY, "b", 7)]))
    assert all(committers(path, 0))
    assert [row[2] for row in rows_of(path)] == [0, 7]
    (log,) = Path(path).glob("_iterations/*/rows/_delta_log")
    assert [row[2] for row in rows_of(log.parent)] == [7]


def replaced_by(path, day, seg):
    """Somebody else's rows, beside those that are there."""
    write_deltalake(path, pa.table({"day": [day], "seg": [seg], "n": [99]}, SCHEMA), mode="append")


@pytest.mark.alike
@pytest.mark.parametrize(("seg", "conflicts"), [("b", True), ("a", False)])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_rows_that_others_bring_meanwhile_conflict_where_the_run_replaces_them(
    engine, shared, monkeypatch, seg, conflicts, moment
):
    """Both before the files are separated and afterwards."""
    path, separate, made = shared.storage.path, replaced_files.commit, run_of(shared, [f"{DAY},b"], [(DAY, "b", 7)])

    def beside(*given, **more):
        if moment == "before":
            replaced_by(path, FIRST, seg)
        separate(*given, **more)
        if moment == "after":
            replaced_by(path, FIRST, seg)

    monkeypatch.setattr(replaced_files, "commit", beside)
    if conflicts:
        with pytest.raises(CommitConflictError, match="another writer changed rows that the run replaces"):
            execute(engine, made)
        assert [row[2] for row in rows_of(path)] == [0, 1, 99, 2]
    else:
        execute(engine, made)
        assert [row[2] for row in rows_of(path)] == [0, 99, 7, 2]


@pytest.mark.alike
def test_rows_that_others_move_after_they_were_separated_conflict(engine, shared, monkeypatch):
    path, separate, made = shared.storage.path, replaced_files.commit, run_of(shared, [f"{DAY},b"], [(DAY, "b", 7)])

    def before_compaction(*given, **more):
        separate(*given, **more)
        DeltaTable(path).optimize.compact()

    monkeypatch.setattr(replaced_files, "commit", before_compaction)
    with pytest.raises(CommitConflictError, match="another writer moved or removed rows that the run replaces"):
        execute(engine, made)
    assert [row[2] for row in rows_of(path)] == [0, 1, 2]


@pytest.mark.alike
def test_a_lost_answer_of_the_separation_is_no_conflict(engine, shared, monkeypatch):
    path, made = shared.storage.path, run_of(shared, [f"{DAY},b"], [(DAY, "b", 7)])
    write_commit, calls = commit._write_commit, []

    def lose_first_answer(*given):
        write_commit(*given)
        calls.append(given)
        if len(calls) == 1:
            raise OSError("the answer was lost")

    monkeypatch.setattr(commit, "_write_commit", lose_first_answer)
    execute(engine, made)
    assert [row[2] for row in rows_of(path)] == [0, 7, 2]


@pytest.mark.alike
def test_files_that_were_separated_outlive_the_attempt(engine, shared, monkeypatch):
    path, made = shared.storage.path, run_of(shared, [f"{DAY},b"], [(DAY, "b", 7)])
    monkeypatch.setattr(driver_commit, "commit", lambda *_, **__: pytest.fail("lost"))
    with pytest.raises(pytest.fail.Exception):
        execute(engine, made)
    target(engine, made).remove_staged([made.run], upto=made.token, keep=None)
    assert [row[2] for row in rows_of(path)] == [0, 1, 2]
    assert feed_of(path, 0) == []
