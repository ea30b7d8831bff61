"""A Delta source whose path has fields: the tables that fit are segments, each read at the version that is pinned."""

import shutil
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project
from sparkassets.errors import RunError, SourceChangedError
from sparkassets.spark.table_sets import read_tables

pytestmark = pytest.mark.spark

SOURCE = "asset: raw\nsource: delta\npath: lake/raw_{region}\npartition: {segments: SEGMENTS, column: region}\n"
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "project"
    place.mkdir()
    for region in ("de", "fr", "nl"):
        add(place, region, 1)
    return place


def load(folder, *assets, segments="runtime"):
    (folder / "project.yml").write_text("project: tables\nassets: [.]\n")
    text = "---\n".join([SOURCE, *assets]).replace("SEGMENTS", segments)
    (folder / "all.yml").write_text(text)
    return Project.load(folder, env={})


def add(folder, region, *values, **columns):
    table = pa.table({"x": pa.array(values, pa.int64()), **columns})
    write_deltalake(folder / "lake" / f"raw_{region}", table, mode="append", schema_mode="merge")


def rows(folder, asset):
    table = pa.table(DeltaTable(folder / "warehouse" / asset).scan())
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def ran(summary):
    return [(result.asset, result.partitions, result.status) for result in summary.runs]


def test_exactly_the_segments_of_changed_tables_are_computed(spark, folder):
    project = load(folder, TOTALS)
    assert ran(project.run(spark)) == [("totals", ("de", "fr", "nl"), "success")]
    assert rows(folder, "totals") == [("de", 1), ("fr", 1), ("nl", 1)]
    assert project.run(spark).runs == ()

    add(folder, "nl", 5)
    add(folder, "be", 7)
    shutil.rmtree(folder / "lake" / "raw_fr")
    assert ran(project.run(spark)) == [("totals", ("be", "fr", "nl"), "success")]
    assert rows(folder, "totals") == [("be", 7), ("de", 1), ("nl", 6)]
    assert project.run(spark).runs == ()

    DeltaTable(folder / "lake" / "raw_nl").optimize.compact()
    assert project.run(spark).runs == ()
    shutil.rmtree(folder / "lake" / "raw_de")
    add(folder, "de", 3)
    assert ran(project.run(spark)) == [("totals", ("de",), "success")]
    assert rows(folder, "totals") == [("be", 7), ("de", 3), ("nl", 6)]


def test_a_fixed_list_leaves_other_tables_out(spark, folder):
    project = load(folder, TOTALS, segments="[de, nl]")
    assert ran(project.run(spark)) == [("totals", ("de", "nl"), "success")]
    assert rows(folder, "totals") == [("de", 1), ("nl", 1)]
    project = load(folder, TOTALS, segments="[de, fr, nl]")
    assert ran(project.run(spark)) == [("totals", ("fr",), "success")]


def test_all_tables_are_read_as_one_with_the_columns_of_all(spark, folder):
    add(folder, "nl", 2, note=["new"])
    project = load(folder, EVERYTHING)
    assert ran(project.run(spark)) == [("everything", (), "success")]
    assert rows(folder, "everything") == [("de", 1, None), ("fr", 1, None), ("nl", 1, None), ("nl", 2, "new")]


def test_tables_are_read_as_they_are_pinned(spark, folder):
    asset = load(folder, TOTALS).spec.assets["raw"]
    seen = {region: DeltaTable(folder / "lake" / f"raw_{region}") for region in ("de", "nl")}
    pinned = {
        region: {f"raw_{region}": {"table_id": str(table.metadata().id), "version": table.version()}}
        for region, table in seen.items()
    }
    add(folder, "nl", 2)
    read = [tuple(row) for row in read_tables(spark, asset, pinned).collect()]
    assert sorted(read) == [(1, "de"), (1, "nl")]
    shutil.rmtree(folder / "lake" / "raw_de")
    with pytest.raises(SourceChangedError, match="is gone since the run was planned"):
        read_tables(spark, asset, pinned)
    add(folder, "de", 1)
    with pytest.raises(SourceChangedError, match="was re-created since the run was planned"):
        read_tables(spark, asset, pinned)


def test_no_tables_have_the_declared_columns(spark, folder):
    asset = load(folder, TOTALS).spec.assets["raw"]
    with pytest.raises(RunError, match="has no tables for this run"):
        read_tables(spark, asset, {})
    declared = replace(asset, columns={"x": "BIGINT"})
    assert read_tables(spark, declared, {}).dtypes == [("x", "bigint"), ("region", "string")]
