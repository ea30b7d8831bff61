"""Derives the columns of a query, and the uses of each, from its syntax tree.

Names are resolved as Spark resolves them, and only where there is one way to do so: columns of the sources in FROM,
then earlier items of the same list. A query with LATERAL VIEW, PIVOT, NATURAL joins or generators is uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sparkassets.core.derivation.column_uses import (
    GENERATORS,
    NO_USES,
    ColumnUses,
    QueryDerivation,
    UncertainDerivation,
    UseKind,
    is_generator,
    merge_uses,
    parse_query,
    uses_of,
)
from sparkassets.core.derivation.row_sources import (
    DerivedColumn,
    QueryRelation,
    RowSource,
    RowSources,
)
from sparkassets.frozen import frozen

_SET_CLAUSES: Final = frozenset({"with_", "this", "expression", "distinct", "order", "limit", "offset", "sort"})
_OTHER_SELECT_CLAUSES: Final = {
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "qualify",
    "windows",
    "cluster",
    "distribute",
    "hint",
}
_SELECT_CLAUSES: Final = frozenset({"expressions", *_OTHER_SELECT_CLAUSES, *_SET_CLAUSES} - {"this", "expression"})
_TABLE_CLAUSES: Final = frozenset({"this", "alias"})
_SUBQUERY_CLAUSES: Final = frozenset({"this", "alias", "with_"})
_JOIN_CLAUSES: Final = frozenset({"this", "on", "using", "side", "kind"})


def derive_query(sql: str, relations: Mapping[str, QueryRelation], *, value: str = "") -> QueryDerivation | None:
    """Derives each column of a query from columns of its relations; None if the columns cannot be determined.

    Args:
        sql: One SELECT.
        relations: The relations that it reads, by their names in the query.
        value: A name in the query that stands for a value that only a run knows.

    >>> found = derive_query("SELECT a, sum(b) AS total FROM t WHERE c > 1 GROUP BY a", {"t": QueryRelation("x")})
    >>> found.columns["total"], sorted(use.how for use in found.rows)
    (frozenset({ColumnUse(asset='x', column='b', how='AGGREGATION', masked=False)}), ['FILTER', 'GROUP_BY'])
    >>> derive_query("SELECT * FROM t", {"t": QueryRelation("x")}) is None
    True
    """
    if "|>" in sql:
        return None
    try:
        query = _parse_query(sql, value)
        sources = {name.casefold(): RowSource.from_relation(relation) for name, relation in relations.items()}
        rows = _derive_node(query, sources) if query is not None else None
    except (SqlglotError, UncertainDerivation, RecursionError):
        return None
    return None if rows is None or rows.columns is None else _derivation_by_name(rows.columns, rows.rows)


def _derivation_by_name(columns: Sequence[DerivedColumn], rows: ColumnUses | None) -> QueryDerivation | None:
    """The derivation of these columns; None where one has no name, or two have the same."""
    names = {each.name.casefold() for each in columns}
    if "" in names or len(names) != len(columns):
        return None
    return QueryDerivation({each.name: each.uses for each in columns}, rows)


def _parse_query(sql: str, value: str) -> exp.Query | None:
    """The query's tree, with a literal for each name ``value``; None if it is no query, or generates rows."""
    tree = parse_query(sql)
    if not isinstance(tree, exp.Query) or (GENERATORS.search(sql) and is_generator(tree)):
        return None
    if not value or value not in sql:
        return tree
    copied = tree.copy()
    for column in list(copied.find_all(exp.Column)):
        if column.name == value and not column.table:
            column.replace(exp.Literal.string(value))
    return copied


def _derive_node(node: exp.Expr, sources: RowSources) -> RowSource:
    """The rows of a query in any form: a SELECT, a set operation, or one of these in brackets.

    Raises:
        UncertainDerivation: It is something else, or has a clause that is not understood here.
    """
    match node:
        case exp.Subquery():
            _refuse_other_clauses(node, _SUBQUERY_CLAUSES)
            return _derive_node(node.this, _with_common_tables(node, sources))
        case exp.SetOperation():
            _refuse_other_clauses(node, _SET_CLAUSES)
            return _derive_set_operation(node, _with_common_tables(node, sources))
        case exp.Select():
            _refuse_other_clauses(node, _SELECT_CLAUSES)
            return _SelectDerivation.from_node(node, _with_common_tables(node, sources)).derive_rows()
    raise UncertainDerivation


