"""What SQL text says without a parser: its tables, columns and statements, and its normal form.

It looks at words and parentheses: where a text is ambiguous, nothing is reported. The normal form is equal for texts
that differ only in layout, comments, the case of keywords and functions, and needless quotes, which change no row. What
another parser takes for equal stays different: sqlglot reads ``date_format(a, 'YYYY')`` like ``'yyyy'``, and what it
makes of a query changes with its version, which would be a change of everybody's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from sparkassets.frozen import frozen

_TOKEN: Final = re.compile(
    r"(?P<blank>\s+)"
    r"|(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<unseen>\{#.*?(?:#\}|\Z))"
    r"|(?P<block>\{%.*?(?:%\}|\Z))"
    r"|(?P<expression>\{\{.*?(?:\}\}|\Z))"
    r"|(?P<raw>[rR](?:'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)))"
    r"|(?P<text>[xX]?(?:'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|\\?\Z)))"
    r"|(?P<quoted>`[^`]*(?:`|\Z))"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<mark>\d[\w.]*|.)",
    re.DOTALL,
)
"""Tokens of SQL with Jinja. An unclosed token reaches to the end, so that no character is scanned twice."""
_NO_WORDS: Final = frozenset({"blank", "comment", "unseen", "block"})
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


_NO_TOKEN: Final = _SqlToken("mark", "", 0, 0, -1)
"""Stands before the first token and after the last."""


def find_columns_and_tables(sql: str) -> tuple[tuple[str, ...] | None, tuple[tuple[str, int], ...]]:
    """The columns of a query as `yielded_columns` has them, and its bare tables, each with its position.

    Bare are those that stand in FROM or JOIN by one name, without those that the query itself defines.

    >>> find_columns_and_tables("WITH x AS (SELECT 1) SELECT a FROM x JOIN good JOIN db.t JOIN {{ inlets.b }}")
    (('a',), (('good', 42),))
    """
    tokens = list(_tokens(sql))
    return _find_columns(sql, tokens), tuple(_find_tables(tokens))


def _find_tables(tokens: Sequence[_SqlToken]) -> Iterator[tuple[str, int]]:
    own = {*map(str.casefold, _own_names(tokens))}
    for index, (token, table, after) in enumerate(zip(tokens, tokens[1:], [*tokens[2:], _NO_TOKEN], strict=False)):
        if token.keyword not in ("FROM", "JOIN") or table.kind != "name" or table.keyword in ("LATERAL", *_QUERY):
            continue
        if after.text in (".", "(") or (after.kind == "expression" and after.position == _end(table)):
            continue
        if _belongs_to_query(tokens, index) and table.name.casefold() not in own:
            yield table.name, table.position


def yielded_columns(sql: str) -> tuple[str, ...] | None:
    """The columns that a query yields, in order; None where its text is ambiguous.

    >>> yielded_columns("WITH x AS (SELECT 1 AS a) SELECT x.day, count(*) AS n, {{ inlets.f.carrier }} FROM x")
    ('day', 'n', 'carrier')
    >>> yielded_columns("SELECT * FROM x") is None
    True
    """
    return find_columns_and_tables(sql)[0]


def _find_columns(sql: str, tokens: Sequence[_SqlToken]) -> tuple[str, ...] | None:
    if "{%" in sql or "|>" in sql:
        return None
    keywords = [each.keyword if not each.depth else "" for each in tokens]
    begin = keywords.index("SELECT") if "SELECT" in keywords else None
    if begin is None or not _SETS.isdisjoint(keywords[:begin]):
        return None
    names = [_name(item) for item in _items(tokens[begin + 1 :])]
    return tuple(filter(None, names)) if all(names) else None


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


def find_extra_comma(sql: str) -> int | None:
    """Where a comma follows another one, or stands before a closing parenthesis; None where that is nowhere.

    >>> find_extra_comma("SELECT a,, b FROM x"), find_extra_comma("SELECT ',,' AS a, f(b, c) FROM x")
    (9, None)
    """
    for before, token in pairwise(_tokens(sql)):
        if before.text == "," and token.text in (",", ")"):
            return token.position if token.text == "," else before.position
    return None


def _tokens(sql: str) -> Iterator[_SqlToken]:
    """Yields the tokens that are more than space, comments and blocks of Jinja, with the brackets around them."""
    opened: list[int] = []
    found = (match for match in _TOKEN.finditer(sql) if match.lastgroup not in _NO_WORDS)
    for index, match in enumerate(found):
        text, last = match[0], opened[-1] if opened else -1
        if text in _CLOSING and opened:
            opened.pop()
        kind = "name" if match.lastgroup == "quoted" else match.lastgroup or ""
        yield _SqlToken(kind, text, match.start(), len(opened), last)
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
    for before, token in pairwise([_NO_TOKEN, *tokens]):
        if not token.depth:
            is_name = before.keyword in ("AS", "DISTINCT") or before.text == "."
            if token.text == ";" or (token.keyword in _ENDS and not is_name):
                break
            if token.text == ",":
                yield item
                item = []
                continue
            if before is _NO_TOKEN and token.keyword in ("DISTINCT", "ALL"):
                continue
        item.append(token)
    yield item


def _name(item: Sequence[_SqlToken]) -> str | None:
    """The name of one column; None where Spark makes one up, or several."""
    if not item:
        return None
    before, last = [_NO_TOKEN, *item][-2:]
    is_column = _is_path(item[:-1])
    if last.kind == "expression":
        found = _COLUMN.fullmatch(last.text)
        return found[1] if found and is_column else None
    is_named = is_column or before.keyword == "AS" or before.text == ")"
    return last.name if last.kind == "name" and is_named else None


def _is_path(tokens: Sequence[_SqlToken]) -> bool:
    """Whether these are names that end with a dot each, ``a.b.``, or none."""
    return len(tokens) % 2 == 0 and all(
        name.kind == "name" and dot.text == "." for name, dot in zip(tokens[::2], tokens[1::2], strict=True)
    )


_EXPRESSION: Final = "\0"
"""Stands for every character of a Jinja expression, whose text is not known before it is rendered."""

_FIRST_WORD = re.compile(r"[\s(;]*+([A-Za-z_]+)")
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
    words = _blank_opaque(sql)
    if not words.strip():
        return StatementFault(0, 1, "the SQL is empty; expected one SELECT")
    first = _FIRST_WORD.match(words)
    if first and first[1].upper() not in _QUERY:
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
    "the SQL begins with 'SELECT', which does not write anything"
    """
    words = _blank_opaque(sql)
    if not words.strip():
        return StatementFault(0, 1, "the SQL is empty; expected statements that write", _WRITES)
    first = _FIRST_WORD.match(words)
    if first and first[1].upper() in _QUERY and not _WRITE.search(words) and len(list(split_statements(sql))) == 1:
        found, hint = first[1], f"leave 'write: self' out, or write a statement {_WRITES}"
        return StatementFault(
            first.start(1), len(found), f"the SQL begins with {found!r}, which does not write anything", hint
        )
    return None


