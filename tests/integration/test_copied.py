"""Rows of other partitions in files whose rows are replaced in part: copied by the driver's commit as by Spark's."""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparkassets.core.writes import row_counts
from tests.depth import examples
from tests.integration.orders import execute, order, rows, sql, table, target

pytestmark = pytest.mark.spark

FIRST = date(2013, 1, 1)
NEW = sql("SELECT day, 'new' AS word, 0L AS n FROM {{ partitions }}")
SCHEMA = pa.schema([("day", pa.date32()), ("word", pa.string()), ("n", pa.int64())])


def foreign(path, *files, folders=None):
    """Somebody else's files: of each the days of its rows, counted from the first, or None."""
    for number, days in enumerate(files):
        values = [None if day is None else FIRST + timedelta(day) for day in days]
        data = {"day": values, "word": [f"w{number}"] * len(days), "n": list(range(len(days)))}
        write_deltalake(path, pa.table(data, SCHEMA), mode="append", partition_by=folders)


def replaced(spark, engine, folder, files, keys, *, folders=None):
    """Rows, and what the run is told to have done, by the driver and by Spark."""
    found = []
    for commit in ("auto", "spark"):
        asset = table(f"by_{commit}", folder, by="day", commit=commit, **NEW)
        foreign(asset.storage.path, *files, folders=folders)
        execute(engine, run := order(asset, keys=keys))
        (committed,) = target(engine, run).find_commits([run.run])
        engine_of = DeltaTable(asset.storage.path).history(1)[0]["engineInfo"]
        assert engine_of.startswith("delta-rs") is (commit == "auto")
        counts = row_counts(committed.operation, committed.metrics)
        found.append(
            (
                rows(spark, asset, "to_json(struct(*))"),
                {name: counts.get(name) for name in ("rows", "deleted", "copied")},
            )
        )
    return found


DAYS = st.lists(st.none() | st.integers(0, 5), min_size=1, max_size=4)


@given(
    st.lists(DAYS, min_size=1, max_size=3),
    st.sets(st.integers(0, 5), min_size=1).map(lambda days: sorted(str(FIRST + timedelta(day)) for day in days)),
    st.sampled_from([None, ["word"]]),
)
@example([[0, 1, None], [2, 4], [5]], ["2013-01-01", "2013-01-03", "2013-01-04"], None)
@settings(max_examples=examples(2), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_driver_leaves_the_rows_that_spark_leaves(spark, engine, files, keys, folders):
    with tempfile.TemporaryDirectory() as folder:
        by_driver, by_spark = replaced(spark, engine, Path(folder), files, ",".join(keys), folders=folders)
    assert by_driver[0] == by_spark[0]
    assert by_driver[1]["rows"] == by_spark[1]["rows"] == len(keys)


def test_own_and_copied_rows_are_told_apart(spark, engine, tmp_path):
    by_driver, by_spark = replaced(spark, engine, tmp_path, [[0, 1, None], [1, 1], [3]], "2013-01-02")
    assert by_driver[1] == by_spark[1] == {"rows": 1, "deleted": 3, "copied": 2}
    (path,) = Path(tmp_path, "by_auto").glob("*/copied/*.parquet")
    assert sorted(each.name for each in path.parents[1].iterdir()) == ["copied", "own"]
    assert len([*path.parents[1].glob("own/*.parquet")]) == 1


def test_a_table_with_a_column_of_that_name_is_sparks(spark, engine, tmp_path):
    asset = table("named", tmp_path, by="day", **sql("SELECT day, 'x' AS sparkassets_copied FROM {{ partitions }}"))
    days = pa.array([FIRST, FIRST + timedelta(1)], pa.date32())
    write_deltalake(asset.storage.path, pa.table({"day": days, "sparkassets_copied": ["a", "b"]}))
    execute(engine, order(asset, keys="2013-01-01"))
    assert rows(spark, asset) == [(FIRST, "x"), (FIRST + timedelta(1), "b")]
    assert not DeltaTable(asset.storage.path).history(1)[0]["engineInfo"].startswith("delta-rs")
