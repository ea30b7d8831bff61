"""Whether a SQL text is one SELECT, or statements that write; a look at its words, not a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sparkassets.frozen import frozen

_EXPRESSION: Final = "\0"
"""Stands for every character of a Jinja expression, whose text is not known before it is rendered."""

_OPAQUE = re.compile(
    r"(?P<expression>\{\{.*?(?:\}\}|\Z))|\{%.*?(?:%\}|\Z)|\{#.*?(?:#\}|\Z)"
    r"|--[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|(?<!\w)[rR](?:'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z))"
    r"|'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z)|\"[^\"\\]*(?:\\.[^\"\\]*)*(?:\"|\\?\Z)|`[^`]*(?:`|\Z)",
    re.DOTALL,
)
"""Text that is no SQL word: Jinja, comments, quotes. Unclosed, it reaches to the end: no character is scanned twice."""
_FIRST_WORD = re.compile(r"[\s(;]*+([A-Za-z_]+)")
_QUERIES: Final = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE"})
_WRITE = re.compile(r"\b(?:INSERT\s++(?:INTO|OVERWRITE)|MERGE\s++INTO)\b", re.IGNORECASE)
_SECOND = re.compile(r";[\s;]*+(?:([^\s;]+)|\Z)")
_HINT: Final = "write the SELECT only, whose rows land as `write` says; with `write: self` statements write the target"
_WRITES: Final = "such as INSERT INTO {{ outlets.<asset> }} … or MERGE INTO {{ outlets.<asset> }} …"


@frozen
class StatementFault:
    """Why a text is not what its asset runs.

    Attributes:
        position, width: The words at fault, in characters of the text.
    """

    position: int
    width: int
    message: str
    hint: str | None = None


def find_select_fault(sql: str) -> StatementFault | None:
    r"""Why the text is not one SELECT; None where it is, or where only rendering the Jinja in it can tell.

    >>> find_select_fault("-- all\nWITH x AS (SELECT 1) SELECT * FROM {{ inlets.x }}")
    >>> find_select_fault("INSERT INTO t SELECT 1").message
    "the SQL begins with 'INSERT'; expected one SELECT"
    """
    words = _OPAQUE.sub(_blank, sql)
    if not words.strip():
        return StatementFault(0, 1, "the SQL is empty; expected one SELECT")
    first = _FIRST_WORD.match(words)
    if first and first[1].upper() not in _QUERIES:
        found = first[1]
        return StatementFault(first.start(1), len(found), f"the SQL begins with {found!r}; expected one SELECT", _HINT)
    if write := _WRITE.search(words):
        found = " ".join(write[0].split())
        return StatementFault(write.start(), len(write[0]), f"the SQL holds {found!r}; expected one SELECT", _HINT)
    if (second := _SECOND.search(words)) and second[1]:
        found = second[1].rstrip(_EXPRESSION)
        return StatementFault(second.start(1), max(1, len(found)), "a second statement follows; expected one SELECT")
    return None


def find_write_fault(sql: str) -> StatementFault | None:
    """Why no statement of the text writes anything; None where one may.

    >>> find_write_fault("INSERT INTO {{ outlets.x }} SELECT 1; OPTIMIZE t")
    >>> find_write_fault("SELECT 1").message
    "the SQL begins with 'SELECT', which writes nothing"
    """
    words = _OPAQUE.sub(_blank, sql)
    if not words.strip():
        return StatementFault(0, 1, "the SQL is empty; expected statements that write", _WRITES)
    first = _FIRST_WORD.match(words)
    if first and first[1].upper() in _QUERIES and not _WRITE.search(words) and len(list(split_statements(sql))) == 1:
        found, hint = first[1], f"leave 'write: self' out, or write a statement {_WRITES}"
        return StatementFault(first.start(1), len(found), f"the SQL begins with {found!r}, which writes nothing", hint)
    return None


def split_statements(sql: str) -> Iterator[tuple[int, str]]:
    r"""Each statement of a text with where it begins; what is nothing but space and comments is none.

    >>> list(split_statements("DELETE FROM t WHERE a = ';'; -- again;\nINSERT INTO t VALUES (1);"))
    [(0, "DELETE FROM t WHERE a = ';'"), (28, ' -- again;\nINSERT INTO t VALUES (1)')]
    """
    words, begin = _OPAQUE.sub(_blank, sql), 0
    for end in (*(each.start() for each in re.finditer(";", words)), len(words)):
        if words[begin:end].strip():
            yield begin, sql[begin:end]
        begin = end + 1


def _blank(opaque: re.Match[str]) -> str:
    """The same number of characters and lines, without words."""
    filler = _EXPRESSION if opaque["expression"] else " "
    return re.sub(r"[^\n]", filler, opaque[0])