def split_statements(sql: str) -> Iterator[tuple[int, str]]:
    r"""Each statement of a text with where it begins; what is nothing but space and comments is none.

    >>> list(split_statements("DELETE FROM t WHERE a = ';'; -- again;\nINSERT INTO t VALUES (1);"))
    [(0, "DELETE FROM t WHERE a = ';'"), (28, ' -- again;\nINSERT INTO t VALUES (1)')]
    """
    words, begin = _blank_opaque(sql), 0
    for end in (*(each.start() for each in re.finditer(";", words)), len(words)):
        if words[begin:end].strip():
            yield begin, sql[begin:end]
        begin = end + 1


def _blank_opaque(sql: str) -> str:
    """The same number of characters and lines, without Jinja, comments and quotes."""
    return "".join(
        match[0]
        if match.lastgroup in ("blank", "name", "mark")
        else re.sub(r"[^\n]", _EXPRESSION if match.lastgroup == "expression" else " ", match[0])
        for match in _TOKEN.finditer(sql)
    )


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
_APART: Final = frozenset("(),=<>+*/.;[]%")
"""Characters that are never a part of a word."""
_OPERATORS: Final = frozenset({"<>", "<=", ">=", "!=", "==", "=>", "->", "||", "::"})
"""Pairs of characters that are one word; ``<=>`` is two of them."""
_OPENING_BRACES: Final = re.compile(r"\{\{(-?)\s*+")
_CLOSING_BRACES: Final = re.compile(r"(?<!\s)\s*+(-?)\}\}")
_IN_JINJA: Final = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|\s+", re.DOTALL)
_PLAIN: Final = re.compile(r"[^\W\d]\w*")


def normal_form(sql: str) -> str:
    r"""The words of a template, a blank between any two.

    >>> normal_form('select  Count(*) as n -- all\nFROM {{inlets.f}} where `a`="x"')
    "SELECT COUNT ( * ) AS n FROM {{ inlets.f }} WHERE a = 'x'"
    """
    return "".join(_words(sql)).rstrip(" ;")


