"""Tables read from their files against Delta's own read: same rows, types, order of columns, metadata, and errors."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkassets.core.partitions import EVERYTHING, NOTHING, UNPARTITIONED, Partitioning, PartitionSet, TimePartition
from sparkassets.errors import RunError
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.predicates import partition_predicate
from tests.depth import examples
from tests.integration.orders import newest, order, sql, table
from tests.integration.skipping import files_read

pytestmark = pytest.mark.spark

DAYS = Partitioning(TimePartition("day", "UTC", column="day"))
FIRST = date(2013, 1, 1)
ODD = ["a b", "a%20b", "x=1", "ü", ":c", "a/b", "a+b", "#h?", "it's", 'q"', "{[*", "\\", "", "__NULL__", "01", " "]
_MOMENT = datetime(2013, 1, 1, 23, 59, 59, 999_999, tzinfo=UTC)


def in_utc(spark):
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


def by_delta(spark, path, version, parts=EVERYTHING, partitioning=UNPARTITIONED):
    frame = spark.read.format("delta").option("versionAsOf", version).load(path)
    predicate = partition_predicate(frame.schema, parts, partitioning=partitioning, owner="it")
    return frame if predicate is None else frame.filter(predicate)


def by_files(spark, path, version, parts=EVERYTHING, partitioning=UNPARTITIONED):
    """The rows, and whether they are read from the files."""
    frame, exact = read_version(spark, DeltaTable(path), version, path=path, parts=parts, partitioning=partitioning)
    predicate = partition_predicate(frame.schema, parts, partitioning=partitioning, owner="it")
    plan = frame._jdf.queryExecution().toString()
    from_files = "InMemoryFileIndex" in plan or "LocalTableScan <empty>" in plan
    return (frame if exact or predicate is None else frame.filter(predicate)), from_files


def content(frame):
    return frame.schema.json(), sorted(map(repr, frame.collect()))


COLUMNS = {
    "day": (pa.date32(), st.none() | st.integers(0, 3).map(lambda n: FIRST + timedelta(n))),
    "word": (pa.string(), st.none() | st.sampled_from(ODD)),
    "at": (pa.timestamp("us", "UTC"), st.none() | st.integers(-1, 1).map(lambda n: _MOMENT + timedelta(days=n))),
    "local": (pa.timestamp("us"), st.none() | st.just(_MOMENT.replace(tzinfo=None))),
    "Price": (pa.decimal128(9, 2), st.none() | st.sampled_from([Decimal("1.50"), Decimal("-3.00")])),
    "flag": (pa.bool_(), st.none() | st.booleans()),
    "n": (pa.int64(), st.none() | st.integers(-5, 5)),
    "small": (pa.int16(), st.none() | st.integers(-5, 5)),
    "x": (pa.float64(), st.none() | st.sampled_from([0.1, -0.0, 1e9, float("nan"), float("inf")])),
    "raw": (pa.binary(), st.none() | st.binary(max_size=3)),
    "nest.ed": (pa.struct([("a", pa.int32()), ("B c", pa.string())]), st.none() | st.just({"a": 1, "B c": "x"})),
    "list": (pa.list_(pa.int32()), st.none() | st.lists(st.none() | st.integers(0, 3), max_size=2)),
}
FOLDERS = ["day", "word", "at", "Price", "flag", "small", "x"]
"""Those that a table's folders may be named by."""


@st.composite
def tables(draw):
    """Columns that folders are named by, and writes: rows, and whether they replace all that was there."""
    names = draw(st.lists(st.sampled_from([*COLUMNS]), min_size=2, unique=True))
    folders = draw(st.lists(st.sampled_from(FOLDERS), max_size=2, unique=True).filter(lambda each: {*each} < {*names}))
    writes = []
    for _ in range(draw(st.integers(1, 4))):
        given_names = [*folders, *draw(st.lists(st.sampled_from(names), min_size=1, unique=True))] if writes else names
        some = [name for name in names if name in given_names]
        some = some if {*some} > {*folders} else names
        row = st.fixed_dictionaries({name: COLUMNS[name][1] for name in some})
        writes.append((some, draw(st.lists(row, max_size=4)), draw(st.integers(0, 9)) == 0))
    chosen = draw(st.sets(st.integers(0, 3)))
    day = 24 * 3600
    start = int(datetime(2013, 1, 1, tzinfo=UTC).timestamp())
    parts = PartitionSet.from_time_pairs((start + n * day, start + (n + 1) * day) for n in chosen)
    column = draw(st.sampled_from([name for name in ("day", "at") if name in names] or [None]))
    return folders, writes, parts, column


@given(tables(), st.data())
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_ways_are_equal(spark, table, data):
    folders, writes, parts, column = table
    own = in_utc(spark)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a table"
        for some, rows, again in writes:
            schema = pa.schema([(name, COLUMNS[name][0]) for name in some])
            frame = pa.Table.from_pylist(rows, schema)
            mode = "overwrite" if again else "append"
            write_deltalake(path, frame, mode=mode, schema_mode="merge", partition_by=folders or None)
        version = data.draw(st.integers(0, DeltaTable(path).version()))
        partitioning = Partitioning(TimePartition("day", "UTC", column=column)) if column else UNPARTITIONED
        asked = parts if column else EVERYTHING
        for wanted in (EVERYTHING, asked):
            found, from_files = by_files(own, path, version, wanted, partitioning)
            assert from_files
            assert content(found) == content(by_delta(own, path, version, wanted, partitioning))


