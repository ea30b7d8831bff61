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
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.projects import called, document, environment, rows, write
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
BROKEN = {
    "conf/project.yml": "project: broken\nengine: sail\ndefaults: {retries: 0}\n",
    "conf/assets/a.yml": "asset: good\nschedule: '@once'\nsql: SELECT 1 AS n\n"
    "---\nasset: bad\ninlets: [good]\nschedule: good\nsql: SELECT raise_error('no') AS n FROM {{ inlets.good }}\n",
}


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

    def query(self, sql: str) -> list[tuple[object, ...]]:
        """Rows of Airflow's own database."""
        with closing(sqlite3.connect(self.home / "airflow.db", timeout=30)) as database:
            return database.execute(sql).fetchall()

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

    def wait(self, sql: str, seconds: float, ready: Callable[[list[tuple[object, ...]]], bool] = bool) -> None:
        """Waits until a query gives what is waited for."""
        deadline = time.monotonic() + seconds
        while not ready(found := self.query(sql)):
            assert time.monotonic() < deadline, (sql, found, (self.home / "log.txt").read_text()[-4000:])
            time.sleep(1)


@pytest.fixture
def airflow(tmp_path):
    return Airflow(tmp_path / "airflow")


def deploy(airflow: Airflow, home: Path, *options: str) -> None:
    done = called("deploy", "airflow", "--out", str(home / "dags"), *options, cwd=home)
    assert done.returncode == 0, done.stderr
    (file,) = (home / "dags").glob("*.py")
    (airflow.dags / file.name).write_text(file.read_text())


def listed_events(home: Path) -> list[dict[str, object]]:
    return document(called("events", "list", "--json", cwd=home))


def test_the_events_of_one_project_start_the_dag_of_another_once_each(airflow, tmp_path):
    shop, reports = tmp_path / "shop", write(tmp_path / "reports", REPORTS)
    shop.mkdir()
    assert called("init", cwd=shop).returncode == 0
    deploy(airflow, shop, "--tasks", "assets", "--cron", "0 0 1 1 *")
    deploy(airflow, reports, "--on", "revenue", "--cron", "0 0 1 1 *")
    airflow.call("dags", "reserialize")
    with (airflow.home / "log.txt").open("w") as log:
        server = subprocess.Popen(
            ["airflow", "standalone"], env=airflow.environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            airflow.wait_for_server(300)
            airflow.call("dags", "unpause", "reports", "--yes")
            airflow.call("dags", "unpause", "shop", "--yes")
            triggered = "select state from dag_run where dag_id = 'reports' and run_type = 'asset_triggered'"
            airflow.wait(triggered, 900, lambda found: found == [("success",)])
            first = listed_events(reports)
            airflow.call("tasks", "clear", "reports", "--yes")  # the same events arrive again
            airflow.wait(
                "select state, min(try_number) from task_instance where dag_id = 'reports' group by state",
                600,
                lambda found: [state for state, tries in found if tries == 2] == ["success"] and len(found) == 1,
            )
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(60)
    tasks = airflow.query("select distinct task_id, state from task_instance where dag_id = 'shop' order by 1")
    assert tasks == [("announce", "success"), ("best_shops", "success"), ("daily_revenue", "success")]
    emitted = {
        uri: json.loads(str(extra))
        for uri, extra in airflow.query(
            "select a.uri, e.extra from asset_event e join asset a on a.id = e.asset_id where source_dag_id = 'shop'"
        )
    }
    days = ["2025-01-01..2025-01-02"]
    assert emitted["x-sparkassets://shop/daily_revenue"]["partitions"] == days
    assert emitted["x-sparkassets://shop/best_shops"]["partitions"] == []
    received = [event for event in first if event["asset"] == "revenue"]
    assert [event["partitions"] for event in received] == [days]
    assert str(received[0]["id"]).startswith("airflow-")
    assert listed_events(reports) == first
    assert rows(reports / "conf/warehouse/notes", "rows") == [(5,)]


def test_a_run_that_fails_fails_the_dag_and_what_was_written_is_announced(airflow, tmp_path):
    home = write(tmp_path / "broken", BROKEN)
    deploy(airflow, home)
    airflow.call("dags", "test", "broken", check=False)
    assert airflow.query("select state from dag_run") == [("failed",)]
    assert airflow.query("select task_id, state from task_instance order by 1") == [
        ("announce", "success"),
        ("run", "failed"),
    ]
    assert airflow.query("select a.uri from asset_event e join asset a on a.id = e.asset_id") == [
        ("x-sparkassets://broken/good",)
    ]
