"""Assets that are written in Python, run as their authors would write them."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sparkassets import Project

pytestmark = [pytest.mark.spark, pytest.mark.alike]

CODE = '''
from pyspark.sql import DataFrame, functions as F

from sparkassets import (
    Asset, PartitionAtRuntime, PartitionByInterval, asset, get_current_context, multi_asset,
)

readings = asset("readings", source="delta", at="lake/readings")
by_day = asset("by_day", source="csv", at="landing/{day}.csv", partition=PartitionByInterval("@daily", column="day"),
               columns={"id": "int"})


@asset(at="lake/cleaned")
def cleaned(readings: DataFrame) -> DataFrame:
    """Without what is negative."""
    get_current_context().extra["by"] = "cleaned"
    return readings.where(F.col("kwh") >= 0)


@asset(schedule=cleaned | Asset(uri="x-drop://inbox"))
def total(cleaned, context):
    assert get_current_context() is context
    return cleaned.agg(F.sum("kwh").alias("kwh"))


@asset(partition=PartitionAtRuntime(column="customer"), inlets={cleaned: {"on_update": "rerun"}})
def customers(cleaned, context):
    for row in cleaned.select("customer").distinct().collect():
        context.add_partition(row.customer)
    return cleaned.groupBy("customer").agg(F.max("kwh").alias("peak"))


@asset(partition=PartitionByInterval("@daily", column="day"))
def daily(by_day):
    yield {"seen": 1}
    yield by_day.select("day", (F.col("id") * 2).alias("id"))


for factor in (2, 3):

    @asset(f"times_{factor}", params={"factor": factor})
    def times(total, context):
        return total.select((F.col("kwh") * context.params["factor"]).alias("kwh"))


@multi_asset(outlets={"train": {"at": "lake/train"}, "test": {}})
def split(cleaned, context):
    context.outlets["train"].extra["share"] = 0.5
    return {"train": cleaned.where("customer = 'a'"), "test": cleaned.where("customer <> 'a'").toArrow()}


@asset
def fitted(train):
    return train.agg(F.avg("kwh").alias("mean"))


asset("summary", sql="SELECT t.kwh AS once, d.kwh AS twice FROM {{ inlets.total }} t, {{ inlets.times_2 }} d")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    for name in ("conf/assets", "conf/landing", "plants"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "conf/project.yml").write_text("project: plants\npython: [plants]\n")
    (tmp_path / "conf/assets/peaks.yml").write_text("asset: peaks\nsql: SELECT * FROM {{ inlets.customers }}\n")
    (tmp_path / "conf/landing/2025-01-02.csv").write_text("id\n4\n")
    (tmp_path / "plants/assets.py").write_text(CODE)
    kwh = {"customer": ["a", "a", "b"], "kwh": [1.0, -1.0, 2.0]}
    write_deltalake(tmp_path / "conf/lake/readings", pa.table(kwh))
    return tmp_path / "conf"


def rows(place: Path):
    return sorted(tuple(row.values()) for row in pa.table(DeltaTable(place).scan()).to_pylist())


def test_a_project_in_python(spark, folder):
    project = Project.load(folder)
    summary = project.run(spark, at="2025-01-03")
    assert {run.asset: run.status for run in summary.runs} == dict.fromkeys(
        ["cleaned", "total", "customers", "daily", "times_2", "times_3", "summary", "peaks", "split", "fitted"],
        "success",
    )
    assert rows(folder / "lake/cleaned") == [("a", 1.0), ("b", 2.0)]
    assert rows(folder / "warehouse/total") == [(3.0,)]
    assert rows(folder / "warehouse/times_2") == [(6.0,)]
    assert rows(folder / "warehouse/times_3") == [(9.0,)]
    assert rows(folder / "lake/train") == [("a", 1.0)]
    assert rows(folder / "warehouse/test") == [("b", 2.0)]
    assert rows(folder / "warehouse/fitted") == [(1.0,)]
    assert rows(folder / "warehouse/summary") == [(3.0, 6.0)]
    assert rows(folder / "warehouse/peaks") == [("a", 1.0), ("b", 2.0)]
    assert [each[0] for each in project.partitions.statuses("customers")] == ["a", "b"]
    extras = {event["asset"]: event["extra"] for event in project.history.events()}
    assert (extras["cleaned"]["by"], extras["daily"]["seen"]) == ("cleaned", 1)
    assert project.plan(at="2025-01-03").runs == ()
