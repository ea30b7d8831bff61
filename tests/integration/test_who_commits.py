"""Who commits to a table: the driver, or Spark where the table, the session or the run asks for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import AppendWrite
from sparkassets.delta.features import spark_commit_reason
from sparkassets.errors import RunError
from tests.delta.spark_tables import STATEMENTS, log_of, recorded
from tests.integration.orders import execute, order, rows, sql, table

pytestmark = pytest.mark.spark


@pytest.fixture
def make_table(spark, tmp_path):
    """Makes the table of an asset by SQL."""

    def make(columns: str, properties: str = "", *, tail: str = "", **more):
        asset = table("log", tmp_path, write=AppendWrite(), **more)
        told = f"TBLPROPERTIES ({properties})" if properties else ""
        spark.sql(f"CREATE TABLE delta.`{asset.storage.path}` ({columns}) USING delta {tail} {told}")
        return asset

    return make


def committers(asset) -> list[str]:
    """Who made the commits, the newest first."""
    history = DeltaTable(asset.storage.path).history()
    return ["driver" if each["engineInfo"].startswith("delta-rs") else "spark" for each in history]


@pytest.mark.needs("pyspark>=4")
@pytest.mark.parametrize("name", ["row tracking", "clustering"])
def test_what_was_recorded_of_tables_is_what_spark_makes(spark, tmp_path, name):
    assert log_of(spark, str(tmp_path / "table"), STATEMENTS[name]) == recorded()[name]


def test_a_protocol_that_is_raised_and_not_used_is_the_drivers(make_table, spark, engine):
    asset = make_table("n INT", **sql("SELECT 1 AS n"))
    spark.sql(f"ALTER TABLE delta.`{asset.storage.path}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    spark.sql(f"ALTER TABLE delta.`{asset.storage.path}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    found = spark_commit_reason(asset, DeltaTable(asset.storage.path))
    execute(engine, order(asset))
    assert committers(asset)[0] == ("driver" if found is None else "spark")
    assert rows(spark, asset) == [(1,)]


@pytest.mark.parametrize(
    ("query", "committer"), [("SELECT 1 AS n", "driver"), ("SELECT nullif(1, 2) AS n", "spark")], ids=["sure", "unsure"]
)
def test_a_column_that_must_not_be_null_is_the_drivers_where_the_result_promises_it(
    make_table, spark, engine, query, committer
):
    asset = make_table("n INT NOT NULL", **sql(query))
    execute(engine, order(asset))
    assert committers(asset)[0] == committer
    assert rows(spark, asset) == [(1,)]


def test_a_run_that_adds_columns_is_sparks(make_table, spark, engine):
    asset = make_table("n INT", schema="add_columns", **sql("SELECT 1 AS n, 'x' AS s"))
    execute(engine, order(asset))
    execute(engine, order(asset))
    assert committers(asset)[:2] == ["driver", "spark"]
    assert rows(spark, asset) == [(1, "x"), (1, "x")]


def test_what_replaces_all_may_change_the_columns_too(spark, engine, tmp_path):
    asset = table("all", tmp_path, **sql("SELECT 1 AS n"))
    for query in ("SELECT 1 AS n", "SELECT 1 AS n, 'x' AS s", "SELECT 'y' AS s, TIMESTAMP'2013-01-01' AS t"):
        execute(engine, order(replace(asset, **sql(query))))
    assert committers(asset) == ["driver"] * 3
    assert spark.read.format("delta").load(asset.storage.path).dtypes == [("s", "string"), ("t", "timestamp")]
    assert rows(spark, asset, "s") == [("y",)]


def test_a_type_that_the_table_would_have_to_be_changed_for_is_sparks_to_refuse(spark, engine, tmp_path):
    asset = table("all", tmp_path, **sql("SELECT 1 AS n"))
    execute(engine, order(asset))
    with pytest.raises(RunError, match=r"^all: \[DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT\] .*: timestampNtz\.$"):
        execute(engine, order(replace(asset, **sql("SELECT TIMESTAMP_NTZ'2013-01-01 00:00:00' AS t"))))
    assert rows(spark, asset) == [(1,)]


def test_a_new_table_may_have_any_type_of_delta(spark, engine, tmp_path):
    asset = table("all", tmp_path, **sql("SELECT TIMESTAMP_NTZ'2013-01-01 00:00:00' AS t, map('k', array(1)) AS m"))
    execute(engine, order(asset))
    execute(engine, order(asset))
    assert committers(asset) == ["driver"] * 2
    assert rows(spark, asset, "CAST(t AS STRING)") == [("2013-01-01 00:00:00",)]


def test_a_session_with_properties_for_new_tables_makes_them(spark, engine, tmp_path):
    asset = table("all", tmp_path, **sql("SELECT 1 AS n"))
    session = engine.workplace._require_session()
    session.conf.set("spark.databricks.delta.properties.defaults.logRetentionDuration", "interval 3 days")
    try:
        execute(engine, order(asset))
    finally:
        session.conf.unset("spark.databricks.delta.properties.defaults.logRetentionDuration")
    execute(engine, order(asset))
    assert committers(asset) == ["driver", "spark"]
    metadata = DeltaTable(asset.storage.path).metadata()
    assert metadata.configuration == {"delta.logRetentionDuration": "interval 3 days"}
