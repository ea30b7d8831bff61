"""How a query uses columns, and which columns an expression uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal

import sqlglot
from sqlglot import exp

from sparkassets.frozen import frozen

UseKind = Literal[
    "IDENTITY",
    "TRANSFORMATION",
    "AGGREGATION",
    "CONDITIONAL",
    "WINDOW",
    "FILTER",
    "JOIN",
    "GROUP_BY",
    "SORT",
]
"""In the words of OpenLineage: the first three give the values, the others decide which of them, or which rows."""

VALUES: Final[tuple[UseKind, ...]] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


@frozen
class ColumnUse:
    """A column that another is derived from.

    Attributes:
        asset: The asset that has the column.
        column: As it is written in the query, or as its asset is known to have it.
        how: How it is used.
        masked: Whether only a hash of it comes through.
    """

    asset: str
    column: str
    how: UseKind = "IDENTITY"
    masked: bool = False

    @property
    def gives_values(self) -> bool:
        """Whether its values come through, and do not only decide."""
        return self.how in VALUES

    def is_of(self, asset: str, column: str) -> bool:
        """Whether it is a use of that column, whose name ignores case."""
        return self.asset == asset and self.column.casefold() == column.casefold()

    def used_as(self, how: UseKind, *, masked: bool = False) -> ColumnUse:
        """The same, once what it became of is used again.

        >>> ColumnUse("a", "x", "AGGREGATION").used_as("TRANSFORMATION").how, ColumnUse("a", "x",
        ...     "FILTER").used_as("IDENTITY").how
        ('AGGREGATION', 'FILTER')
        >>> ColumnUse("a", "x").used_as("JOIN").how
        'JOIN'
        """
        if not self.gives_values:
            return self
        resulting_kind = how if how not in VALUES or VALUES.index(how) > VALUES.index(self.how) else self.how
        return ColumnUse(self.asset, self.column, resulting_kind, self.masked or masked)


ColumnUses = frozenset[ColumnUse]

NO_USES: Final[ColumnUses] = frozenset()


@frozen
class QueryDerivation:
    """The columns of a query and what they are derived from.

    Attributes:
        columns: Its columns in order, each with the columns it uses; None where that is uncertain.
        rows: The columns that decide which rows there are; None where that is uncertain.
    """

    columns: Mapping[str, ColumnUses | None]
    rows: ColumnUses | None = NO_USES

    def uses_of_column(self, column: str) -> ColumnUses | None:
        """The uses of a column, in any case of letters; None where they are uncertain, or there is no such column."""
        return next((uses for name, uses in self.columns.items() if name.casefold() == column.casefold()), None)


def merge_uses(uses_of_parts: Iterable[ColumnUses | None]) -> ColumnUses | None:
    """The uses of all parts of a query together; None if those of one part are unknown."""
    all_uses = list(uses_of_parts)
    return None if None in all_uses else frozenset[ColumnUse]().union(*(uses for uses in all_uses if uses is not None))


ComparisonSign = Literal["=", "<", "<=", ">", ">="]


@frozen
class ColumnComparison:
    """A column against a literal, as text."""

    column: str
    sign: ComparisonSign
    value: str


@frozen
class RowFilter:
    """Comparisons, all or any of which hold."""

    operator: Literal["AND", "OR"]
    terms: tuple[ColumnComparison | RowFilter, ...]

    def rename_columns(self, names: Mapping[str, str]) -> RowFilter | None:
        """The same, or what is wider, of columns by other names; None where none of them has one.

        Args:
            names: By the names in lower case.
        """
        terms = [_rename_term(each, names) for each in self.terms]
        # without one of its terms AND lets more rows through, and OR fewer, so only AND may lose some
        renamed = [each for each in terms if each is not None]
        is_whole = self.operator == "AND" or len(renamed) == len(terms)
        return RowFilter(self.operator, tuple(renamed)) if renamed and is_whole else None


def _rename_term(term: ColumnComparison | RowFilter, names: Mapping[str, str]) -> ColumnComparison | RowFilter | None:
    if isinstance(term, RowFilter):
        return term.rename_columns(names)
    name = names.get(term.column.casefold())
    return None if name is None else ColumnComparison(name, term.sign, term.value)


class UncertainDerivation(Exception):  # noqa: N818  it is no error: nothing is derived then
    """The text leaves the derivation uncertain."""


ResolveColumn = Callable[[exp.Column], ColumnUses]
"""Resolves a column's name at its place in the query; raises `UncertainDerivation`."""

_MASKING_NODES: Final = (exp.MD5, exp.SHA, exp.SHA2)
_MASKING_FUNCTIONS: Final = frozenset({"hash", "xxhash64", "crc32", "mask", "sha", "sha1", "sha2", "md5"})
_ROWS_OF_ONE: Final = (exp.UDTF, exp.Explode, exp.Posexplode, exp.Inline)
GENERATORS: Final = re.compile(r"explode|inline|stack|json_tuple|unnest", re.IGNORECASE)
"""Finds the name of a generator in a text."""
_GENERATORS: Final = frozenset({"stack", "json_tuple", "inline_outer", "variant_explode", "variant_explode_outer"})


