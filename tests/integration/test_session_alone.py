"""A source at a path that a Spark session alone can open: looked at, pinned, read at its version and by its changes."""

from __future__ import annotations

from typing import Any

import deltalake
import pytest
from deltalake.exceptions import DeltaError

from sparkassets import Project

pytestmark = pytest.mark.spark

ASSETS = """
asset: far
source: delta
path: ../far
partition: {by: day, column: day}
---
asset: daily
partition: {by: day, column: day}
sql: SELECT day, sum(amount) AS amount FROM {{ inlets.far }} GROUP BY day
---
asset: total
sql: SELECT count(*) AS n, sum(amount) AS amount FROM {{ inlets.far }}
---
asset: lines
inlets: {far: {read: changes}}
write: append
sql: SELECT id, amount FROM {{ inlets.far }} WHERE _change_type = 'insert'
"""
EACH = {"daily", "total", "lines"}


class Refusing(deltalake.DeltaTable):
    """deltalake's, which knows not what the table `far` has."""

    def __init__(self, table_uri: Any, *more: Any, **options: Any) -> None:
        if str(table_uri).rstrip("/").endswith("/far"):
            raise DeltaError("Kernel error: Feature 'teleportation' is not supported")
        super().__init__(table_uri, *more, **options)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(deltalake, "DeltaTable", Refusing)
    folder = tmp_path / "conf"
    folder.mkdir()
    text = "project: p\nstate: ../state\nwarehouse: ../lake\nassets: [assets.yml]\ndefaults: {retries: 0}\n"
    (folder / "project.yml").write_text(text)
    (folder / "assets.yml").write_text(ASSETS)
    return folder


def ran(spark, home) -> dict[str, list[str]]:
    """The runs of one invocation: their partitions by asset."""
    summary = Project.load(home, env={}).run(spark, check=False)
    assert [run.error for run in summary.runs if run.error] == []
    assert summary.faults == ()
    found: dict[str, list[str]] = {}
    for run in summary.runs:
        found.setdefault(run.asset, []).extend(run.partition_keys)
    return found


def test_it_is_read_as_it_was_looked_at_and_what_changed_is_stale(spark, home, tmp_path):
    far, lake = f"delta.`{tmp_path}/far`", tmp_path / "lake"

    def add(*rows: tuple[int, str, int]) -> None:
        values = ", ".join(f"({number}, DATE'{day}', {amount})" for number, day, amount in rows)
        spark.sql(f"INSERT INTO {far} VALUES {values}")  # noqa: S608  of the test itself

    def rows(name: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(map(str, row)) for row in spark.read.format("delta").load(str(lake / name)).collect())

    spark.sql(f"CREATE TABLE {far} (id INT, day DATE, amount INT) USING delta")
    add((1, "2025-01-01", 10), (2, "2025-01-02", 20))
    assert set(ran(spark, home)) == EACH
    assert rows("daily") == [("2025-01-01", "10"), ("2025-01-02", "20")]
    add((3, "2025-01-02", 30), (4, "2025-01-03", 40))
    assert ran(spark, home) == {"daily": ["2025-01-02..2025-01-03"], "total": [], "lines": []}
    assert rows("daily") == [("2025-01-01", "10"), ("2025-01-02", "50"), ("2025-01-03", "40")]
    assert rows("total") == [("4", "100")]
    assert rows("lines") == [(str(n), str(n * 10)) for n in range(1, 5)]
    spark.sql(f"DELETE FROM {far} WHERE id = 1")  # noqa: S608  of the test itself
    assert ran(spark, home) == {"daily": ["2025-01-01"], "total": []}
    assert rows("total") == [("3", "90")]
    assert ran(spark, home) == {}
