"""What a process does on a session of Spark Connect, one part after the other on one server; leaves `told.json`.

A part that raises is told by what it raised, so that no other is lost.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.conf import RuntimeConf
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.session import SparkSession as ConnectSession

from jobs.landing import land_days, land_dimensions
from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import UpsertWrite, is_merge
from sparkassets.errors import RunError, SparkAssetsError
from sparkassets.runtime.progress import SilentProgress
from sparkassets.spark.engine import SparkEngine
from sparkassets.spark.own_session import open_brief_session
from sparkassets.wiring import Project
from tests.contracts.target_contract import TargetContract
from tests.integration.databricks_sessions import SESSIONS, limited
from tests.integration.orders import execute, order, project, sql, table
from tests.integration.test_catalog_contract import NamedTable
from tests.integration.test_target_contract import PathTable

CHECK = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"
ZONE = "spark.sql.session.timeZone"
SLEEPS = "SELECT reflect('java.lang.Thread', 'sleep', 200 + 0 * id) AS slept FROM range(0, 5000, 1, 2)"
LONG = f"SELECT count(*) AS n FROM ({SLEEPS}) WHERE slept = 'never'"  # noqa: S608
"""Takes minutes and nothing of a core, but both slots of the server: nothing goes on beside it."""
PATIENCE_SECONDS = 240


class Client:
    """A session that is the user's, and an engine beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session = SparkSession.builder.remote("local[2]").getOrCreate()
        self.given = {ZONE: "Asia/Tokyo", CHECK: "false"}
        for key, value in self.given.items():
            self.session.conf.set(key, value)
        self.engine = SparkEngine(project(), self.session)

    def read(self, path: str | Path) -> list[tuple[Any, ...]]:
        """What a table holds, sorted."""
        rows = self.session.read.format("delta").load(str(path)).collect()
        return sorted(map(tuple, rows), key=str)


class Recorded(SilentProgress):
    """Keeps what a progress is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def started(self, run: Any, run_id: str) -> None:
        """A run began."""
        self.told.append(f"started {run.asset}")

    def finished(self, result: Any) -> None:
        """A run ended."""
        self.told.append(f"{result.status} {result.asset}")


def demo(client: Client) -> Any:
    """The first week of the demo; a second run finds nothing due."""
    home = client.folder / "home"
    landing = home / ".demo" / "landing"
    land_dimensions(landing)
    land_days(landing, date(2013, 1, 1), date(2013, 1, 7))
    progress = Recorded()
    ran = Project.load(home / "conf").run(client.session, progress=progress, check=False)
    again = Project.load(home / "conf").run(client.session)
    return {
        "runs": sorted(run.asset for run in ran.runs if run.status == "success"),
        "others": [(run.asset, run.status, run.error) for run in ran.runs if run.status != "success"],
        "progress": sorted(progress.told),
        "again": len(again.runs),
    }


def shop(client: Client) -> Any:
    """Twice, with changes that come between: they are merged, what passes is published, the rest is withheld."""
    home = client.folder / "shop"
    landed, made, told = home / "landed", home / "warehouse", []
    first = {"id": [1, 2, 9, 4], "name": ["a", "b", "x", ""], "day": [_day(1), _day(2), _day(2), _day(3)]}
    second = {"id": [2, 3], "name": ["B", "c"], "day": [_day(1), _day(2)]}
    for came, select in ((first, None), (second, ["people", "model"])):
        write_deltalake(str(landed), pa.table(came), mode="append", partition_by=["day"])
        ran = Project.load(home).run(client.session, select=select, check=False)
        told.append(sorted((run.asset, run.status, list(run.held), run.error) for run in ran.runs))
    merges = [
        each for each in DeltaTable(str(made / "people")).history() if is_merge("", each.get("operationMetrics") or {})
    ]
    return {
        "runs": told,
        "people": client.read(made / "people"),
        "merges": len(merges),
        "clean": [row[1:] for row in client.read(made / "clean")],
        "quarantine": [row[1] for row in client.read(f"{made / 'clean'}_quarantine")],
        "functions": {name: client.read(made / name) for name in ("by_pandas", "by_arrow", "by_worker")},
        "types": [str(field.type) for field in DeltaTable(str(made / "by_worker")).schema().fields],
        "published": [json.loads(row[4]) for row in client.read(made / "model")],
        "files": [each.read_text("utf-8") for each in sorted((made / "model").rglob("model.txt"))],
    }


def _day(number: int) -> date:
    return date(2013, 1, number)


def rows(client: Client) -> Any:
    """Dates are those of UTC; a partition is replaced; a row outside is refused; the user's session stays as it is."""
    daily = table(
        "daily", client.folder, by="day", **sql("SELECT CAST(TIMESTAMP'2013-01-01T20:00:00Z' AS DATE) AS day")
    )
    for _ in range(2):
        execute(client.engine, order(daily, keys="2013-01-01"))
    kept = {key: client.session.conf.get(key) for key in client.given} == client.given
    try:
        execute(client.engine, order(daily, keys="2013-01-02"))
    except RunError as error:
        return [str(row[0]) for row in client.read(daily.storage.path)], str(error), kept
    return None


