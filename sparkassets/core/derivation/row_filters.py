"""The rows of its inlets that a query can use, from comparisons with literals in its WHERE.

A comparison counts where dropping the rows that do not fulfil it can change no result: it is joined with all else by
AND in the WHERE of the one SELECT that has the inlet in its FROM. What is left out makes a filter wider, never wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sparkassets.core.derivation.column_uses import ColumnComparison, ComparisonSign, RowFilter, parse_query
from sparkassets.core.derivation.row_sources import QueryRelation
from sparkassets.frozen import frozen

_SIGN_OF_NODE: Final[Mapping[type[exp.Expr], ComparisonSign]] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED_SIGN: Final[Mapping[ComparisonSign, ComparisonSign]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TIME_TYPES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "TIMESTAMPTZ"})
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
        tree = parse_query(sql)
        by_asset = {
            relation.asset: tuple(_terms_of(table, relation, unknown))
            for table, relation in _tables_read_once(tree, relations)
        }
    except (SqlglotError, RecursionError):
        return {}
    return {asset: RowFilter("AND", terms) for asset, terms in by_asset.items() if terms}


def _tables_read_once(
    tree: exp.Expr, relations: Mapping[str, QueryRelation]
) -> Iterator[tuple[exp.Table, QueryRelation]]:
    """Yields the tables of a query that are relations of an asset which the query reads only once."""
    by_name = {name.casefold(): relation for name, relation in relations.items() if relation.asset}
    tables = [each for each in tree.find_all(exp.Table) if isinstance(each.this, exp.Identifier)]
    read = [(table, by_name[table.name.casefold()]) for table in tables if table.name.casefold() in by_name]
    times_read = Counter(relation.asset for _, relation in read)
    return ((table, relation) for table, relation in read if times_read[relation.asset] == 1)


def _terms_of(
    table: exp.Table, relation: QueryRelation, unknown: tuple[str, ...]
) -> Iterator[ColumnComparison | RowFilter]:
    """The comparisons of the table's columns in the WHERE of the SELECT that reads it."""
    select = table.parent_select
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if where is None or not isinstance(select, exp.Select) or not _can_drop_rows(table, select):
        return
    reader = _PredicateReader(_build_resolver(table, select, relation), unknown)
    for each in _split_conjunction(where.this):
        if (term := reader.read_term(each)) is not None:
            yield term


def _can_drop_rows(table: exp.Table, select: exp.Select) -> bool:
    """Whether rows of the table that the WHERE drops leave no trace in the result.

    An outer join that keeps the rows of the other side would put NULLs in the place of a dropped row.
    """
    joins = [_JoinKind.from_join(join) for join in select.args.get("joins") or ()]
    has_options = any(value for name, value in table.args.items() if name not in ("this", "alias"))
    if has_options or select.args.get("pivots") or any(join.method for join in joins):
        return False
    from_clause = select.args.get("from_")
    if from_clause is not None and from_clause.this is table:
        return all(join.side in ("", "LEFT") for join in joins)
    return any(join.table is table for join in joins) and all(join.is_inner for join in joins)


@frozen
class _JoinKind:
    """What a join joins and how, in the words of the query; empty words where it does not say."""

    table: exp.Expr
    method: str
    side: str
    kind: str

    @classmethod
    def from_join(cls, join: exp.Join) -> _JoinKind:
        """The kind of a join in the syntax tree."""
        method, side, kind = (str(join.args.get(name) or "") for name in ("method", "side", "kind"))
        return cls(join.this, method, side, kind)

    @property
    def is_inner(self) -> bool:
        """Whether it is an inner or a cross join, which keeps no row without a match."""
        return not self.side and self.kind in _PLAIN_JOINS


def _build_resolver(
    table: exp.Table, select: exp.Select, relation: QueryRelation
) -> Callable[[exp.Column], str | None]:
    """Returns a function for the table's column that a name means; it returns None where the name may mean another."""
    own_name = (table.alias or table.name).casefold()
    joins, is_nested = select.args.get("joins") or [], select.parent_select is not None and _is_nested(select)
    is_sole_source = not joins and not select.args.get("laterals")
    columns = None if relation.columns is None else {each.casefold() for each in relation.columns}

    def resolve(column: exp.Column) -> str | None:
        """The table's column that the name means; None where it may mean another."""
        if column.args.get("db") or isinstance(column.this, exp.Star):
            return None
        if columns is not None and column.name.casefold() not in columns:
            return None
        if column.table:
            return column.name if column.table.casefold() == own_name else None
        return column.name if is_sole_source and (columns is not None or not is_nested) else None

    return resolve


def _is_nested(select: exp.Select) -> bool:
    """Whether the SELECT stands in an expression, where a name may belong to the query around it."""
    return select.find_ancestor(exp.Where, exp.Having, exp.Join, exp.Qualify, exp.Exists, exp.In) is not None or any(
        isinstance(each, exp.Subquery) and not isinstance(each.parent, exp.From | exp.Join | exp.CTE)
        for each in [select.parent]
    )


def _split_conjunction(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins, in order."""
    pending = [node]
    while pending:
        each = pending.pop().unnest()
        if isinstance(each, exp.And):
            pending += [each.expression, each.this]
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
                less = self._read_comparison(node.this, "<", node.expression)
                return _combine_terms("OR", [less, self._read_comparison(node.this, ">", node.expression)])
        sign = _SIGN_OF_NODE.get(type(node))
        if sign is None:
            return None
        return self._read_comparison(node.this, sign, node.expression)

    def _read_both_sides(self, node: exp.And | exp.Or) -> RowFilter | None:
        """The filter of AND or OR; None unless both sides can be read."""
        sides = [self.read_term(node.this), self.read_term(node.expression)]
        return _combine_terms("AND" if isinstance(node, exp.And) else "OR", sides)

    def _read_comparison(self, left: exp.Expr, sign: ComparisonSign, right: exp.Expr) -> ColumnComparison | None:
        """The comparison with the column on the left; None unless it is of the table's column with a literal."""
        left, right = left.unnest(), right.unnest()
        if isinstance(right, exp.Column):
            left, right, sign = right, left, _MIRRORED_SIGN[sign]
        value = self._read_literal(right)
        column = self.resolve(left) if isinstance(left, exp.Column) else None
        return ColumnComparison(column, sign, value) if column is not None and value is not None else None

    def _read_literal(self, node: exp.Expr) -> str | None:
        """A literal as text; None where it is none, or only a run knows it."""
        match node:
            case exp.Literal():
                text = str(node.this)
            case exp.Neg(this=exp.Literal(is_string=False)):
                text = f"-{node.this.this}"
            case exp.Boolean():
                text = str(node.this).lower()
            case exp.Cast(this=exp.Literal(is_string=True)) if node.to.this.name in _TIME_TYPES:
                text = str(node.this.this)
            case _:
                return None
        return None if any(mark in text for mark in self.unknown) else text


def _combine_terms(
    operator: Literal["AND", "OR"], terms: list[ColumnComparison | RowFilter | None]
) -> RowFilter | None:
    """The terms as one filter; None where one of them could not be read."""
    certain = tuple(each for each in terms if each is not None)
    return RowFilter(operator, certain) if len(certain) == len(terms) else None
