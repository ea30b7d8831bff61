"""Assets and sources in a catalog, from YAML to what consumers read: created, observed, pinned, restated, lost."""

from __future__ import annotations

from datetime import date

import pytest

from sparkassets import Project
from sparkassets.runtime.progress import RunFailedError
from tests.integration import catalogs

pytestmark = pytest.mark.spark


@pytest.fixture
def schema(spark, tmp_path):
    with catalogs.schema(spark, tmp_path) as name:
        yield name


@pytest.fixture
def home(tmp_path, schema):
    """A source by day, a table of a catalog made of it by day, and a report of that at a path."""
    folder = tmp_path / "conf"
    (folder / "assets").mkdir(parents=True)
    files = {
        "project.yml": "project: p\nstate: ../state\nwarehouse: ../lake\ndefaults: {retries: 0}\n",
        "assets/sales.yml": f"asset: sales\nsource: true\ntable: {schema}.sales\npartition: {{by: day, column: day}}\n",
        "assets/daily.yml": f"asset: daily\ntable: {schema}.daily\npartition: {{by: day, column: day}}\n",
        "assets/daily.sql": "SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day",
        "assets/report.yml": "asset: report\n",
        "assets/report.sql": "SELECT sum(amount) AS amount FROM {{ inlets.daily }}",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def add(spark, table: str, *rows: tuple[str, int]) -> None:
    frame = spark.createDataFrame([(date.fromisoformat(day), amount) for day, amount in rows], "day date, amount int")
    frame.write.format("delta").mode("append").saveAsTable(table)


def rows(spark, table: str) -> list[tuple]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def test_days_go_through_a_catalog(spark, home, schema):
    spark.sql(f"CREATE TABLE {schema}.sales (day DATE, amount INT) USING DELTA")
    add(spark, f"{schema}.sales", ("2025-01-01", 1), ("2025-01-02", 2))
    project = Project.load(home, env={})
    first = project.run(spark)
    assert [run.asset for run in first.runs] == ["daily", "report"]
    assert rows(spark, f"{schema}.daily") == [(date(2025, 1, 1), 1), (date(2025, 1, 2), 2)]
    assert project.run(spark).runs == ()

    spark.catalog.setCurrentDatabase(schema)
    spark.sql("UPDATE sales SET amount = 7 WHERE day = DATE'2025-01-02'")
    add(spark, f"{schema}.sales", ("2025-01-03", 3))
    assert [run.asset for run in project.run(spark).runs] == ["daily", "report"]
    assert rows(spark, f"{schema}.daily") == [(date(2025, 1, n), amount) for n, amount in ((1, 1), (2, 7), (3, 3))]
    assert spark.read.format("delta").load(f"{home.parent}/lake/report").collect()[0].amount == 11

    spark.sql(f"OPTIMIZE {schema}.sales")
    assert project.run(spark).runs == ()
    spark.sql("DELETE FROM daily WHERE day = DATE'2025-01-01'")
    assert [run.asset for run in project.plan().runs] == ["report"]
    (note,) = (note for each in project.status() for note in each.notes if each.asset == "daily")
    assert "DELETE" in note

    spark.sql(f"DROP TABLE {schema}.daily")
    (again, *_) = project.run(spark).runs
    assert again.asset == "daily"
    assert rows(spark, f"{schema}.daily") == [(date(2025, 1, n), amount) for n, amount in ((1, 1), (2, 7), (3, 3))]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("CREATE VIEW {0}.sales AS SELECT DATE'2025-01-01' AS day, 1 AS amount", "{0}.sales is a view"),
        (
            "CREATE TABLE {0}.sales (day DATE, amount INT) USING parquet",
            "{0}.sales is a parquet table, not a Delta table",
        ),
    ],
)
def test_what_is_no_table_of_delta_is_told(spark, home, schema, made, message):
    spark.sql(made.format(schema))
    with pytest.raises(RunFailedError) as raised:
        Project.load(home, env={}).run(spark)
    assert message.format(schema) in str(dict(raised.value.summary.faults))
