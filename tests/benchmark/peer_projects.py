"""The pipeline that `peers` measures, as a user of each tool writes it, and the commands that run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final

from sparkassets.frozen import frozen

SAMPLE = 2
"""Days of a backfill by a tool that starts a process for each; scaled to the year."""

CLEAN = "SELECT day, carrier, delay FROM {landed} WHERE delay IS NOT NULL{days}"
CARRIERS = "SELECT day, carrier, count(*) AS n, sum(delay) AS delay FROM {clean} WHERE true{days} GROUP BY day, carrier"
TOTALS = "SELECT day, sum(n) AS n, max(delay) AS worst FROM {carriers} WHERE true{days} GROUP BY day"


@frozen
class Peer:
    """A tool and how it computes the pipeline.

    Attributes:
        name: Its environment's folder.
        requires: What is installed, its own distribution first; nothing for the environment of this process.
        files: Path and text of its project; `LANDED`, `HOME`, `PYTHON` and `BIN` are replaced in the text.
        backfill: The commands that compute a range of days.
        day: The commands that compute one new day.
        note: How it computes a backfill, for people.
        ranges: Whether one command computes a range.
        catalog: Whether it needs a metastore that outlives its session.
    """

    name: str
    requires: tuple[str, ...]
    files: dict[str, str]
    backfill: Callable[[date, date], Sequence[Sequence[str]]]
    day: Callable[[date], Sequence[Sequence[str]]]
    note: str
    ranges: bool = True
    catalog: bool = False


_LATEST: Final = ("pyspark==4.2.0", "delta-spark==4.4.0")
_BY_HAND = """
import sys
from pyspark.sql import SparkSession
first, last = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
where = f"day >= DATE'{first}' AND day <= DATE'{last}'"
def write(name, query):
    (spark.sql(query).write.format("delta").mode("overwrite").partitionBy("day")
     .option("partitionOverwriteMode", "static").option("replaceWhere", where).save(f"HOME/{name}"))
write("clean", f"SELECT day, carrier, delay FROM LANDED WHERE delay IS NOT NULL AND {where}")
write("carriers", "SELECT day, carrier, count(*) AS n, sum(delay) AS delay FROM delta.`HOME/clean`"
      f" WHERE {where} GROUP BY day, carrier")
write("totals", f"SELECT day, sum(n) AS n, max(delay) AS worst FROM delta.`HOME/carriers` WHERE {where} GROUP BY day")
"""
_DAGSTER = """
from dagster import (
    AssetExecutionContext, BackfillPolicy, DailyPartitionsDefinition, Definitions, asset, in_process_executor
)
from pyspark.sql import SparkSession

days = DailyPartitionsDefinition(start_date="2013-01-01", end_date="2014-02-01")
daily = dict(partitions_def=days, backfill_policy=BackfillPolicy.single_run())

def write(context, name, query):
    keys = context.partition_key_range
    where = f"day >= DATE'{keys.start}' AND day <= DATE'{keys.end}'"
    spark = SparkSession.builder.getOrCreate()
    (spark.sql(query.format(where=where)).write.format("delta").mode("overwrite").partitionBy("day")
     .option("partitionOverwriteMode", "static").option("replaceWhere", where).save(f"HOME/{name}"))

@asset(**daily)
def clean(context: AssetExecutionContext) -> None:
    write(context, "clean", "SELECT day, carrier, delay FROM LANDED WHERE delay IS NOT NULL AND {where}")

@asset(deps=[clean], **daily)
def carriers(context: AssetExecutionContext) -> None:
    write(context, "carriers", "SELECT day, carrier, count(*) AS n, sum(delay) AS delay FROM delta.`HOME/clean`"
          " WHERE {where} GROUP BY day, carrier")

@asset(deps=[carriers], **daily)
def totals(context: AssetExecutionContext) -> None:
    write(context, "totals", "SELECT day, sum(n) AS n, max(delay) AS worst FROM delta.`HOME/carriers`"
          " WHERE {where} GROUP BY day")

defs = Definitions([clean, carriers, totals], executor=in_process_executor)
"""
_AIRFLOW = """
import pendulum
from airflow.sdk import dag, task
from pyspark.sql import SparkSession

def write(day, name, query):
    where = f"day = DATE'{day}'"
    spark = SparkSession.builder.getOrCreate()
    (spark.sql(query.format(where=where)).write.format("delta").mode("overwrite").partitionBy("day")
     .option("partitionOverwriteMode", "static").option("replaceWhere", where).save(f"HOME/{name}"))

@dag(schedule="@daily", start_date=pendulum.datetime(2013, 1, 1), catchup=False)
def pipeline():
    @task
    def clean(ds=None):
        write(ds, "clean", "SELECT day, carrier, delay FROM LANDED WHERE delay IS NOT NULL AND {where}")

    @task
    def carriers(ds=None):
        write(ds, "carriers", "SELECT day, carrier, count(*) AS n, sum(delay) AS delay FROM delta.`HOME/clean`"
              " WHERE {where} GROUP BY day, carrier")

    @task
    def totals(ds=None):
        write(ds, "totals", "SELECT day, sum(n) AS n, max(delay) AS worst FROM delta.`HOME/carriers`"
              " WHERE {where} GROUP BY day")

    clean() >> carriers() >> totals()

