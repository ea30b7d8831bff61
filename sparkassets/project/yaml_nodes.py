"""Turns declarations in Python into YAML nodes, so that problems point at the Python code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from yaml import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sparkassets.authoring.declarations import OTHERWISE
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.core.spec.yaml_text import UNTAGGED
from sparkassets.frozen import frozen

_POSITIONAL_KEYS: Final = ("by", "segments", "dimensions")
"""YAML keys that the first positional argument of a partition may stand for, by the class of the partition."""
_QUOTES: Final = re.compile(r"[rRuU]?(\"\"\"|'''|\"|')")


@frozen
class CodeSpan:
    """A part of a line; columns count characters, both from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


class NodeBuilder:
    """Makes the nodes of a file's declarations."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._is_ascii = file.text.isascii()

    def document(
        self,
        call: ast.expr | None,
        keys: Mapping[str, Any],
        *,
        name: str,
        code: tuple[str, CodeSpan] | None,
        spot: CodeSpan,
    ) -> MappingNode:
        """The YAML document of a declared asset, each key and value at its position in the code.

        Args:
            call: The decorator or the call that declares it, where it is known.
            keys: As YAML has them, without name and function.
            name: Of the asset.
            code: Its function as ``module:name``, and the name's place.
            spot: Of the declaration.
        """
        expressions = dict(_arguments(call))
        head = expressions.get("asset")
        pairs = [self._pair("asset", name, head, spot)]
        if code is not None:
            pairs.append((self._scalar("python", None, code[1]), self._scalar(code[0], None, code[1])))
        pairs += [self._pair(key, value, expressions.get(key), spot) for key, value in keys.items()]
        return MappingNode(UNTAGGED, pairs, *self._marks(spot))

    def spot(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> CodeSpan:
        """The span of a syntax node."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return CodeSpan(
            node.lineno - 1, self._column(node.lineno, node.col_offset), end_line - 1, self._column(end_line, end)
        )

    def name_of(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> CodeSpan:
        """The span of a function's name."""
        begin = self.spot(function)
        column = begin.column + len("async def " if isinstance(function, ast.AsyncFunctionDef) else "def ")
        return CodeSpan(begin.line, column, begin.line, column + len(function.name))

    def _column(self, line: int, offset: int) -> int:
        """The column in characters of a position that Python gives in UTF-8 bytes."""
        if self._is_ascii or line > len(self._file.lines):
            return offset
        return len(self._file.lines[line - 1].encode()[:offset].decode(errors="replace"))

    def _pair(
        self, key: str, value: object, position: tuple[ast.expr | ast.keyword, ast.expr] | None, spot: CodeSpan
    ) -> tuple[Node, Node]:
        """Nodes of a key and its value: at ``position``, (where the key is named, its value), or else at ``spot``."""
        if position is None:
            return self._scalar(key, None, spot), self._node(value, None, spot)
        named_at, expression = position
        span = self.spot(named_at)
        width = len(named_at.arg or "") if isinstance(named_at, ast.keyword) else 0
        key_span = CodeSpan(span.line, span.column, span.line, span.column + width) if width else span
        return self._scalar(key, None, key_span), self._node(value, expression, self.spot(expression))

    def _node(self, value: object, at: ast.expr | None, spot: CodeSpan) -> Node:
        """The node of a value; its parts get positions of their own if the expression has the same parts."""
        at = _text_in(at, value)
        spot = self.spot(at) if at is not None else spot
        match value:
            case dict():
                positions = {} if at is None else _value_positions(at)
                pairs = [self._entry(key, each, positions, spot) for key, each in value.items()]
                return MappingNode(UNTAGGED, pairs, *self._marks(spot))
            case list():
                # items get positions only if the expression has as many: it may be a call that makes others
                items = _list_items(at)
                item_nodes: Sequence[ast.expr | None] = items if len(items) == len(value) else [None] * len(value)
                nodes = [self._node(each, part, spot) for each, part in zip(value, item_nodes, strict=True)]
                return SequenceNode(UNTAGGED, nodes, *self._marks(spot))
        return self._scalar(value, at, spot)

    def _entry(
        self, key: str, value: object, places: Mapping[str, tuple[ast.AST, ast.expr | None]], spot: CodeSpan
    ) -> tuple[Node, Node]:
        """Nodes of one key and value of a mapping; ``places`` holds the positions that are known."""
        at, expression = places.get(key, (None, None))
        span = self.spot(at) if isinstance(at, ast.expr | ast.keyword) else spot
        return self._scalar(key, None, span), self._node(value, expression, span)

    def _scalar(self, value: object, at: ast.expr | None, spot: CodeSpan) -> ScalarNode:
        """The node of a single value at ``spot``; ``at`` is its literal in the code, if it has one."""
        if isinstance(value, str):
            return ScalarNode(UNTAGGED, value, *self._marks(spot), style=self._quote(at, spot))
        return ScalarNode(UNTAGGED, _scalar_text(value), *self._marks(spot))

    def _quote(self, at: ast.expr | None, spot: CodeSpan) -> str:
        """The quote of a text literal, by which places inside the text are found; ``python`` if it is unknown."""
        if not (isinstance(at, ast.Constant) and spot.line < len(self._file.lines)):
            return "python"
        quote = _QUOTES.match(self._file.lines[spot.line], spot.column)
        return quote[1] if quote and quote[0] == quote[1] else "python"

    def _marks(self, spot: CodeSpan) -> tuple[Mark, Mark]:
        return (
            Mark(self._file.label, 0, spot.line, spot.column, None, 0),
            Mark(self._file.label, 0, spot.end_line, spot.end_column, None, 0),
        )


def _scalar_text(value: object) -> str:
    """A value other than text as YAML writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if value != value:  # noqa: PLR0124  what NaN is told by
            return ".nan"
        case float() if value in (float("inf"), float("-inf")):
            return ".inf" if value > 0 else "-.inf"
    return str(value)


def keywords_of(call: ast.expr | None) -> dict[str, ast.expr]:
    """Python name to value, of a call's keyword arguments and of a literal ``**{…}``."""
    named: dict[str, ast.expr] = {}
    for keyword in call.keywords if isinstance(call, ast.Call) else ():
        if keyword.arg is not None:
            named[keyword.arg] = keyword.value
        elif isinstance(keyword.value, ast.Dict):
            named |= {name: value for name, _, value in _literal_pairs(keyword.value)}
    return named


def _literal_pairs(node: ast.Dict) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """(Text of the key, key, value) of each pair of a dictionary whose key is a literal text."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, key, value


def _arguments(call: ast.expr | None) -> Iterator[tuple[str, tuple[ast.expr | ast.keyword, ast.expr]]]:
    """YAML key to (where it is named, its value), for the arguments of a declaration."""
    if not isinstance(call, ast.Call):
        return
    for each in call.args[:1]:  # the only positional argument is the asset's name
        yield "asset", (each, each)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield OTHERWISE.get(keyword.arg, keyword.arg), (keyword, keyword.value)
        elif isinstance(keyword.value, ast.Dict):
            for name, key, value in _literal_pairs(keyword.value):
                yield OTHERWISE.get(name, name), (key, value)


def _value_positions(at: ast.expr) -> dict[str, tuple[ast.AST, ast.expr | None]]:
    """YAML key to (where it is named, its value), of an expression that is a mapping in YAML; else empty."""
    match at:
        case ast.Dict(keys=keys, values=values):
            return {
                text: (key, value)
                for key, value in zip(keys, values, strict=True)
                if key is not None and (text := _key_text(key))
            }
        case ast.Call(args=args, keywords=keywords):
            positional = {key: (each, each) for each in args[:1] for key in _POSITIONAL_KEYS}
            return positional | {each.arg: (each, each.value) for each in keywords if each.arg is not None}
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() as operator):
            return {"any" if isinstance(operator, ast.BitOr) else "all": (at, at)}
    return {}


def _key_text(key: ast.expr) -> str:
    """The text of a literal key, or the name of a function that is used as key; empty for any other."""
    if isinstance(key, ast.Constant):
        return key.value if isinstance(key.value, str) else ""
    return key.id if isinstance(key, ast.Name) else ""


def _text_in(at: ast.expr | None, value: object) -> ast.expr | None:
    """The text literal inside ``Asset("text")`` if ``value`` is that text; else the expression itself."""
    match at:
        case ast.Call(args=[ast.Constant(value=text) as inner]) if text == value:
            return inner
    return at


def _list_items(at: ast.expr | None) -> Sequence[ast.expr]:
    """Items of an expression that is a list in YAML, such as a tuple or the operands of ``a | b``; else empty."""
    match at:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return items
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() as op, right=right):
            return [each for side in (left, right) for each in _operands(side, op)]
        case ast.Call(args=[ast.expr() as first]) | ast.Call(args=[], keywords=[ast.keyword(value=first)]):
            return _list_items(first)
    return ()


def _operands(side: ast.expr, op: ast.operator) -> Sequence[ast.expr]:
    return _list_items(side) if isinstance(side, ast.BinOp) and type(side.op) is type(op) else [side]
