"""A real Airflow with its scheduler runs the DAGs of two projects, of which the events of one start the other.

`make matrix ONLY=airflow` installs it into an environment of its own; nothing here runs without.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.projects import called, document, environment, rows, stamps, write
from tests.matrix.suites import environment_of

pytestmark = [
    pytest.mark.skipif(environment_of("airflow") is None, reason="make matrix ONLY=airflow"),
    pytest.mark.timeout(1800),
]

REPORTS = {
    "conf/project.yml": "project: reports\nengine: sail\n",
    "conf/assets/notes.yml": """
asset: revenue
source: true
uri: x-sparkassets://shop/daily_revenue
partition: {by: day, column: day}
---
asset: notes
inlets: [revenue]
strategy: every_instance
write: append
sql: SELECT {{ triggering_event.extra.rows }} AS rows
""",
}
PIPELINE = {
    "conf/project.yml": "project: pipeline\nengine: sail\n",
    "conf/landing/20250102/visits.csv": "day,n\n2025-01-01,1\n2025-01-02,2\n",
    "conf/assets/raw/visits.yml": """
asset: landed
source: csv
path: landing/{arrived:%Y%m%d}/*.csv
columns: {day: date, n: int}
partition: {by: day, column: arrived}
start: 2025-01-02
---
asset: visits
partition: {by: day, column: visited}
inlets: {landed: {partitions: {from: day}}}
sql: SELECT day AS visited, n FROM {{ inlets.landed }}
""",
    "conf/assets/raw/sales.yml": """
asset: sales
schedule: '@once'
partition: {segments: ["{{ dag.dag_id }}", "it's"], column: shop}
sql: SELECT concat('{', '{ dag.dag_id }', '}') AS shop, 1 AS n UNION ALL SELECT "it's", 2
""",
    "conf/assets/reports/all.yml": """
asset: per_shop
inlets: [sales]
partition: {segments: ["{{ dag.dag_id }}", "it's"], column: shop}
sql: SELECT shop, n * 10 AS n FROM {{ inlets.sales }}
---
asset: total
inlets: [per_shop]
sql: SELECT sum(n) AS n FROM {{ inlets.per_shop }}
""",
}
"""A file of which only an engine sees the days, and names of shops that would be a template or a quote elsewhere."""
DAYS = "2025-01-01..2025-01-02"
SHOPS = "it's, {{ dag.dag_id }}"
TASKS = {
    "one": [("announce", None, "success"), ("run", None, "success")],
    "assets": [(name, None, "success") for name in ("announce", "per_shop", "sales", "total", "visits")],
    "folders": [(name, None, "success") for name in ("announce", "assets.raw", "assets.reports")],
    "due": [
        ("announce", None, "success"),
        ("ended", None, "success"),
        ("stage_1.plan", None, "success"),
        ("stage_1.run", f"sales {SHOPS}", "success"),
        ("stage_1.run", f"visits {DAYS}", "success"),
        ("stage_2.plan", None, "success"),
        ("stage_2.run", f"per_shop {SHOPS}", "success"),
        ("stage_3.plan", None, "success"),
        ("stage_3.run", "total", "success"),
    ],
}
"""The tasks of that project: their ids, how the grid names those that are mapped, and how they ended."""
BROKEN = {
    "conf/project.yml": "project: broken\nengine: sail\ndefaults: {retries: 0}\n",
    "conf/assets/a.yml": """
asset: good
schedule: '@once'
sql: SELECT 1 AS n
---
asset: bad
schedule: '@once'
sql: SELECT CAST(raise_error('no shops today') AS INT) AS n
---
asset: after_bad
inlets: [bad]
sql: SELECT n FROM {{ inlets.bad }}
---
asset: after_good
inlets: [good]
sql: SELECT n FROM {{ inlets.good }}
""",
}
KILLED = {
    "conf/project.yml": "project: killed\nengine: sail\npython: [jobs]\n",
    "conf/assets/a.yml": """
asset: first
schedule: '@once'
strategy: every_instance
write: append
sql: SELECT 1 AS n
---
asset: second
inlets: [first]
strategy: every_instance
write: append
python: jobs.second:compute
""",
    "conf/jobs/second.py": """
import os
import signal
from pathlib import Path


def compute(first):
    marker = Path(__file__).with_suffix(".txt")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return first
""",
}
"""Its driver is killed the first time that it computes its second asset."""


class Airflow:
    """An installation in a folder of its own, with SQLite."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.dags = home / "dags"
        self.dags.mkdir(parents=True)
        bin_folder = Path(environment_of("airflow") or "", "bin").absolute()
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        url = f"http://127.0.0.1:{self.port}"
        self.environment = environment(
            AIRFLOW_HOME=str(home),
            AIRFLOW__CORE__LOAD_EXAMPLES="false",
            AIRFLOW__CORE__DAGS_FOLDER=str(self.dags),
            AIRFLOW__CORE__PARALLELISM="2",
            AIRFLOW__CORE__EXECUTION_API_SERVER_URL=f"{url}/execution/",
            AIRFLOW__API__BASE_URL=url,
            AIRFLOW__API__HOST="127.0.0.1",
            AIRFLOW__API__PORT=str(self.port),
            AIRFLOW__API__WORKERS="1",
            PATH=f"{bin_folder}:{os.environ['PATH']}",
        )
        self.call("db", "migrate")

    def call(self, *arguments: str, check: bool = True) -> str:
        """What a command prints; its log with ``check``, where it fails."""
        ended = subprocess.run(
            ["airflow", *arguments], env=self.environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0 or not check, ended.stdout[-4000:] + ended.stderr[-2000:]
        return ended.stdout

    def query(self, sql: str, *values: str) -> list[tuple[object, ...]]:
        """Rows of Airflow's own database, for the values of question marks."""
        with closing(sqlite3.connect(self.home / "airflow.db", timeout=30)) as database:
            return database.execute(sql, values).fetchall()

    def wait_for_server(self, seconds: float) -> None:
        """Waits until tasks can reach the server: those that start before fail."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert time.monotonic() < deadline, (self.home / "log.txt").read_text()[-4000:]
                time.sleep(1)
            else:
                return

    def wait(self, sql: str, *values: str) -> None:
        """Waits a quarter of an hour until a query yields success and nothing else."""
        deadline = time.monotonic() + 900
        while (found := self.query(sql, *values)) != [("success",)]:
            assert time.monotonic() < deadline, (sql, found, (self.home / "log.txt").read_text()[-4000:])
            time.sleep(1)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    return Airflow(tmp_path_factory.mktemp("airflow"))


def deploy(airflow: Airflow, home: Path, *options: str, retries: int = 0) -> str:
    """Deploys a project into the folder of DAGs, with so many retries by Airflow; returns the id of the DAG."""
    done = called("deploy", "airflow", "--out", str(home / "dags"), "--cron", "0 0 1 1 *", *options, cwd=home)
    assert done.returncode == 0, done.stderr
    (file,) = (home / "dags").glob("*.py")
    text = file.read_text().replace('"retries": 0,', f'"retries": {retries}, "retry_delay": 1,')
    (airflow.dags / file.name).write_text(text)
    return file.stem


def tasks_of(airflow: Airflow, dag: str) -> list[tuple[object, ...]]:
    """The tasks of a DAG's newest run: their ids, how the grid names those that are mapped, and their states."""
    return airflow.query(
        "select task_id, rendered_map_index, state from task_instance where dag_id = ?1"
        " and run_id = (select run_id from dag_run where dag_id = ?1 order by id desc limit 1) order by 1, 2",
        dag,
    )


def states_of(airflow: Airflow, dag: str) -> list[object]:
    """How each run of a DAG ended, oldest first."""
    return [state for (state,) in airflow.query("select state from dag_run where dag_id = ? order by id", dag)]


def emitted_by(airflow: Airflow, dag: str) -> list[tuple[str, list[str]]]:
    """The events of Airflow's assets that a DAG emitted, oldest first: the asset and its partitions."""
    return [
        (str(uri), json.loads(str(extra))["partitions"])
        for uri, extra in airflow.query(
            "select a.uri, e.extra from asset_event e join asset a on a.id = e.asset_id"
            " where source_dag_id = ? order by e.id",
            dag,
        )
    ]


def listed_events(home: Path) -> list[dict[str, object]]:
    return document(called("events", "list", "--json", cwd=home))


def test_the_events_of_one_project_start_the_dag_of_another_once_each(airflow, tmp_path):
    shop, reports = tmp_path / "shop", write(tmp_path / "reports", REPORTS)
    shop.mkdir()
    assert called("init", cwd=shop).returncode == 0
    killed = write(tmp_path / "killed", KILLED)
    deploy(airflow, shop, "--tasks", "due")
    deploy(airflow, reports, "--on", "revenue")
    deploy(airflow, killed, "--tasks", "due", retries=1)
    airflow.call("dags", "reserialize")
    with (airflow.home / "log.txt").open("w") as log:
        server = subprocess.Popen(
            ["airflow", "standalone"], env=airflow.environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            airflow.wait_for_server(300)
            for dag in ("reports", "shop", "killed"):
                airflow.call("dags", "unpause", dag, "--yes")
            airflow.wait("select state from dag_run where dag_id = 'reports' and run_type = 'asset_triggered'")
            first, tasks = listed_events(reports), tasks_of(airflow, "shop")
            airflow.call("tasks", "clear", "reports", "--yes")  # the same events arrive again
            airflow.call("tasks", "clear", "shop", "--yes")  # and what is computed is asked for again
            for dag in ("reports", "shop"):
                airflow.wait("select distinct state from dag_run where dag_id = ? and clear_number = 1", dag)
            airflow.wait("select state from dag_run where dag_id = 'killed'")
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(60)
    assert [(task, name) for task, name, state in tasks if state == "success"] == [
        ("announce", None),
        ("ended", None),
        ("stage_1.plan", None),
        ("stage_1.run", f"daily_revenue {DAYS}"),
        ("stage_2.plan", None),
        ("stage_2.run", "best_shops"),
    ]
    assert len(stamps(shop / "conf/warehouse/daily_revenue")) == len(stamps(shop / "conf/warehouse/best_shops")) == 1
    emitted = [("x-sparkassets://shop/daily_revenue", [DAYS]), ("x-sparkassets://shop/best_shops", [])]
    assert emitted_by(airflow, "shop") == emitted
    received = [event for event in first if event["asset"] == "revenue"]
    assert [event["partitions"] for event in received] == [[DAYS]]
    assert str(received[0]["id"]).startswith("airflow-")
    assert listed_events(reports) == first
    assert rows(reports / "conf/warehouse/notes", "rows") == [(5,)]
    tries = "select task_id, try_number from task_instance where dag_id = 'killed' and map_index = 0 order by 1"
    assert airflow.query(tries) == [("stage_1.run", 1), ("stage_2.run", 2)]
    assert rows(killed / "conf/warehouse/first", "n") == rows(killed / "conf/warehouse/second", "n") == [(1,)]


@pytest.mark.parametrize("tasks", TASKS)
def test_a_dag_computes_what_is_due_once_however_it_is_divided(airflow, tmp_path, tasks):
    project = PIPELINE["conf/project.yml"].replace("pipeline", f"pipeline_{tasks}")
    home = write(tmp_path, PIPELINE | {"conf/project.yml": project})
    dag = deploy(airflow, home, "--tasks", tasks)
    airflow.call("dags", "test", dag)
    assert tasks_of(airflow, dag) == TASKS[tasks]
    shops = SHOPS.split(", ")
    updated = {"per_shop": shops, "sales": shops, "total": [], "visits": [DAYS]}
    emitted = [(f"x-sparkassets://{dag}/{name}", keys) for name, keys in updated.items()]
    assert sorted(emitted_by(airflow, dag)) == emitted
    airflow.call("dags", "test", dag)
    assert states_of(airflow, dag) == ["success", "success"]
    idle = {(task, None, "skipped" if task.endswith(".run") else state) for task, _, state in TASKS[tasks]}
    assert {*tasks_of(airflow, dag)} == idle
    assert sorted(emitted_by(airflow, dag)) == emitted
    assert [len(stamps(home / "conf/warehouse" / name)) for name in updated] == [1, 1, 1, 1]
    assert rows(home / "conf/warehouse/total", "n") == [(30,)]


@pytest.mark.parametrize("tasks", TASKS)
def test_a_run_that_fails_fails_the_dag_and_what_does_not_follow_it_is_computed_and_announced(airflow, tmp_path, tasks):
    project = BROKEN["conf/project.yml"].replace("broken", f"broken_{tasks}")
    dag = deploy(airflow, write(tmp_path, BROKEN | {"conf/project.yml": project}), "--tasks", tasks)
    log = airflow.call("dags", "test", dag, check=False)
    assert "bad failed: " in log
    assert "no shops today" in log
    assert states_of(airflow, dag) == ["failed"]
    failed = {"one": ("run", None), "assets": ("bad", None), "folders": ("assets", None), "due": ("stage_1.run", "bad")}
    assert [(task, name) for task, name, state in tasks_of(airflow, dag) if state == "failed"] == [failed[tasks]]
    computed = {f"x-sparkassets://{dag}/good", f"x-sparkassets://{dag}/after_good"}
    assert {uri for uri, _ in emitted_by(airflow, dag)} == computed
