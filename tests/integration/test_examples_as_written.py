"""Examples that read changes, publish or write several tables, run as they stand, in a catalog: their comments hold."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import Row

from sparkassets import Project
from tests.examples_as_written import as_written

pytestmark = pytest.mark.spark


def held(folder: Path, asset: str) -> list[dict]:
    return pa.table(DeltaTable(folder / "warehouse" / asset).scan()).to_pylist()


@pytest.fixture(autouse=True)
def schemas(spark, tmp_path):
    """Those of the examples, which are gone afterwards with all that is in them."""
    names = ("raw", "gold", "ml")
    for name in names:
        spark.sql(f"CREATE SCHEMA {name} LOCATION '{tmp_path}/catalog/{name}'")
    yield
    for name in names:
        spark.sql(f"DROP SCHEMA {name} CASCADE")


def add(spark, table: str, rows: list[dict]) -> None:
    frame = spark.createDataFrame([Row(**row) for row in rows])
    frame.write.format("delta").mode("append").saveAsTable(table)


@pytest.mark.deep
def test_a_feed_of_changes_is_a_table_of_customers(spark, tmp_path):
    """03: columns that begin with _ are not stored; lsn orders what comes, whenever it comes."""
    folder = as_written("03_cdc_upsert", tmp_path)

    def feed(*changes: tuple) -> None:
        names = ("customer_id", "name", "city", "lsn", "op")
        add(spark, "raw.customers_cdc", [dict(zip(names, change, strict=True)) for change in changes])

    feed((1, "Ann", "Ulm", 1, "c"), (2, "Bob", "Bonn", 2, "c"), (3, "Cy", "Jena", 3, "c"), (1, "Ann", "Bern", 5, "u"))
    project = Project.load(folder, env={})
    assert [run.strategy for run in project.plan().runs] == ["latest_only"]
    assert [run.asset for run in project.run(spark).runs] == ["customers"]
    feed((2, "Bob", "Bonn", 6, "d"), (1, "Ann", "Rome", 4, "u"), (3, "Cy", "Köln", 7, "u"))
    assert project.run(spark).ok
    feed((2, "Bob", "Oslo", 3, "u"))  # late, and raises nobody
    assert project.run(spark).ok
    rows = sorted(tuple(row.items()) for row in held(folder, "customers"))
    assert rows == [
        (("customer_id", 1), ("name", "Ann"), ("city", "Bern")),
        (("customer_id", 3), ("name", "Cy"), ("city", "Köln")),
    ]
    assert project.run(spark).runs == ()


CHURN = """
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Model:
    rate: float
    auc: float

    def save(self, folder):
        Path(folder, "model.json").write_text(json.dumps({"rate": self.rate, "auc": self.auc}))


def fit(features):
    return Model(float(features.count()), 0.75)


def load(path):
    return json.loads(Path(path, "model.json").read_text())


def apply_model(model, features):
    return features.selectExpr("hour", "customer", f"{model['rate']} AS rate")


"""


def test_scores_are_of_the_newest_model_which_is_a_gate_and_no_trigger(spark, tmp_path):
    """04: with the user's own code in front of the functions."""
    folder = as_written("04_model_scoring", tmp_path)
    file = folder / "jobs" / "churn.py"
    file.write_text(CHURN + file.read_text())

    def features(*hours: datetime) -> None:
        add(spark, "ml.features", [{"hour": hour, "customer": f"c{number}"} for number, hour in enumerate(hours)])

    hour, now = timedelta(hours=1), datetime.now(UTC)  # what is fresh goes by when it was recorded
    then = now.replace(minute=0, second=0, microsecond=0) - 4 * hour
    features(then, then + hour)
    project = Project.load(folder, env={})
    assert {run.asset for run in project.run(spark, at=now).runs} == {"churn_model", "churn_scores"}
    assert {row["rate"] for row in held(folder, "churn_scores")} == {2.0}
    (published,) = project.history.iterations("churn_model")
    assert published.extra["auc"] == 0.75
    features(then + 2 * hour)
    assert project.run(spark, at=now).runs == ()  # hourly
    scored = project.run(spark, at=now + hour, select=["churn_scores"])
    assert [run.asset for run in scored.runs] == ["churn_scores"]
    features(then + 3 * hour)
    late = now + timedelta(days=31)
    (wait,) = (each for each in project.plan(at=late, select=["churn_scores"]).waiting if each.reason.endswith("n)"))
    assert "churn_model" in wait.reason
    assert wait.reason.endswith("30d (fresh_within)")


