"""The snippets of the proposal about times and events, as they stand, in SQL and in functions, run."""

from datetime import UTC, date, datetime
from pathlib import Path

import pendulum
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from sparkassets import Project

pytestmark = [pytest.mark.spark, pytest.mark.alike]

CODE = '''
import datetime

import pendulum
from pyspark.sql import functions as F

from sparkassets import Asset, PartitionByInterval, asset

raw = asset("raw", source="csv", at="landing/{day}.csv", partition=PartitionByInterval("@daily", column="day"),
            columns={"id": "int"})


@asset(schedule="@daily", start=pendulum.datetime(2025, 3, 29, tz="Europe/Berlin"), timezone="Europe/Berlin",
       retry_delay=pendulum.duration(minutes=1), timeout=datetime.timedelta(hours=1))
def producer(context, spark):
    assert isinstance(context.data_interval_start, pendulum.DateTime)
    assert context.data_interval_start.timezone_name == "Europe/Berlin"
    context.extra["rows"] = 7
    context.extra["from"] = {"day": context.data_interval_start.subtract(days=1).to_date_string()}
    start, end = context.data_interval_start, context.data_interval_end
    return spark.createDataFrame([(start, start.date(), end - start)], ["at", "day", "length"]).select(
        "at", "day", (F.unix_timestamp("at") + F.col("length").cast("long")).alias("until"))


@asset(schedule=producer)
def consumer(producer, context, spark):
    event = context.triggering_event
    assert context.triggering_events["producer"][-1] is event is context.triggering_events.producer[-1]
    assert event.extra.rows == event["extra"]["rows"] == 7
    assert event.partitions == [] or event.partitions
    source = event.source_run
    row = (event.dataset, source.run_id.partition("-")[0], source.data_interval.start.to_iso8601_string(),
           source["data_interval"]["end"].diff(source.data_interval_start).in_hours(), event.extra["from"]["day"],
           event.at.timezone_name)
    columns = "dataset string, run string, start string, hours int, before string, zone string"
    return spark.createDataFrame([row], columns)


@asset(partition=PartitionByInterval("@daily", column="day"))
def daily(raw, context):
    (partition,) = context.partitions
    assert isinstance(partition.start, pendulum.DateTime) and partition.end == partition.start.add(days=1)
    return raw.select("day", (F.col("id") + F.lit(partition.start.day)).alias("id"))


asset("reported", schedule=producer, timezone="Europe/Berlin", sql="""
    SELECT '{{ triggering_event.dataset }}' AS dataset, {{ triggering_event.extra.rows }} AS rows,
      '{{ triggering_event["extra"]["from"]["day"] }}' AS before,
      {{ triggering_event.source_run.data_interval.start }} AS start,
      '{{ triggering_event.source_run.data_interval.start.subtract(days=1).to_date_string() }}' AS day_before,
      {{ triggering_event.source_run.data_interval.end.date() }} AS day,
      CAST({{ triggering_event.source_run.data_interval.end - triggering_event.source_run.data_interval.start }} AS INT)
        AS seconds,
      {{ triggering_dataset_events.producer | length }} AS events
""")

asset("loads", schedule="@daily", start="2025-03-29", timezone="Europe/Berlin", sql="""
    SELECT '{{ ds }}' AS ds, DATE '{{ data_interval_start.subtract(days=1).to_date_string() }}' AS before,
      TIMESTAMP '{{ data_interval_end }}' AS until, {{ data_interval_end }} AS until_too,
      '{{ data_interval_start.format("dddd, D. MMMM YYYY") }}' AS said
""")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    for name in ("conf/landing", "plants"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "conf/project.yml").write_text("project: plants\npython: [plants]\n")
    (tmp_path / "conf/landing/2025-03-30.csv").write_text("id\n4\n")
    (tmp_path / "plants/assets.py").write_text(CODE)
    return tmp_path / "conf"


def rows(place: Path):
    return sorted(pa.table(DeltaTable(place).scan()).to_pylist(), key=str)


def test_times_are_those_of_pendulum_and_events_have_attributes_and_items(spark, folder):
    project = Project.load(folder)
    # the night in which the clocks of Berlin go forward: the day of 2025-03-30 has 23 hours
    summary = project.run(spark, at=pendulum.datetime(2025, 3, 31, 3, tz="Europe/Berlin"))
    assert {run.asset: run.status for run in summary.runs} == dict.fromkeys(
        ["producer", "consumer", "daily", "reported", "loads"], "success"
    ), summary
    start, end = datetime(2025, 3, 29, 23, tzinfo=UTC), datetime(2025, 3, 30, 22, tzinfo=UTC)
    (made,) = rows(folder / "warehouse/producer")
    assert (made["at"], made["day"], made["until"]) == (start, date(2025, 3, 30), int(end.timestamp()))
    assert rows(folder / "warehouse/consumer") == [
        {
            "dataset": "producer",
            "run": "producer",
            "start": "2025-03-29T23:00:00Z",
            "hours": 23,
            "before": "2025-03-29",
            "zone": "UTC",
        }
    ]
    (told,) = rows(folder / "warehouse/reported")
    assert (told["dataset"], told["rows"], told["before"]) == ("producer", 7, "2025-03-29")
    assert (told["start"], told["day_before"], told["day"]) == (start, "2025-03-29", date(2025, 3, 31))
    assert (told["events"], told["seconds"]) == (1, 23 * 3600)
    (load,) = rows(folder / "warehouse/loads")
    assert (load["ds"], load["before"], load["said"]) == ("2025-03-30", date(2025, 3, 29), "Sunday, 30. March 2025")
    assert load["until"] == load["until_too"] == end
    assert rows(folder / "warehouse/daily") == [{"day": date(2025, 3, 30), "id": 34}]


@pytest.mark.parametrize(
    "at", [pendulum.datetime(2025, 3, 31, 1), datetime(2025, 3, 31, 1, tzinfo=UTC), "2025-03-31T01:00Z"], ids=str
)
def test_where_the_api_takes_a_time_it_takes_pendulums_the_standard_librarys_and_text(folder, at):
    project = Project.load(folder)
    assert {run.asset for run in project.plan(at=at).runs} == {"daily", "loads", "producer"}
    preview = project.assets.preview
    assert preview("loads", start=at, count=1) == preview("loads", start="2025-03-31T01:00Z", count=1)