def fences(client: Client) -> Any:
    """The contract of a target that Spark commits: what an older claim has prepared lands no more after a take-over."""
    made = PathTable(client.engine, client.session, client.folder, commit="spark")
    TargetContract().test_what_an_older_claim_has_prepared_lands_no_more_after_a_fence(made)
    return [each["operation"] for each in DeltaTable(made.asset.storage.path).history()]


def timeouts(client: Client) -> Any:
    """A run that takes too long is cancelled; another that runs beside it is not."""
    home = write_project(client.folder / "slow", SLOW)
    began = time.monotonic()
    ran = Project.load(home).run(client.session, check=False)
    told = sorted((run.asset, run.status, run.error) for run in ran.runs)
    return told, time.monotonic() - began < PATIENCE_SECONDS


def cancelling(client: Client) -> Any:
    """What a run does in a session beside its own, as a merge does, ends with it."""
    run = order(table("slow", client.folder, **sql("SELECT 1")))
    threading.Timer(0.5, client.engine.cancel, [run.run]).start()
    began = time.monotonic()
    try:
        with client.engine.workplace.work(run) as (session, _), open_brief_session(session) as own:
            own.sql(LONG).collect()
    except RunError as error:
        return str(error) == f"{run.run} was cancelled", time.monotonic() - began < PATIENCE_SECONDS
    return "not cancelled"


def command(client: Client) -> Any:
    """The command line, whose session is one of that server and keeps the state; then Ctrl-C, with a run under way."""
    home = write_project(client.folder / "ledger", LEDGER)
    own = {"SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED"}
    env = {key: value for key, value in os.environ.items() if key not in own}
    out, err, until = home / "out.txt", home / "err.txt", time.monotonic() + PATIENCE_SECONDS
    with out.open("w", encoding="utf-8") as to, err.open("w", encoding="utf-8") as beside:
        started = subprocess.Popen(
            [sys.executable, "-m", "sparkassets", "run", "--project", str(home)],
            env={**env, "SPARK_REMOTE": f"sc://localhost:{DefaultChannelBuilder.default_port()}"},
            stdout=to,
            stderr=beside,
        )
    while "started two" not in err.read_text("utf-8") and started.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)
    started.send_signal(signal.SIGINT)
    code = started.wait(PATIENCE_SECONDS)
    if code != 130:
        return code, out.read_text("utf-8"), err.read_text("utf-8")
    journal = pa.table(DeltaTable(str(client.folder / "catalog" / "ledger.db" / "journal")).scan().read_all())
    told = zip(journal["kind"].to_pylist(), journal["asset"].to_pylist(), strict=True)
    runs = sorted(each for each in told if each[0] in {"claim", "success", "failure"})
    return code, client.read(home / "warehouse" / "one"), runs, err.read_text("utf-8")


def lacking(client: Client) -> Any:
    """A session as a serverless one: few settings, nothing held, no tags; then no copy of it either."""
    few = {ZONE, "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions"}
    get, put = RuntimeConf.get, RuntimeConf.set

    def refused(key: str) -> AnalysisException:
        return AnalysisException(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available. SQLSTATE: 42K0I")

    def get_conf(self: RuntimeConf, key: str, *rest: Any) -> Any:
        if key.startswith(("spark.databricks.", "spark.delta", "spark.hadoop.", "spark.sql.sources.")):
            raise refused(key)
        return get(self, key, *rest)

    def set_conf(self: RuntimeConf, key: str, value: Any) -> None:
        if key not in few:
            raise refused(key)
        put(self, key, value)

    def none(*_: Any, **__: Any) -> Any:
        raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] It is not supported on serverless compute.")

    told: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, act in (("get", get_conf), ("set", set_conf), ("getAll", property(none))):
            patch.setattr(RuntimeConf, name, act)
        for lacked in ("persist", "cache"):
            patch.setattr(DataFrame, lacked, none)
        for lacked in ("addTag", "removeTag", "getTags", "interruptTag"):
            patch.setattr(ConnectSession, lacked, none)
        told["copied"] = _serverless(client, "copied")
        patch.setattr(ConnectSession, "cloneSession", none)
        told["in another zone"] = _attempt(lambda: _serverless(client, "shifted"))
        client.session.conf.set(ZONE, "UTC")
        told["not copied"] = _serverless(client, "alone")
    return told


def databricks(client: Client) -> Any:
    """On serverless compute a project whose state and tables are in a catalog, twice; on a standard cluster a fence."""
    client.session.conf.set(ZONE, "UTC")  # as there
    schema = "serverless"
    client.session.sql(f"CREATE SCHEMA {schema}")
    client.session.sql(f"CREATE TABLE {schema}.landed (id BIGINT, name STRING, day DATE) USING delta")
    home = write_project(client.folder / schema, NAMED)
    with limited(SESSIONS["serverless-env-4"]):
        told = {"runs": [_land_and_run(client, home, rows) for rows in ("(4, 'a', 1), (9, 'x', 1)", "(10, 'b', 2)")]}
    told |= {name: _ids(client, f"{schema}.{name}") for name in ("daily", "daily_quarantine", "log", "people", "total")}
    with limited(SESSIONS["dbr-17.3-standard"]):
        made = NamedTable(client.engine, client.session, schema)
        TargetContract().test_a_fence_makes_the_table_and_lets_its_own_run_write(made)
    client.session.conf.set(ZONE, client.given[ZONE])
    return told