@pytest.mark.deep
def test_the_month_is_published_by_its_day_with_what_is_there(spark, tmp_path):
    """06: the 15th or the last working day before it; waits until 15:00 at most, then takes what is there."""
    folder = as_written("06_regulatory_report", tmp_path)
    days = [date(2025, 2, 1) + timedelta(days=n) for n in range(28)]
    trades = [{"trade_date": day, "instrument": "X", "quantity": 2} for day in days if day.weekday() < 5]
    add(spark, "gold.trades", trades)
    project = Project.load(folder, env={})
    assert project.plan(at="2025-03-14T07:59Z").runs == ()
    wait = project.plan(at="2025-03-14T08:30Z").waiting[0]
    assert "20 of 29 partitions" in wait.reason  # the days of trades are of UTC, the month is of Berlin
    assert wait.reason.endswith("at most until 2025-03-14T14:00Z (tolerance)")
    (run,) = project.run(spark, at="2025-03-14T14:01Z").runs
    assert run.request.reason.endswith("the tolerance of 6h is over")
    (row,) = held(folder, "mifid_monthly")
    assert (row["month"], row["quantity"]) == (date(2025, 2, 1), 40)
    (iteration,) = project.history.iterations("mifid_monthly")
    add(spark, "gold.trades", [{"trade_date": days[0], "instrument": "X", "quantity": 9}])
    assert project.run(spark, at="2025-03-14T14:30Z").runs == ()  # on_update: ignore
    again = project.history.iterations("mifid_monthly")
    assert [each.iteration.run for each in again] == [iteration.iteration.run]


@pytest.mark.deep
def test_every_change_is_in_the_log_once(spark, tmp_path):
    """11: inserts, updates as they became, deletions."""
    folder = as_written("11_audit_log", tmp_path)
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    spark.sql(f"CREATE TABLE raw.orders (order_id INT, status STRING) USING DELTA {feed}")
    spark.sql("INSERT INTO raw.orders VALUES (1, 'new'), (2, 'new')")
    project = Project.load(folder, env={})
    assert project.run(spark).ok
    spark.sql("UPDATE raw.orders SET status = 'paid' WHERE order_id = 1")
    spark.sql("DELETE FROM raw.orders WHERE order_id = 2")
    (run,) = project.run(spark).runs
    assert project.run(spark).runs == ()
    log = held(folder, "audit_log")
    assert sorted((row["version"], row["order_id"], row["status"], row["change"]) for row in log) == [
        (1, 1, "new", "insert"),
        (1, 2, "new", "insert"),
        (2, 1, "paid", "update_postimage"),
        (3, 2, "new", "delete"),
    ]
    assert {row["run_id"] for row in log if row["version"] > 1} == {run.run}


@pytest.mark.deep
def test_train_and_test_are_split_together(spark, tmp_path):
    """14: both or neither are published; what others read is train and test."""
    folder = as_written("14_multi_asset", tmp_path)
    (folder / "sizes.yml").write_text("asset: sizes\ninlets: [train, test]\nschedule: train & test\n")
    (folder / "sizes.sql").write_text("SELECT * FROM {{ inlets.train }} UNION ALL SELECT * FROM {{ inlets.test }}")
    add(spark, "ml.examples", [{"id": number} for number in range(200)])
    project = Project.load(folder, env={})
    assert [run.asset for run in project.run(spark).runs] == ["split", "sizes"]
    assert sorted(row["id"] for row in held(folder, "sizes")) == list(range(200))
    share = spark.table("ml.test").count()
    assert 10 < share < 80
