"""What is said of an edit of a query holds for its rows, on SQLite: the same rows, or the same in the other columns."""

from __future__ import annotations

import sqlite3
from collections import Counter
from random import Random

import pytest

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.definitions.differences import ColumnEffect, find_column_effect
from sparkassets.core.definitions.query_parts import returns_same_rows
from sparkassets.core.query_text import normal_form
from tests.depth import examples


def define(sql: str) -> AssetDefinition:
    return AssetDefinition.build(text=normal_form(sql))


def same(one: str, two: str) -> bool:
    return returns_same_rows(define(one), define(two))


BASE = """
WITH big AS (SELECT k, v FROM f WHERE v > 1), g AS (SELECT k, w FROM h) SELECT big.k, v, w FROM big
JOIN g ON g.k = big.k
""".strip()


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("WITH", "-- first\nwith").replace("v > 1", "v   >  1"),
        "WITH g AS (SELECT k, w FROM h), big AS (SELECT k, v FROM f WHERE v > 1)" + BASE[BASE.index(" SELECT big.k") :],  # noqa: S608  of a test
        BASE.replace("big", "large")
        .replace("g AS", "small AS")
        .replace("JOIN g", "JOIN small")
        .replace("g.k =", "small.k ="),
        BASE.replace("WITH", "WITH unread AS (SELECT 1 AS one),"),
    ],
)
def test_names_order_and_layout_of_ctes_change_no_rows(other):
    assert same(BASE, other)
    assert same(other, BASE)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (BASE, BASE.replace("v > 1", "v > 2")),
        (BASE, BASE.replace("ON g.k", "ON g.w")),
        # a field of a column is no CTE
        (
            "WITH x AS (SELECT k FROM f) SELECT x.b FROM t WHERE EXISTS (SELECT 1 FROM x WHERE x.k = 1)",
            "WITH y AS (SELECT k FROM f) SELECT y.b FROM t WHERE EXISTS (SELECT 1 FROM y WHERE y.k = 1)",
        ),
        (
            "WITH x AS (SELECT k FROM f) SELECT x.b FROM t UNION ALL SELECT x.k FROM x",
            "WITH y AS (SELECT k FROM f) SELECT y.b FROM t UNION ALL SELECT y.k FROM y",
        ),
        # a column of that name is no CTE, whatever stands before it
        (
            "WITH x AS (SELECT k FROM f) SELECT extract(year FROM x) AS y1 FROM x",
            "WITH z AS (SELECT k FROM f) SELECT extract(year FROM z) AS y1 FROM z",
        ),
        # before a CTE is defined its name is that of a table
        (
            "WITH a AS (SELECT k FROM f), f AS (SELECT 1 AS k) SELECT a.k FROM a JOIN f ON a.k = f.k",
            "WITH f AS (SELECT 1 AS k), a AS (SELECT k FROM f) SELECT a.k FROM a JOIN f ON a.k = f.k",
        ),
        # of equal CTEs only what they are matters, so another one is no renaming
        (BASE, BASE.replace("SELECT k, w FROM h", "SELECT k, w FROM f")),
    ],
)
def test_what_might_be_other_rows_is_not_said_to_be_the_same(one, two):
    assert not same(one, two)


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ("v FROM f", "v, upper(k) AS c FROM f", ColumnEffect()),
        ("v FROM f", "v + 1 AS v FROM f", ColumnEffect(affects_everything=True)),
        ("k, w FROM h", "k, round(w) AS w FROM h", ColumnEffect(changed=("w",))),
        ("SELECT k, w FROM h", "SELECT upper(k) AS k, w FROM h", ColumnEffect(affects_everything=True)),
    ],
)
def test_a_column_of_a_cte_reaches_what_reads_it(old, new, effect):
    assert find_column_effect(define(BASE), define(BASE.replace(old, new))) == effect


def test_a_column_of_a_cte_that_a_star_or_a_natural_join_reads_reaches_everything():
    for reader in ("SELECT * FROM x", "SELECT k FROM x NATURAL JOIN h"):
        base = f"WITH x AS (SELECT k, v FROM f) {reader}"  # noqa: S608  of a test
        assert find_column_effect(define(base), define(base.replace("v FROM", "v, w FROM"))).affects_everything