def words(normal: str) -> list[str]:
    """The words of a normal form, one by one.

    >>> words("SELECT 'a b' AS n FROM {{ inlets.f }}")
    ['SELECT', "'a b'", 'AS', 'n', 'FROM', '{{ inlets.f }}']
    """
    return [match[0] for match in _TOKEN.finditer(normal) if match.lastgroup != "blank"]


def executable_form(normal: str) -> str:
    """The normal form as SQL that can be run: the characters of an operator are one word again.

    >>> executable_form("SELECT a < = > b , '< >' AS n , a < > - 1")
    "SELECT a <=> b , '< >' AS n , a <> - 1"
    """
    parts = [match[0] for match in _TOKEN.finditer(normal)]
    beside = zip(["", *parts], [*parts[1:], ""], strict=False)
    return "".join(
        "" if part == " " and before + after in _OPERATORS else part
        for part, (before, after) in zip(parts, beside, strict=False)
    )


_NO_MATCH: Final = next(re.finditer("", ""))
"""Stands before the first word and after the last."""


def _words(sql: str) -> Iterator[str]:
    """The words, each with the blank before it."""
    everything = list(_TOKEN.finditer(sql))
    places = [place for place, match in enumerate(everything) if _is_significant(match)]
    found = [everything[place] for place in places]
    around = zip([_NO_MATCH, *found], found, [*found[1:], _NO_MATCH], strict=False)
    for index, (before, match, after) in enumerate(around):
        between = everything[places[index - 1] + 1 : places[index]] if index else []
        yield "" if before is _NO_MATCH or _forms_one_word(before, match, between) else " "
        yield _word(match, before, after)


def _forms_one_word(before: re.Match[str], match: re.Match[str], between: Sequence[re.Match[str]]) -> bool:
    """Whether the two are one word once the template is rendered, such as ``s{{ n }}``."""
    if any(each.lastgroup != "unseen" for each in between):
        return False
    rendered = bool(between) or not {"expression", "block"}.isdisjoint((before.lastgroup, match.lastgroup))
    return rendered and before[0] not in _APART and match[0] not in _APART


def _word(match: re.Match[str], before: re.Match[str], after: re.Match[str]) -> str:
    match match.lastgroup:
        case "name":
            return _normalize_name(match[0], before, after)
        case "quoted":
            return _strip_backquotes(match[0], after)
        case "text":
            return _normalize_braces(_normalize_quotes(match[0]))
        case "expression" | "block":
            return _normalize_braces(_collapse_blanks(match[0]))
        case "comment":
            return f"/*{match[0][2:]} */" if match[0].startswith("--") else match[0]
        case _:
            return _normalize_braces(match[0])


def _is_significant(match: re.Match[str]) -> bool:
    """Whether it is more than layout: a comment is, where a template may make more of it."""
    return match.lastgroup not in ("blank", "unseen") and (match.lastgroup != "comment" or "{" in match[0])


def _normalize_name(word: str, before: re.Match[str], after: re.Match[str]) -> str:
    """A word in capitals where its case cannot matter: keywords, functions, units of intervals, types of casts."""
    capitals = word.upper()
    if before[0] == ".":
        return word  # a column or a field, whatever it is called
    if capitals in _KEYWORDS or after[0] == "(":
        return capitals
    is_unit = capitals in _UNITS and (before.lastgroup == "text" or before[0][:1].isdigit())
    is_type = capitals in _TYPES and before[0].upper() == "AS" and after[0] == ")"
    return capitals if is_unit or is_type else word


def _strip_backquotes(quoted: str, after: re.Match[str]) -> str:
    """A name without its backquotes, unless it would be something else without."""
    name = quoted.strip("`")
    return name if _PLAIN.fullmatch(name) and after[0] != "(" and name.upper() not in _NOT_BARE else quoted


def _normalize_quotes(text: str) -> str:
    """A text in single quotes where these say the same."""
    body = text[1:-1]
    closed = len(text) > 1 and text[0] == text[-1] == '"'
    return f"'{body}'" if closed and not re.search(r"['\"\\]", body) else text


def _normalize_braces(text: str) -> str:
    """The text with one blank inside the braces of each expression."""
    return _CLOSING_BRACES.sub(r" \1}}", _OPENING_BRACES.sub(r"{{\1 ", text)) if "{{" in text else text


def _collapse_blanks(expression: str) -> str:
    """The expression with every run of blanks as one blank, except in string literals."""
    return _IN_JINJA.sub(lambda found: found[1] or " ", expression)
