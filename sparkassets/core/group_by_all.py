"""Writes ``GROUP BY ALL`` out, for engines that do not know it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sqlglot import TokenType, exp, parse_one, tokenize
from sqlglot.errors import SqlglotError

_MARK: Final = "sparkassets_group_{}"
"""A column's name in place of each ``ALL``, by which its query is found after parsing."""
_OTHER_AGGREGATES: Final = frozenset(
    [
        *("bit_and", "bit_or", "bit_xor", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg"),
        *("hll_union_agg", "schema_of_variant_agg", "some", "std", "try_avg", "try_sum"),
    ]
)
"""Aggregates that the parser takes for functions like any other."""


def expand_group_by_all(sql: str) -> str:
    """The query with ``GROUP BY`` and the numbers of the columns that aggregate nothing; lines stay where they are.

    A query that cannot be parsed stays as it is: the engine says what is wrong with it.

    >>> expand_group_by_all("SELECT day, origin, avg(delay) FROM flights GROUP BY ALL")
    'SELECT day, origin, avg(delay) FROM flights GROUP BY 1, 2'
    >>> expand_group_by_all("SELECT count(*) FROM (SELECT a FROM t GROUP BY all) GROUP BY ALL")
    'SELECT count(*) FROM (SELECT a FROM t GROUP BY 1) '
    """
    readable = sql.replace("\x00", "`")  # what stands around the number of a relation, until it is inserted
    try:
        places = list(_find_places(readable))
        if not places:
            return sql
        query = parse_one(
            _replace(readable, [(*each, f"GROUP BY {_MARK.format(n)}") for n, each in enumerate(places)]), read="spark"
        )
    except (SqlglotError, RecursionError):
        return sql
    clauses = {
        select.args["group"].expressions[0].name: _write_clause(select)
        for select in query.find_all(exp.Select)
        if select.args.get("group") is not None and select.args["group"].expressions
    }
    return _replace(sql, [(*each, clauses[_MARK.format(n)]) for n, each in enumerate(places)])


def _find_places(sql: str) -> Iterator[tuple[int, int]]:
    """Where each ``GROUP BY ALL`` begins and ends."""
    tokens = tokenize(sql, read="spark")
    for one, other in pairwise(tokens):
        if one.token_type == TokenType.GROUP_BY and other.token_type == TokenType.ALL:
            yield one.start, other.end + 1


def _replace(sql: str, parts: list[tuple[int, int, str]]) -> str:
    """The text with other texts in place of some parts, which keep their line ends."""
    for start, end, text in reversed(parts):
        lines = "\n" * sql.count("\n", start, end)
        sql = f"{sql[:start]}{text}{lines}{sql[end:]}"
    return sql


def _write_clause(select: exp.Select) -> str:
    """The clause for a query; empty where every column is an aggregate."""
    numbers = [str(number) for number, each in enumerate(select.expressions, 1) if not _aggregates(each)]
    return f"GROUP BY {', '.join(numbers)}" if numbers else ""


def _aggregates(node: exp.Expression) -> bool:
    """Whether an expression holds an aggregate of its own query; one over a window is none."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        return any(map(_aggregates, node.this.iter_expressions()))
    if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.name.lower() in _OTHER_AGGREGATES):
        return True
    return any(map(_aggregates, node.iter_expressions()))
