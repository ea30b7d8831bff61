"""A Delta source whose path, or name, has fields: the tables that fit are segments, each read at its pinned version."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from sparkassets import Project
from sparkassets.errors import RunError, SourceChangedError
from sparkassets.runtime.progress import RunFailedError
from sparkassets.spark.inlet_reader import read_tables
from tests.depth import deep
from tests.integration import catalogs

pytestmark = pytest.mark.spark

SOURCE = "asset: raw\nsource: delta\nPLACE\npartition: {segments: SEGMENTS, column: region}\n"
TOTALS = """
asset: totals
partition: {segments: SEGMENTS, column: region}
inlets: [raw]
sql: SELECT region, sum(x) AS x FROM {{ inlets.raw }} GROUP BY ALL
"""
EVERYTHING = """
asset: everything
inlets: [raw]
sql: SELECT region, x, note FROM {{ inlets.raw }}
"""
NEWER = """
asset: newer
inlets: {raw: {read: {after: x}}}
write: append
sql: SELECT region, x FROM {{ inlets.raw }}
"""


class Folders:
    """Tables at paths."""

    def __init__(self, project) -> None:
        self.place = "path: lake/raw_{region}"
        self.lake = project / "lake"

    def path(self, region: str):
        return self.lake / f"raw_{region}"

    def add(self, region: str, *values: int, **columns: list[str]) -> None:
        table = pa.table({"x": pa.array(values, pa.int64()), **columns})
        write_deltalake(self.path(region), table, mode="append", schema_mode="merge")

    def drop(self, region: str) -> None:
        shutil.rmtree(self.path(region))

    def other(self, name: str) -> str:
        """Makes something else than a table of Delta; what is said of it."""
        (self.lake / f"raw_{name}").mkdir()
        return f"1 folder without a Delta table left out: raw_{name}"


class Named(Folders):
    """Tables in a schema of the session's catalog."""

    def __init__(self, project, spark, schema: str) -> None:
        super().__init__(project)
        self.place, self.spark, self.schema = f"table: {schema}.raw_{{region}}", spark, schema

    def add(self, region: str, *values: int, **columns: list[str]) -> None:
        super().add(region, *values, **columns)
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self.schema}.raw_{region} USING delta LOCATION '{self.path(region)}'"
        )
        self.spark.sql(f"REFRESH TABLE {self.schema}.raw_{region}")

    def drop(self, region: str) -> None:
        self.spark.sql(f"DROP TABLE {self.schema}.raw_{region}")
        super().drop(region)

    def other(self, name: str) -> str:
        self.spark.sql(f"CREATE VIEW {self.schema}.raw_{name} AS SELECT 1 AS x")
        self.spark.sql(f"CREATE TABLE {self.schema}.raw_{name}_files (x INT) USING parquet")
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW raw_{name}_passing AS SELECT 1 AS x")
        return f"2 tables of another format than Delta left out: raw_{name}, raw_{name}_files"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture(params=["path", "name"])
def lake(request, spark, folder):
    if request.param == "path":
        found = Folders(folder)
        fill(found)
        yield found
        return
    with catalogs.schema(spark, folder) as schema:
        found = Named(folder, spark, schema)
        fill(found)
        yield found


ONE = pytest.mark.parametrize("lake", ["path", deep("name")], indirect=True)
"""What goes by the plan, once a table's place is known, alike for both."""


def fill(lake: Folders) -> None:
    for region in ("de", "fr", "nl"):
        lake.add(region, 1)


def load(folder, lake, *assets, segments="runtime"):
    (folder / "project.yml").write_text("project: tables\nassets: [.]\n")
    text = "---\n".join([SOURCE, *assets]).replace("SEGMENTS", segments)
    (folder / "all.yml").write_text(text.replace("PLACE", lake.place))
    return Project.load(folder, env={})


def rows(folder, asset):
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan())
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def ran(summary):
    return [(result.asset, result.partition_keys, result.status) for result in summary.runs]


def test_exactly_the_segments_of_changed_tables_are_computed(spark, folder, lake):
    project = load(folder, lake, TOTALS)
    assert ran(project.run(spark)) == [("totals", ("de", "fr", "nl"), "success")]
    assert rows(folder, "totals") == [("de", 1), ("fr", 1), ("nl", 1)]
    assert project.run(spark).runs == ()

    lake.add("nl", 5)
    lake.add("be", 7)
    lake.drop("fr")
    assert ran(project.run(spark)) == [("totals", ("be", "fr", "nl"), "success")]
    assert rows(folder, "totals") == [("be", 7), ("de", 1), ("nl", 6)]
    assert project.run(spark).runs == ()

    DeltaTable(lake.path("nl")).optimize.compact()
    assert project.run(spark).runs == ()
    lake.drop("de")
    lake.add("de", 3)
    assert ran(project.run(spark)) == [("totals", ("de",), "success")]
    assert rows(folder, "totals") == [("be", 7), ("de", 3), ("nl", 6)]


@ONE
def test_a_fixed_list_leaves_other_tables_out(spark, folder, lake):
    project = load(folder, lake, TOTALS, segments="[de, nl]")
    assert ran(project.run(spark)) == [("totals", ("de", "nl"), "success")]
    assert rows(folder, "totals") == [("de", 1), ("nl", 1)]
    project = load(folder, lake, TOTALS, segments="[de, fr, nl]")
    assert ran(project.run(spark)) == [("totals", ("fr",), "success")]