class RandomQuery:
    """A query with up to three CTEs in a chain, that SQLite and the normal form both read."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.items = [[f"{name} AS {name}" for name in "kvw"] for _ in range(random.randint(1, 3))]
        self.filters = ["" for _ in self.items]
        self.names = [f"c{number}" for number in range(len(self.items) - 1)]
        self.groups = ""
        for _ in range(2):
            self.edit()

    def expression(self) -> str:
        one, two = self.random.choices("kvw", k=2)
        return self.random.choice([one, f"{one} + 1", f"coalesce({one}, 0)", f"abs({one} - {two})", f"{one} * {two}"])

    def edit(self) -> None:
        """One small change somewhere."""
        random, place = self.random, self.random.randrange(len(self.items))
        match random.randrange(8):
            case 0:
                self.items[place].append(f"{self.expression()} AS n{random.randrange(4)}")
            case 1:
                number = random.randrange(3)
                self.items[place][number] = f"{self.expression()} AS {'kvw'[number]}"
            case 2:
                self.filters[place] = random.choice(
                    ["", f" WHERE {self.expression()} > 1", " ORDER BY v, k, w LIMIT 2"]
                )
            case 3:
                self.names = [f"t{random.randrange(100, 999)}" for _ in self.names]
            case 4:
                del self.items[place][3:]
            case 5:
                self.groups = random.choice(["", "sum(v) AS s", "max(w) AS s", "count(*) AS s", "min(n1) AS s"])
            case 6:
                self.items[place].append(f"(SELECT max(v) FROM h WHERE h.k = w) AS n{random.randrange(4)}")  # noqa: S608  of a test
            case _:
                random.shuffle(self.items[place])

    @property
    def sql(self) -> str:
        """Its text; each CTE reads the one before it."""
        *tables, last = [
            f"SELECT {', '.join(items)} FROM {name}{where}"  # noqa: S608  of a test
            for items, name, where in zip(self.items, ["f", *self.names], self.filters, strict=True)
        ]
        ctes = [f"{name} AS ({query})" for name, query in zip(self.names, tables, strict=True)]
        spare = f"spare{self.random.randrange(2)} AS (SELECT 1 AS one)"
        ctes.insert(self.random.randint(0, len(ctes)), spare)
        if self.groups:
            source = self.names[-1] if self.names else "f"
            last = f"SELECT k AS k, {self.groups} FROM {source}{self.filters[-1].partition(' ORDER')[0]} GROUP BY k"  # noqa: S608  of a test
        return f"WITH {', '.join(ctes)} {last}"


@pytest.fixture(scope="module")
def lake():
    connection = sqlite3.connect(":memory:")
    for table in "fh":
        connection.execute(f"CREATE TABLE {table} (k INT, v INT, w INT)")
        rows = [(n % 3, n % 4 if n % 5 else None, n * 7 % 5) for n in range(9)]
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608
    return connection


def rows_of(lake: sqlite3.Connection, sql: str, leaving: frozenset[str] = frozenset()) -> Counter[object] | None:
    """The rows without some columns, each as often; None where the query is wrong."""
    try:
        cursor = lake.execute(sql)
    except sqlite3.OperationalError:
        return None
    names = [each[0] for each in cursor.description]
    return Counter(
        frozenset((name, value) for name, value in zip(names, row, strict=True) if name not in leaving)
        for row in cursor
    )


@pytest.mark.parametrize("seed", range(examples(2000)))
def test_of_random_edits_what_is_said_holds(lake, seed):
    random = Random(seed)  # noqa: S311  a history
    query = RandomQuery(random)
    old = query.sql
    query.edit()
    new = query.sql
    before, after = rows_of(lake, old), rows_of(lake, new)
    if before is None or after is None:
        return
    if same(old, new):
        assert before == after
    effect = find_column_effect(define(old), define(new))
    if not effect.affects_everything:
        assert rows_of(lake, old, effect.affected_columns) == rows_of(lake, new, effect.affected_columns)
