"""Upserts and histories are what a plain model makes of all changes in order, however these come.

Changes of many keys come in any order, again and again, in as many runs as a test has time for; the model sees each
once, sorted. Keys never touch each other, so that one example with many keys is as many examples.
"""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from sparkassets.core.strategies import LatestOnly
from sparkassets.core.writes import HistoryColumns, UpsertWrite
from tests.depth import COUNT, USUAL, deep, examples
from tests.integration.orders import execute, held, order, rows, save, sql, table

pytestmark = pytest.mark.spark

KEYS, RUNS = 60, 5 if COUNT > USUAL else 3
TIMES = HistoryColumns("valid_from", "valid_to", "is_current")


def changes(rng):
    """Of each key some changes: (key, value, number, operation), of which no two of a key have one number."""
    made = []
    for key in range(KEYS):
        numbers = rng.sample(range(1, 12), rng.randint(1, 6))
        made += [(key, f"{key}@{number}", number, rng.choice("uuud")) for number in numbers]
    return made


def runs(rng, made):
    """The changes in some order, some of them several times, cut into runs; every one comes."""
    come = [*made, *rng.choices(made, k=len(made) // 2)]
    if rng.random() < 0.7:
        rng.shuffle(come)
    cuts = sorted(rng.sample(range(1, len(come)), RUNS - 1))
    return [come[low:high] for low, high in zip([0, *cuts], [*cuts, len(come)], strict=True)]


def newest(made):
    """The plain model: of each key the last change, unless that deletes it."""
    last = {}
    for change in sorted(made, key=lambda each: each[2]):
        last[change[0]] = change
    return sorted((key, value) for key, value, _, operation in last.values() if operation != "d")


def hour(number):
    """The hour of a change, in which others of its key may be."""
    return number // 2


def histories(made):
    """The plain model: the last change of a key in an hour holds until the next one, or until the key is deleted."""
    of_key = defaultdict(dict)
    for change in sorted(made, key=lambda each: each[2]):
        of_key[change[0]][hour(change[2])] = change
    found = []
    for of_one in of_key.values():
        ends = [*list(of_one)[1:], None]
        for (at, (key, value, _, operation)), end in zip(of_one.items(), ends, strict=True):
            if operation != "d":
                found.append((key, value, at, end, end is None))
    return sorted(found, key=lambda each: each[:3])


class Upserted:
    """A table that is written by an upsert, run by run, from whatever comes."""

    def __init__(self, engine, spark, folder, write, query):
        self.engine, self.spark = engine, spark
        self.feed = table("feed", folder)
        self.asset = table("kept", folder, write=write, strategy=LatestOnly(), **sql(query, "feed"))

    def run(self, come):
        schema = "id int, name string, number int, op string"
        save(self.spark.createDataFrame(come, schema), self.feed, mode="overwrite")
        execute(self.engine, order(self.asset, self.feed))


@pytest.mark.parametrize("seed", range(examples(1)))
@pytest.mark.parametrize("order_is", ["hidden", deep("stored")])
def test_an_upsert_is_the_newest_of_all_that_came(engine, spark, tmp_path, seed, order_is):
    rng = random.Random(f"{seed}-{order_is}")  # noqa: S311  a test's own
    name = "number" if order_is == "stored" else "_number"
    write = UpsertWrite(("id",), newest_by=(name,), delete_when="_op = 'd'")
    query = "SELECT id, name, number AS NUMBER, op AS _op FROM {{ inlets.feed }}".replace("NUMBER", name)
    kept, made = Upserted(engine, spark, tmp_path, write, query), changes(rng)
    seen = []
    for come in runs(rng, made):
        kept.run(come)
        seen += come
    assert rows(spark, kept.asset, "id", "name") == newest(made)
    assert set(seen) == set(made)


@pytest.mark.parametrize("seed", range(examples(1)))
@pytest.mark.parametrize("order_is", ["hidden", deep("stored")])
def test_a_history_is_that_of_who_sees_all_in_order(engine, spark, tmp_path, seed, order_is):
    rng = random.Random(f"{seed}-{order_is}")  # noqa: S311  a test's own
    name = "number" if order_is == "stored" else "_number"
    write = UpsertWrite(("id",), newest_by=("_at", name), delete_when="_op = 'd'", history=TIMES)
    time = "timestampadd(HOUR, number DIV 2, TIMESTAMP'2025-01-01T00:00:00Z')"
    query = "SELECT id, name, TIME AS _at, number AS NUMBER, op AS _op FROM {{ inlets.feed }}"
    query = query.replace("TIME", time).replace("NUMBER", name)
    kept, made = Upserted(engine, spark, tmp_path, write, query), changes(rng)
    for come in runs(rng, made):
        kept.run(come)
    hours = "CAST((unix_seconds({0}) - unix_seconds(TIMESTAMP'2025-01-01T00:00:00Z')) / 3600 AS INT)"
    told = ("id", "name", hours.format("valid_from"), hours.format("valid_to"), "is_current")
    found = sorted((tuple(row) for row in _unsorted(spark, kept.asset, *told)), key=lambda each: each[:3])
    assert found == histories(made)


def _unsorted(spark, asset, *columns):
    return held(spark, asset.storage.path).selectExpr(*columns).collect()
