"""What differs between two definitions of an asset, and which columns a difference changes.

Decided by the words alone, and only where they are unambiguous: otherwise the whole table counts as touched, or as
read. No schema is needed, and nothing is parsed in another way than Spark might.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import chain, pairwise
from typing import Final

from sparkassets.core.definitions.definition import VALUES, AssetDefinition
from sparkassets.core.definitions.query_parts import returns_same_rows, split_query
from sparkassets.core.query_text import normal_form, words, yielded_columns
from sparkassets.frozen import frozen

MOST_LINES: Final = 10
_MOST_WIDE: Final = 160
_CLAUSES: Final = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "QUALIFY", "WITH"}
)
_JOINS: Final = frozenset({"JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "LATERAL"})
_TIGHT: Final = frozenset("().,;[]")


def describe_difference(old: AssetDefinition, new: AssetDefinition) -> tuple[str, ...]:
    """Removed (``-``) and added (``+``) lines with their context; at most `MOST_LINES`.

    >>> describe_difference(AssetDefinition.build(text="SELECT a FROM x"),
    ...     AssetDefinition.build(text="SELECT a , b FROM x"))
    (' SELECT', '- a', '+ a,', '+ b', ' FROM x')
    """
    found = [*_of_text(old, new), *_of_parts(old, new)]
    if len(found) > MOST_LINES:
        found = [*found[: MOST_LINES - 1], f"… and {len(found) - MOST_LINES + 1} more lines"]
    return tuple(found)


def _of_text(old: AssetDefinition, new: AssetDefinition) -> Iterator[str]:
    if old.text and new.text:
        diff = unified_diff(layout_query(old.text), layout_query(new.text), n=1, lineterm="")
        yield from (_short(line) for line in list(diff)[2:] if not line.startswith("@@"))


def _of_parts(old: AssetDefinition, new: AssetDefinition) -> Iterator[str]:
    """The lines of parts that were removed, added or changed; with their values only for params and options."""
    if not old.text and not old.parts:
        return  # what it was is no longer known
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
    """The lines of a query whose words are ``found``, each indented by the brackets around it.

    A line begins only outside calls, so each open bracket is remembered with whether a query stands in it. The AND of
    ``BETWEEN … AND`` begins no line.
    """
    line = ""
    around: list[bool] = []  # of each bracket that is open, whether a query is in it
    between = False
    for before, word, after in zip(["", *found], found, [*found[1:], ""], strict=False):
        breaks, far = _break(word, before, query=all(around), between=between)
        if breaks:
            yield line
            line = " " * (2 * len(around) + far)  # two blanks for each bracket, one for an item of a clause
        line += (" " if line.strip() and _is_spaced(word, before) else "") + word
        if word in ("(", "["):
            around.append(after in ("SELECT", "WITH", "("))
        elif word in (")", "]") and around:
            around.pop()
        between = word == "BETWEEN" or (between and word != "AND")
    yield line


def _break(word: str, before: str, *, query: bool, between: bool) -> tuple[bool, int]:
    """Whether a line begins before the word, and by how many steps it is indented.

    ``query`` says whether all open brackets hold queries; ``between`` whether the word may be the AND of a BETWEEN.
    """
    if not query:
        return False, 0
    if word in _CLAUSES or (word in _JOINS and before not in _JOINS):
        return True, 0
    if before in ("SELECT", "DISTINCT", ",") and word != "DISTINCT":
        return True, 1
    return word in ("AND", "OR") and not between, 1


def _is_spaced(word: str, before: str) -> bool:
    """Whether a blank stands before the word; none before a bracket that follows a function's name, as ``count(``."""
    if word in ").,;]" or before in (".", "[", "("):
        return False
    is_call = (
        word in ("(", "[")
        and bool(before)
        and before not in _CLAUSES | _TIGHT
        and (before[-1].isalnum() or before[-1] == "_")
        and before not in ("AS", "IN", "AND", "OR", "NOT", "ON", "OVER", "FILTER", "BY", "USING", "EXISTS", "JOIN")
    )
    return not is_call


