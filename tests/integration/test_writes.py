from __future__ import annotations

from datetime import date

import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import AppendWrite, row_counts
from sparkassets.errors import RunError
from tests.integration.orders import execute, newest, order, rows, save, span, sql, table, target

pytestmark = pytest.mark.spark

DAILY = "SELECT day, sum(delay) AS delay FROM {{ inlets.flights }} GROUP BY ALL"
COPY = "SELECT * FROM {{ inlets.flights }}"


def daily_of(flights, daily, keys):
    return order(daily, flights, keys=keys, pins={"flights": newest(flights, parts=span(flights, keys))})


def test_replace_by_partitions_touches_no_other_partition(engine, spark, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(DAILY, "flights"))
    execute(engine, daily_of(flights, daily, "2013-01-01..2013-01-02"))
    assert rows(spark, daily) == [(date(2013, 1, 1), 20), (date(2013, 1, 2), 40)]
    spark.sql(f"UPDATE delta.`{flights.storage.path}` SET delay = 0")  # noqa: S608 - a table of the test's own
    execute(engine, daily_of(flights, daily, "2013-01-02"))
    assert rows(spark, daily) == [(date(2013, 1, 1), 20), (date(2013, 1, 2), 0)]


def test_rows_of_other_partitions_that_delta_copies_are_not_those_of_the_run(engine, spark, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(COPY, "flights"))
    save(spark.read.format("delta").load(flights.storage.path).coalesce(1), daily)
    run = daily_of(flights, daily, "2013-01-02")
    execute(engine, run)
    (committed,) = target(engine, run).find_commits([run.run])
    counts = row_counts(committed.operation, committed.metrics)
    assert (counts["rows"], counts["deleted"], counts["copied"]) == (2, 2, 4)


@pytest.mark.spark_alone  # makes such a clone
def test_a_shallow_clone_is_a_target_as_any_other(engine, spark, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(COPY, "flights"))
    spark.sql(f"CREATE TABLE delta.`{daily.storage.path}` SHALLOW CLONE delta.`{flights.storage.path}`")
    first, second = daily_of(flights, daily, "2013-01-01"), daily_of(flights, daily, "2013-01-02")
    assert target(engine, first).find_commits([first.run]) == ()
    for run in (first, second):
        execute(engine, run)
        (committed,) = target(engine, run).find_commits([run.run])
        assert committed.run == run.run
    assert len(rows(spark, daily)) == 6


def test_a_partition_that_has_no_rows_any_more_is_emptied(engine, spark, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(DAILY, "flights"))
    execute(engine, daily_of(flights, daily, "2013-01-01..2013-01-02"))
    spark.sql(f"DELETE FROM delta.`{flights.storage.path}` WHERE day = '2013-01-02'")  # noqa: S608 - the test's own
    execute(engine, daily_of(flights, daily, "2013-01-02"))
    assert rows(spark, daily) == [(date(2013, 1, 1), 20)]


@pytest.mark.spark_alone  # has literals that may be NULL in a table that the test writes
@pytest.mark.parametrize("there", [False, True], ids=["new table", "table there"])
def test_rows_outside_the_partitions_are_named_and_nothing_is_written(engine, spark, flights, tmp_path, there):
    query = f"{DAILY} UNION ALL SELECT NULL, 1"
    daily = table("daily", tmp_path, by="day", **sql(query, "flights"))
    if there:
        save(spark.sql("SELECT DATE'2013-01-02' AS day, 7L AS delay"), daily)
    run = order(daily, flights, keys="2013-01-02")
    with pytest.raises(RunError) as error:
        execute(engine, run)
    assert str(error.value) == (
        "daily: rows outside the run's partitions 2013-01-02: day is NULL, 2013-01-01, 2013-01-03; "
        "nothing was written\n"
        "  hint: filter them in the query, or join {{ partitions }}"
    )
    assert not error.value.retryable
    assert target(engine, run).transaction_version() is None
    assert not there or rows(spark, daily) == [(date(2013, 1, 2), 7)]


