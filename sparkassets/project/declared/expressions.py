"""What an expression of a module is, where reading tells it: constants, and calls of what assets are said with."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import PurePosixPath
from typing import Any, Final

from sparkassets.authoring import (
    Asset,
    PartitionAtRuntime,
    PartitionByInterval,
    PartitionByProduct,
    PartitionBySequence,
)
from sparkassets.core.suggestions import did_you_mean
from sparkassets.project.declared.modules import OURS, PythonModule
from sparkassets.project.module_names import Part

_MAKERS: Final[Mapping[Part, Callable[..., object]]] = {
    (OURS, "Asset"): Asset,
    (OURS, "PartitionByInterval"): PartitionByInterval,
    (OURS, "PartitionBySequence"): PartitionBySequence,
    (OURS, "PartitionAtRuntime"): PartitionAtRuntime,
    (OURS, "PartitionByProduct"): PartitionByProduct,
    ("datetime", "timedelta"): timedelta,
    ("datetime", "date"): date,
    ("pathlib", "Path"): PurePosixPath,
    ("pathlib", "PurePosixPath"): PurePosixPath,
}
"""What may be called without importing anything: values only."""
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.Add: operator.add,
    ast.Div: operator.truediv,
}
_MOST_NESTED: Final = 50


class NeedsImportError(Exception):
    """Only importing the module tells what this is."""


class WrongExpressionError(Exception):
    """The expression raises when the module is imported.

    Attributes:
        at: It, or the part at fault.
    """

    def __init__(self, at: ast.expr, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.at = at
        self.hint = hint


class Expressions:
    """The values of expressions.

    Args:
        find: A module of the packages, by its dotted name.
        asset_of: The asset that a name of a module stands for.
    """

    def __init__(
        self, find: Callable[[str], PythonModule | None], asset_of: Callable[[PythonModule, str], str | None]
    ) -> None:
        self._find = find
        self._asset_of = asset_of

    def value(self, module: PythonModule, node: ast.expr, *, depth: int = 0) -> Any:  # noqa: ANN401  whatever it is
        """The value.

        Raises:
            NeedsImportError: Reading does not tell it.
            WrongExpressionError: It raises.
        """
        if depth > _MOST_NESTED:
            raise NeedsImportError

        def inner(part: ast.expr) -> Any:  # noqa: ANN401
            return self.value(module, part, depth=depth + 1)

        match node:
            case ast.Constant(value=None | bool() | int() | float() | str()):
                return node.value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _called(node, _OPERATORS[type(op)], inner(left), inner(right))
            case ast.JoinedStr(values=parts):
                return "".join(str(_part(each, inner)) for each in parts)
            case ast.Call():
                return self._made(module, node, inner)
            case ast.Name() | ast.Attribute():
                return self._named(module, node, depth)
        return _collected(node, inner)

    def _made(self, module: PythonModule, node: ast.Call, inner: Callable[[ast.expr], Any]) -> Any:  # noqa: ANN401
        """What a call makes."""
        maker = _MAKERS.get(module.target(node.func) or ("", ""))
        if maker is None:
            raise NeedsImportError
        given = [each for item in node.args for each in _items(item, inner)]
        named = {key: each for item in node.keywords for key, each in _keyword(item, inner)}
        known: tuple[str, ...] = getattr(maker, "__match_args__", tuple(named))
        if unknown := next((key for key in named if key not in known), None):
            at = next((each.value for each in node.keywords if each.arg == unknown), node)
            what = f"{ast.unparse(node.func)} has no argument {unknown!r}"
            raise WrongExpressionError(at, what, did_you_mean(unknown, known))
        return _called(node, maker, *given, **named)

    def _named(self, module: PythonModule, node: ast.expr, depth: int) -> Any:  # noqa: ANN401
        """What a name stands for: an asset, or a value that is given to it once."""
        owner, name = module.target(node) or ("", "")
        inside = module if owner == module.of.name else self._find(owner)
        if inside is None:
            raise NeedsImportError
        if (own := self._asset_of(inside, name)) is not None:
            return Asset(own)
        match inside.bound(name):
            case [ast.Assign(targets=[ast.Name()], value=value)]:
                return self.value(inside, value, depth=depth + 1)
            case [ast.AnnAssign(value=ast.expr() as value)]:
                return self.value(inside, value, depth=depth + 1)
        raise NeedsImportError


def _collected(node: ast.expr, inner: Callable[[ast.expr], Any]) -> Any:  # noqa: ANN401
    """A list or a map."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [each for item in items for each in _items(item, inner)]
        case ast.Dict(keys=keys, values=values):
            return {key: each for pair in zip(keys, values, strict=True) for key, each in _pairs(*pair, inner)}
    raise NeedsImportError


def _items(node: ast.expr, inner: Callable[[ast.expr], Any]) -> list[Any]:
    if isinstance(node, ast.Starred):
        return list(_called(node, iter, inner(node.value)))
    return [inner(node)]


def _pairs(key: ast.expr | None, value: ast.expr, inner: Callable[[ast.expr], Any]) -> list[tuple[Any, Any]]:
    if key is None:
        return list(_called(value, dict, inner(value)).items())
    name = inner(key)
    _called(key, hash, name)
    return [(name, inner(value))]


def _keyword(keyword: ast.keyword, inner: Callable[[ast.expr], Any]) -> list[tuple[str, Any]]:
    if keyword.arg is None:
        return list(_called(keyword.value, dict, inner(keyword.value)).items())
    return [(keyword.arg, inner(keyword.value))]


def _part(node: ast.expr, inner: Callable[[ast.expr], Any]) -> Any:  # noqa: ANN401
    """A part of an f-string."""
    if isinstance(node, ast.FormattedValue):
        if node.conversion != -1 or node.format_spec is not None:
            raise NeedsImportError
        node = node.value
    value = inner(node)
    if not isinstance(value, str | int):
        raise NeedsImportError
    return value


def _called(node: ast.expr, function: Callable[..., Any], *args: Any, **named: Any) -> Any:  # noqa: ANN401
    try:
        return function(*args, **named)
    except (TypeError, ValueError, OverflowError) as error:
        raise WrongExpressionError(node, str(error)) from None