_AGGREGATES_SPELLED: Final = """
    ANY_VALUE APPROX_COUNT_DISTINCT AVG BOOL_AND BOOL_OR COLLECT_LIST COLLECT_SET CORR COUNT COUNT_IF EVERY FIRST LAST
    MAX MAX_BY MEAN MEDIAN MIN MIN_BY MODE PERCENTILE PERCENTILE_APPROX SOME STDDEV SUM VARIANCE
"""
_AGGREGATES: Final = frozenset(_AGGREGATES_SPELLED.split())
_SCALARS_SPELLED: Final = """
    ABS CAST CEIL COALESCE CONCAT CONCAT_WS DATE DATEDIFF DATE_ADD DATE_FORMAT DATE_SUB DATE_TRUNC DAY EXP FLOOR
    GREATEST HASH HOUR IF IFNULL IN INSTR LEAST LEFT LENGTH LN LOG LOWER LPAD LTRIM MD5 MINUTE MOD MONTH NULLIF NVL OVER
    POW POWER QUARTER REGEXP_EXTRACT REGEXP_REPLACE REPLACE RIGHT ROUND RPAD RTRIM SECOND SHA2 SIGN SIZE SPLIT SQRT
    SUBSTR SUBSTRING TO_DATE TO_TIMESTAMP TRIM TRUNC TRY_CAST TRY_DIVIDE UNIX_TIMESTAMP UPPER WEEKOFYEAR YEAR
    DECIMAL VARCHAR ROW_NUMBER RANK DENSE_RANK LAG LEAD FILTER
"""
_SCALARS: Final = frozenset(_SCALARS_SPELLED.split())
"""Functions that make one value of a row: of others nobody knows, as some make several rows of one."""
_WIDE: Final = frozenset({"NATURAL", "PIVOT", "UNPIVOT", "TABLE", "TRANSFORM"})
_SETS: Final = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_AFTER: Final = frozenset(
    {"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "QUALIFY", "WINDOW", "LATERAL", "SORT"}
)
_NAME: Final = re.compile(r"[^\W\d]\w*")
_COLUMN: Final = re.compile(r"\{\{ (inlets)\.(\w+)(?:\.(\w+)|\[['\"]([^'\"]+)['\"]\])? \}\}")


@frozen
class ColumnEffect:
    """Which columns a change of a query adds, removes and changes; names in lower case.

    Attributes:
        affects_everything: Whether it may change any column, or which rows there are; the names are empty then.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    affects_everything: bool = False

    @property
    def affected_columns(self) -> frozenset[str]:
        """All columns that are not as they were."""
        return frozenset((*self.added, *self.removed, *self.changed))


UNKNOWN_EFFECT: Final = ColumnEffect(affects_everything=True)


def find_column_effect(old: AssetDefinition, new: AssetDefinition) -> ColumnEffect:
    """The columns that a change of a definition affects.

    Everything unless the queries only differ in items of SELECT lists, of the query or of its CTEs, each of which can
    change alone.

    >>> one, two = "SELECT day , a FROM x WHERE a > 1", "SELECT day , a , UPPER ( b ) AS c FROM x WHERE a > 1"
    >>> find_column_effect(AssetDefinition.build(text=one), AssetDefinition.build(text=two)).added
    ('c',)
    >>> find_column_effect(AssetDefinition.build(text=one),
    ...     AssetDefinition.build(text="SELECT day , a FROM x")).affects_everything
    True
    """
    if returns_same_rows(old, new):
        return ColumnEffect()
    was, now = split_query(old.text), split_query(new.text)
    # CTEs of other names may mean other tables, and other parts (a param, a write) may change any column
    if old.parts != new.parts or was is None or now is None or was.tables.keys() != now.tables.keys():
        return UNKNOWN_EFFECT
    touched = dict[str, frozenset[str]]()
    for name, table in now.tables.items():
        effect = _find_query_effect(was.tables[name].query, table.query, touched)
        is_renamed = was.tables[name].columns != table.columns or (table.columns and effect.affected_columns)
        if effect.affects_everything or is_renamed:
            return UNKNOWN_EFFECT
        touched[name] = effect.affected_columns
    return _find_query_effect(was.body, now.body, touched)


def _find_query_effect(
    was: Sequence[str], now: Sequence[str], touched_tables: Mapping[str, frozenset[str]]
) -> ColumnEffect:
    """The columns of one SELECT that its change affects, or that of the columns of CTEs that it reads."""
    read_names = _names_in((*was, *now))
    upstream = frozenset[str]().union(*(columns for name, columns in touched_tables.items() if name in read_names))
    if upstream and (_reads_all_columns(was) or _reads_all_columns(now)):
        return UNKNOWN_EFFECT
    if was == now and not upstream & read_names:
        return ColumnEffect()
    old, new = _parse_select(was), _parse_select(now)
    if old is None or new is None or old.around != new.around:
        return UNKNOWN_EFFECT
    return _compare_select_lists(old, new, upstream)


def _compare_select_lists(old: _SelectQuery, new: _SelectQuery, upstream: frozenset[str]) -> ColumnEffect:
    """The columns whose items differ, or mention a column of ``upstream``."""
    added, removed = _names_without(new.items, old.items), _names_without(old.items, new.items)
    common = _names_without(new.items, added)
    if _names_without(old.items, removed) != common:
        return UNKNOWN_EFFECT
    edited = tuple(name for name in common if old.items[name] != new.items[name])
    changed = tuple(name for name in common if name in edited or upstream & _names_in(new.items[name]))
    kept = new.list_items(_names_without(common, changed))
    rewritten = [*old.list_items(removed + edited), *new.list_items(added + edited)]
    touched = [*rewritten, *new.list_items(_names_without(changed, edited))]
    names = {*added, *removed, *changed, *upstream}
    is_alone = _can_change_alone(touched, kept, names, new) and _keeps_aggregation(rewritten, kept, new)
    return ColumnEffect(added, removed, changed) if is_alone else UNKNOWN_EFFECT


def _names_in(found: Iterable[str]) -> set[str]:
    return {word.strip("`").casefold() for word in found}


def _reads_all_columns(found: Sequence[str]) -> bool:
    return bool(_WIDE & {*found}) or "*" in _stars(found)


def _names_without(names: Iterable[str], others: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


@frozen
class _SelectQuery:
    """A query of one SELECT, in words.

    Attributes:
        items: The words of each item of the SELECT list, by the name of its column.
        before, after: The words before and after that list.
    """

    items: Mapping[str, tuple[str, ...]]
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def around(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words outside the SELECT list."""
        return self.before, self.after

    def list_items(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """The words of the items of these columns."""
        return [self.items[name] for name in names]


def _parse_select(found: Sequence[str]) -> _SelectQuery | None:
    """A query in words; None if it is not one plain SELECT, or the names of its columns are uncertain."""
    names = yielded_columns(" ".join(found))
    if names is None or "DISTINCT" in found:
        return None
    outer = [word if not depth else "" for word, depth in _depths(found)]
    if _SETS & {*outer} or "SELECT" not in outer:
        return None
    begin = outer.index("SELECT") + 1
    end = next((place for place in range(begin, len(outer)) if outer[place] in _AFTER), len(outer))
    items = list(_split_items(found[begin:end], outer[begin:end]))
    keys = [*map(str.casefold, names)]
    if not len(items) == len(keys) == len({*keys}):
        return None
    return _SelectQuery(dict(zip(keys, items, strict=True)), tuple(found[:begin]), tuple(found[end:]))


def _depths(found: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each word with the number of brackets that it stands in."""
    depth = 0
    for word in found:
        depth -= word in (")", "]")
        yield word, depth
        depth += word in ("(", "[")


def _split_items(found: Sequence[str], outer: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yields the words of each item; ``outer`` has the words outside of brackets, and else empty texts."""
    item: list[str] = []
    for word, top in zip(found, outer, strict=True):
        if top == ",":
            yield tuple(item)
            item = []
        else:
            item.append(word)
    yield tuple(item)


def _can_change_alone(
    touched: Collection[Sequence[str]], kept: Collection[Sequence[str]], names: Collection[str], query: _SelectQuery
) -> bool:
    """Whether the ``touched`` items can change without effect on the ``kept`` ones or on which rows there are.

    They must not be used elsewhere by one of ``names`` or by position, nor be what GROUP BY ALL groups by.
    """
    if not all(map(_is_scalar, touched)):
        return False
    elsewhere = _names_in(chain(*kept, query.after))
    if elsewhere & {*names} or any(map(str.isdigit, _possible_positions(query.after))):
        return False
    are_groups = [not _aggregates_rows(item) or "OVER" in item for item in touched]
    return not (_groups_rows(query) and "ALL" in query.after and any(are_groups))


def _keeps_aggregation(
    rewritten: Collection[Sequence[str]], kept: Collection[Sequence[str]], query: _SelectQuery
) -> bool:
    """Whether the ``rewritten`` items do not decide whether the query aggregates.

    Without GROUP BY, a first or last aggregate turns many rows into one or back; another one makes one row with or
    without it.
    """
    return (
        _groups_rows(query)
        or not any(map(_aggregates_rows, rewritten))
        or any(_aggregates_rows(item) and "OVER" not in item for item in kept)
    )


def _groups_rows(query: _SelectQuery) -> bool:
    return any(word == "GROUP" for word, depth in _depths(query.after) if not depth)


def _is_scalar(item: Sequence[str]) -> bool:
    """Whether the item certainly yields one value for each row or group: all its functions are known to."""
    calls = {word for word, after in pairwise(item) if after == "(" and _NAME.fullmatch(word)}
    plain = calls <= _SCALARS | _AGGREGATES | {"AND", "OR", "NOT", "THEN", "ELSE", "WHEN", "CASE", "BETWEEN"}
    inlets = all(_COLUMN.fullmatch(word) for word in item if "{{" in word or "{%" in word)
    return plain and inlets and "SELECT" not in item and "*" not in _stars(item)


def _aggregates_rows(item: Sequence[str]) -> bool:
    return bool(_AGGREGATES & {*item})


def _possible_positions(after: Sequence[str]) -> Iterator[str]:
    """The words after BY or a comma, which name a column by its position if they are numbers."""
    yield from (word for before, word in pairwise(after) if before in ("BY", ","))


def find_columns_read(template: str, inlet: str) -> frozenset[str] | None:
    """The columns of an inlet that a template may read, in lower case; None for all.

    Counts every name in the query, whichever relation it belongs to: too many columns are safe, too few are not.

    >>> [name in find_columns_read("SELECT f.a, count(*) AS n FROM {{ inlets.f }} AS f GROUP BY f.a",
    ...     "f") for name in "ab"]
    [True, False]
    >>> find_columns_read("SELECT f.* FROM {{ inlets.f }} AS f", "f") is None
    True
    """
    found = words(normal_form(template))
    if "{%" in template or "|>" in template or _reads_all_columns(found):
        return None
    named: set[str] = set()
    for before, word in zip(["", *found], found, strict=False):
        if "{{" in word:
            columns = _columns_in_expression(word, before, inlet)
            if columns is None:
                return None
            named |= columns
        elif _NAME.match(word) or word[0] == "`":
            named.add(word.strip("`").casefold())
    return frozenset(named)


def _columns_in_expression(expression: str, before: str, inlet: str) -> set[str] | None:
    """The columns that an expression of Jinja names; None where it may stand for any of the inlet's."""
    match = _COLUMN.fullmatch(expression)
    if match is None:
        return None if re.search(rf"\b{re.escape(inlet)}\b", expression) else set()
    if column := match[3] or match[4]:
        return {column.casefold()}
    return None if match[2] == inlet and before not in ("FROM", "JOIN", ",") else set()


def _stars(found: Sequence[str]) -> Counter[str]:
    """The stars that stand for columns, without those of ``count(*)`` and of products."""
    around = zip(["", "", *found], ["", *found], found, strict=False)
    return Counter(
        word
        for first, before, word in around
        if word == "*"
        and (before in ("SELECT", ",", ".", "(", "ALL", "DISTINCT", "") and (first, before) != ("COUNT", "("))
    )
