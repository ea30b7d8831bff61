"""The driver's merge by files leaves the same rows and counts as Delta's `MERGE`, whatever batches come."""

from __future__ import annotations

import random

import pytest
from deltalake import DeltaTable

from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import HistoryColumns, UpsertWrite, row_counts
from tests.depth import COUNT, USUAL, deep
from tests.integration.orders import execute, order, rows, save, sql, table, target

pytestmark = pytest.mark.spark

SCHEMA = "id int, kind string, name string, at int, op string"
HISTORY = HistoryColumns("since", "until", "current")
KINDS = {
    "last_wins": UpsertWrite(("id",)),
    "newest_by": UpsertWrite(("id",), newest_by=("at",), delete_when="op = 'd'"),
    "two_keys": UpsertWrite(("id", "kind"), delete_when="op = 'd'"),
    "history": UpsertWrite(("id",), newest_by=("at",), delete_when="op = 'd'", history=HISTORY),
}


class Twins:
    """The same upsert twice: by the driver and by Delta's `MERGE`."""

    def __init__(self, engine, spark, folder, write, **more):
        self.engine, self.spark = engine, spark
        self.feed = table("feed", folder)
        query = sql("SELECT * FROM {{ inlets.feed }}", "feed")
        more = {**more, **query, "write": write, "strategy": LatestOnly()}
        self.driver = table("driver", folder, commit="auto", **more)
        self.delta = table("delta", folder, commit="spark", **more)

    def run(self, given):
        """Writes the rows to both, and returns what both tables hold and what the runs report."""
        save(self.spark.createDataFrame(given, SCHEMA), self.feed, mode="overwrite")
        return [self._run(asset) for asset in (self.driver, self.delta)]

    def _run(self, asset):
        run = order(asset, self.feed)
        execute(self.engine, run)
        (found,) = target(self.engine, run).find_commits([run.run])
        counts = row_counts(found.operation, found.metrics)
        return rows(self.spark, asset), {
            name: counts.get(name, 0) for name in ("rows", "inserted", "updated", "deleted")
        }


def batch(random, keys):
    """Changes of some of these keys, a few of them deletions, and some of another kind than before."""
    chosen = random.sample(range(keys), random.randrange(1, keys))
    return [
        (key, random.choice("ab"), f"n{random.randrange(3)}", random.randrange(6), random.choice("uuud"))
        for key in chosen
    ]


@pytest.mark.parametrize("seed", [1, deep(2), deep(3)])
@pytest.mark.parametrize("layout", [(), deep(("kind",))])
@pytest.mark.parametrize("kind", ["newest_by", deep("last_wins"), deep("two_keys"), "history"])
def test_both_leave_the_same_rows(engine, spark, tmp_path, kind, layout, seed):
    twins, drawn = Twins(engine, spark, tmp_path, KINDS[kind], partitioned_by=layout), random.Random(seed)  # noqa: S311  no secret
    twins.run([(key, "a", "first", 0, "u") for key in range(0, 40, 2)])
    last = []
    for _ in range(3 if COUNT > USUAL else 2):
        last = batch(drawn, 20)
        driver, delta = twins.run(last)
        assert driver == delta
    driver, delta = twins.run(last)
    assert driver == delta
    operations = [DeltaTable(each.storage.path).history(1)[0]["operation"] for each in (twins.driver, twins.delta)]
    assert operations == ["WRITE", "MERGE"]


def test_only_files_with_changed_rows_are_written_anew(engine, spark, tmp_path):
    twins = Twins(engine, spark, tmp_path, KINDS["last_wins"], partitioned_by=("kind",))
    twins.run([(1, "a", "x", 0, "u"), (2, "b", "x", 0, "u"), (3, "c", "x", 0, "u")])
    path = twins.driver.storage.path
    before = DeltaTable(path).file_uris()
    twins.run([(2, "b", "y", 1, "u"), (3, "c", "x", 0, "u")])
    after = DeltaTable(path).file_uris()
    assert len(after) == 3
    assert len({*before} & {*after}) == 2
    driver, delta = twins.run([(2, "b", "y", 1, "u")])
    assert driver == delta
    assert driver[1] == {"rows": 0, "inserted": 0, "updated": 0, "deleted": 0}
    assert DeltaTable(path).file_uris() == after