def _refuse_other_clauses(node: exp.Expr, allowed: frozenset[str]) -> None:
    """Raises `UncertainDerivation` if the node has a clause that is not among the ``allowed`` ones."""
    if any(value for name, value in node.args.items() if name not in allowed):
        raise UncertainDerivation


def _with_common_tables(node: exp.Expr, sources: RowSources) -> RowSources:
    """The known row sources, with those that the node's WITH defines."""
    clause = node.args.get("with_")
    if clause is None:
        return sources
    if clause.args.get("recursive"):
        raise UncertainDerivation
    with_tables = dict(sources)
    for each in clause.expressions:
        with_tables[each.alias.casefold()] = _apply_column_aliases(
            _derive_node(each.this, with_tables), each.args.get("alias")
        )
    return with_tables


def _apply_column_aliases(rows: RowSource, alias: exp.Expr | None) -> RowSource:
    """The rows with their columns renamed by a list after the alias, as in ``AS t(a, b)``."""
    names = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
    if not names:
        return rows
    if rows.columns is None or len(rows.columns) != len(names):
        raise UncertainDerivation
    columns = tuple(DerivedColumn(name, each.uses) for name, each in zip(names, rows.columns, strict=True))
    return RowSource(columns, rows.asset, rows.rows)


def _derive_set_operation(node: exp.SetOperation, sources: RowSources) -> RowSource:
    """The rows of UNION, INTERSECT or EXCEPT.

    In a UNION both sides supply values. In the others the left side does, and every column of the right side only
    decides which of its rows remain.

    Raises:
        UncertainDerivation: The columns of a side are unknown, or the sides differ in their number.
    """
    left, right = _derive_node(node.this, sources), _derive_node(node.expression, sources)
    if left.columns is None or right.columns is None or len(left.columns) != len(right.columns):
        raise UncertainDerivation
    if isinstance(node, exp.Union):
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple(DerivedColumn(one.name, merge_uses([one.uses, other.uses])) for one, other in pairs)
        distinct_uses = (
            _row_deciding_uses(merge_uses(each.uses for each in columns), "GROUP_BY")
            if node.args.get("distinct")
            else NO_USES
        )
        return RowSource(columns, rows=merge_uses([left.rows, right.rows, distinct_uses]))
    right_side_uses = merge_uses([*(each.uses for each in (*left.columns, *right.columns)), right.rows])
    return RowSource(left.columns, rows=merge_uses([left.rows, _row_deciding_uses(right_side_uses, "FILTER")]))


def _row_deciding_uses(uses: ColumnUses | None, how: UseKind) -> ColumnUses | None:
    """The uses as ones that only decide which rows there are."""
    return None if uses is None else frozenset(use.used_as(how) for use in uses)


