"""Composes YAML text into nodes with positions; syntax errors are explained in words for people."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from sparkassets.errors import TextFault
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from yaml._yaml import Mark as CMark
    from yaml.error import Mark as PythonMark
    from yaml.nodes import Node

    Mark = CMark | PythonMark

MOST_NESTED: Final = 100
"""Levels of lists and maps inside each other."""

UNTAGGED: Final = ""
"""The tag of every node that has none in the text."""


class _NoTags:
    """Leaves the type of a scalar open: `sparkassets.core.spec.yaml_values` decides it."""

    def resolve(self, _kind: object, _value: object, _implicit: object) -> str:
        return UNTAGGED

    def descend_resolver(self, _parent: object, _index: object) -> None: ...

    def ascend_resolver(self) -> None: ...


class PurePythonComposer(Reader, Scanner, Parser, Composer, _NoTags):
    """The composer for a PyYAML without its C library."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)


def fastest_composer() -> type:
    """The composer of PyYAML's C library, eight times faster; the pure one where the library is missing."""
    if not yaml.__with_libyaml__:
        return PurePythonComposer
    from yaml._yaml import CParser

    return type("NodeComposer", (_NoTags, CParser), {})


NodeComposer: Final = fastest_composer()


@frozen
class ComposedDocuments:
    """The documents of one text; those before the broken place are there."""

    roots: tuple[Node, ...]
    fault: TextFault | None = None


def compose_documents(text: str, *, composer: type = NodeComposer) -> ComposedDocuments:
    """The root nodes of the documents in ``text``, those without content left out."""
    roots: list[Node] = []
    text = _SURROGATE_PAIR.sub(_join_surrogates, text) if "\\ud" in text.lower() else text
    if depth_fault := _find_excess_depth(text, composer):
        return ComposedDocuments((), depth_fault)
    try:
        loader = composer(text)
        while loader.check_node():
            roots.append(loader.get_node())
    except yaml.MarkedYAMLError as error:
        lines = [*split_lines(text), ""]  # the parser may point behind the last line
        return ComposedDocuments(tuple(roots), _explain_yaml_error(error, lines))
    except yaml.reader.ReaderError as error:
        lines = split_lines(text[: error.position])
        message = f"the character U+{error.character:04X} is not allowed in YAML"
        return ComposedDocuments((), TextFault(len(lines), len(lines[-1]) + 1, 1, message))
    return ComposedDocuments(tuple(roots))


_SURROGATE_PAIR: Final = re.compile(
    r"(?P<escaped>\\\\)|\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
)


def _join_surrogates(match: re.Match[str]) -> str:
    """A character that JSON escapes as a surrogate pair, as YAML escapes it."""
    if match["escaped"]:
        return match[0]
    character = 0x10000 + ((int(match["high"], 16) & 0x3FF) << 10) + (int(match["low"], 16) & 0x3FF)
    return f"\\U{character:08x}"


def _find_excess_depth(text: str, composer: type) -> TextFault | None:
    """Where collections are nested too deep: the C library would overflow its stack."""
    if sum(text.count(opening) for opening in ("[", "{", "- ", "? ")) < MOST_NESTED:
        return None  # nesting by indentation alone grows a file with the square of its depth
    events, depth = composer(text), 0
    with suppress(yaml.YAMLError):
        while events.check_event():
            event = events.get_event()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MOST_NESTED:
                    return _fault_at(event.start_mark, 1, f"nested more than {MOST_NESTED} levels deep")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    return None


def split_lines(text: str) -> list[str]:
    """The lines of a text as YAML counts them, without their ends."""
    return re.split("\r\n|[\n\r\x85\u2028\u2029]", text)


_QUOTE_HINT: Final = "quote"
"""Stands for the hint that quotes the rest of the line."""

_COLON_HINT: Final = "text that contains ': ' must be quoted"