pipeline()
"""


def _ours() -> Peer:
    def sql(text: str) -> str:
        return text.format(days="", clean="{{ inlets.clean }}", carriers="{{ inlets.carriers }}", landed="")

    daily = "partition: {by: day, column: day}\n"
    files = {
        "project.yml": "project: peers\nstate: ./state\nwarehouse: .\nassets: [assets.yml]\n"
        'spark: {sparkassets.small_data: "true"}\n',
        "assets.yml": f"asset: landed\nsource: delta\npath: SOURCE\n{daily}---\n"
        f"asset: clean\n{daily}sql: >-\n  SELECT day, carrier, delay FROM {{{{ inlets.landed }}}} "
        f"WHERE delay IS NOT NULL\n---\nasset: carriers\n{daily}sql: >-\n  {sql(CARRIERS)}\n---\n"
        f"asset: totals\n{daily}sql: >-\n  {sql(TOTALS)}\n",
    }
    run = [["PYTHON", "-m", "sparkassets", "run", "--project", "HOME"]]
    return Peer("sparkassets", (), files, lambda *_: run, lambda _: run, "one job a table")


def _sqlmesh() -> Peer:
    def model(name: str, columns: str, query: str) -> str:
        kind = "INCREMENTAL_BY_TIME_RANGE (time_column (day, '%Y-%m-%d'), batch_size 400)"
        return (
            f"MODEL (name peers.{name}, kind {kind}, start '2013-01-01', cron '@daily', table_format delta,\n"
            f"  partitioned_by (day), columns ({columns}));\n{query} "
        )

    days = "day BETWEEN @start_date AND @end_date"
    files = {
        "config.yaml": "gateways:\n  spark:\n    connection: {type: spark}\n"
        "    state_connection: {type: duckdb, database: HOME/state.db}\n"
        "default_gateway: spark\nmodel_defaults: {dialect: spark}\ndisable_anonymized_analytics: true\n",
        "models/clean.sql": model("clean", "day date, carrier string, delay int", f"{CLEAN} AND {days}").format(
            landed="LANDED", days=""
        ),
        "models/carriers.sql": model(
            "carriers", "day date, carrier string, n bigint, delay bigint", CARRIERS.replace("{days}", f" AND {days}")
        ).replace("{clean}", "peers.clean"),
        "models/totals.sql": model(
            "totals", "day date, n bigint, worst bigint", TOTALS.replace("{days}", f" AND {days}")
        ).replace("{carriers}", "peers.carriers"),
    }
    program = ["BIN/sqlmesh", "-p", "HOME"]

    def backfill(_: date, last: date) -> Sequence[Sequence[str]]:
        plan = ["plan", "--auto-apply", "--no-prompts", "--execution-time", str(last + timedelta(days=1))]
        return [[*program, *plan]]

    def day(value: date) -> Sequence[Sequence[str]]:
        return [[*program, "run", "--ignore-cron", "--start", str(value), "--end", str(value)]]

    requires = ("sqlmesh[duckdb]==0.236.4", "pyspark==4.0.1", "delta-spark==4.0.0")
    return Peer("sqlmesh", requires, files, backfill, day, "one job a table", catalog=True)


def _dbt() -> Peer:
    def model(query: str) -> str:
        config = "materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day'"
        days = " {% if is_incremental() %} AND day = DATE'{{ var('day') }}'{% endif %}"
        return f"{{{{ config({config}, file_format='delta') }}}}\n{query.replace('{days}', days)}\n"

    files = {
        "dbt_project.yml": "name: peers\nprofile: peers\nflags: {send_anonymous_usage_stats: false}\n",
        "profiles.yml": "peers:\n  target: dev\n  outputs:\n    dev: {type: spark, method: session, schema: peers, "
        "host: NA, threads: 1}\n",
        "models/clean.sql": model(CLEAN).replace("{landed}", "LANDED"),
        "models/carriers.sql": model(CARRIERS).replace("{clean}", "{{ ref('clean') }}"),
        "models/totals.sql": model(TOTALS).replace("{carriers}", "{{ ref('carriers') }}"),
    }
    run = ["BIN/dbt", "run", "--project-dir", "HOME", "--profiles-dir", "HOME"]
    return Peer(
        "dbt",
        ("dbt-core==1.10.23", "dbt-spark[session]==1.10.3", "pyspark==3.5.3", "delta-spark==3.3.2"),
        files,
        lambda *_: [[*run, "--full-refresh"]],
        lambda day: [[*run, "--vars", f"{{day: '{day}'}}"]],
        "`--full-refresh`: one job a table",
        catalog=True,
    )


def _dagster() -> Peer:
    run = ["BIN/dagster", "asset", "materialize", "--select", "*", "-f", "HOME/defs.py"]
    return Peer(
        "dagster",
        ("dagster==1.13.29", *_LATEST),
        {"defs.py": _DAGSTER},
        lambda first, last: [[*run, "--partition-range", f"{first}...{last}"]],
        lambda day: [[*run, "--partition", str(day)]],
        "`BackfillPolicy.single_run()`: one job a table",
    )


def _airflow() -> Peer:
    def day(value: date) -> Sequence[Sequence[str]]:
        return [["BIN/airflow", "dags", "test", "pipeline", str(value)]]

    def backfill(first: date, last: date) -> Sequence[Sequence[str]]:
        return [command for n in range((last - first).days + 1) for command in day(first + timedelta(days=n))]

    note = f"a run a day; {SAMPLE} measured and scaled"
    requires = ("apache-airflow==3.1.3", *_LATEST)
    return Peer("airflow", requires, {"dags/pipeline.py": _AIRFLOW}, backfill, day, note, ranges=False)


def _by_hand() -> Peer:
    def run(first: date, last: date) -> Sequence[Sequence[str]]:
        return [["PYTHON", "HOME/job.py", str(first), str(last)]]

    return Peer("by hand", (), {"job.py": _BY_HAND}, run, lambda day: run(day, day), "one job a table")


PEERS: Final = (_by_hand(), _ours(), _sqlmesh(), _dbt(), _dagster(), _airflow())