@frozen
class _SelectDerivation:
    """Derives one SELECT.

    Attributes:
        sources: The row sources in FROM, by the name that qualifies their columns.
        hidden: The sources that items cannot name: the right side of a semi or an anti join.
        using: The columns of USING, which several sources have.
        items: The earlier items of the SELECT list, by name.
    """

    node: exp.Select
    sources: Mapping[str, RowSource]
    hidden: frozenset[str] = frozenset()
    using: frozenset[str] = frozenset()
    items: dict[str, ColumnUses | None] = field(default_factory=dict)

    @classmethod
    def from_node(cls, node: exp.Select, outer_sources: RowSources) -> _SelectDerivation:
        """The derivation of a SELECT, with the sources and joins of its FROM."""
        from_clause, joins = node.args.get("from_"), node.args.get("joins") or []
        tables = [*([from_clause.this] if from_clause is not None else []), *(join.this for join in joins)]
        sources = _resolve_sources(tables, outer_sources)
        hidden, using = set[str](), set[str]()
        for join, name in zip(joins, list(sources)[1:], strict=True):
            _refuse_other_clauses(join, _JOIN_CLAUSES)
            using |= {each.name.casefold() for each in join.args.get("using") or ()}
            hidden |= {name} if join.args.get("kind") in ("SEMI", "ANTI") else set()
        return cls(node, sources, frozenset(hidden), frozenset(using))

    def derive_rows(self) -> RowSource:
        """The columns that the SELECT yields, and what decides its rows."""
        columns = [column for item in self.node.expressions for column in self._derive_item(item)]
        return RowSource(tuple(columns), rows=self._derive_row_uses(columns))

    # ----------------------------------------------------------------- the list

    def _derive_item(self, item: exp.Expr) -> Iterator[DerivedColumn]:
        """The columns of one item of the SELECT list: several for a star, else one.

        Uncertain uses of one item leave the others certain; its name can be used by later items of the list.

        Raises:
            UncertainDerivation: The item's columns cannot be listed, such as a star over an unknown table.
        """
        if isinstance(item, exp.Star):
            yield from self._derive_star(item)
            return
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            yield from self._derive_qualified_star(item, item.this)
            return
        if isinstance(item, exp.Aliases):
            raise UncertainDerivation
        try:
            uses: ColumnUses | None = uses_of(item, self._resolve_column)
        except UncertainDerivation:
            uses = None
        name = _item_name(item)
        if name:
            self.items.setdefault(name.casefold(), uses)
        yield DerivedColumn(name, uses)

    def _derive_qualified_star(self, item: exp.Column, star: exp.Star) -> Iterator[DerivedColumn]:
        """The columns of ``t.*``; with USING certain only for the first source, which has its columns there."""
        rows = self.sources.get(item.table.casefold())
        if rows is None or item.args.get("db"):
            raise UncertainDerivation
        if self.using and rows is not next(iter(self.sources.values())):
            raise UncertainDerivation
        return _columns_except(star, rows.required_columns)

    def _derive_star(self, star: exp.Star) -> Iterator[DerivedColumn]:
        """The columns of a star: first those of USING, once each, then source by source."""
        if self.using and len(self.sources) > 2:  # noqa: PLR2004
            raise UncertainDerivation
        visible = [rows.required_columns for name, rows in self.sources.items() if name not in self.hidden]
        columns = self._using_columns(visible[0]) if visible else []
        for source in visible:
            columns += [each for each in source if each.name.casefold() not in self.using]
        yield from _columns_except(star, columns)

    def _using_columns(self, source: Sequence[DerivedColumn]) -> list[DerivedColumn]:
        """The columns of USING, in the order in which a source has them."""
        names = [each.name for each in source if each.name.casefold() in self.using]
        return [DerivedColumn(name, self._using_column_uses(name)) for name in names]

    # ----------------------------------------------------------------- names

    def _resolve_column(self, column: exp.Column) -> ColumnUses:
        """The columns that a name stands for; an unqualified name may be a column of USING, or of any source.

        Raises:
            UncertainDerivation: The name may be a field of a STRUCT, or may have several meanings.
        """
        name = column.name
        if column.args.get("db") or column.args.get("catalog") or isinstance(column.this, exp.Star):
            raise UncertainDerivation
        if column.table:
            rows = self.sources.get(column.table.casefold())
            if rows is None:
                raise UncertainDerivation  # a field of a STRUCT
            return rows.uses_of(name)
        if name.casefold() in self.using:
            return self._using_column_uses(name)
        return self._unqualified_uses(name)

    def _unqualified_uses(self, name: str) -> ColumnUses:
        """The columns that an unqualified name stands for, in the only source, or earlier item, that can have it.

        Raises:
            UncertainDerivation: Several may have it.
        """
        owner = next((rows for rows in self.sources.values() if rows.columns_named(name)), None)
        if owner is not None:
            return owner.uses_of(name)
        if len(self._open_sources) > 1:
            raise UncertainDerivation
        item = self.items.get(name.casefold())
        uses = self._open_sources[0].uses_of(name) if self._open_sources else item
        if uses is None or (name.casefold() in self.items and uses != item):
            raise UncertainDerivation
        return uses

    @property
    def _open_sources(self) -> list[RowSource]:
        """The sources whose columns are unknown."""
        return [rows for rows in self.sources.values() if rows.columns is None]

    def _using_column_uses(self, name: str) -> ColumnUses:
        """The uses of a column of USING: it comes from every source that has it."""
        uses_by_source = [
            rows.uses_of(name) for rows in self.sources.values() if rows.columns is None or rows.columns_named(name)
        ]
        if len(self.sources) > 2 and self._open_sources:  # noqa: PLR2004
            raise UncertainDerivation  # one of them may not have it
        return frozenset(use for uses in uses_by_source for use in uses)

    # ----------------------------------------------------------------- the rows

    def _derive_row_uses(self, columns: Sequence[DerivedColumn]) -> ColumnUses | None:
        """The uses that decide which rows there are; None where they are uncertain."""
        try:
            deciding = [_row_deciding_uses(uses, how) for how, uses in self._clause_uses(columns)]
        except UncertainDerivation:
            return None
        if self.node.args.get("distinct"):
            deciding += [_row_deciding_uses(each.uses, "GROUP_BY") for each in columns]
        return merge_uses([*deciding, *(rows.rows for rows in self.sources.values())])

    def _clause_uses(self, columns: Sequence[DerivedColumn]) -> Iterator[tuple[UseKind, ColumnUses]]:
        """The column uses of each clause that decides which rows come out, with the kind of the clause.

        ORDER BY counts only with LIMIT or OFFSET: without them it changes no row.
        """
        args = self.node.args
        for name in ("where", "having", "qualify"):
            if args.get(name) is not None:
                yield "FILTER", uses_of(args[name].this, self._resolve_column)
        yield from self._join_uses()
        for each in self._group_by_items():
            yield "GROUP_BY", self._positional_uses(each, columns)
        if args.get("order") and (args.get("limit") or args.get("offset")):
            for each in args["order"].expressions:
                yield "SORT", self._order_by_uses(each.this, columns)

    def _join_uses(self) -> Iterator[tuple[UseKind, ColumnUses]]:
        """The column uses of ON and USING."""
        for join in self.node.args.get("joins") or ():
            if join.args.get("on") is not None:
                yield "JOIN", uses_of(join.args["on"], self._resolve_column)
        for column in self.using:
            yield "JOIN", self._using_column_uses(column)

    def _order_by_uses(self, node: exp.Expr, columns: Sequence[DerivedColumn]) -> ColumnUses:
        """The uses of an item of ORDER BY: an item of the SELECT list precedes a column of the same name."""
        if isinstance(node, exp.Column) and not node.table and (uses := self.items.get(node.name.casefold())):
            return uses
        return self._positional_uses(node, columns)

    def _group_by_items(self) -> Iterator[exp.Expr]:
        """Yields the expressions by which the SELECT groups.

        ``GROUP BY ALL`` groups by the items of the list without an aggregate.
        """
        group = self.node.args.get("group")
        if group is None:
            return
        if group.args.get("all"):
            yield from (item for item in self.node.expressions if item.find(exp.AggFunc, exp.Star) is None)
        yield from group.expressions
        for name in ("rollup", "cube", "grouping_sets"):
            for each in group.args.get(name) or ():
                yield from each.expressions if isinstance(each, exp.Expr) else ()

    def _positional_uses(self, node: exp.Expr, columns: Sequence[DerivedColumn]) -> ColumnUses:
        """The uses of an item of GROUP BY or ORDER BY, which is a position or an expression."""
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.name) - 1 if node.name.isdigit() else -1
            uses = columns[position].uses if 0 <= position < len(columns) else None
            if uses is None:
                raise UncertainDerivation
            return uses
        return uses_of(node, self._resolve_column)