_EXPLANATIONS: Final = (
    # words of the parser's context and of its problem; message; hint; whether the context's place is meant
    ("scanning an alias", "", "text that begins with '*' must be quoted", _QUOTE_HINT, True),
    ("scanning an anchor", "", "text that begins with '&' must be quoted", _QUOTE_HINT, True),
    ("", "undefined alias", "unknown anchor; text that begins with '*' must be quoted", _QUOTE_HINT, False),
    ("duplicate anchor", "", "this anchor is defined twice", None, False),
    ("scalar", "unexpected end of stream", "this quote is not closed", None, True),
    ("scalar", "document separator", "this quote is not closed", None, True),
    ("scalar", "escape", "this escape does not exist in double quotes", "in single quotes nothing is escaped", False),
    ("flow sequence", "',' or ']'", "this list is not closed by ']', or a ',' is missing in it", None, True),
    ("flow mapping", "',' or '}'", "this map is not closed by '}', or a ',' is missing in it", None, True),
    ("block collection", "", "this does not continue the list above; expected '- '", None, False),
    ("block mapping", "", "this does not continue the map above; expected a key below its other keys", None, False),
    ("simple key", "':'", "expected ':' after this key", None, True),
    ("", "node content", "expected a value", _QUOTE_HINT, False),
    ("", "<document start>", "this is indented less than the lines above", None, False),
    ("directive", "", "a line that begins with '%' is not supported", None, True),
    ("", "tab character", "a tab cannot indent; expected spaces", None, False),
    ("", "mapping values", "a second ':' on the line, or a key that is not below its neighbours", _COLON_HINT, False),
)


def _explain_yaml_error(error: yaml.MarkedYAMLError, lines: list[str]) -> TextFault:
    """The error of the YAML parser in words for an author, with the place to change.

    The parser often reports where it gave up. For the usual causes, such as missing quotes or tabs, the message names
    the cause instead, and its place is where that stands; otherwise the parser's own words are quoted.
    """
    context, problem = error.context or "", error.problem or ""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return TextFault(1, 1, 1, f"invalid YAML: {problem}")
    character = lines[mark.line][mark.column : mark.column + 1]
    if "cannot start any token" in problem:
        if character == "\t":
            return _fault_at(mark, 1, "a tab cannot indent; expected spaces")
        return _missing_quotes_fault(mark, lines, f"text that begins with {character!r} must be quoted")
    if character == "{" and lines[mark.line][: mark.column].endswith("$"):
        text = re.match(r"\$\{[^}]*\}?", lines[mark.line][mark.column - 1 :])
        width = len(text[0]) if text else 1
        hint = f'write "{text[0]}"' if text else None
        return TextFault(mark.line + 1, mark.column, width, "'${…}' inside a flow map or list must be quoted", hint)
    for in_context, in_problem, message, hint, at_context in _EXPLANATIONS:
        if in_context in context and in_problem in problem:
            place = error.context_mark if at_context and error.context_mark else mark
            return (
                _missing_quotes_fault(place, lines, message)
                if hint == _QUOTE_HINT
                else _fault_at(place, 1, message, hint)
            )
    return _fault_at(mark, 1, f"invalid YAML: {problem}")


def _fault_at(mark: Mark | None, width: int, message: str, hint: str | None = None) -> TextFault:
    line, column = (mark.line, mark.column) if mark else (0, 0)
    return TextFault(line + 1, column + 1, width, message, hint)


def _missing_quotes_fault(mark: Mark, lines: list[str], message: str) -> TextFault:
    """The text from the mark on must be quoted: up to a comment and, inside ``{…}`` or ``[…]``, to its end."""
    before, rest = lines[mark.line][: mark.column], lines[mark.line][mark.column :]
    ends = r"\s#|[,\]}]" if re.search(r"[\[{]", before) else r"\s#"
    text = re.split(ends, rest, maxsplit=1)[0].rstrip()
    return _fault_at(
        mark, max(1, len(text)), message, f'write "{text}"' if text and '"' not in text else "put it in quotes"
    )
