"""The rows of its inlets that a query can use, from comparisons with literals in its WHERE.

A comparison counts where dropping the rows that do not fulfil it can change no result: it is joined with all else by
AND in the WHERE of the one SELECT that has the inlet in its FROM. What is left out makes a filter wider, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sparkassets.core.derivation.column_uses import ColumnComparison, ComparisonSign, RowFilter
from sparkassets.core.derivation.query_derivation import QueryRelation
from sparkassets.frozen import frozen

_SIGNS: Final[Mapping[type[exp.Expr], ComparisonSign]] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TURNED: Final[Mapping[ComparisonSign, ComparisonSign]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TYPED: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "TIMESTAMPTZ"})
_PLAIN_JOINS: Final = frozenset({"", "INNER", "CROSS"})
MOST_VALUES: Final = 400
"""Longest list whose values are listed one by one."""


def find_row_filters(
    sql: str, relations: Mapping[str, QueryRelation], *, unknown: tuple[str, ...] = ()
) -> dict[str, RowFilter]:
    """Filters by inlet that all rows the query can use fulfil; an inlet without a certain filter is left out.

    Args:
        sql: One SELECT, or an INSERT of one.
        relations: The relations that it reads, by their names in the query.
        unknown: Texts in literals that stand for values that only a run knows.

    >>> found = find_row_filters("SELECT 1 FROM t JOIN u USING (k) WHERE t.a = 'x' AND u.b > 1 AND f(t.c)",
    ...     {"t": QueryRelation("x")})
    >>> found["x"].terms
    (ColumnComparison(column='a', sign='=', value='x'),)
    """
    try:
        tree = sqlglot.parse_one(sql, dialect="spark")
        known = {name.casefold(): relation for name, relation in relations.items() if relation.asset}
        read = [each for each in tree.find_all(exp.Table) if isinstance(each.this, exp.Identifier)]
        names = [each.name.casefold() for each in read]
        assets = [known[name].asset for name in names if name in known]
        found: dict[str, RowFilter] = {}
        for table, name in zip(read, names, strict=True):
            if name in known and assets.count(known[name].asset) == 1:
                terms = tuple(_terms_of(table, known[name], unknown))
                if terms:
                    found[known[name].asset] = RowFilter("AND", terms)
    except (SqlglotError, RecursionError):
        return {}
    return found


def _terms_of(
    table: exp.Table, relation: QueryRelation, unknown: tuple[str, ...]
) -> Iterator[ColumnComparison | RowFilter]:
    """The comparisons of the table's columns in the WHERE of the SELECT that reads it."""
    select = table.parent_select
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if where is None or not isinstance(select, exp.Select) or not _is_plain(table, select):
        return
    reading = _PredicateReader(_resolver(table, select, relation), unknown)
    for each in _all_of(where.this):
        if (term := reading.read_term(each)) is not None:
            yield term


def _is_plain(table: exp.Table, select: exp.Select) -> bool:
    """Whether rows of the table that the WHERE drops leave no trace in the result.

    An outer join would put a row of NULLs in the place of a dropped one.
    """
    if any(value for name, value in table.args.items() if name not in ("this", "alias")):
        return False
    begin, joins = select.args.get("from_"), select.args.get("joins") or []
    kinds = [(str(join.args.get("side") or ""), str(join.args.get("kind") or "")) for join in joins]
    if any(join.args.get("method") for join in joins) or select.args.get("pivots"):
        return False
    if begin is not None and begin.this is table:
        return all(side in ("", "LEFT") for side, _ in kinds)
    own = next((join for join in joins if join.this is table), None)
    return own is not None and all(not side and kind in _PLAIN_JOINS for side, kind in kinds)