@pytest.mark.spark_alone  # gives an instant for date_trunc of a date
def test_an_instant_outside_the_partitions_is_told_in_their_zone(engine, tmp_path):
    query = "SELECT date_trunc('month', DATE'2026-01-05') AS month"
    monthly = table("monthly", tmp_path, by="month", zone="America/New_York", column="month", **sql(query))
    with pytest.raises(RunError) as error:
        execute(engine, order(monthly, keys="2026-01"))
    assert str(error.value) == (
        "monthly: rows outside the run's partitions 2026-01: month is 2025-12-31 19:00:00-05:00; nothing was written\n"
        "  hint: a TIMESTAMP is an instant, here shown in America/New_York, and midnight of UTC is none there: where a "
        "day is meant, CAST(month AS DATE); else filter them in the query, or join {{ partitions }}"
    )


def test_at_most_five_outside_values_are_shown(engine, tmp_path):
    query = "SELECT date_add(DATE'2013-01-01', CAST(id AS INT)) AS day FROM range(10)"
    daily = table("daily", tmp_path, by="day", **sql(query))
    with pytest.raises(RunError, match="is 2013-01-02, 2013-01-03, 2013-01-04, 2013-01-05, 2013-01-06, …; no"):
        execute(engine, order(daily, keys="2013-01-01"))


def test_the_whole_table_is_replaced_with_its_schema(engine, spark, flights, tmp_path):
    report = table("report", tmp_path, **sql(COPY, "flights"))
    execute(engine, order(report, flights))
    changed = table("report", tmp_path, **sql("SELECT count(*) AS n FROM {{ inlets.flights }}", "flights"))
    before = spark.conf.get("spark.sql.sources.partitionOverwriteMode")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        execute(engine, order(changed, flights))
    finally:
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", before)
    assert rows(spark, changed) == [(6,)]


def test_append_adds_rows(engine, spark, flights, tmp_path):
    log = table(
        "log", tmp_path, write=AppendWrite(), **sql("SELECT count(*) AS n FROM {{ inlets.flights }}", "flights")
    )
    execute(engine, order(log, flights))
    execute(engine, order(log, flights))
    assert rows(spark, log) == [(6,), (6,)]


@pytest.mark.parametrize(
    ("by", "query", "layout"),
    [
        ("day", "SELECT DATE'2013-01-01' AS day, 1 AS n", ["day"]),
        ("day", "SELECT '2013-01-01' AS day, 1 AS n", ["day"]),
        ("day", "SELECT TIMESTAMP'2013-01-01T05:00:00Z' AS day, 1 AS n", []),
        ("hour", "SELECT TIMESTAMP'2013-01-01T00:30:00Z' AS day, 1 AS n", []),
        ("month", "SELECT DATE'2013-01-17' AS day, 1 AS n", ["day"]),
        ("year", "SELECT DATE'2013-01-17' AS day", []),
    ],
)
def test_a_new_table_is_laid_out_by_days_and_coarser(engine, tmp_path, by, query, layout):
    key = {"hour": "2013-01-01T00", "day": "2013-01-01", "month": "2013-01", "year": "2013"}[by]
    daily = table("daily", tmp_path, by=by, **sql(query))
    execute(engine, order(daily, keys=key))
    assert DeltaTable(daily.storage.path).metadata().partition_columns == layout


@pytest.mark.spark_alone  # has literals that may be NULL in a table that the test writes
def test_the_layout_of_an_existing_table_is_kept(engine, spark, flights, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql(COPY, "flights"))
    frame = spark.sql("SELECT DATE'2013-01-09' AS day, 'LGA' AS origin, 1 AS delay")
    frame.write.format("delta").partitionBy("origin").save(daily.storage.path)
    execute(engine, daily_of(flights, daily, "2013-01-01"))
    assert DeltaTable(daily.storage.path).metadata().partition_columns == ["origin"]
    whole = table("daily", tmp_path, **sql(COPY, "flights"))
    execute(engine, order(whole, flights))
    assert DeltaTable(daily.storage.path).metadata().partition_columns == ["origin"]
    assert len(rows(spark, daily)) == 6


