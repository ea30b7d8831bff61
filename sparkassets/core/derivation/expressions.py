"""The columns that an expression uses, and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from sqlglot import exp

from sparkassets.core.derivation.column_uses import ColumnUse, ColumnUses, UseKind


class UncertainDerivation(Exception):  # noqa: N818  it is no error: nothing is told then
    """The text leaves the derivation uncertain."""


ResolveColumn = Callable[[exp.Column], ColumnUses]
"""Resolves a column's name at its place in the query; raises `UncertainDerivation`."""

_MASKS: Final = (exp.MD5, exp.SHA, exp.SHA2)
_MASKED_BY: Final = frozenset({"hash", "xxhash64", "crc32", "mask", "sha", "sha1", "sha2", "md5"})
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
        Unsure: It holds a query, a field of a STRUCT, or a name that may mean several things.
    """
    return frozenset(_uses(node, resolve))


def _uses(node: exp.Expr, resolve: ResolveColumn) -> Iterator[ColumnUse]:
    match node:
        case exp.Column():
            yield from resolve(node)
        case exp.Dot() | exp.Query() | exp.Exists() | exp.Subquery():
            raise UncertainDerivation
        case exp.Window():
            yield from _of_window(node, resolve)
        case exp.Case():
            yield from _conditional_uses(([node.this] if node.this else []), resolve)
            yield from _branches(node, resolve)
        case exp.If():
            yield from _conditional_uses([node.this], resolve)
            yield from _uses_as([node.args.get("true"), node.args.get("false")], resolve, "TRANSFORMATION")
        case exp.Filter():
            yield from _uses_as([node.this], resolve, "AGGREGATION")
            yield from _conditional_uses([node.expression], resolve)
        case exp.Paren() | exp.Alias():
            yield from _uses(node.this, resolve)
        case exp.PropertyEQ():
            yield from _uses(node.expression, resolve)
        case _:
            how: UseKind = "AGGREGATION" if isinstance(node, exp.AggFunc) else "TRANSFORMATION"
            yield from _uses_as(list(_children(node)), resolve, how, masked=_masks(node))


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a node, without types and names that are no columns."""
    left_out = (exp.Identifier, exp.DataType, exp.Var, exp.Star)
    return (each for each in node.iter_expressions() if not isinstance(each, left_out))


def _uses_as(
    nodes: list[exp.Expr | None], resolve: ResolveColumn, how: UseKind, *, masked: bool = False
) -> Iterator[ColumnUse]:
    for each in nodes:
        if each is not None:
            yield from (use.used_as(how, masked=masked) for use in _uses(each, resolve))


def _conditional_uses(nodes: list[exp.Expr | None], resolve: ResolveColumn) -> Iterator[ColumnUse]:
    return _uses_as(nodes, resolve, "CONDITIONAL")


def _branches(node: exp.Case, resolve: ResolveColumn) -> Iterator[ColumnUse]:
    for each in node.args.get("ifs") or ():
        yield from _conditional_uses([each.this], resolve)
        yield from _uses_as([each.args.get("true")], resolve, "TRANSFORMATION")
    yield from _uses_as([node.args.get("default")], resolve, "TRANSFORMATION")


def _of_window(node: exp.Window, resolve: ResolveColumn) -> Iterator[ColumnUse]:
    if node.args.get("alias") or node.args.get("first") or _computes(node):
        raise UncertainDerivation  # a window that stands elsewhere
    yield from _uses_as([node.this], resolve, "TRANSFORMATION")
    around = [*(node.args.get("partition_by") or ()), node.args.get("order")]
    yield from _uses_as(around, resolve, "WINDOW")


def _computes(node: exp.Window) -> bool:
    """Whether the bounds of its frame name columns."""
    frame = node.args.get("spec")
    return frame is not None and frame.find(exp.Column) is not None


def _masks(node: exp.Expr) -> bool:
    return isinstance(node, _MASKS) or (isinstance(node, exp.Anonymous) and node.name.lower() in _MASKED_BY)