def _resolver(table: exp.Table, select: exp.Select, relation: QueryRelation) -> Callable[[exp.Column], str | None]:
    """Returns a function for the table's column that a name means; it returns None where the name may mean another."""
    own = (table.alias or table.name).casefold()
    joins, inside = select.args.get("joins") or [], select.parent_select is not None and _is_nested(select)
    alone = not joins and not select.args.get("laterals")
    columns = None if relation.columns is None else {each.casefold() for each in relation.columns}

    def resolve(column: exp.Column) -> str | None:
        if column.args.get("db") or isinstance(column.this, exp.Star):
            return None
        if columns is not None and column.name.casefold() not in columns:
            return None
        if column.table:
            return column.name if column.table.casefold() == own else None
        return column.name if alone and (columns is not None or not inside) else None

    return resolve


def _is_nested(select: exp.Select) -> bool:
    """Whether the SELECT stands in an expression, where a name may belong to the query around it."""
    return select.find_ancestor(exp.Where, exp.Having, exp.Join, exp.Qualify, exp.Exists, exp.In) is not None or any(
        isinstance(each, exp.Subquery) and not isinstance(each.parent, exp.From | exp.Join | exp.CTE)
        for each in [select.parent]
    )


def _all_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins, in order."""
    left = [node]
    while left:
        each = left.pop().unnest()
        if isinstance(each, exp.And):
            left += [each.expression, each.this]
        else:
            yield each


@frozen
class _PredicateReader:
    """Reads conditions as comparisons of one table's columns with literals.

    Attributes:
        resolve: The table's column that a name means; None if it may mean another.
        unknown: Texts in literals that stand for values that only a run knows.
    """

    resolve: Callable[[exp.Column], str | None]
    unknown: tuple[str, ...]

    def read_term(self, node: exp.Expr) -> ColumnComparison | RowFilter | None:
        """The condition as comparisons; None if it is anything else."""
        node = node.unnest()
        match node:
            case exp.And() | exp.Or():
                return self._read_both_sides(node)
            case exp.Between():
                if node.args.get("symmetric"):
                    return None
                low, high = node.args["low"], node.args["high"]
                return _combine_terms(
                    "AND", [self._read_comparison(node.this, ">=", low), self._read_comparison(node.this, "<=", high)]
                )
            case exp.In(expressions=[*values]) if values and len(values) <= MOST_VALUES and not node.args.get("query"):
                return _combine_terms("OR", [self._read_comparison(node.this, "=", each) for each in values])
            case exp.NEQ():
                below = self._read_comparison(node.this, "<", node.expression)
                return _combine_terms("OR", [below, self._read_comparison(node.this, ">", node.expression)])
        sign = _SIGNS.get(type(node))
        if sign is None:
            return None
        return self._read_comparison(node.this, sign, node.expression)

    def _read_both_sides(self, node: exp.And | exp.Or) -> RowFilter | None:
        """The filter of AND or OR; None unless both sides can be read."""
        sides = [self.read_term(node.this), self.read_term(node.expression)]
        return _combine_terms("AND" if isinstance(node, exp.And) else "OR", sides)

    def _read_comparison(self, left: exp.Expr, sign: ComparisonSign, right: exp.Expr) -> ColumnComparison | None:
        left, right = left.unnest(), right.unnest()
        if isinstance(right, exp.Column):
            left, right, sign = right, left, _TURNED[sign]
        value = self._literal_text(right)
        column = self.resolve(left) if isinstance(left, exp.Column) else None
        return ColumnComparison(column, sign, value) if column is not None and value is not None else None

    def _literal_text(self, node: exp.Expr) -> str | None:
        """A literal as text; None where it is none, or only a run knows it."""
        match node:
            case exp.Literal():
                found = str(node.this)
            case exp.Neg(this=exp.Literal(is_string=False)):
                found = f"-{node.this.this}"
            case exp.Boolean():
                found = str(node.this).lower()
            case exp.Cast(this=exp.Literal(is_string=True)) if node.to.this.name in _TYPED:
                found = str(node.this.this)
            case _:
                return None
        return None if any(mark in found for mark in self.unknown) else found


def _combine_terms(
    operator: Literal["AND", "OR"], terms: list[ColumnComparison | RowFilter | None]
) -> RowFilter | None:
    certain = tuple(each for each in terms if each is not None)
    return RowFilter(operator, certain) if len(certain) == len(terms) else None
