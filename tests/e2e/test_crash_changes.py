"""Processes that are killed while they read changes: the next start loses no change and doubles none."""

from __future__ import annotations

from textwrap import dedent

import pytest
from deltalake import DeltaTable

from tests.e2e.projects import rows, stamps, write
from tests.e2e.test_crash import Shop, shop

__all__ = ["shop"]
pytestmark = [pytest.mark.spark, pytest.mark.crash]

FILES = {
    "assets/orders.yml": """
        asset: orders
        source: delta
        path: ../landed/orders
    """,
    "assets/audit.yml": """
        asset: audit
        inlets: {orders: {read: changes}}
        write: append
        sql: SELECT id, status, _change_type AS change, _commit_version AS version FROM {{ inlets.orders }}
    """,
    "assets/mirror.yml": """
        asset: mirror
        inlets: {orders: {read: changes}}
        write: {upsert: {keys: [id]}}
        sql: SELECT * FROM {{ inlets.orders }}
    """,
}
FEED = ("id", "status", "_change_type", "_commit_version")


class Orders:
    """A table with a change feed that others write, and the assets that follow it."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.path = shop.home / "landed" / "orders"
        self.rounds = 0
        self._sql(
            "CREATE TABLE {} (id INT, status STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)"
        )

    def change(self) -> None:
        """An insert, an update of what was there before, and a deletion."""
        new = self.rounds = self.rounds + 1
        self._sql("INSERT INTO {} VALUES ({0}, 'new'), ({1}, 'new')", 2 * new, 2 * new + 1)
        self._sql("UPDATE {} SET status = 'seen {0}' WHERE id % 2 = 0", new)
        self._sql("DELETE FROM {} WHERE id = {0}", 2 * new - 1)

    def _sql(self, statement: str, *values: int) -> None:
        self.shop.spark.sql(statement.replace("{}", f"delta.`{self.path}`").format(*values))

    def read_first(self) -> None:
        """What is there now is read as a whole, as rows that came with this version."""
        self.version = DeltaTable(self.path).version()
        self.whole = [(*row, "insert", self.version) for row in rows(self.path, "id", "status")]

    def expected(self, asset: str) -> list[tuple]:
        """The table, or what was read as a whole and the feed since then as Delta itself tells it."""
        if asset == "mirror":
            return rows(self.path, "id", "status")
        if DeltaTable(self.path).version() == self.version:
            return self.whole
        feed = self.shop.spark.read.option("readChangeFeed", "true").option("startingVersion", self.version + 1)
        since = feed.format("delta").load(str(self.path)).select(*FEED).collect()
        return sorted([*self.whole, *map(tuple, since)])

    def held(self, asset: str) -> list[tuple]:
        columns = ("id", "status") if asset == "mirror" else ("id", "status", "change", "version")
        return rows(self.shop.table(asset), *columns)


@pytest.mark.parametrize(
    ("asset", "by_spark", "moments"),
    [
        ("audit", False, ["claimed", "put"]),
    ],
)
def test_every_change_is_taken_once(shop, asset, by_spark, moments):
    more = "commit: spark\n" if by_spark and asset == "audit" else ""
    write(shop.folder, {name: dedent(text) + (more if "audit" in name else "") for name, text in FILES.items()})
    orders = Orders(shop)
    orders.change()
    orders.read_first()
    assert shop.start(asset).ok
    assert orders.held(asset) == orders.expected(asset)
    for moment in moments:
        orders.change()
        shop.victim(asset, moment).kill_and_wait_for_its_jvm()
        killed = shop.history(asset, "claim")[-1].run
        before = orders.expected(asset)
        is_in = moment in ("put", "merged", "written", "recorded")
        assert (orders.held(asset) == before) == is_in
        orders.change()  # what the killed run had not pinned
        summary = shop.start(asset)
        assert summary.ok
        assert summary.runs[0].adopted == (killed if is_in and moment != "recorded" else None)
        while summary.runs:
            summary = shop.start(asset)
            assert summary.ok
        assert orders.held(asset) == orders.expected(asset)
        successes = [row.run for row in shop.history(asset, "success")]
        assert len(set(successes)) == len(successes)
        assert successes == [marker["run"] for marker in stamps(shop.table(asset))]
        assert shop.planned(asset) == []
