"""A whole project on a session of Spark Connect, whose server and client are processes of their own: one for all."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sparkassets.core.writes import is_merge
from sparkassets.spark.installation import fetch_delta_jars, find_java
from tests.conftest import QUICK
from tests.e2e.projects import rows, write

pytestmark = pytest.mark.spark

REPOSITORY = Path(__file__).parents[2]
PARTS = ("shop", "rows", "fences", "timeouts", "cancelling", "command", "lacking")
SHOP = {
    "project.yml": "project: shop\nassets: [.]\npython: [tasks]\n",
    "landed.yml": "asset: landed\nsource: delta\npath: landed\npartition: {by: day, column: day}\nstart: 2013-01-01\n",
    "people.yml": """
asset: people
inlets: {landed: {read: changes}}
write: {upsert: {keys: [id]}}
sql: SELECT id, name FROM {{ inlets.landed }}
""",
    "clean.yml": """
asset: clean
commit: spark
partition: {by: day, column: day}
validations:
  - {range: {id: {max: 5}}, severity: quarantine}
  - {sql: name <> '', name: named}
sql: SELECT day, id, name, '{{ params.shop }}' AS shop FROM {{ inlets.landed }} JOIN {{ partitions }} USING (day)
params: {shop: north}
""",
    "functions.yml": """
asset: by_pandas
python: tasks.work:by_pandas
---
asset: by_arrow
python: tasks.work:by_arrow
---
asset: by_worker
schedule: "@daily"
python: tasks.work:by_worker
---
asset: model
write: {publish: {keep: 2}}
python: tasks.work:train
""",
    "tasks/__init__.py": "",
    "tasks/naming.py": "PREFIX = 'w'\n",
    "tasks/work.py": """
import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as sql


def by_pandas(landed: pd.DataFrame):
    return landed.groupby("day", as_index=False)["id"].sum()


def by_arrow(landed: pa.Table):
    return landed.select(["id"]).slice(0, 0).append_column("n", [pa.array([], pa.int64())])


def by_worker(spark):
    name = sql.udf(named, "string")
    return spark.range(2).select(name("id").alias("word"), sql.array(name("id")).alias("all"))


def named(value):
    from tasks.naming import PREFIX

    return f"{PREFIX}{value}"


