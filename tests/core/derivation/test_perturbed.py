"""A column that is told not to matter does not: whatever it holds, an engine that is not ours computes the same.

Queries are drawn at random and run by SQLite on the same rows, but for one column that is filled again.
"""

import sqlite3
from random import Random

import pytest

from sparkassets.core.derivation.query_derivation import derive_query
from sparkassets.core.derivation.row_sources import QueryRelation
from tests.depth import examples

TABLES = {"t": ("a", "b", "c"), "u": ("a", "d", "e"), "v": ("b", "d", "f")}


class Queries:
    """Random queries, with the names of their columns."""

    def __init__(self, random):
        self.random = random
        self.named = 0

    def name(self):
        self.named += 1
        return f"n{self.named}"

    def scalar(self, columns, depth=2):
        choice = self.random.randrange(7) if depth else 0
        left = self.random.choice(columns)
        if choice < 2:
            return left
        inner = self.scalar(columns, depth - 1)
        return {
            2: f"({inner} + {left})",
            3: f"coalesce({inner}, {left}, 0)",
            4: f"CASE WHEN {inner} > {left} THEN {self.scalar(columns, depth - 1)} ELSE 1 END",
            5: f"abs({inner})",
            6: f"(CASE {left} WHEN 1 THEN {inner} END)",
        }[choice]

    def source(self, depth):
        """What stands in FROM, with its alias and its columns."""
        alias = self.name()
        if depth and self.random.random() < 0.5:
            query, columns = self.query(depth - 1)
            return f"({query}) AS {alias}", alias, columns
        table = self.random.choice([*TABLES])
        return f"{table} AS {alias}", alias, list(TABLES[table])

    def query(self, depth=2):
        """A query with the names of its columns."""
        kind = self.random.randrange(10)
        if kind < 2 and depth:
            (left, columns), (right, others) = self.query(depth - 1), self.query(depth - 1)
            count = min(len(columns), len(others))
            first = f"SELECT {', '.join(columns[:count])} FROM ({left}) AS {self.name()}"  # noqa: S608
            second = f"SELECT {', '.join(others[:count])} FROM ({right}) AS {self.name()}"  # noqa: S608
            word = self.random.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
            return f"{first} {word} {second}", columns[:count]
        if kind < 4 and depth:
            inner, columns = self.query(depth - 1)
            name = self.name()
            outer, own = self.plain(f"{name}", name, columns)
            return f"WITH {name} AS ({inner}) {outer}", own
        return self.plain(*self.source(depth), depth=depth)

    def plain(self, begin, alias, columns, depth=0):
        """One SELECT."""
        known = [f"{alias}.{each}" for each in columns]
        if self.random.random() < 0.5:
            other, name, more = self.source(max(0, depth - 1))
            word = self.random.choice(["JOIN", "LEFT JOIN"])
            condition = f"{self.random.choice(known)} = {name}.{self.random.choice(more)}"
            begin += f" {word} {other} ON {condition}"
            known += [f"{name}.{each}" for each in more]
        elif self.random.random() < 0.5:
            known = columns  # bare names, where one source stands alone
        where = f" WHERE {self.scalar(known)} > {self.random.randrange(4)}" if self.random.random() < 0.4 else ""
        if self.random.random() < 0.35:
            return self.grouped(begin, known, where)
        items = [(self.scalar(known), self.name()) for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.25:
            partition, order = self.random.choice(known), self.random.choice(known)
            items.append(
                (f"sum({self.random.choice(known)}) OVER (PARTITION BY {partition} ORDER BY {order})", self.name())
            )
        listed = ", ".join(f"{item} AS {name}" for item, name in items)
        return f"SELECT {listed} FROM {begin}{where}", [name for _, name in items]  # noqa: S608

    def grouped(self, begin, known, where):
        keys = self.random.sample(known, min(len(known), self.random.randint(1, 2)))
        items = [(key, self.name()) for key in keys]
        word = self.random.choice(["sum", "max", "count"])
        items.append((f"{word}({self.scalar(known)})", self.name()))
        listed = ", ".join(f"{item} AS {name}" for item, name in items)
        by = ", ".join(str(at + 1) for at in range(len(keys))) if self.random.random() < 0.5 else ", ".join(keys)
        having = " HAVING count(*) > 1" if self.random.random() < 0.3 else ""
        return f"SELECT {listed} FROM {begin}{where} GROUP BY {by}{having}", [name for _, name in items]  # noqa: S608


def rows(random):
    return {
        table: [tuple(random.choice([None, 0, 1, 2, 3]) for _ in columns) for _ in range(random.randint(2, 6))]
        for table, columns in TABLES.items()
    }


def result(content, query):
    engine = sqlite3.connect(":memory:")
    try:
        for table, found in content.items():
            engine.execute(f"CREATE TABLE {table} ({', '.join(TABLES[table])})")
            engine.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(TABLES[table]))})", found)  # noqa: S608
        return engine.execute(query).fetchall()
    finally:
        engine.close()


def changed(random, content, table, column):
    """The same rows with other values in one column."""
    at = TABLES[table].index(column)
    own = [(*row[:at], random.choice([None, 0, 5, 7]), *row[at + 1 :]) for row in content[table]]
    return {**content, table: own}


def values(found, at):
    return sorted((row[at] for row in found), key=repr)


@pytest.mark.parametrize("seed", range(examples(400)))
def test_what_is_told_not_to_matter_does_not(seed):
    random = Random(seed)  # noqa: S311
    query, columns = Queries(random).query()
    known = random.random() < 0.7
    told = derive_query(query, {name: QueryRelation(name, own if known else None) for name, own in TABLES.items()})
    assert told is not None, query
    assert [*told.columns] == columns
    content = rows(random)
    before = result(content, query)
    for table, own in TABLES.items():
        for column in own:
            after = result(changed(random, content, table, column), query)
            if told.rows is None or any((use.asset, use.column) == (table, column) for use in told.rows):
                continue
            assert len(after) == len(before), query
            for at, name in enumerate(columns):
                uses = told.columns[name]
                if uses is not None and not any((use.asset, use.column) == (table, column) for use in uses):
                    assert values(before, at) == values(after, at), (query, name, table, column)


def test_nearly_all_of_them_are_told():
    told = [
        derive_query(Queries(Random(seed)).query()[0], {n: QueryRelation(n, own) for n, own in TABLES.items()})  # noqa: S311
        for seed in range(300)
    ]
    sure = [uses is not None for each in told for uses in (*each.columns.values(), each.rows)]
    assert sum(sure) / len(sure) > 0.95