def test_columns_that_do_not_fit_the_target_are_listed_before_anything_is_computed(engine, spark, tmp_path):
    query = "SELECT CAST(raise_error('computed') AS STRING) AS b, 1L AS a, 2 AS d"
    log = table("log", tmp_path, write=AppendWrite(), **sql(query))
    save(spark.sql("SELECT 1 AS a, 'x' AS b, 1.5D AS c"), log)
    with pytest.raises(RunError) as error:
        execute(engine, order(log))
    assert str(error.value) == (
        "log: the result does not match the target: column 'c' is missing; column 'd' is not in the target; column "
        "'a' is bigint, but int in the target\n  hint: appended rows cannot be recomputed: write to another table, "
        "or alter this one by hand"
    )
    assert DeltaTable(log.storage.path).version() == 0


def test_the_order_of_columns_does_not_matter(engine, spark, tmp_path):
    log = table("log", tmp_path, write=AppendWrite(), **sql("SELECT 'x' AS B, 1 AS a"))
    save(spark.sql("SELECT 0 AS a, 'w' AS b"), log)
    execute(engine, order(log))
    assert rows(spark, log) == [(0, "w"), (1, "x")]


def test_declared_columns_are_checked(engine, tmp_path):
    query = sql("SELECT 1 AS id, 'x' AS extra")
    report = table("report", tmp_path, columns={"id": "bigint", "name": "string"}, **query)
    with pytest.raises(RunError) as error:
        execute(engine, order(report))
    assert str(error.value) == (
        "report: the result does not match the declared columns: column 'name' is missing; column 'extra' is not "
        "in the declared columns; column 'id' is int, but bigint in the declared columns\n  hint: cast it in the "
        "query, such as CAST(id AS bigint), or declare the type that the query returns"
    )


def test_a_declared_type_that_spark_does_not_know_is_named(engine, tmp_path):
    report = table("report", tmp_path, columns={"id": "bigint", "name": "txt"}, **sql("SELECT 1L AS id"))
    with pytest.raises(RunError, match=r"^the column 'name' is declared as 'txt', which is not a Spark type$"):
        execute(engine, order(report))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT 1 AS a, 2 AS A",
            "report: the result has the column 'a' more than once (case does not distinguish A, a)",
        ),
        ("SELECT 1 AS a, NULL AS b", "report: the type of the column 'b' is unknown: all values are NULL"),
    ],
)
def test_columns_that_no_table_can_hold_are_refused(engine, tmp_path, query, message):
    with pytest.raises(RunError) as error:
        engine.compute(order(table("report", tmp_path, **sql(query))), attempt=1)
    assert str(error.value).partition("\n")[0] == message


def test_a_partition_column_that_cannot_hold_the_partition_is_refused(engine, tmp_path):
    daily = table("daily", tmp_path, by="day", **sql("SELECT 20130101 AS day"))
    with pytest.raises(RunError) as error:
        engine.compute(order(daily, keys="2013-01-01"), attempt=1)
    assert str(error.value) == (
        "the column 'day' of the result of daily is INT, which cannot hold a partition by day\n"
        "  hint: make it DATE, TIMESTAMP or STRING"
    )


@pytest.mark.spark_alone  # has literals that may be NULL in a table that the test writes
def test_a_failed_run_leaves_schema_and_rows_as_they_were(engine, spark, flights, tmp_path):
    query = "SELECT day, CAST(replace(origin, 'JFK', 'EWR') AS INT) AS delay FROM {{ inlets.flights }}"
    daily = table("daily", tmp_path, by="day", **sql(query, "flights"))
    save(spark.sql("SELECT DATE'2013-01-02' AS day, 7 AS delay"), daily)
    with pytest.raises(RunError) as error:
        execute(engine, daily_of(flights, daily, "2013-01-02"))
    assert str(error.value).startswith(
        "daily: [CAST_INVALID_INPUT] The value 'EWR' of the type \"STRING\" cannot be cast"
    )
    assert "\n" not in str(error.value)
    assert not error.value.retryable
    assert error.value.__cause__ is not None
    assert (DeltaTable(daily.storage.path).version(), rows(spark, daily)) == (0, [(date(2013, 1, 2), 7)])