@ONE
def test_all_tables_are_read_as_one_with_the_columns_of_all(spark, folder, lake):
    lake.add("nl", 2, note=["new"])
    project = load(folder, lake, EVERYTHING)
    assert ran(project.run(spark)) == [("everything", (), "success")]
    assert rows(folder, "everything") == [("de", 1, None), ("fr", 1, None), ("nl", 1, None), ("nl", 2, "new")]


def test_tables_are_read_as_they_are_pinned(spark, folder, lake):
    asset = load(folder, lake, TOTALS).spec.assets["raw"]
    seen = {region: DeltaTable(lake.path(region)) for region in ("de", "nl")}
    pinned = {
        region: {f"raw_{region}": {"table_id": str(table.metadata().id), "version": table.version()}}
        for region, table in seen.items()
    }
    lake.add("nl", 2)
    read = [tuple(row) for row in read_tables(spark, asset, pinned).collect()]
    assert sorted(read) == [(1, "de"), (1, "nl")]
    lake.drop("de")
    with pytest.raises(SourceChangedError, match="is gone since the run was planned"):
        read_tables(spark, asset, pinned)
    lake.add("de", 1)
    with pytest.raises(SourceChangedError, match="was re-created since the run was planned"):
        read_tables(spark, asset, pinned)


def test_no_tables_have_the_declared_columns(spark, folder, lake):
    asset = load(folder, lake, TOTALS).spec.assets["raw"]
    with pytest.raises(RunError, match="has no tables for this run"):
        read_tables(spark, asset, {})
    declared = replace(asset, columns={"x": "BIGINT"})
    assert read_tables(spark, declared, {}).dtypes == [("x", "bigint"), ("region", "string")]


@ONE
def test_only_newer_rows_of_all_tables_are_read(spark, folder, lake):
    """One watermark over all of them: also of a table that is new."""
    lake.add("nl", 2)
    project = load(folder, lake, NEWER)
    assert ran(project.run(spark)) == [("newer", (), "success")]
    assert rows(folder, "newer") == [("de", 1), ("fr", 1), ("nl", 1), ("nl", 2)]
    lake.add("de", 2, 3)
    lake.add("be", 2, 4)
    lake.drop("fr")
    assert ran(project.run(spark)) == [("newer", (), "success")]
    assert rows(folder, "newer") == [("be", 4), ("de", 1), ("de", 3), ("fr", 1), ("nl", 1), ("nl", 2)]
    assert project.run(spark).runs == ()


def test_what_is_no_table_is_left_out_by_name(spark, folder, lake):
    said = lake.other("it")
    project = load(folder, lake, TOTALS)
    assert ran(project.run(spark)) == [("totals", ("de", "fr", "nl"), "success")]
    (status,) = (each for each in project.status() if each.asset == "raw")
    assert list(status.notes) == [said]


def test_the_schema_varies(spark, folder):
    with catalogs.schema(spark, folder / "a") as first, catalogs.schema(spark, folder / "b") as second:
        for schema, value in ((first, 1), (second, 2)):
            spark.sql(f"CREATE TABLE {schema}.orders USING delta AS SELECT {value}L AS x")
        lake = Folders(folder)
        lake.place = 'table: "s{region}.orders"'
        project = load(folder, lake, TOTALS)
        regions = sorted(schema.removeprefix("s") for schema in (first, second))
        assert ran(project.run(spark)) == [("totals", tuple(regions), "success")]
        assert rows(folder, "totals") == sorted([(first.removeprefix("s"), 1), (second.removeprefix("s"), 2)])


def test_a_schema_that_is_not_there(spark, folder):
    lake = Folders(folder)
    lake.place = "table: nowhere.raw_{region}"
    with pytest.raises(RunFailedError) as raised:
        load(folder, lake, TOTALS).run(spark)
    (fault,) = (text for name, text in dict(raised.value.summary.faults).items() if name == "raw")
    assert fault.startswith("the tables of the source 'raw' cannot be listed: ")
    assert fault.endswith("CREATE SCHEMA nowhere, or correct the name")


class Refusing(deltalake.DeltaTable):
    """deltalake's, which knows not what one of the tables has."""

    def __init__(self, table_uri: Any, *more: Any, **options: Any) -> None:
        if str(table_uri).rstrip("/").endswith("/raw_nl"):
            raise DeltaError("Kernel error: Feature 'teleportation' is not supported")
        super().__init__(table_uri, *more, **options)


def test_a_table_that_a_session_alone_can_open_is_one_of_them(spark, folder, monkeypatch):
    lake = Folders(folder)
    fill(lake)
    monkeypatch.setattr(deltalake, "DeltaTable", Refusing)
    project = load(folder, lake, TOTALS)
    assert ran(project.run(spark)) == [("totals", ("de", "fr", "nl"), "success")]
    assert project.run(spark).runs == ()
    spark.sql(f"INSERT INTO delta.`{lake.path('nl')}` VALUES (5)")  # noqa: S608
    lake.add("de", 2)
    assert ran(project.run(spark)) == [("totals", ("de", "nl"), "success")]
    assert rows(folder, "totals") == [("de", 3), ("fr", 1), ("nl", 6)]
    spark.sql(f"OPTIMIZE delta.`{lake.path('nl')}`")
    assert project.run(spark).runs == ()