def test_folders_that_spark_named_are_told_apart(spark, tmp_path):
    own, path = in_utc(spark), str(tmp_path / "odd")
    rows = [(n, word, _MOMENT, FIRST) for n, word in enumerate([*ODD, None])]
    frame = own.createDataFrame(rows, "n int, word string, at timestamp, day date")
    frame.write.format("delta").partitionBy("at", "word", "day").save(path)
    found, from_files = by_files(own, path, 0)
    assert from_files
    assert content(found) == content(by_delta(own, path, 0))
    assert {row.word for row in found.collect()} == {*ODD, None} - {""}


def test_columns_keep_their_comments_and_what_delta_keeps_to_itself_is_not_shown(spark, tmp_path):
    own, path = in_utc(spark), str(tmp_path / "told")
    own.sql(
        f"CREATE TABLE delta.`{path}` (a INT COMMENT 'first', day DATE COMMENT 'it''s', s STRUCT<x: INT COMMENT 'in'>,"
        " twice INT GENERATED ALWAYS AS (a * 2), id BIGINT GENERATED ALWAYS AS IDENTITY)"
        " USING delta PARTITIONED BY (day)"
    )
    rows = own.sql("SELECT 1 AS a, DATE'2013-01-01' AS day, named_struct('x', 5) AS s UNION ALL SELECT 2, NULL, NULL")
    rows.write.format("delta").mode("append").save(path)
    found, from_files = by_files(own, path, 1)
    assert from_files
    assert content(found) == content(by_delta(own, path, 1))


@pytest.mark.parametrize(
    ("columns", "properties"),
    [
        ("a INT NOT NULL", ""),
        ("s STRUCT<x: INT NOT NULL>", ""),
        ("v VARCHAR(4)", ""),
        ("v VARIANT", ""),
        ("a INT DEFAULT 4", "'delta.feature.allowColumnDefaults' = 'supported'"),
        ("a INT", "'delta.columnMapping.mode' = 'name'"),
        ("a INT", "'delta.enableDeletionVectors' = 'true'"),
        ("a INT", "'delta.enableTypeWidening' = 'true'"),
        ("_metadata STRING", ""),
        ("a INT, b BINARY", "PARTITIONED BY (b)"),
    ],
)
def test_what_the_files_do_not_tell_is_left_to_delta(spark, tmp_path, columns, properties):
    own, path = in_utc(spark), str(tmp_path / "other")
    more = properties if properties.startswith("PART") or not properties else f"TBLPROPERTIES ({properties})"
    own.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {more}")
    found, from_files = by_files(own, path, 0)
    assert not from_files
    assert found.schema.json() == by_delta(own, path, 0).schema.json()


@pytest.mark.parametrize("name", ["a{b", "a}", "a*"])
def test_a_path_that_spark_takes_for_a_pattern_is_left_to_delta(spark, tmp_path, name):
    path = str(tmp_path / name)
    write_deltalake(path, pa.table({"n": [1]}))
    assert by_files(spark, path, 0)[1] is False


def test_many_files_are_left_to_delta(spark, tmp_path):
    own, path = in_utc(spark), str(tmp_path / "many")
    own.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "3")
    for _ in range(4):
        write_deltalake(path, pa.table({"n": [1]}), mode="append")
    assert [by_files(own, path, version)[1] for version in range(4)] == [True, True, True, False]


def test_no_file_is_no_job(spark, tmp_path):
    own, path = in_utc(spark), str(tmp_path / "none")
    write_deltalake(path, pa.table({"day": [FIRST], "n": [1]}), partition_by=["day"])
    found, from_files = by_files(own, path, 0, NOTHING, DAYS)
    assert from_files
    assert content(found) == content(by_delta(own, path, 0, NOTHING, DAYS))
    assert "LocalTableScan <empty>" in found._jdf.queryExecution().toString()


def test_only_files_that_may_hold_the_partitions_are_read(spark, tmp_path):
    own, path = in_utc(spark), str(tmp_path / "pruned")
    for first, last in [(0, 0), (1, 2), (2, 3), (5, 5)]:
        days = [FIRST + timedelta(first), FIRST + timedelta(last)]
        write_deltalake(path, pa.table({"day": days, "n": [1, 2]}), mode="append")
    parts = DAYS.parse("2013-01-01..2013-01-03")
    found, _ = by_files(own, path, 3, parts, DAYS)
    theirs = by_delta(own, path, 3, parts, DAYS)
    names = {Path(each).name for each in found.inputFiles()}
    assert names == files_read(own, Path(path), "day >= DATE'2013-01-01' AND day < DATE'2013-01-04'")
    assert len(names) == 3
    assert content(found) == content(theirs)


def reading(tmp_path, source, **more):
    report = table("report", tmp_path, **sql("SELECT * FROM {{ inlets.source }}", "source"))
    return order(report, source, **more)


def test_files_that_were_vacuumed_are_told_as_by_delta(engine, spark, tmp_path):
    source = table("source", tmp_path)
    write_deltalake(source.storage.path, pa.table({"n": [1]}))
    run = reading(tmp_path, source)
    for file in Path(source.storage.path).glob("*.parquet"):
        file.unlink()
    with pytest.raises(Exception, match="does not exist") as error:
        engine.compute(run, attempt=1).frame.collect()
    assert not isinstance(error.value, RunError)


def test_a_version_that_is_no_longer_in_the_log_is_told_as_by_delta(engine, spark, tmp_path):
    source = table("source", tmp_path)
    write_deltalake(source.storage.path, pa.table({"n": [1]}))
    pin = newest(source)
    write_deltalake(source.storage.path, pa.table({"n": [1]}), mode="append")
    opened = DeltaTable(source.storage.path)
    opened.create_checkpoint()
    Path(source.storage.path, "_delta_log", f"{0:020d}.json").unlink()
    run = reading(tmp_path, source, pins={"source": pin})
    with pytest.raises(RunError, match="DELTA"):
        engine.compute(run, attempt=1)