def train(people, context):
    context.extra["people"] = people.count()
    with open(f"{context.outlets.model.path}/model.txt", "w") as file:
        file.write(str(people.count()))
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the process works, with the demo and a shop in it."""
    folder = tmp_path_factory.mktemp("connect")
    for name in ("conf", "jobs"):
        shutil.copytree(REPOSITORY / name, folder / "home" / name, ignore=shutil.ignore_patterns("__pycache__"))
    write(folder / "shop", SHOP)
    return folder


@pytest.fixture(scope="module")
def outcomes(folder):
    """What each part but the demo came to, by its name."""
    return carried_out(folder, *PARTS)


@pytest.fixture(scope="module")
def demo(folder):
    """What the demo came to."""
    return carried_out(folder, "demo")["demo"]


@pytest.fixture(scope="module")
def serverless(folder):
    """What a project came to on a fake of serverless compute."""
    return carried_out(folder, "databricks")["databricks"]


def carried_out(folder, *parts):
    """What these parts come to, by their names, in a process with a server of its own."""
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    conf = folder / "spark"
    conf.mkdir(exist_ok=True)
    import pyspark

    jars = fetch_delta_jars(Path(pyspark.__file__).parent, find_java())
    settings = {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(folder / "catalog"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        **QUICK,
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.integration.connect", str(folder), *parts],
        env={**os.environ, "SPARK_CONF_DIR": str(conf), "PYSPARK_PYTHON": sys.executable},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "told.json").read_text("utf-8"))


@pytest.mark.deep
def test_the_first_week_of_the_demo(demo):
    assets = {
        *("airline_ranks", "airline_weeks", "delays", "delays_7d", "fleet_report", "flights", "late_departures"),
        *("pay_report", "route_report", "weather_daily"),
    }
    assert demo == {
        "runs": sorted(assets),
        "others": [],
        "progress": sorted([*(f"started {name}" for name in assets), *(f"success {name}" for name in assets)]),
        "again": 0,
    }


@pytest.mark.deep
def test_its_figures_are_those_of_the_raw_files(demo, folder):
    landing, made = folder / "home/.demo/landing/flights", folder / "home/.demo/warehouse"
    flights = [row for file in landing.iterdir() for row in csv.DictReader(file.read_text("utf-8").splitlines())]
    delays = [int(row["dep_delay"]) for row in flights if row["dep_delay"] != "NA"]
    assert demo["others"] == []
    assert rows(made / "flights", "origin") == sorted((row["origin"],) for row in flights)
    found = rows(made / "delays", "flights", "departed", "delay_minutes", "day", "origin")
    assert [sum(column) for column in zip(*(row[:3] for row in found), strict=True)] == [
        len(flights),
        len(delays),
        sum(delays),
    ]
    assert len({row[3:] for row in found}) == len(found) == 7 * 3
    assert rows(made / "late_departures", "dep_delay") == sorted((delay,) for delay in delays if delay >= 120)
    assert len(rows(made / "delays_7d", "day", "origin")) == 7 * 3


def test_a_shop_with_changes_validations_and_functions(outcomes):
    """A withheld day is not in the table; the second time the changes alone are merged."""
    every = ("by_arrow", "by_pandas", "by_worker", "clean", "model", "people")
    assert outcomes["shop"] == {
        "runs": [
            [[name, "success", ["2013-01-03"] if name == "clean" else [], ""] for name in every],
            [[name, "success", [], ""] for name in ("model", "people")],
        ],
        "people": [[1, "a"], [2, "B"], [3, "c"], [4, ""], [9, "x"]],
        "merges": 1,
        "clean": [[1, "a", "north"], [2, "b", "north"]],
        "quarantine": [9],
        "functions": {
            "by_pandas": [["2013-01-01", 1], ["2013-01-02", 11], ["2013-01-03", 4]],
            "by_arrow": [],
            "by_worker": [["w0", ["w0"]], ["w1", ["w1"]]],
        },
        "types": ['PrimitiveType("string")', 'ArrayType(PrimitiveType("string"), contains_null=True)'],
        "published": [{"people": 5}],
        "files": ["4", "5"],
    }


def test_a_merge_carries_its_transaction(folder, outcomes):
    """So that it is in once, whoever tries it again."""
    assert outcomes["shop"]["merges"] == 1
    people = DeltaTable(str(folder / "shop/warehouse/people"))
    (stamp,) = (
        json.loads(each["userMetadata"])
        for each in people.history()
        if is_merge("", each.get("operationMetrics") or {})
    )
    journal = DeltaTable(str(folder / "shop/state/journal")).metadata().id
    assert people.transaction_version(f"{journal}/people") == 2 * stamp["epoch"] + 1


def test_rows_are_of_utc_and_the_users_session_stays_as_it_is(outcomes):
    outside = (
        "daily: rows outside the run's partitions 2013-01-02: day is 2013-01-01; nothing was written\n"
        "  hint: filter them in the query, or join {{ partitions }}"
    )
    assert outcomes["rows"] == [["2013-01-01"], outside, True]


def test_what_is_taken_over_lands_no_more(outcomes):
    """The first run, the fence, the run of who took over."""
    assert outcomes["fences"] == ["WRITE"] * 3


def test_what_takes_too_long_is_cancelled_and_what_runs_beside_it_is_not(outcomes):
    slow = ["slow", "failed", "slow: no result within its timeout of 2 s"]
    assert outcomes["timeouts"] == [[["quick", "success", ""], slow], True]


def test_what_is_cancelled_ends_beside_its_session_too(outcomes):
    assert outcomes["cancelling"] == [True, True]


def test_the_command_line_by_spark_remote_with_a_state_by_the_session(outcomes):
    """Interrupted in its second run; what was done is recorded."""
    assert isinstance(outcomes["command"], list), outcomes["command"]
    code, found, runs, err = outcomes["command"]
    assert (code, found) == (130, [[1]])
    assert runs == [["claim", "one"], ["claim", "two"], ["failure", "two"], ["success", "one"]]
    assert "stopping: cancelling runs" in err
    assert "cancelled two" in err
    assert not [told for told in ("Traceback", "Warning") if told in err]


def test_what_a_serverless_session_lacks(outcomes):
    """Few settings, no tags, nothing held; then no copy of it either."""
    hint = "hint: run it on a cluster, or let the asset replace its partitions (write: replace)"
    asked = "spark.databricks.delta.write.txnAppId"
    assert outcomes["lacking"] == {
        "copied": [
            ["2013-01-01"],
            f"RunError: upserts need to set {asked} on the Spark session, and this session does not allow it\n  {hint}",
        ],
        "in another zone": (
            "SparkUnavailableError: the Spark session's time zone is Asia/Tokyo, and the session cannot be copied "
            'to one in UTC\n  hint: spark.conf.set("spark.sql.session.timeZone", "UTC")'
        ),
        "not copied": [
            ["2013-01-01"],
            (
                "RunError: upserts need a copy of the Spark session for their transaction, and this session cannot be "
                f"copied\n  {hint}"
            ),
        ],
    }


@pytest.mark.deep
def test_a_project_in_a_catalog_runs_on_serverless_compute_as_documented_but_for_merges(serverless):
    """Its session takes six settings, no stamp of a commit, and holds nothing; a table is created, then fenced."""
    assert isinstance(serverless, dict), serverless
    first, second = serverless.pop("runs")
    assert first == [[name, "success", ""] for name in ("daily", "log", "people", "total")]
    assert [run[:2] for run in second] == [[name, "failed" if name == "people" else "success"] for name, *_ in first]
    assert [error.partition(" for")[0] for *_, error in second if error] == ["upserts need a copy of the Spark session"]
    assert serverless == {
        "daily": [4, 10],
        "daily_quarantine": [9],
        "log": [4, 9, 10],
        "people": [4, 9],
        "total": [4, 10],
    }
