"""What a run leaves of its target's layout, and what it may change of its columns."""

from __future__ import annotations

from datetime import date

import pytest
from deltalake import DeltaTable

from sparkassets.errors import RunError
from tests.integration.orders import execute, order, rows, sql, stamp_of, table, target

pytestmark = pytest.mark.spark

FULL = """
CREATE TABLE delta.`{path}` (
  id BIGINT NOT NULL COMMENT 'the key', day DATE COMMENT 'the day', n INT DEFAULT 5,
  y INT GENERATED ALWAYS AS (year(day)), k BIGINT GENERATED ALWAYS AS IDENTITY
) USING delta CLUSTER BY (day, id) COMMENT 'about it'
TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'mine' = 'x')
"""
SAME = "SELECT 1L AS ID, DATE'2024-01-01' AS day, 7 AS n"


def make_table(spark, asset, text, *more):
    spark.sql(text.format(path=asset.storage.path))
    for each in more:
        spark.sql(f"ALTER TABLE delta.`{asset.storage.path}` {each}")


def layout(spark, asset):
    """Comments, defaults, generated columns and identities; NOT NULL; clustering; properties; description."""
    now = DeltaTable(asset.storage.path)
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{asset.storage.path}`").collect()[0]
    told = {field.name: {key for key in field.metadata if "highWaterMark" not in key} for field in now.schema().fields}
    fields = {field.name: (sorted(told[field.name]), field.nullable) for field in now.schema().fields}
    return fields, list(detail["clusteringColumns"]), now.metadata().configuration, now.metadata().description


def test_a_full_refresh_keeps_the_layout_of_its_target(engine, spark, tmp_path):
    report = table("report", tmp_path, **sql(SAME))
    make_table(spark, report, FULL, "ADD CONSTRAINT positive CHECK (n > 0)")
    before = layout(spark, report)
    assert before[1] == ["day", "id"]
    execute(engine, order(report))
    execute(engine, run := order(report))
    target(engine, run).fence(None, stamp=stamp_of(run, kind="fence", version=2 * run.token + 2))
    assert layout(spark, report) == before
    assert rows(spark, report, "id", "day", "n", "y") == [(1, date(2024, 1, 1), 7, 2024)]
    wider = table("report", tmp_path, **sql(f"{SAME}, 'a' AS note"))
    execute(engine, order(wider))
    fields, *others = layout(spark, report)
    assert fields.pop("note") == ([], True)
    assert (fields, *others) == before
    with pytest.raises(RunError) as error:
        execute(engine, order(table("report", tmp_path, **sql(f"{SAME.replace('7', '-7')}, 'a' AS note"))))
    assert str(error.value) == (
        "report: a row violates the target's constraint positive (n > 0): n is -7; nothing was written\n  hint: "
        "fix or filter such rows in the query, or change the table's constraint"
    )


@pytest.mark.deep
def test_a_full_refresh_with_other_columns_keeps_what_still_applies(engine, spark, tmp_path):
    report = table("report", tmp_path, **sql(SAME))
    make_table(spark, report, FULL.replace(", k BIGINT GENERATED ALWAYS AS IDENTITY", ""))
    execute(engine, order(report))
    fields, clustering, properties, description = layout(spark, report)
    other = table("report", tmp_path, **sql("SELECT 1L AS id, DATE'2024-01-01' AS day, 'x' AS word"))
    run = order(other)
    execute(engine, run)
    (committed,) = target(engine, run).find_commits([run.run])
    assert committed.run == run.run
    del fields["n"]
    fields |= {"word": ([], True), "id": (["comment", "delta.invariants"], True)}
    assert layout(spark, report) == (fields, clustering, properties, description)
    assert rows(spark, report, "id", "word", "y") == [(1, "x", 2024)]
    nulls = "SELECT CAST(NULL AS BIGINT) AS id, DATE'2024-01-01' AS day, 'x' AS word"
    with pytest.raises(RunError, match=r"^report: a row violates the target's NOT NULL of the column id; nothing"):
        execute(engine, order(table("report", tmp_path, **sql(nulls))))


def test_a_constraint_on_a_column_that_goes_is_named_before_anything_is_computed(engine, spark, tmp_path):
    report = table("report", tmp_path, **sql("SELECT CAST(raise_error('computed') AS INT) AS a"))
    make_table(
        spark, report, "CREATE TABLE delta.`{path}` (a INT, n INT) USING delta", "ADD CONSTRAINT few CHECK (n < 9)"
    )
    with pytest.raises(RunError) as error:
        execute(engine, order(report))
    assert str(error.value) == (
        "report: the constraint few (n < 9) of the target uses the column 'n', which the result no longer has\n  "
        "hint: ALTER TABLE delta.`…` DROP CONSTRAINT few, or return the column"
    )


def test_schema_says_what_a_run_may_change(engine, spark, tmp_path):
    def daily(query, schema="strict"):
        return table("daily", tmp_path, by="day", schema=schema, **sql(query))

    def refused(asset):
        with pytest.raises(RunError) as error:
            execute(engine, order(asset, keys="2024-01-01"))
        return str(error.value)

    head = "SELECT DATE'2024-01-01' AS day, "
    rebuild = "`sparkassets backfill daily --rebuild` recomputes the table with the new columns"
    make_table(
        spark, daily(head), "CREATE TABLE delta.`{path}` (day DATE, N INT NOT NULL) USING delta PARTITIONED BY (day)"
    )
    execute(engine, order(daily(f"{head} 1 AS n"), keys="2024-01-01"))
    assert refused(daily(f"{head} 1 AS n, 2 AS m")) == (
        "daily: the result does not match the target: column 'm' is not in the target\n  hint: set `schema: "
        f"add_columns` in daily.yml to allow the change; {rebuild}"
    )
    execute(engine, order(daily(f"{head} 2 AS n, 2 AS m", "add_columns"), keys="2024-01-01"))
    assert refused(daily(f"{head} 3000000000 AS n, 2 AS m", "add_columns")) == (
        "daily: the result does not match the target: column 'N' is bigint, but int in the target\n  hint: set "
        f"`schema: evolve` in daily.yml to allow the change; {rebuild}"
    )
    assert refused(daily(f"{head} 'x' AS n", "evolve")) == (
        "daily: the result does not match the target: column 'm' is missing; column 'N' is string, but int in the "
        f"target\n  hint: {rebuild}"
    )
    execute(engine, order(daily(f"{head} 3000000000 AS n, 2 AS m", "evolve"), keys="2024-01-01"))
    assert rows(spark, daily(head), "day", "n", "m") == [(date(2024, 1, 1), 3000000000, 2)]
    narrow = order(daily("SELECT DATE'2024-01-02' AS day, 4 AS n, 2 AS m", "evolve"), keys="2024-01-02")
    execute(engine, narrow)
    assert rows(spark, daily(head), "n") == [(4,), (3000000000,)]
    assert [field.nullable for field in DeltaTable(str(tmp_path / "daily")).schema().fields] == [True, False, True]


def test_a_rebuild_takes_the_place_of_the_whole_table_in_one_commit(engine, spark, tmp_path):
    days = "SELECT explode(sequence(DATE'2024-01-01', DATE'2024-01-0{}')) AS day, {}"
    old = table("daily", tmp_path, by="day", **sql(days.format(3, "1 AS n")))
    execute(engine, order(old, keys="2024-01-01..2024-01-03"))
    daily = table("daily", tmp_path, by="day", **sql(days.format(2, "'x' AS word")))
    with pytest.raises(
        RunError, match="the result does not match the target: column 'n' is missing; column 'word' is not"
    ):
        execute(engine, order(daily, keys="2024-01-01..2024-01-02"))
    with pytest.raises(
        RunError, match=r"^daily: rows outside the run's partitions 2024-01-01: day is 2024-01-02; nothing"
    ):
        execute(engine, order(daily, keys="2024-01-01", rebuilds=True))
    execute(engine, order(daily, keys="2024-01-01..2024-01-02", rebuilds=True))
    assert rows(spark, daily) == [(date(2024, 1, 1), "x"), (date(2024, 1, 2), "x")]
    now = DeltaTable(daily.storage.path)
    assert (now.version(), now.metadata().partition_columns) == (1, ["day"])
