"""The parts of a query in its normal form: its common table expressions (CTEs) and its body.

Two queries that only name or order their CTEs in another way return the same rows. Whether they do is decided by words,
as in `differences`: a name that may mean anything else than the CTE decides against it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

from sparkassets.core.definitions.definition import AssetDefinition
from sparkassets.core.query_text import words
from sparkassets.frozen import frozen

_SETS: Final = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_BLOCKS: Final = ("{%", "|>")
"""What hides the structure of a query: blocks of Jinja, and pipes."""

Words = tuple[str, ...]


@frozen
class CommonTable:
    """A CTE in words.

    Attributes:
        columns: Its list of columns with the brackets; empty where it has none.
        query: What stands between the brackets after AS.
    """

    columns: Words
    query: Words


@frozen
class QueryParts:
    """A query in words.

    Attributes:
        tables: Its CTEs by name in lower case, in order; each reads only those before it.
        body: What follows the WITH clause.
    """

    tables: Mapping[str, CommonTable]
    body: Words


def split_query(text: str) -> QueryParts | None:
    """The parts of a query in its normal form; None where they are uncertain.

    >>> parts = split_query("WITH x AS ( SELECT 1 AS a ) SELECT a FROM x")
    >>> parts.tables["x"].query, parts.body
    (('SELECT', '1', 'AS', 'a'), ('SELECT', 'a', 'FROM', 'x'))
    """
    if not text or any(each in text for each in _BLOCKS):
        return None
    found, tables = words(text), dict[str, CommonTable]()
    place, lead = 0, "WITH"
    while found[place : place + 1] == [lead]:
        name_place = place + 1
        columns_end = _skip_brackets(found, name_place + 1)
        query_end = _skip_brackets(found, columns_end + 1)
        if query_end == columns_end + 1 or found[columns_end] != "AS":
            return None
        name, query = _normalize_name(found[name_place]), tuple(found[columns_end + 2 : query_end - 1])
        if name in tables or name == "recursive":
            return None  # WITH RECURSIVE reads its own CTE
        tables[name] = CommonTable(tuple(found[name_place + 1 : columns_end]), query)
        place, lead = query_end, ","
    parts = QueryParts(tables, tuple(found[place:]))
    return None if _reads_later_table(parts) else parts


def _skip_brackets(found: Sequence[str], place: int) -> int:
    """The place after the brackets that open at ``place``; ``place`` itself where none do, or they never close."""
    if found[place : place + 1] != ["("]:
        return place
    depth = 0
    for end in range(place, len(found)):
        depth += (found[end] == "(") - (found[end] == ")")
        if not depth:
            return end + 1
    return place


def _reads_later_table(parts: QueryParts) -> bool:
    """Whether a CTE names itself or a later one: that would be a table of a catalog, which the order hides."""
    later = {*parts.tables}
    for name, table in parts.tables.items():
        if later & {*map(_normalize_name, table.query)}:
            return True
        later.discard(name)
    return False


def _normalize_name(word: str) -> str:
    """The name of a table as Spark compares it: without backquotes, whatever its case."""
    return word.strip("`").casefold()


def returns_same_rows(old: AssetDefinition, new: AssetDefinition) -> bool:
    """Whether two definitions certainly return the same rows: their queries only name or order CTEs in another way.

    A CTE that nothing reads counts as none.

    >>> one, two = (
    ...     AssetDefinition.build(text=f"WITH {ctes} SELECT * FROM {names}")
    ...     for ctes, names in [
    ...         ("x AS ( SELECT a FROM t ) , y AS ( SELECT 1 AS b )", "x JOIN y"),
    ...         ("v AS ( SELECT 1 AS b ) , u AS ( SELECT a FROM t )", "u JOIN v"),
    ...     ]
    ... )
    >>> returns_same_rows(one, two)
    True
    """
    if old.id == new.id:
        return True
    return bool(old.text and new.text) and old.parts == new.parts and _are_same_queries(old.text, new.text)


@lru_cache(maxsize=256)
def _are_same_queries(one: str, two: str) -> bool:
    form = _canonical_form(one)
    return form is not None and form == _canonical_form(two)


def _canonical_form(text: str) -> tuple[Words, ...] | None:
    """The query's CTEs in the order in which they are first read, with numbers for names, and its body.

    None where a name may mean something else.
    """
    parts = split_query(text)
    if parts is None:
        return None
    numbers, pieces = dict[str, str](), list[Words]()

    def rename_tables(found: Words) -> Words | None:
        """The words with the number of its CTE in place of each name; None where a name is uncertain.

        A CTE gets its number, and is added to ``pieces``, when it is met first: what it reads itself comes before it.
        """
        references = _find_references(found, parts.tables)
        if references is None:
            return None
        for place in references:
            name = _normalize_name(found[place])
            if name in numbers:
                continue
            query = rename_tables(parts.tables[name].query)
            if query is None:
                return None
            numbers[name] = f"\0{len(numbers)}"
            pieces.append((*parts.tables[name].columns, *query))
        return tuple(
            numbers[_normalize_name(word)] if place in references else word for place, word in enumerate(found)
        )

    body = rename_tables(parts.body)
    return None if body is None else (*pieces, body)


def _find_references(found: Words, names: Collection[str]) -> list[int] | None:
    """The places of words that refer to the named CTEs; None if such a word may be anything else.

    A CTE is read after FROM or JOIN of a query. It qualifies a column (``x.a``) only inside of a SELECT that reads it:
    elsewhere ``x`` would be a column with fields.
    """
    scopes = _NameScopes()
    references, qualifiers = list[int](), list[tuple[str, int]]()
    readers = set[tuple[int, str]]()
    for place, (before, word, after) in enumerate(zip(("", *found), found, (*found[1:], ""), strict=False)):
        scope = scopes.enter(word, after)
        name = _normalize_name(word)
        if name not in names or before == ".":
            continue
        references.append(place)
        if after == ".":
            qualifiers.append((name, scope))
        elif before in ("FROM", "JOIN") and found[max(0, place - 2)] != "DISTINCT" and scopes.holds_query(scope):
            readers.add((scope, name))
        else:
            return None
    if any(readers.isdisjoint(product(scopes.around(scope), [name])) for name, scope in qualifiers):
        return None
    return references


class _NameScopes:
    """The SELECTs and brackets of a query, numbered as they open; each SELECT of a UNION is one of its own."""

    def __init__(self) -> None:
        self._parents, self._queries, self._open = [-1], [True], [0]

    def enter(self, word: str, after: str) -> int:
        """Goes on by one word; returns the scope in which it stands."""
        if word == "(":
            self._add(self._open[-1], is_query=after in ("SELECT", "WITH", "("))
        elif word == ")" and len(self._open) > 1:
            self._open.pop()
        elif word in _SETS:
            scope = self._open.pop()
            self._add(self._parents[scope], is_query=self._queries[scope])
        return self._open[-1]

    def _add(self, parent: int, *, is_query: bool) -> None:
        self._open.append(len(self._parents))
        self._parents.append(parent)
        self._queries.append(is_query)

    def holds_query(self, scope: int) -> bool:
        """Whether it is one of a query, and not the arguments of a call."""
        return self._queries[scope]

    def around(self, scope: int) -> list[int]:
        """The scope and all that it stands in."""
        found = list[int]()
        while scope >= 0:
            found.append(scope)
            scope = self._parents[scope]
        return found
