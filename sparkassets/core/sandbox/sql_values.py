"""Values in templates as SQL, and which expressions may hold text that is not trusted.

While a template is rendered, each value that it prints is a mark. The marks are resolved in the finished text, read as
Spark's lexer reads it: within a quoted literal a value is a part of that text, within backquotes a part of that name,
within a comment nothing, and elsewhere a literal of its type. A value is never pasted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, Protocol, cast, runtime_checkable

from jinja2 import Undefined, nodes

from sparkassets.core.sandbox.literals import ValueInSqlError, identifier, is_plain, literal, text_literal

_MARK: Final = re.compile("\x00v([0-9]+)\x00")
"""A mark holds the number of a printed value, between NULs, which no template and no query can hold."""
_TOKEN: Final = re.compile(
    r"(?P<comment>--(?:\\\n|[^\r\n])*)"
    r"|(?P<block>/\*(?!\+))"
    r"|(?P<raw>[rR](?:'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)))"
    r"|(?P<text>'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+(?:'|\\?\Z)|\"[^\"\\]*+(?:(?:\\.|\"\")[^\"\\]*+)*+(?:\"|\\?\Z))"
    r"|(?P<quoted>`[^`]*+(?:``[^`]*+)*+(?:`|\Z))"
    "|(?P<mark>\x00v[0-9]+\x00)"
    r"|(?P<word>\w+)"
    r"|(?P<blank>\s+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
"""Tokens as in Spark's lexer; an unclosed token reaches to the end."""
_NESTED: Final = re.compile(r"/\*(?!\+)|\*/")
"""Begin or end of a bracketed comment; ``/*+`` begins a hint."""
_GLUED: Final = re.compile("[\\w'\"`\x00]")
"""Characters that a literal may not touch: they would join it or change its kind, as in ``r'…'`` and ``x'…'``."""
_QUOTES: Final = frozenset("'\"`\x00")
_ESCAPE: Final = 9
"""The longest escape in a literal, ``\\U0001F600``, less its last character."""

_REFUSED_CALLS: Final = frozenset({"reflect", "try_reflect", "java_method"})
"""Spark's functions that call any static method of the JVM."""
_REFUSED_IN_RAW: Final = re.compile(r"\b(?:try_)?(?:reflect|java_method)\b|`?\w+`?\s*\.\s*`[^`]*[/:]", re.IGNORECASE)
"""Also a file read directly, as ``text.`/etc/passwd` `` does."""
_FORMATS: Final = frozenset(
    {"text", "csv", "json", "xml", "parquet", "orc", "avro", "binaryfile", "delta", "jdbc", "hive", "iceberg", "kafka"}
)


class SqlFragment(str):
    """A piece of SQL that the author wrote, or that was made safe; it may hold marks."""

    __slots__ = ()


class _NameValue(str):
    """A value that is to be one name."""

    __slots__ = ()


@runtime_checkable
class SqlValue(Protocol):
    """A value that knows its own SQL, such as a relation."""

    def __sql__(self) -> str:
        """Its text, which is pasted."""


def _refuse_escapes_of_values(texts_before: Iterable[str]) -> None:
    if any((len(text) - len(text.rstrip("\\"))) % 2 for text in texts_before):
        raise ValueInSqlError("a backslash before a value would escape its first character; write two backslashes")


