"""Tables and state in Unity Catalog: all ways to write, two drivers at once, one that is killed, others who interfere.

It is given a checkout of Unity Catalog's source, in which `make servers` has built its server and its connector.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.projects import called, write
from tests.e2e.test_hive import FIRST, SECOND, Lake
from tests.servers.unity import TOKEN, Unity, unity

CHECKOUT = os.environ.get("SPARKASSETS_UNITY", "")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not CHECKOUT, reason="`make servers UNITY=<checkout>` runs it"),
]
ASSETS = """
asset: sales
source: true
table: main.raw.sales
partition: {by: day, column: day}
---
asset: daily
table: main.gold.daily
partition: {by: day, column: day}
sql: SELECT day, sum(amount) AS amount FROM {{ inlets.sales }} GROUP BY day
---
asset: ledger
table: main.gold.ledger
inlets: {sales: {read: changes}}
write: append
sql: SELECT id, amount FROM {{ inlets.sales }}
---
asset: prices
table: main.gold.prices
partition: {by: day, column: day}
write: {upsert: {keys: [id]}}
sql: SELECT id, day, amount FROM {{ inlets.sales }}
---
asset: past
table: main.gold.past
inlets: {sales: {read: changes}}
write:
  upsert: {keys: [id], newest_by: amount, history: {valid_from: day, valid_to: until, current: is_current}}
sql: SELECT id, timestamp(day) AS day, amount FROM {{ inlets.sales }}
---
asset: total
table: main.gold.total
sql: SELECT sum(amount) AS amount FROM {{ inlets.daily }}
"""

TABLES = ("daily", "ledger", "prices", "past", "total")


class Shop(Lake):
    """The project, whose tables and state are in a Unity Catalog, and somebody else's session."""

    def __init__(self, home: Path, server: Unity, *, state: str = "{catalog: main, schema: ops}") -> None:
        self.home, self.token = home, server.token
        settings = {"sparkassets.small_data": "true", **server.settings()}
        spark = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in settings.items())
        project = f"project: shop\nstate: {state}\nassets: [assets.yml]\ndefaults: {{retries: 0}}\nspark:\n{spark}"
        write(home, {"conf/project.yml": project, "conf/assets.yml": ASSETS})
        command = [sys.executable, "-m", "tests.servers.asking", str(home / "conf")]
        self.other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for schema in ("raw", "gold", "ops"):
            self.sql(f"CREATE SCHEMA main.{schema}")
        place = f"LOCATION '{server.lake.as_uri()}/sales'"
        self.sql(f"CREATE TABLE main.raw.sales (id INT, day DATE, amount INT) USING delta {place}")

    def sql(self, statement: str) -> list[tuple[str, ...]]:
        """The rows of a statement of another session, in order."""
        assert self.other.stdin is not None
        assert self.other.stdout is not None
        print(statement, file=self.other.stdin, flush=True)
        answer = self.other.stdout.readline()
        assert answer, f"{statement} failed"
        return sorted(tuple(map(str, row)) for row in json.loads(answer))

    def rows(self, table: str, *columns: str) -> list[tuple[str, ...]]:
        return self.sql(f"SELECT {', '.join(columns)} FROM main.gold.{table}")  # noqa: S608  ours

    def holds(self, *sold: tuple[int, str, int]) -> None:
        """Every table holds what came of these, once."""
        super().holds(*sold)
        assert self.rows("past", "id", "amount") == [(str(number), str(amount)) for number, _, amount in sold]

    def recorded(self, table: str) -> list[str]:
        """The runs of a table that the journal in the catalog has, in order."""
        success = f"kind = 'success' AND asset = '{table}'"
        rows = self.sql(f"SELECT seq, run FROM main.ops.journal WHERE {success}")  # noqa: S608  ours
        return [run for _, run in sorted((int(seq), run) for seq, run in rows)]

    def committed(self, table: str) -> list[str]:
        """The runs whose data a table's commits brought, in order."""
        rows = self.sql(f"DESCRIBE HISTORY main.gold.{table}")
        history = [json.loads(row[13]) for row in sorted(rows, key=lambda row: int(row[0])) if row[13] != "None"]
        return [marker["run"] for marker in history if marker["kind"] == "data"]

    def sell(self, *sold: tuple[int, str, int]) -> None:
        values = ", ".join(f"({number}, DATE'{day}', {amount})" for number, day, amount in sold)
        self.sql(f"INSERT INTO main.raw.sales VALUES {values}")  # noqa: S608  ours

    def refused(self, **more: str) -> str:
        """What a driver says that fails, without the token."""
        done = called("run", cwd=self.home, **more)
        said = done.stdout + done.stderr
        assert done.returncode != 0, said
        assert not any(token in said for token in (self.token, "wrong.token"))
        return " ".join(said.split())

    def end(self) -> None:
        self.other.kill()
        self.other.communicate()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Unity]:
    with unity(Path(CHECKOUT), tmp_path / "unity") as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv(TOKEN, found.token)
        yield found


