"""Describes the difference between two definitions in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Final

from sparkassets.core.definitions.definition import VALUES, AssetDefinition
from sparkassets.core.definitions.normal_form import words

MOST_LINES: Final = 10
_MOST_WIDE: Final = 160
_CLAUSES: Final = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "QUALIFY", "WITH"}
)
_JOINS: Final = frozenset({"JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "LATERAL"})
_TIGHT: Final = frozenset("().,;[]")


def describe_difference(old: AssetDefinition, new: AssetDefinition) -> tuple[str, ...]:
    """Removed (``-``) and added (``+``) lines with their context; at most `MOST_LINES`.

    >>> describe_difference(AssetDefinition.build(sql="select a from x"),
    ...     AssetDefinition.build(sql="SELECT a, b FROM x"))
    (' SELECT', '- a', '+ a,', '+ b', ' FROM x')
    """
    found = [*_of_text(old, new), *_of_parts(old, new)]
    if len(found) > MOST_LINES:
        found = [*found[: MOST_LINES - 1], f"… and {len(found) - MOST_LINES + 1} more lines"]
    return tuple(found)


def _of_text(old: AssetDefinition, new: AssetDefinition) -> Iterator[str]:
    if old.text and new.text:
        told = unified_diff(layout_query(old.text), layout_query(new.text), n=1, lineterm="")
        yield from (_short(line) for line in list(told)[2:] if not line.startswith("@@"))


def _of_parts(old: AssetDefinition, new: AssetDefinition) -> Iterator[str]:
    if not old.text and not old.parts:
        return  # what it was is not known any more
    for name in sorted(old.parts.keys() | new.parts.keys()):
        was, now = old.parts.get(name), new.parts.get(name)
        if was == now:
            continue
        if not name.startswith(VALUES):
            yield f"- {name}" if now is None else f"+ {name}" if was is None else f"~ {name}"
            continue
        yield from (_short(f"{sign} {name}: {value}") for sign, value in (("-", was), ("+", now)) if value is not None)


def _short(line: str) -> str:
    return line if len(line) <= _MOST_WIDE else f"{line[: _MOST_WIDE - 1]}…"


def layout_query(normal: str) -> list[str]:
    """A query in its normal form, laid out: a line for each clause, and for each item of a list that is no call's.

    >>> layout_query("SELECT a , f ( b , c ) AS d FROM ( SELECT * FROM x ) WHERE a > 1 AND b")
    ['SELECT', ' a,', ' f(b, c) AS d', 'FROM (', '  SELECT', '   *', '  FROM x)', 'WHERE a > 1', ' AND b']
    """
    return [line for line in _laid_out(words(normal)) if line.strip()]


def _laid_out(found: Sequence[str]) -> Iterator[str]:
    line, before = "", ""
    around: list[bool] = []  # of each bracket that is open, whether a query is in it
    between = False
    for index, word in enumerate(found):
        query = all(around)
        breaks, far = _break(word, before, query=query, between=between)
        if breaks:
            yield line
            line = " " * (2 * len(around) + far)
        blank = line.strip() and word not in ").,;]" and before not in (".", "[") and not _calls(word, before)
        line += (" " if blank and before != "(" else "") + word
        after = found[index + 1] if index + 1 < len(found) else ""
        if word in ("(", "["):
            around.append(after in ("SELECT", "WITH", "("))
        elif word in (")", "]") and around:
            around.pop()
        between = word == "BETWEEN" or (between and word != "AND")
        before = word
    yield line


def _break(word: str, before: str, *, query: bool, between: bool) -> tuple[bool, int]:
    """Whether a line begins before the word, and how far it is indented."""
    if not query:
        return False, 0
    if word in _CLAUSES or (word in _JOINS and before not in _JOINS):
        return True, 0
    if before in ("SELECT", "DISTINCT", ",") and word != "DISTINCT":
        return True, 1
    return word in ("AND", "OR") and not between, 1


def _calls(word: str, before: str) -> bool:
    """Whether a bracket belongs to the name before it."""
    return (
        word in ("(", "[")
        and bool(before)
        and before not in _CLAUSES | _TIGHT
        and (before[-1].isalnum() or before[-1] == "_")
        and before not in ("AS", "IN", "AND", "OR", "NOT", "ON", "OVER", "FILTER", "BY", "USING", "EXISTS", "JOIN")
    )
