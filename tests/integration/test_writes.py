from __future__ import annotations

from datetime import date

import pytest

from sparkassets.core.partitions import RangeSet
from sparkassets.errors import RunError
from sparkassets.spark import SparkEngine
from tests.integration.orders import execute, newest, order, project, sql, table

pytestmark = pytest.mark.spark


@pytest.fixture
def engine(spark):
    return SparkEngine(project(), spark)


@pytest.fixture
def flights(spark, tmp_path):
    """Three days, two rows each."""
    source = table("flights", tmp_path, by="day")
    rows = [(date(2013, 1, day), origin, day * 10) for day in (1, 2, 3) for origin in ("EWR", "JFK")]
    spark.createDataFrame(rows, "day date, origin string, delay int").write.format("delta").save(source.place.path)
    return source


def rows(spark, asset, columns="*"):
    frame = spark.read.format("delta").load(asset.place.path).selectExpr(columns)
    return sorted(tuple(row) for row in frame.collect())


DAILY = "SELECT day, sum(delay) AS delay FROM {{ inlets.flights }} GROUP BY ALL"


def test_replace_by_blocks_touches_no_other_block(engine, spark, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(DAILY, "flights"))
    wanted = daily.partition.parse_keys("2013-01-01..2013-01-02")
    pin = {"flights": newest(flights, ranges=RangeSet.span(*wanted))}
    execute(engine, order(daily, flights, keys="2013-01-01..2013-01-02", pins=pin))
    assert rows(spark, daily) == [(date(2013, 1, 1), 20), (date(2013, 1, 2), 40)]
    spark.sql(f"UPDATE delta.`{flights.place.path}` SET delay = 0")  # noqa: S608 - a table of the test's own
    pin = {"flights": newest(flights, ranges=RangeSet.span(*daily.partition.parse_key("2013-01-02")))}
    execute(engine, order(daily, flights, keys="2013-01-02", pins=pin))
    assert rows(spark, daily) == [(date(2013, 1, 1), 20), (date(2013, 1, 2), 0)]


def test_rows_outside_the_blocks_are_named_and_nothing_is_written(engine, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(DAILY, "flights"))
    with pytest.raises(RunError) as error:
        execute(engine, order(daily, flights, keys="2013-01-02"))
    assert str(error.value) == (
        "daily: rows outside the run's partitions 2013-01-02: day is 2013-01-01, 2013-01-03; nothing was written\n"
        "  hint: filter them in the query, or join {{ partitions }}"
    )
    assert engine.transaction_version(daily, order(daily, flights, keys="2013-01-02").app_id) is None


def test_the_same_stamp_lands_once(engine, spark, flights, tmp_path):
    copy = table("copy", tmp_path, write="append", **sql("SELECT * FROM {{ inlets.flights }}", "flights"))
    run = order(copy, flights)
    execute(engine, run)
    execute(engine, run)
    assert len(rows(spark, copy)) == 6
    (landed,) = engine.landed(copy, [run.run], app_id=run.app_id)
    assert (landed.run, landed.version, landed.metrics["numOutputRows"]) == (run.run, 0, 6)