class PrintedValues:
    """The values that one rendering prints."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[object] = []

    def print_value(self, value: Any) -> SqlFragment:  # noqa: ANN401  whatever a template has
        """SQL as it is; for any other value a mark with its number, which `resolve` replaces.

        How a value is written depends on where it stands in the rendered text: by itself, or within quotes.
        """
        if isinstance(value, SqlFragment):
            return value
        if isinstance(value, Undefined):
            return SqlFragment(str(value))  # which says why there is no value
        if not isinstance(value, str) and isinstance(value, SqlValue):
            return SqlFragment(value.__sql__())
        self._found.append(list(value) if isinstance(value, Iterator) else value)
        return SqlFragment(f"\x00v{len(self._found) - 1}\x00")

    def identifier(self, value: Any) -> SqlFragment:  # noqa: ANN401
        """A mark for one name, or for each of a list of names."""
        if isinstance(value, list | tuple | Iterator):
            return SqlFragment(", ".join(map(self.identifier, value)))
        return self.print_value(
            _NameValue(value) if isinstance(value, str) and not isinstance(value, SqlFragment) else value
        )

    def resolve(self, text: str, *, double_quoted_names: Callable[[], bool]) -> str:
        """The text with the SQL of each value in place of its mark.

        Args:
            text: Rendered.
            double_quoted_names: Whether Spark takes what stands in double quotes for a name.

        Raises:
            ValueInSqlError: A value cannot stand where it is printed; with its line.
        """
        made: list[str] = []
        for kind, start, end in _tokens(text):
            token = text[start:end]
            try:
                made.append(self._resolve_token(kind, token, text, start, end, made, double_quoted_names))
            except ValueInSqlError as error:
                error.line = text.count("\n", 0, start) + 1
                raise
        return "".join(made)

    def _resolve_token(
        self,
        kind: str,
        token: str,
        text: str,
        start: int,
        end: int,
        made: list[str],
        double_quoted_names: Callable[[], bool],
        /,
    ) -> str:
        """The token with the SQL of the values in it; a token without marks stays as it is.

        Where the token is text, a quoted name or a comment, a value becomes a part of it; in a comment it is dropped.
        Anywhere else a token with a mark is the mark alone. ``made`` is the text that was resolved before it.
        """
        if "\x00v" not in token:
            return token
        if kind in ("comment", "block"):
            return _MARK.sub("", token)
        if kind == "quoted" or (kind == "text" and token[0] == '"' and double_quoted_names()):
            return self._resolve_in_name(token)
        if kind in ("text", "raw"):
            return self._resolve_in_text(token, raw=kind == "raw")
        return self._resolve_bare(token, text, start, end, made)

    def _resolve_in_text(self, token: str, *, raw: bool) -> str:
        """The literal; in parts that are put together where a value holds what means something in it."""
        before = token[: 2 if raw else 1]
        quote, closed = before[-1], len(token) > len(before) and token[-1] == before[-1]
        pieces = _MARK.split(token[len(before) : -1 if closed else None])
        values = [self._value_text(number) for number in pieces[1::2]]
        touched = not raw and any("\\" in piece[-_ESCAPE:] for piece in pieces[:-1:2])
        if not touched and all(map(is_plain, values)):
            pieces[1::2] = values
            return f"{before}{''.join(pieces)}{quote if closed else ''}"
        if not raw:
            _refuse_escapes_of_values(pieces[:-1:2])
        pieces[1::2] = map(text_literal, values)
        parts = [f"{before}{piece}{quote}" if at % 2 == 0 else piece for at, piece in enumerate(pieces) if piece]
        return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"

    def _resolve_in_name(self, token: str) -> str:
        """A quoted name with the values in it as parts of the name.

        Raises:
            ValueInSqlError: With its values it has a ``${``, in which Spark would substitute a variable.
        """
        pieces = _MARK.split(token)
        pieces[1::2] = [identifier(self._value_text(number), quote=token[0])[1:-1] for number in pieces[1::2]]
        found = "".join(pieces)
        if found.count("${") != "\n".join(pieces[::2]).count("${"):
            raise ValueInSqlError(f"{found!r} is not allowed as a name in SQL: Spark would substitute a variable in it")
        return found

    def _value_text(self, number: str) -> str:
        """A value as a part of a text."""
        value = self._found[int(number)]
        return value if isinstance(value, str) else str(value)

    def _resolve_bare(self, token: str, text: str, start: int, end: int, made: list[str]) -> str:
        """The SQL of a value that is a token of its own: a literal, or the name that it was marked as.

        Raises:
            ValueInSqlError: A name is meant there, or the literal would become one with the word beside it.
        """
        value = self._found[int(token[2:-1])]
        before, after = text[start - 1 : start], text[end : end + 1]
        if isinstance(value, _NameValue):
            return self._name(value, text[end:])
        if isinstance(value, str):
            self._refuse_where_a_name_is_meant(value, "".join(made[-4:]), after)
        if _GLUED.match(before) or _GLUED.match(after):
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0 and not _QUOTES & {before, after}:
                return str(value)  # `AS day_{{ loop.index }}`
            raise ValueInSqlError(
                f"the value {value!r} is a literal and must be separated from its neighbours",
                hint="put both together in the expression, as {{ ('sales_' ~ params.country) | identifier }}",
            )
        found = literal(value)
        return f" {found}" if found[0] == before == "-" else found

    @staticmethod
    def _refuse_where_a_name_is_meant(value: str, before: str, after: str) -> None:
        if (after and after in "(.") or before.endswith(".") or before.upper().split()[-1:] == ["JOIN"]:
            raise ValueInSqlError(
                f"expected a name, but the value {value!r} is a literal",
                hint="write {{ … | identifier }} for a name",
            )

    @staticmethod
    def _name(value: str, rest: str) -> str:
        if value.lower() in _REFUSED_CALLS and rest.lstrip().startswith("("):
            raise ValueInSqlError(f"the function {value!r} cannot come from a value; write it in the query")
        if rest.lstrip().startswith(".") and (value.lower() in _FORMATS or "." in value):
            raise ValueInSqlError(f"the name {value!r} would read files directly; write it in the query")
        return identifier(value)


def raw_sql(value: Any) -> SqlFragment:  # noqa: ANN401  whatever a template has
    """A text of the author as a piece of SQL.

    Raises:
        ValueInSqlError: It is no text, or does what only the query itself may.
    """
    if isinstance(value, SqlFragment):
        return value
    if isinstance(value, list | tuple | Iterator):
        return SqlFragment(", ".join(map(raw_sql, value)))
    text = str(value)
    if "\x00" in text or (found := _REFUSED_IN_RAW.search(text)):
        what = "a NUL character" if "\x00" in text or not found else repr(found[0])
        raise ValueInSqlError(f"raw text may not contain {what}; write it in the query")
    return SqlFragment(text)


def join_sql(values: Iterable[Any], separator: Any, printed: Callable[[Any], SqlFragment]) -> SqlFragment:  # noqa: ANN401
    """Pieces of SQL and values with a separator; one of commas and blanks needs no ``raw``.

    Raises:
        ValueInSqlError: The separator is another text.
    """
    if not isinstance(separator, SqlFragment) and str(separator).strip(" ,\n\t"):
        hint = f"write {{{{ … | join({str(separator)!r} | raw) }}}}"
        raise ValueInSqlError("the separator between pieces of SQL must be SQL, too", hint=hint)
    return SqlFragment(str(separator).join(map(printed, values)))


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields the tokens of SQL as (kind, start, end)."""
    at = 0
    while found := _TOKEN.match(text, at):
        kind, start, at = found.lastgroup or "", at, found.end()
        if kind == "block":
            at = _end_of_comment(text, at)
        yield kind, start, at


def _end_of_comment(text: str, at: int) -> int:
    """Where a bracketed comment ends that begins before ``at``: Spark's may stand in each other."""
    depth = 1
    while depth and (found := _NESTED.search(text, at)):
        depth, at = depth + (1 if found[0] == "/*" else -1), found.end()
    return at if not depth else len(text)


RAW: Final = "raw"
"""The filter that pastes a text as SQL."""

FROM_OUTSIDE: Final = frozenset(
    {"partition", "partitions", "watermark", "triggering_event", "triggering_events", "triggering_dataset_events"}
)
"""Names whose values come from data, or from whoever emits an event."""

_OF_MACROS: Final = frozenset({"varargs", "kwargs", "caller"})


def find_untrusted_raw(tree: nodes.Template) -> Iterator[tuple[nodes.Filter, str]]:
    """Each use of ``raw`` on what may come from outside, with the name that it comes by.

    Names are followed through loops, assignments and macros, whatever their scope: one that is ever assigned something
    from outside counts as from outside everywhere.
    """
    raws = [node for node in tree.find_all(nodes.Filter) if node.name == RAW]
    if not raws:
        return
    outside = _untrusted_names(tree)
    for node in raws:
        if found := sorted(outside & set(_names(node))):
            yield node, found[0]


def _untrusted_names(tree: nodes.Template) -> set[str]:
    """The names whose values may come from outside, directly or through other names, until none is added."""
    flows = list(_name_flows(tree))
    outside = set(FROM_OUTSIDE)
    while more := {name for into, of in flows if of & outside for name in into - outside}:
        outside |= more
    return outside


def _name_flows(tree: nodes.Template) -> Iterator[tuple[set[str], set[str]]]:
    """Yields sets of assigned names, each with the names that their values are made of."""
    # which call reaches which macro is not known, so each argument of a macro may have the value of any call
    arguments, given = set(_OF_MACROS), set()
    for node in tree.find_all((nodes.Macro, nodes.CallBlock, nodes.Call)):
        if isinstance(node, nodes.Call):
            given |= set(_names(node))
        else:
            arguments |= {each.name for each in cast("nodes.Macro", node).args}
    yield arguments, given
    for node in tree.find_all((nodes.Assign, nodes.AssignBlock, nodes.For, nodes.With, nodes.Macro, nodes.CallBlock)):
        match node:
            case nodes.Assign():
                yield set(_names(node.target)), set(_names(node.node))
            case nodes.AssignBlock():
                yield set(_names(node.target)), set(_all(node.body))
            case nodes.For():
                yield {*_names(node.target), "loop"}, set(_names(node.iter))
            case nodes.With():
                yield set(_all(node.targets)), set(_all(node.values))
            case nodes.Macro():
                yield {node.name, *(each.name for each in node.args)}, set(_all([*node.body, *node.defaults]))
            case nodes.CallBlock():
                yield {"caller"}, set(_all(node.body))
    yield {"self"}, set(_all(tree.find_all(nodes.Block)))


def _all(found: Iterable[nodes.Node]) -> Iterator[str]:
    return chain.from_iterable(map(_names, found))


def _names(node: nodes.Node) -> Iterator[str]:
    """The names in a part of a template, itself included."""
    if isinstance(node, nodes.Name):
        yield node.name
    yield from (each.name for each in node.find_all(nodes.Name))
