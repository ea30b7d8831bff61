r"""The normal form of a SQL template: equal for texts that differ only in ways that change no row.

Layout, comments, the case of keywords and of functions, and quotes that nothing needs do not count. Everything else
does, also what another parser takes for the same: sqlglot, for one, reads ``date_format(a, 'YYYY')`` as of ``'yyyy'``,
and what it makes of a query changes with its version, which would be a change of everybody's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<blank>\s+)"
    r"|(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<unseen>\{#.*?(?:#\}|\Z))"
    r"|(?P<jinja>\{\{.*?(?:\}\}|\Z)|\{%.*?(?:%\}|\Z))"
    r"|(?P<raw>[rR](?:'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)))"
    r"|(?P<text>[xX]?(?:'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\\?\Z)))"
    r"|(?P<quoted>`[^`]*(?:`|\Z))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<mark>\d[\w.]*|.)",
    re.DOTALL,
)
"""Tokens of SQL with Jinja. An unclosed token reaches to the end, so that no character is scanned twice."""

_SPELLED: Final = """
    ALL AND ANTI ANY AS ASC BETWEEN BY CASE CAST CLUSTER CROSS CUBE CURRENT DESC DISTINCT DISTRIBUTE ELSE END ESCAPE
    EXCEPT EXISTS FALSE FILTER FIRST FOLLOWING FROM FULL GROUP GROUPING HAVING IGNORE ILIKE IN INNER INTERSECT INTERVAL
    IS JOIN LAST LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT
    PRECEDING QUALIFY RANGE RESPECT RIGHT RLIKE ROLLUP ROW ROWS SELECT SEMI SETS SORT TABLE TABLESAMPLE THEN TRUE
    TRY_CAST UNBOUNDED UNION UNPIVOT USING VALUES VIEW WHEN WHERE WINDOW WITH WITHIN
    BIGINT BOOLEAN DECIMAL DOUBLE FLOAT INT INTEGER SMALLINT STRING TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT
"""
_KEYWORDS: Final = frozenset(_SPELLED.split())
"""Words whose case does not count; ``day`` or ``date``, which often are columns, count as they are written."""
_UNITS: Final = frozenset(
    f"{unit}{s}" for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND") for s in ("", "S")
)
_TYPES: Final = frozenset({"DATE", "TIMESTAMP", "BINARY"})
_VALUES: Final = """
    CURRENT_CATALOG CURRENT_DATABASE CURRENT_DATE CURRENT_SCHEMA CURRENT_TIMESTAMP CURRENT_TIMEZONE CURRENT_USER DIV INF
    INFINITY LOCALTIMESTAMP NAN NOW SESSION_USER USER
"""
_NOT_BARE: Final = _KEYWORDS | _UNITS | _TYPES | frozenset(_VALUES.split())
"""Words that may mean something else than a name when they are bare."""
_ENDS: Final = re.compile(r"( ?;)+$")
"""Semicolons after the statement."""
_APART: Final = frozenset("(),=<>+*/.;[]%")
"""Characters that are never a part of a word."""
_OPENING: Final = re.compile(r"\{\{(-?)\s*+")
_CLOSING: Final = re.compile(r"(?<!\s)\s*+(-?)\}\}")
_IN_JINJA: Final = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|\s+", re.DOTALL)
_PLAIN: Final = re.compile(r"[^\W\d]\w*")


def normal_form(sql: str) -> str:
    r"""The words of a template, a blank between any two.

    >>> normal_form('select  Count(*) as n -- all\nFROM {{inlets.f}} where `a`="x"')
    "SELECT COUNT ( * ) AS n FROM {{ inlets.f }} WHERE a = 'x'"
    """
    return _ENDS.sub("", "".join(_words(sql)))


def words(normal: str) -> list[str]:
    """The words of a normal form, one by one.

    >>> words("SELECT 'a b' AS n FROM {{ inlets.f }}")
    ['SELECT', "'a b'", 'AS', 'n', 'FROM', '{{ inlets.f }}']
    """
    return [match[0] for match in _TOKEN.finditer(normal) if match.lastgroup != "blank"]


def _words(sql: str) -> Iterator[str]:
    """The words, each with the blank before it."""
    everything = list(_TOKEN.finditer(sql))
    places = [place for place, match in enumerate(everything) if _is_significant(match)]
    found = [everything[place] for place in places]
    for index, match in enumerate(found):
        before = found[index - 1] if index else None
        after = found[index + 1] if index + 1 < len(found) else None
        between = everything[places[index - 1] + 1 : places[index]] if index else []
        yield "" if before is None or _forms_one_word(before, match, between) else " "
        yield _word(match, before, after)


def _forms_one_word(before: re.Match[str], match: re.Match[str], between: Sequence[re.Match[str]]) -> bool:
    """Whether the two are one word once the template is rendered, such as ``s{{ n }}``."""
    if any(each.lastgroup != "unseen" for each in between):
        return False
    rendered = bool(between) or "jinja" in (before.lastgroup, match.lastgroup)
    return rendered and before[0] not in _APART and match[0] not in _APART


def _word(match: re.Match[str], before: re.Match[str] | None, after: re.Match[str] | None) -> str:
    match match.lastgroup:
        case "name":
            return _name(match[0], before, after)
        case "quoted":
            return _strip_backquotes(match[0], after)
        case "text":
            return _normalize_braces(_normalize_quotes(match[0]))
        case "jinja":
            return _normalize_braces(_collapse_blanks(match[0]))
        case "comment":
            return f"/*{match[0][2:]} */" if match[0].startswith("--") else match[0]
        case _:
            return _normalize_braces(match[0])


def _is_significant(match: re.Match[str]) -> bool:
    """Whether it is more than layout: a comment is, where a template may make more of it."""
    return match.lastgroup not in ("blank", "unseen") and (match.lastgroup != "comment" or "{" in match[0])


def _name(word: str, before: re.Match[str] | None, after: re.Match[str] | None) -> str:
    capitals = word.upper()
    if before is not None and before[0] == ".":
        return word  # a column or a field, whatever it is called
    if capitals in _KEYWORDS or (after is not None and after[0] == "("):
        return capitals
    kind, last = (before.lastgroup, before[0]) if before is not None else ("", "")
    if capitals in _UNITS and (kind == "text" or last[:1].isdigit()):
        return capitals
    if capitals in _TYPES and last.upper() == "AS" and after is not None and after[0] == ")":
        return capitals
    return word


def _strip_backquotes(quoted: str, after: re.Match[str] | None) -> str:
    """A name without its backquotes, unless it would be something else without."""
    name = quoted.strip("`")
    called = after is not None and after[0] == "("
    return name if _PLAIN.fullmatch(name) and not called and name.upper() not in _NOT_BARE else quoted


def _normalize_quotes(text: str) -> str:
    """A text in single quotes where these say the same."""
    body = text[1:-1]
    closed = len(text) > 1 and text[0] == text[-1] == '"'
    return f"'{body}'" if closed and not re.search(r"['\"\\]", body) else text


def _normalize_braces(text: str) -> str:
    """The text with one blank inside the braces of each expression."""
    return _CLOSING.sub(r" \1}}", _OPENING.sub(r"{{\1 ", text)) if "{{" in text else text


def _collapse_blanks(expression: str) -> str:
    """The expression with every run of blanks as one blank, except in string literals."""
    return _IN_JINJA.sub(lambda found: found[1] or " ", expression)
