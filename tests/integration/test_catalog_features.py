"""Tables of catalogs as platforms make them: observed, read, replaced by blocks and merged, or refused by name."""

from __future__ import annotations

from datetime import date

import pytest

from sparkassets import Project
from tests.depth import deep
from tests.integration import catalogs

pytestmark = pytest.mark.spark

FEATURES = {
    "deletion vectors": "delta.enableDeletionVectors = true",
    "column mapping": "delta.columnMapping.mode = name",
    "row tracking": "delta.enableRowTracking = true",
    "v2 checkpoints": "delta.checkpointPolicy = v2, delta.checkpointInterval = 2",
    "in-commit timestamps": "delta.enableInCommitTimestamps = true",
    "type widening": "delta.enableTypeWidening = true",
    "a change feed": "delta.enableChangeDataFeed = true",
    "clustering": "",
    "CHECK constraints": "",
    "column defaults": "delta.feature.allowColumnDefaults = supported",
}
"""By what they have, the properties that they are made with."""


@pytest.fixture
def schema(spark, tmp_path):
    with catalogs.schema(spark, tmp_path) as name:
        yield name


def made(spark, schema: str, feature: str, *tables: str) -> None:
    """Empty tables that have the feature."""
    given = (
        f"'{name}' = '{value}'" for name, value in (each.split(" = ") for each in FEATURES[feature].split(", ") if each)
    )
    properties = ", ".join(given)
    for table in tables:
        clustered = " CLUSTER BY (day)" if feature == "clustering" else ""
        told = f" TBLPROPERTIES ({properties})" if properties else ""
        spark.sql(f"CREATE TABLE {schema}.{table} (id INT, day DATE, amount INT) USING DELTA{clustered}{told}")
        if feature == "CHECK constraints":
            spark.sql(f"ALTER TABLE {schema}.{table} ADD CONSTRAINT sane CHECK (amount > 0)")
        if feature == "column defaults":
            spark.sql(f"ALTER TABLE {schema}.{table} ALTER COLUMN amount SET DEFAULT 1")


def project(folder, schema: str) -> Project:
    """A source by day, what replaces days with its rows, and what merges them by their id."""
    (folder / "conf" / "assets").mkdir(parents=True)
    days = "partition: {by: day, column: day}"
    files = {
        "project.yml": "project: p\nstate: ../state\nwarehouse: ../lake\ndefaults: {retries: 0}\n",
        "assets/raw.yml": f"asset: raw\nsource: true\ntable: {schema}.raw\n{days}\n",
        "assets/daily.yml": f"asset: daily\ntable: {schema}.daily\n{days}\n",
        "assets/daily.sql": "SELECT * FROM {{ inlets.raw }}",
        "assets/keyed.yml": f"asset: keyed\ntable: {schema}.keyed\n{days}\nwrite: {{upsert: {{keys: [id]}}}}\n",
        "assets/keyed.sql": "SELECT * FROM {{ inlets.raw }}",
    }
    for name, text in files.items():
        (folder / "conf" / name).write_text(text)
    return Project.load(folder / "conf", env={})


def add(spark, table: str, *rows: tuple[int, str, int]) -> None:
    values = [(number, date.fromisoformat(day), amount) for number, day, amount in rows]
    frame = spark.createDataFrame(values, "id int, day date, amount int")
    frame.coalesce(1).write.format("delta").mode("append").saveAsTable(table)


def rows(spark, table: str) -> list[tuple]:
    return sorted((row.id, str(row.day), row.amount) for row in spark.table(table).collect())


@pytest.mark.parametrize(
    "feature", ["deletion vectors", *(deep(each) for each in FEATURES if each != "deletion vectors")]
)
def test_a_table_with(spark, tmp_path, schema, feature):
    made(spark, schema, feature, "raw", "daily", "keyed")
    add(spark, f"{schema}.raw", (1, "2025-01-01", 10), (2, "2025-01-02", 20), (3, "2025-01-02", 30))
    runs = project(tmp_path, schema)
    assert runs.run(spark).ok
    spark.catalog.setCurrentDatabase(schema)
    spark.sql("DELETE FROM raw WHERE id = 3")
    add(spark, f"{schema}.raw", (4, "2025-01-03", 40))
    assert {run.asset for run in runs.run(spark).runs} == {"daily", "keyed"}
    left = [(1, "2025-01-01", 10), (2, "2025-01-02", 20), (4, "2025-01-03", 40)]
    assert rows(spark, f"{schema}.daily") == left
    assert rows(spark, f"{schema}.keyed") == [*left[:2], (3, "2025-01-02", 30), left[2]]
    assert runs.run(spark).runs == ()


@pytest.mark.deep
def test_a_table_that_fills_columns_itself_is_read_and_not_written(spark, tmp_path, schema):
    made(spark, schema, "clustering", "raw", "keyed")
    own = "id INT, day DATE, amount INT, year INT GENERATED ALWAYS AS (year(day))"
    spark.sql(f"CREATE TABLE {schema}.daily ({own}) USING DELTA")
    add(spark, f"{schema}.raw", (1, "2025-01-01", 10))
    runs = project(tmp_path, schema).run(spark, check=False, select=["daily"])
    (failed,) = runs.failures
    assert f"{schema}.daily has generated columns, and a session does not tell which columns these are" in failed
    assert spark.sql(f"DESCRIBE HISTORY {schema}.daily").count() == 1
