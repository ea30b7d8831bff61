r"""Finds in the text of a query the tables that it names bare and the columns that it yields.

Looks at words and parentheses and is no parser: where the text is ambiguous, nothing is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from sparkassets.frozen import frozen

_TOKEN: Final = re.compile(
    r"(?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|\Z)|\{%.*?(?:%\}|\Z)|\{#.*?(?:#\}|\Z))"
    r"|(?P<jinja>\{\{.*?(?:\}\}|\Z))"
    r"|(?P<text>'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\\?\Z))"
    r"|(?P<name>`[^`]*(?:`|\Z)|[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<mark>\d[\w.]*|.)",
    re.DOTALL,
)
"""Tokens of SQL with Jinja. An unclosed token reaches to the end, so that no character is scanned twice."""
MOST_NESTED: Final = 1_000
"""Brackets inside each other in a query: no parser takes many more, and reading them takes memory."""
_COLUMN: Final = re.compile(r"\{\{-?\s*inlets\.\w+\.([A-Za-z_]\w*)\s*-?\}\}")
_QUERY: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_SETS: Final = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_CLAUSES: Final = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "LATERAL", "WINDOW"})
_ENDS: Final = frozenset({*_SETS, *_CLAUSES, "CLUSTER", "DISTRIBUTE", "SORT", "QUALIFY"})
_OPENING, _CLOSING = "([", ")]"


@frozen
class _SqlToken:
    """A word of a query.

    Attributes:
        depth: How many parentheses are around it.
        opened: Which token opened the innermost of them, or, of a closing one, its own pair; -1 for none.
    """

    kind: str
    text: str
    position: int
    depth: int
    opened: int

    @property
    def keyword(self) -> str:
        """In capitals; empty for what is no bare word."""
        return self.text.upper() if self.kind == "name" and self.text[0] != "`" else ""

    @property
    def name(self) -> str:
        """An identifier without its backquotes."""
        return self.text.strip("`")


def find_bare_tables(sql: str) -> list[tuple[str, int]]:
    """The tables that stand in FROM or JOIN by one name, with their positions; without those of the query itself.

    >>> find_bare_tables("WITH x AS (SELECT 1) SELECT * FROM x JOIN good USING (a) JOIN db.t JOIN {{ inlets.b }}")
    [('good', 42)]
    """
    tokens = list(_tokens(sql))
    own = {name.casefold() for name in _own_names(tokens)}
    found = []
    for index, token in enumerate(tokens[:-1]):
        table, after = tokens[index + 1], tokens[index + 2] if index + 2 < len(tokens) else None
        if token.keyword not in ("FROM", "JOIN") or table.kind != "name" or table.keyword in ("LATERAL", *_QUERY):
            continue
        if after and (after.text in (".", "(") or (after.kind == "jinja" and after.position == _end(table))):
            continue
        if _belongs_to_query(tokens, index) and table.name.casefold() not in own:
            found.append((table.name, table.position))
    return found


def yielded_columns(sql: str) -> tuple[str, ...] | None:
    """The columns that a query yields, in order; None where its text is ambiguous.

    >>> yielded_columns("WITH x AS (SELECT 1 AS a) SELECT x.day, count(*) AS n, {{ inlets.f.carrier }} FROM x")
    ('day', 'n', 'carrier')
    >>> yielded_columns("SELECT * FROM x") is None
    True
    """
    if "{%" in sql or "|>" in sql:
        return None
    tokens = list(_tokens(sql))
    begin = next((i for i, each in enumerate(tokens) if each.keyword == "SELECT" and not each.depth), None)
    if begin is None or any(not each.depth and each.keyword in _SETS for each in tokens[:begin]):
        return None
    names = [_name(item) for item in _items(tokens[begin + 1 :])]
    return tuple(name for name in names if name) if names and all(names) else None


def find_excess_nesting(sql: str) -> int | None:
    """Where more than `MOST_NESTED` brackets are open; None where that is nowhere.

    >>> find_excess_nesting("SELECT (1)") is None, find_excess_nesting("(" * 1_001)
    (True, 1000)
    """
    if sum(map(sql.count, _OPENING)) <= MOST_NESTED:
        return None
    depth = 0
    for match in _TOKEN.finditer(sql):
        depth += (match[0] in _OPENING) - (match[0] in _CLOSING)
        if depth > MOST_NESTED:
            return match.start()
    return None


def _tokens(sql: str) -> Iterator[_SqlToken]:
    opened: list[int] = []
    found = (match for match in _TOKEN.finditer(sql) if match.lastgroup != "blank")
    for index, match in enumerate(found):
        text, last = match[0], opened[-1] if opened else -1
        if text in _CLOSING and opened:
            opened.pop()
        yield _SqlToken(match.lastgroup or "", text, match.start(), len(opened), last)
        if text in _OPENING:
            opened.append(index)


def _end(token: _SqlToken) -> int:
    return token.position + len(token.text)


def _own_names(tokens: Sequence[_SqlToken]) -> Iterator[str]:
    """The names before ``AS (``: common table expressions, with or without a list of columns."""
    for index, (first, second) in enumerate(pairwise(tokens)):
        if first.keyword != "AS" or second.text != "(" or not index:
            continue
        before = tokens[index - 1]
        if before.text == ")" and before.opened > 0:
            before = tokens[before.opened - 1]
        if before.kind == "name":
            yield before.name


def _belongs_to_query(tokens: Sequence[_SqlToken], index: int) -> bool:
    """Whether a FROM or JOIN belongs to a query: not to ``extract(year FROM x)`` nor to ``IS DISTINCT FROM x``."""
    if index and tokens[index - 1].keyword == "DISTINCT":
        return False
    opened = tokens[index].opened
    return opened < 0 or tokens[opened + 1].keyword in _QUERY or tokens[opened + 1].text == "("


def _items(tokens: Sequence[_SqlToken]) -> Iterator[list[_SqlToken]]:
    """The items of a select list, which ends with the clause after it."""
    item: list[_SqlToken] = []
    for before, token in pairwise([_START, *tokens]):
        if not token.depth:
            named = before.keyword == "AS" or before.text == "."
            if token.text == ";" or (token.keyword in _ENDS and not named and before.keyword != "DISTINCT"):
                break
            if token.text == ",":
                yield item
                item = []
                continue
            if before is _START and token.keyword in ("DISTINCT", "ALL"):
                continue
        item.append(token)
    yield item


_START: Final = _SqlToken("mark", "", 0, 0, -1)


def _name(item: Sequence[_SqlToken]) -> str | None:
    """The name of one column; None where Spark makes one up, or several."""
    if not item:
        return None
    last = item[-1]
    if last.kind == "jinja":
        found = _COLUMN.fullmatch(last.text)
        return found[1] if found and (len(item) == 1 or _is_path(item[:-1])) else None
    if last.kind != "name":
        return None
    before = item[-2] if len(item) > 1 else _START
    if before.keyword == "AS" or before.text == ")" or (before.text == "." and _is_path(item[:-1])) or len(item) == 1:
        return last.name
    return None


def _is_path(tokens: Sequence[_SqlToken]) -> bool:
    """Whether these are names that end with a dot each: ``a.b.``."""
    return len(tokens) % 2 == 0 and all(
        name.kind == "name" and dot.text == "." for name, dot in zip(tokens[::2], tokens[1::2], strict=True)
    )