def _item_name(item: exp.Expr) -> str:
    """The name of the column that an item of the SELECT list makes; empty where Spark makes one up."""
    if isinstance(item, exp.Alias):
        return item.alias
    return item.name if isinstance(item, exp.Column | exp.Dot) else ""


def _columns_except(star: exp.Star, columns: Iterable[DerivedColumn]) -> Iterator[DerivedColumn]:
    """The columns that a star stands for, without those that it leaves out."""
    if star.args.get("replace") or star.args.get("rename"):
        raise UncertainDerivation
    left_out = {each.name.casefold() for each in star.args.get("except_") or ()}
    return (each for each in columns if each.name.casefold() not in left_out)


def _resolve_sources(tables: Iterable[exp.Expr], known: RowSources) -> dict[str, RowSource]:
    """The sources in FROM and its joins, in order, by the name that may qualify their columns."""
    sources: dict[str, RowSource] = {}
    for table in tables:
        name, rows = _resolve_source(table, known)
        # nothing can be qualified with the number of a source without a name of its own
        sources[name if name and name not in sources else f" {len(sources)}"] = rows
    return sources


def _resolve_source(node: exp.Expr, sources: RowSources) -> tuple[str, RowSource]:
    """The source in FROM, and the name that may qualify its columns."""
    match node:
        case exp.Table(this=exp.Identifier()):
            _refuse_other_clauses(node, _TABLE_CLAUSES)
            rows = sources.get(node.name.casefold())
            if rows is None:
                raise UncertainDerivation
            return (node.alias or node.name).casefold(), _apply_column_aliases(rows, node.args.get("alias"))
        case exp.Subquery():
            return node.alias.casefold(), _apply_column_aliases(_derive_node(node, sources), node.args.get("alias"))
    raise UncertainDerivation