def _land_and_run(client: Client, home: Path, landed: str) -> Any:
    """The runs after rows have landed: asset, status and error of each."""
    values = f"SELECT id, name, date_add(DATE'2013-01-01', day - 1) FROM VALUES {landed} AS v(id, name, day)"  # noqa: S608  of this file
    client.session.sql(f"INSERT INTO serverless.landed {values}").collect()
    ran = Project.load(home).run(client.session, check=False)
    return sorted((run.asset, run.status, run.error) for run in ran.runs)


def _ids(client: Client, table: str) -> list[int]:
    return sorted(row["id"] for row in client.session.table(table).select("id").collect())


def _serverless(client: Client, name: str) -> Any:
    """A partition is replaced, and a key that is there is merged, by an engine of its own."""
    engine = SparkEngine(project(), client.session)
    daily = table(name, client.folder, by="day", **sql("SELECT DATE'2013-01-01' AS day"))
    execute(engine, order(daily, keys="2013-01-01"))
    merged = table("keys", client.folder, write=UpsertWrite(("id",)), strategy=LatestOnly(), **sql("SELECT 1L AS id"))
    write_deltalake(merged.storage.path, pa.table({"id": [1]}), mode="overwrite")
    refusal = _attempt(lambda: execute(engine, order(merged)))
    engine.close()
    return [str(row[0]) for row in client.read(daily.storage.path)], refusal


def _attempt(act: Callable[[], Any]) -> str:
    try:
        return f"done: {act()}"
    except SparkAssetsError as error:
        return f"{type(error).__name__}: {error}"


def write_project(home: Path, files: Mapping[str, str]) -> Path:
    """A project in a folder of its own."""
    home.mkdir()
    for name, text in files.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text, "utf-8")
    return home


SLOW = {
    "project.yml": "project: slow\nassets: [.]\ndefaults: {retries: 0}\nmax_parallel_runs: 2\n",
    "slow.yml": f'asset: slow\nschedule: "@daily"\ntimeout: 2s\nsql: {LONG}\n',
    "quick.yml": 'asset: quick\nschedule: "@daily"\nsql: SELECT 1 AS n\n',
}
LEDGER = {
    "project.yml": "project: ledger\nassets: [.]\nstate: {catalog: spark_catalog, schema: ledger}\n",
    "one.yml": 'asset: one\nschedule: "@daily"\nsql: SELECT 1 AS n\n',
    "two.yml": f"asset: two\ninlets: [one]\nsql: {LONG}\n",
}

NAMED = {
    "project.yml": (
        "project: named\nassets: [.]\npython: [tasks]\nstate: {catalog: spark_catalog, schema: serverless_state}\n"
        "defaults: {retries: 0}\n"
    ),
    "landed.yml": "asset: landed\nsource: true\ntable: serverless.landed\npartition: {by: day, column: day}\n",
    "daily.yml": """
asset: daily
table: serverless.daily
partition: {by: day, column: day}
columns: {id: {type: bigint, description: A number}, name: string, day: date}
validations: [{sql: id <> 9, name: no nine, severity: quarantine}]
sql: SELECT id, name, day FROM {{ inlets.landed }} JOIN {{ partitions }} USING (day)
""",
    "log.yml": """
asset: log
table: serverless.log
write: append
inlets: {landed: {read: {after: id}}}
sql: SELECT id, name FROM {{ inlets.landed }}
""",
    "total.yml": "asset: total\ntable: serverless.total\npython: tasks.work:total\n",
    "people.yml": """
asset: people
table: serverless.people
inlets: {landed: {read: changes}}
write: {upsert: {keys: [id]}}
sql: SELECT id, name FROM {{ inlets.landed }}
""",
    "tasks/__init__.py": "",
    "tasks/work.py": """
import pandas as pd


def total(daily: pd.DataFrame):
    return daily.groupby("day", as_index=False)["id"].sum()
""",
}

PARTS: Mapping[str, Callable[[Client], Any]] = {
    each.__name__: each for each in (demo, shop, rows, fences, timeouts, cancelling, command, lacking, databricks)
}


def main(folder: Path, chosen: list[str]) -> None:
    """Does the parts that are named, by default all."""
    client, told = Client(folder), {}
    for name, part in PARTS.items():
        if chosen and name not in chosen:
            continue
        began = time.monotonic()
        try:
            told[name] = part(client)
        except BaseException:  # noqa: BLE001  the test shows it
            told[name] = traceback.format_exc()
        told.setdefault("seconds", {})[name] = round(time.monotonic() - began, 1)
    client.engine.close()
    (folder / "told.json").write_text(json.dumps(told, default=str), encoding="utf-8")
    os._exit(0)  # the server goes with its parent; to stop it may take as long as to start it


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
