"""A query read by its syntax tree: which columns come out of it, and what each is made of.

Names are resolved as Spark resolves them, and only where there is one way to do so: columns of what stands in FROM,
then earlier items of the same list. A query with LATERAL VIEW, PIVOT, NATURAL joins or generators tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sparkassets.core.derivation.expressions import GENERATORS, Unsure, is_generator, uses_of
from sparkassets.core.derivation.uses import NONE, Derived, How, Use, Uses, union
from sparkassets.frozen import frozen

_SET: Final = frozenset({"with_", "this", "expression", "distinct", "order", "limit", "offset", "sort"})
_CLAUSES: Final = {"from_", "joins", "where", "group", "having", "qualify", "windows", "cluster", "distribute", "hint"}
_SELECT: Final = frozenset({"expressions", *_CLAUSES, *_SET} - {"this", "expression"})
_TABLE: Final = frozenset({"this", "alias"})
_SUBQUERY: Final = frozenset({"this", "alias", "with_"})
_JOIN: Final = frozenset({"this", "on", "using", "side", "kind"})
_FUNCTIONS: Final = frozenset(
    {
        *("current_date", "current_timestamp", "localtimestamp", "now", "current_timezone"),
        *("user", "current_user", "session_user", "current_catalog", "current_database", "current_schema"),
        *("grouping__id", "_metadata", "_change_type", "_commit_version", "_commit_timestamp"),
    }
)
"""Names that may be no columns at all."""


@frozen
class Relation:
    """What a query reads.

    Attributes:
        asset: Whose rows; empty for rows that are no asset's.
        columns: All of its columns, in order; None where they are not known.
    """

    asset: str
    columns: tuple[str, ...] | None = None


def derived(sql: str, relations: Mapping[str, Relation], *, value: str = "") -> Derived | None:
    """What the columns of a query are made of; None where it does not tell which columns it has.

    Args:
        sql: One SELECT.
        relations: What it reads, by the names that it has for them.
        value: A name in it that stands for a value.

    >>> found = derived("SELECT a, sum(b) AS total FROM t WHERE c > 1 GROUP BY a", {"t": Relation("x")})
    >>> found.columns["total"], sorted(use.how for use in found.rows)
    (frozenset({Use(asset='x', column='b', how='AGGREGATION', masked=False)}), ['FILTER', 'GROUP_BY'])
    >>> derived("SELECT * FROM t", {"t": Relation("x")}) is None
    True
    """
    if "|>" in sql:
        return None
    try:
        tree = sqlglot.parse_one(sql, dialect="spark")
        if GENERATORS.search(sql) and is_generator(tree):
            return None
        for each in list(tree.find_all(exp.Column)) if value and value in sql else ():
            if each.name == value and not each.table:
                each.replace(exp.Literal.string(value))
        read = {name.casefold(): _base(relation) for name, relation in relations.items()}
        found = _query(tree, read) if isinstance(tree, exp.Query) else None
    except (SqlglotError, Unsure, RecursionError):
        return None
    if found is None or found.columns is None:
        return None
    names = [each.name.casefold() for each in found.columns]
    if "" in names or len({*names}) != len(names):
        return None
    return Derived({each.name: each.uses for each in found.columns}, found.rows)


@frozen
class _Column:
    """A column of a relation; its name is empty where Spark makes one up."""

    name: str
    uses: Uses | None


@frozen
class _Rows:
    """Rows that stand in FROM, or come out of a query.

    Attributes:
        columns: None where not all are known; then any name may be one of the ``asset``.
        rows: What decides which rows there are.
    """

    columns: tuple[_Column, ...] | None
    asset: str = ""
    rows: Uses | None = NONE

    def named(self, name: str) -> list[_Column]:
        """Those of that name."""
        return [each for each in self.columns or () if each.name.casefold() == name.casefold()]


_Known = Mapping[str, _Rows]


def _base(relation: Relation) -> _Rows:
    if relation.columns is None:
        return _Rows(None, relation.asset)
    names = relation.columns
    made = (_Column(name, frozenset({Use(relation.asset, name)}) if relation.asset else NONE) for name in names)
    return _Rows(tuple(made), relation.asset)


def _query(node: exp.Expr, known: _Known) -> _Rows:
    match node:
        case exp.Subquery():
            _only(node, _SUBQUERY)
            return _query(node.this, _with(node, known))
        case exp.SetOperation():
            _only(node, _SET)
            return _set(node, _with(node, known))
        case exp.Select():
            _only(node, _SELECT)
            return _Select.of(node, _with(node, known)).result()
    raise Unsure


def _only(node: exp.Expr, allowed: frozenset[str]) -> None:
    if any(value for name, value in node.args.items() if name not in allowed):
        raise Unsure


def _with(node: exp.Expr, known: _Known) -> _Known:
    """What is known below a WITH."""
    clause = node.args.get("with_")
    if clause is None:
        return known
    if clause.args.get("recursive"):
        raise Unsure
    found = dict(known)
    for each in clause.expressions:
        found[each.alias.casefold()] = _renamed(_query(each.this, found), each.args.get("alias"))
    return found


def _renamed(rows: _Rows, alias: exp.Expr | None) -> _Rows:
    """The rows with the columns that a list after their alias names."""
    names = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
    if not names:
        return rows
    if rows.columns is None or len(rows.columns) != len(names):
        raise Unsure
    columns = tuple(_Column(name, each.uses) for name, each in zip(names, rows.columns, strict=True))
    return _Rows(columns, rows.asset, rows.rows)


def _set(node: exp.SetOperation, known: _Known) -> _Rows:
    left, right = _query(node.this, known), _query(node.expression, known)
    if left.columns is None or right.columns is None or len(left.columns) != len(right.columns):
        raise Unsure
    if isinstance(node, exp.Union):
        pairs = zip(left.columns, right.columns, strict=True)
        columns = tuple(_Column(one.name, union([one.uses, other.uses])) for one, other in pairs)
        apart = _deciding(union(each.uses for each in columns), "GROUP_BY") if node.args.get("distinct") else NONE
        return _Rows(columns, rows=union([left.rows, right.rows, apart]))
    deciding = union([*(each.uses for each in (*left.columns, *right.columns)), right.rows])
    return _Rows(left.columns, rows=union([left.rows, _deciding(deciding, "FILTER")]))


def _deciding(uses: Uses | None, how: How) -> Uses | None:
    return None if uses is None else frozenset(use.through(how) for use in uses)


@frozen
class _Select:
    """One SELECT.

    Attributes:
        sources: What stands in FROM, by the name that columns are qualified with.
        hidden: Of these, what an item cannot name: the right side of a semi or an anti join.
        using: The columns of USING, which several sources have.
        items: The items before the one that is resolved, by name.
    """

    node: exp.Select
    sources: Mapping[str, _Rows]
    hidden: frozenset[str] = frozenset()
    using: frozenset[str] = frozenset()
    items: dict[str, Uses | None] = field(default_factory=dict)

    @classmethod
    def of(cls, node: exp.Select, known: _Known) -> _Select:
        """With all that stands in its FROM."""
        begin, sources, hidden, using = node.args.get("from_"), dict[str, _Rows](), set[str](), set[str]()
        joins = node.args.get("joins") or []
        for each in [*([begin.this] if begin is not None else []), *(join.this for join in joins)]:
            name, rows = _source(each, known)
            if not name or name in sources:
                name = f" {len(sources)}"  # nothing can be qualified with it
            sources[name] = rows
        for join, name in zip(joins, list(sources)[1:], strict=True):
            _only(join, _JOIN)
            using |= {each.name.casefold() for each in join.args.get("using") or ()}
            hidden |= {name} if join.args.get("kind") in ("SEMI", "ANTI") else set()
        return cls(node, sources, frozenset(hidden), frozenset(using))

    def result(self) -> _Rows:
        """What comes out."""
        columns = [column for item in self.node.expressions for column in self._item(item)]
        return _Rows(tuple(columns), rows=self._rows(columns))

    # ----------------------------------------------------------------- the list

    def _item(self, item: exp.Expr) -> Iterator[_Column]:
        if isinstance(item, exp.Star):
            yield from self._all(item)
            return
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            rows = self.sources.get(item.table.casefold())
            if rows is None or item.args.get("db"):
                raise Unsure
            if self.using and rows is not next(iter(self.sources.values())):
                raise Unsure
            yield from _but(item.this, _known(rows))
            return
        if isinstance(item, exp.Aliases):
            raise Unsure
        try:
            uses: Uses | None = uses_of(item, self._resolve)
        except Unsure:
            uses = None
        name = (
            item.alias if isinstance(item, exp.Alias) else item.name if isinstance(item, exp.Column | exp.Dot) else ""
        )
        if name:
            self.items.setdefault(name.casefold(), uses)
        yield _Column(name, uses)

    def _all(self, star: exp.Star) -> Iterator[_Column]:
        """All that can be seen: columns of USING once and first, then source by source."""
        if self.using and len(self.sources) > 2:  # noqa: PLR2004
            raise Unsure
        visible = [_known(rows) for name, rows in self.sources.items() if name not in self.hidden]
        shared = [each for each in visible[0] if each.name.casefold() in self.using] if visible else []
        found = [_Column(each.name, self._in_all(each.name)) for each in shared]
        found += [each for columns in visible for each in columns if each.name.casefold() not in self.using]
        yield from _but(star, found)

    # ----------------------------------------------------------------- names

    def _resolve(self, column: exp.Column) -> Uses:
        name = column.name
        if column.args.get("db") or column.args.get("catalog") or isinstance(column.this, exp.Star):
            raise Unsure
        if column.table:
            rows = self.sources.get(column.table.casefold())
            if rows is None:
                raise Unsure  # a field of a STRUCT
            return _one(rows, name)
        if name.casefold() in self.using:
            return self._in_all(name)
        return self._anywhere(name)

    def _anywhere(self, name: str) -> Uses:
        """What an unqualified name means: two that have it would be an error."""
        having = [rows for rows in self.sources.values() if rows.named(name)]
        if having:
            return _one(having[0], name)
        unknown = [rows for rows in self.sources.values() if rows.columns is None]
        item = self.items.get(name.casefold())
        found = _one(unknown[0], name) if unknown else item
        is_both = name.casefold() in self.items and found != item
        if len(unknown) > 1 or is_both or found is None:
            raise Unsure
        return found

    def _in_all(self, name: str) -> Uses:
        """A column of USING: of every source that has it."""
        found = [_one(rows, name) for rows in self.sources.values() if rows.columns is None or rows.named(name)]
        if len(self.sources) > 2 and any(rows.columns is None for rows in self.sources.values()):  # noqa: PLR2004
            raise Unsure  # one of them may not have it
        return frozenset(use for uses in found for use in uses)

    # ----------------------------------------------------------------- the rows

    def _rows(self, columns: Sequence[_Column]) -> Uses | None:
        """What decides which rows there are."""
        try:
            found = [_deciding(uses, how) for how, uses in self._clauses(columns)]
        except Unsure:
            return None
        if self.node.args.get("distinct"):
            found += [_deciding(each.uses, "GROUP_BY") for each in columns]
        return union([*found, *(rows.rows for rows in self.sources.values())])

    def _clauses(self, columns: Sequence[_Column]) -> Iterator[tuple[How, Uses]]:
        args = self.node.args
        for name in ("where", "having", "qualify"):
            if args.get(name) is not None:
                yield "FILTER", uses_of(args[name].this, self._resolve)
        for join in args.get("joins") or ():
            if join.args.get("on") is not None:
                yield "JOIN", uses_of(join.args["on"], self._resolve)
        for column in self.using:
            yield "JOIN", self._in_all(column)
        for each in self._grouped():
            yield "GROUP_BY", self._placed(each, columns)
        if args.get("order") and (args.get("limit") or args.get("offset")):
            for each in args["order"].expressions:
                yield "SORT", self._sorted(each.this, columns)

    def _sorted(self, node: exp.Expr, columns: Sequence[_Column]) -> Uses:
        """What an item of ORDER BY uses: an item of the list goes before a column of that name."""
        if isinstance(node, exp.Column) and not node.table and (uses := self.items.get(node.name.casefold())):
            return uses
        return self._placed(node, columns)

    def _grouped(self) -> Iterator[exp.Expr]:
        group = self.node.args.get("group")
        if group is None:
            return
        if group.args.get("all"):
            yield from (item for item in self.node.expressions if item.find(exp.AggFunc, exp.Star) is None)
        yield from group.expressions
        for name in ("rollup", "cube", "grouping_sets"):
            for each in group.args.get(name) or ():
                yield from each.expressions if isinstance(each, exp.Expr) else ()

    def _placed(self, node: exp.Expr, columns: Sequence[_Column]) -> Uses:
        """What an item of GROUP BY or ORDER BY uses: by its place, or as an expression."""
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.name) - 1 if node.name.isdigit() else -1
            uses = columns[place].uses if 0 <= place < len(columns) else None
            if uses is None:
                raise Unsure
            return uses
        return uses_of(node, self._resolve)


def _known(rows: _Rows) -> tuple[_Column, ...]:
    if rows.columns is None:
        raise Unsure
    return rows.columns


def _but(star: exp.Star, columns: Iterable[_Column]) -> Iterator[_Column]:
    """The columns that a star stands for, without those that it leaves out."""
    if star.args.get("replace") or star.args.get("rename"):
        raise Unsure
    left_out = {each.name.casefold() for each in star.args.get("except_") or ()}
    return (each for each in columns if each.name.casefold() not in left_out)


def _source(node: exp.Expr, known: _Known) -> tuple[str, _Rows]:
    """What stands in FROM, with the name that its columns may have before them."""
    match node:
        case exp.Table(this=exp.Identifier()):
            _only(node, _TABLE)
            rows = known.get(node.name.casefold())
            if rows is None:
                raise Unsure
            return (node.alias or node.name).casefold(), _renamed(rows, node.args.get("alias"))
        case exp.Subquery():
            return node.alias.casefold(), _renamed(_query(node, known), node.args.get("alias"))
    raise Unsure


def _one(rows: _Rows, name: str) -> Uses:
    """What a column of one source is made of."""
    if rows.columns is None:
        if name.casefold() in _FUNCTIONS:
            raise Unsure
        return frozenset({Use(rows.asset, name)}) if rows.asset else NONE
    found = rows.named(name)
    if len(found) != 1 or found[0].uses is None:
        raise Unsure
    return found[0].uses