def open_shop(server: Unity, home: Path, **named: str) -> Iterator[Shop]:
    shop = Shop(home, server, **named)
    yield shop
    shop.end()
    for file in home.rglob("*"):
        assert not file.is_file() or server.token.encode() not in file.read_bytes(), file


@pytest.fixture
def shop(server: Unity, tmp_path: Path) -> Iterator[Shop]:
    yield from open_shop(server, tmp_path / "shop")


@pytest.fixture
def shop_on_disk(server: Unity, tmp_path: Path) -> Iterator[Shop]:
    yield from open_shop(server, tmp_path / "shop", state="../state")


def test_two_drivers_one_that_is_killed_and_others_who_interfere(shop: Shop) -> None:
    shop.sell(*FIRST)
    with ThreadPoolExecutor(2) as threads:
        both = [run for runs in threads.map(lambda _: shop.run(), range(2)) for run in runs]
    both += shop.run()
    assert Counter(run["status"] for run in both) == {"success": len(TABLES)}
    shop.holds(*FIRST)
    shop.sell(*SECOND)
    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(shop.run, "--select", "prices,past")
        shop.killed("ledger", "computed")
        shop.killed("daily", "written")
        assert Counter(run["status"] for run in beside.result()) == {"success": 2}
    runs = {run["asset"]: run for run in shop.run()}
    assert runs["ledger"]["reason"].startswith("takes over ledger-")
    assert runs["daily"]["adopted"]
    shop.holds(*FIRST, *SECOND)
    for table in TABLES:
        assert shop.recorded(table) == shop.committed(table), table
    assert not any(shop.token in text for entry in shop.sql("SELECT * FROM main.ops.journal") for text in entry)
    shop.sql("ALTER TABLE main.gold.daily ADD COLUMN note STRING")
    shop.sql("DELETE FROM main.gold.daily WHERE day = DATE'2025-01-01'")
    shop.sql("DROP TABLE main.gold.total")
    assert {run["asset"] for run in shop.run()} == {"total"}


def test_a_branch_is_promoted(shop_on_disk: Shop) -> None:
    shop = shop_on_disk
    shop.sell(*FIRST)
    shop.run()
    assets = shop.home / "conf" / "assets.yml"
    assets.write_text(assets.read_text().replace("day, sum(amount)", "day, 100 * sum(amount)"))
    assert {run["asset"] for run in shop.run("--branch", "cents")} == {"daily", "total"}
    shown = called("show", "daily", "--branch", "cents", cwd=shop.home)  # no view of a table by path
    assert "1500" in shown.stdout, shown.stdout + shown.stderr
    assert shop.rows("daily", "amount") == [("15",)]
    promoted = called("promote", "cents", cwd=shop.home)
    assert promoted.returncode == 0, promoted.stdout + promoted.stderr
    assert shop.rows("daily", "amount") == shop.rows("total", "amount") == [("1500",)]
    assert shop.run() == []
    dropped = called("drop", "cents", cwd=shop.home)
    assert dropped.returncode == 0, dropped.stdout + dropped.stderr


def test_what_is_wrong_with_the_catalog_is_said(shop_on_disk: Shop, server: Unity) -> None:
    shop = shop_on_disk
    missing = """
asset: no_schema
table: main.nowhere.t
schedule: "@daily"
sql: SELECT 1 AS n
---
asset: no_catalog
table: nomain.gold.t
schedule: "@daily"
sql: SELECT 1 AS n
"""
    (shop.home / "conf" / "assets.yml").write_text(missing)
    said = shop.refused()
    assert "(HTTP 404): Schema not found: main.nowhere" in said
    assert "the session has no catalog 'nomain', where nomain.gold.t should be" in said
    state = "{catalog: main, schema: ops}"
    (shop.home / "conf" / "project.yml").write_text(
        (shop.home / "conf" / "project.yml").read_text().replace("../state", state)
    )
    assert "(HTTP 401): Invalid access token." in shop.refused(**{TOKEN: "wrong.token"})
    server.process.kill()
    assert "the server of the catalog does not answer" in shop.refused()