def is_generator(node: exp.Expr) -> bool:
    """Whether the expression makes several rows, or columns, of one."""
    return any(
        isinstance(each, _ROWS_OF_ONE) or (isinstance(each, exp.Anonymous) and each.name.lower() in _GENERATORS)
        for each in node.walk()
    )


def uses_of(node: exp.Expr, resolve: ResolveColumn) -> ColumnUses:
    """All that an expression uses.

    Raises:
        UncertainDerivation: It holds a query, a field of a STRUCT, or a name that may mean several things.
    """
    return frozenset(_iterate_uses(node, resolve))


def _iterate_uses(node: exp.Expr, resolve: ResolveColumn) -> Iterator[ColumnUse]:
    """Each use of a column in the expression, with how it contributes; one column may occur several times.

    Raises:
        UncertainDerivation: The expression has a query or a field of a STRUCT, or a name has several meanings.
    """
    match node:
        case exp.Column():
            yield from resolve(node)
        case exp.Dot() | exp.Query() | exp.Exists() | exp.Subquery():
            raise UncertainDerivation
        case exp.Window():
            yield from _window_uses(node, resolve)
        case exp.Case():
            yield from _conditional_uses([node.this], resolve)
            yield from _case_branch_uses(node, resolve)
        case exp.If():
            yield from _conditional_uses([node.this], resolve)
            yield from _uses_as([node.args.get("true"), node.args.get("false")], resolve, "TRANSFORMATION")
        case exp.Filter():
            yield from _uses_as([node.this], resolve, "AGGREGATION")
            yield from _conditional_uses([node.expression], resolve)
        case exp.Paren() | exp.Alias():
            yield from _iterate_uses(node.this, resolve)
        case exp.PropertyEQ():
            yield from _iterate_uses(node.expression, resolve)
        case _:
            how: UseKind = "AGGREGATION" if isinstance(node, exp.AggFunc) else "TRANSFORMATION"
            yield from _uses_as(list(_operands(node)), resolve, how, masked=_is_masking(node))


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a node, without types and names that are no columns."""
    left_out = (exp.Identifier, exp.DataType, exp.Var, exp.Star)
    return (each for each in node.iter_expressions() if not isinstance(each, left_out))


def _uses_as(
    nodes: list[exp.Expr | None], resolve: ResolveColumn, how: UseKind, *, masked: bool = False
) -> Iterator[ColumnUse]:
    for each in nodes:
        if each is not None:
            yield from (use.used_as(how, masked=masked) for use in _iterate_uses(each, resolve))


def _conditional_uses(nodes: list[exp.Expr | None], resolve: ResolveColumn) -> Iterator[ColumnUse]:
    return _uses_as(nodes, resolve, "CONDITIONAL")


def _case_branch_uses(node: exp.Case, resolve: ResolveColumn) -> Iterator[ColumnUse]:
    """Yields the uses of each WHEN, which only decides, and of each THEN and the ELSE, which give values."""
    for each in node.args.get("ifs") or ():
        yield from _conditional_uses([each.this], resolve)
        yield from _uses_as([each.args.get("true")], resolve, "TRANSFORMATION")
    yield from _uses_as([node.args.get("default")], resolve, "TRANSFORMATION")


def _window_uses(node: exp.Window, resolve: ResolveColumn) -> Iterator[ColumnUse]:
    """Yields the uses of a window function: of what it computes, and of what partitions and orders its rows."""
    if node.args.get("alias") or node.args.get("first") or _has_computed_frame(node):
        raise UncertainDerivation  # a named window, whose definition stands elsewhere, or a frame by columns
    yield from _uses_as([node.this], resolve, "TRANSFORMATION")
    window_clauses = [*(node.args.get("partition_by") or ()), node.args.get("order")]
    yield from _uses_as(window_clauses, resolve, "WINDOW")


def _has_computed_frame(node: exp.Window) -> bool:
    """Whether the bounds of its frame name columns."""
    frame = node.args.get("spec")
    return frame is not None and frame.find(exp.Column) is not None


def _is_masking(node: exp.Expr) -> bool:
    return isinstance(node, _MASKING_NODES) or (
        isinstance(node, exp.Anonymous) and node.name.lower() in _MASKING_FUNCTIONS
    )


@lru_cache(maxsize=8)
def parse_query(sql: str) -> exp.Expr:
    """The tree of a query in Spark's SQL; those who look at the same query in turn share it, so nobody may change it.

    Raises:
        SqlglotError: It cannot be read.
    """
    return sqlglot.parse_one(sql, dialect="spark")
