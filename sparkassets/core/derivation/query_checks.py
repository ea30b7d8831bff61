"""Detects certain errors in a project's SQL before anything runs: bad syntax and unknown columns.

Spark's parser is the judge in the end. So a query is refused only for what no run can do with it; what sqlglot may not
know, and columns of relations that are not known whole, are left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from sparkassets.core.derivation.asset_columns import (
    MARKS,
    MOST_PARAMS,
    AssetDerivations,
    RenderedQuery,
    StoredColumns,
    render_failure,
)
from sparkassets.core.spec.model import AssetSpec, ProjectSpec, ReadChanges, SqlBody
from sparkassets.core.suggestions import did_you_mean
from sparkassets.core.validations import PatternCheck, RegisteredCheck, SqlCheck, ValidationRule
from sparkassets.errors import FileLocation, SpecProblem
from sparkassets.frozen import frozen

_BEYOND_SQLGLOT: Final = re.compile(
    r"\|>|\b(?:lateral\s+view|pivot|unpivot|match_recognize|tablesample|transform\s*\(.*\busing\b|from\s+\w+\s+insert|"
    r"collate|identifier\s*\(|with\s+recursive|stream|sql\s+security)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Syntax of Spark that sqlglot knows in part: a query with any of it is not checked."""
_NOT_COLUMNS: Final = frozenset(
    {
        *("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond"),
        *("microsecond", "nanosecond", "years", "quarters", "months", "weeks", "days", "hours", "minutes", "seconds"),
        *("current_date", "current_timestamp", "current_time", "localtimestamp", "now", "current_timezone", "user"),
        *("current_user", "session_user", "current_catalog", "current_database", "current_schema", "grouping__id"),
        *("_metadata", "_change_type", "_commit_version", "_commit_timestamp", "true", "false", "null", "default"),
        *("both", "leading", "trailing", "all", "unbounded"),
    }
)
"""Names that may stand in a query without being columns."""
_OF_JAVA_ONLY: Final = re.compile(r"\\[pPhHRQEGXNkVvzZcx0]|\(\?<[A-Za-z]|&&|\(\?[a-zA-Z-]*[dUmsxu]|\[[^\]]*\[")
"""Syntax of Java's regular expressions that Python lacks or reads differently."""


def check_queries(project: ProjectSpec, stored: StoredColumns) -> list[SpecProblem]:
    """Certain problems of the queries and rules of a project's assets, in order of assets.

    Args:
        project: Compiled.
        stored: Looks up the columns of a table where neither a declaration nor a query gives them.
    """
    derivations = AssetDerivations(project, stored)
    problems: list[SpecProblem] = []
    for asset in project.assets.values():
        problems += _query_problems(asset, derivations)
        for rules in (asset.rules, *(inlet.rules for inlet in asset.inlets.values())):
            problems += [problem for rule in rules for problem in _rule_problems(rule)]
    return problems


def _query_problems(asset: AssetSpec, derivations: AssetDerivations) -> list[SpecProblem]:
    """The problems of an asset's query; with several sets of params, those of the first set that has any."""
    if not isinstance(asset.body, SqlBody) or asset.outlets:
        return []
    sets = [asset.params] if asset.segment_params is None else [*asset.segment_params.params.values()][:MOST_PARAMS]
    for params in sets:
        query = derivations.query_of(asset, asset.body.template, params)
        if query is None:
            if (failure := render_failure(asset, asset.body.template, params)) is not None:
                return [SpecProblem(asset.body.location, f"no run can render this template: {failure}")]
            continue
        written, tree = _QuerySource(asset.body, query.sql), _parse_query(query.sql)
        if isinstance(tree, SyntaxFault):
            return [written.problem(tree)]
        if tree is not None and (found := [*_unknown_columns(asset, query, tree, written, derivations)]):
            return found
    return []


# --------------------------------------------------------------------- syntax


@frozen
class SyntaxFault:
    """Where a query cannot be read, from 1, and why."""

    line: int
    column: int
    width: int
    message: str


def find_syntax_error(sql: str) -> SyntaxFault | None:
    """The first place at which a query cannot be read; None where it can, or where only Spark knows.

    >>> find_syntax_error("SELECT sum(a FROM t")
    SyntaxFault(line=1, column=14, width=4, message="expected ) before 'FROM'")
    >>> find_syntax_error("SELECT a FROM t")
    """
    found = _parse_query(sql)
    return found if isinstance(found, SyntaxFault) else None


def _parse_query(sql: str) -> exp.Expr | SyntaxFault | None:
    """The tree of a query, or where it cannot be read; None where only Spark knows."""
    if _BEYOND_SQLGLOT.search(sql):
        return None
    try:
        return sqlglot.parse_one(sql, dialect="spark")
    except ParseError as error:
        return _fault(error)
    except TokenError:
        return SyntaxFault(1, 1, 1, "a quote or a comment is not closed")
    except (SqlglotError, RecursionError, ValueError):
        return None


def _fault(error: ParseError) -> SyntaxFault | None:
    """The parser's first error in our words, at its place; None where the error has no place."""
    found = error.errors[0] if error.errors else {}
    token, line, end = str(found.get("highlight") or ""), found.get("line"), found.get("col")
    if not token or line is None or end is None:
        return None
    what = str(found.get("description") or "").partition(" but got")[0]
    if what.startswith("Expecting "):
        message = f"expected {what.removeprefix('Expecting ')} before {token!r}"
    elif what.startswith("Required keyword"):
        message = f"something is missing beside {token!r}"
    elif what.startswith("Expected "):
        message = f"expected {what.removeprefix('Expected ')} near {token!r}"
    else:
        message = f"unexpected {token!r}"
    return SyntaxFault(line, max(1, end - len(token) + 1), len(token), message)


class _QuerySource:
    """A rendered query as its author wrote it: finds places of the one in the other.

    Args:
        body: The template.
        sql: The rendered query, without the space around it.
    """

    def __init__(self, body: SqlBody, sql: str) -> None:
        self._body = body
        self._lines = body.template.split("\n")
        before = body.template[: len(body.template) - len(body.template.lstrip())]
        self._skipped = before.count("\n")
        self._alike = body.template.strip().rstrip(";").count("\n") == sql.count("\n")
        self._rendered = sql.split("\n")

    def problem(self, fault: SyntaxFault) -> SpecProblem:
        """The problem at its line; at its column, too, where nothing before it was rendered otherwise."""
        number = fault.line + self._skipped if self._alike else 1
        line = self._lines[number - 1] if number <= len(self._lines) else ""
        rendered = self._rendered[fault.line - 1] if fault.line <= len(self._rendered) else ""
        end = fault.column - 1 + fault.width
        lead = len(line) - len(line.lstrip()) if self._skipped + 1 == number and line.lstrip() == rendered else 0
        if not self._alike or line[lead : lead + end] != rendered[:end]:
            column, width = len(line) - len(line.lstrip()) + 1, len(line.strip())
        else:
            column, width = fault.column + lead, fault.width
        place = self._body.location
        indent = place.column - 1
        where = FileLocation(place.file, place.line + number - 1, indent + column)
        return SpecProblem(where, f"the SQL cannot run: {fault.message}", None, " " * indent + line, max(1, width))

    def locate_name(self, name: str) -> SyntaxFault:
        """The first place of a name in the rendered query."""
        for number, line in enumerate(self._rendered, start=1):
            if found := re.search(rf"(?<![\w`]){re.escape(name)}(?!\w)", line):
                return SyntaxFault(number, found.start() + 1, len(name), "")
        return SyntaxFault(1, 1, 1, "")


# --------------------------------------------------------------------- columns


def _unknown_columns(
    asset: AssetSpec, query: RenderedQuery, tree: exp.Expr, written: _QuerySource, derivations: AssetDerivations
) -> Iterator[SpecProblem]:
    """Columns that nothing in the query can have, where the columns of all that it reads are known."""
    columns = _relation_columns(asset, query, derivations)
    if columns is None:
        return
    names = {name.casefold(): name for each in columns.values() for name in each}
    known = {*names, *_given_names(tree), *_NOT_COLUMNS}
    aliases = _aliases(tree, columns)
    for node in tree.find_all(exp.Column):
        name = node.name
        if not name or isinstance(node.this, exp.Star) or any(mark in name for mark in MARKS):
            continue
        owner = node.table.casefold()
        within = aliases.get(owner) if owner and not node.args.get("db") else None
        if within is not None and name.casefold() not in {each.casefold() for each in within} | _NOT_COLUMNS:
            yield _no_column(written, name, f"{node.table!r} has no column {name!r}", within)
        elif not owner and name.casefold() not in known:
            yield _no_column(written, name, f"nothing that the query reads has a column {name!r}", names.values())


def _no_column(written: _QuerySource, name: str, message: str, known: Iterable[str]) -> SpecProblem:
    place = written.locate_name(name)
    fault = SyntaxFault(place.line, place.column, place.width, message)
    found = written.problem(fault)
    return SpecProblem(found.location, found.message, did_you_mean(name, [*known]), found.excerpt, found.width)


def _relation_columns(
    asset: AssetSpec, query: RenderedQuery, derivations: AssetDerivations
) -> Mapping[str, Sequence[str]] | None:
    """The columns of each relation of a query, by its name there; None where any are unknown."""
    found: dict[str, Sequence[str]] = {}
    for name, read in query.relations.items():
        if not read:
            ends = ("start", "end") if asset.partitioning.time is not None else ()
            found[name] = (*asset.partitioning.columns, *ends)
            continue
        inlet = asset.inlets.get(read)
        if read == asset.name or inlet is None or isinstance(inlet.read, ReadChanges):
            return None
        columns = derivations.columns_of(derivations.project.assets[read])
        if columns is None:
            return None
        found[name] = columns
    return found


def _given_names(tree: exp.Expr) -> Iterator[str]:
    """Names that the query itself makes: aliases, columns of aliases, arguments of lambdas, fields of structs."""
    for node in tree.walk():
        match node:
            case exp.Alias() | exp.PropertyEQ():
                yield (node.alias or node.this.name).casefold()
            case exp.TableAlias():
                yield node.name.casefold()
                yield from (each.name.casefold() for each in node.args.get("columns") or ())
            case exp.Aliases():
                yield from (each.name.casefold() for each in node.args.get("expressions") or ())
            case exp.Lambda():
                yield from (each.name.casefold() for each in node.expressions)
            case exp.Kwarg():
                yield node.this.name.casefold()
            case exp.Table():
                yield node.name.casefold()  # all columns of a row as one value
            case exp.Func():
                yield from _default_names(node)


def _default_names(node: exp.Func) -> Iterator[str]:
    """The names that Spark gives to what generators make."""
    if isinstance(node, exp.Explode | exp.Inline | exp.Posexplode | exp.Unnest | exp.Anonymous):
        yield from ("col", "pos", "key", "value", "id")


def _aliases(tree: exp.Expr, columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The columns of relations by the names that columns are qualified with; of names with one meaning only."""
    found: dict[str, Sequence[str]] = {}
    twice: set[str] = set()
    shadowed = {each.alias.casefold() for each in tree.find_all(exp.CTE)}
    for node in tree.find_all(exp.Table, exp.Subquery):
        name = (node.alias or node.name).casefold()
        alias = node.args.get("alias")
        renamed = alias is not None and bool(alias.args.get("columns"))
        own = columns.get(node.name) if isinstance(node, exp.Table) else None
        if name in found or renamed or own is None or name in shadowed:
            twice.add(name)
        found[name] = own or ()
    fields = {name.casefold() for each in columns.values() for name in each}
    return {name: own for name, own in found.items() if name and name not in twice | fields}


# --------------------------------------------------------------------- rules


def _rule_problems(rule: ValidationRule) -> Iterator[SpecProblem]:
    """The problems of the SQL and the regular expressions of a rule."""
    conditions = [("where", rule.where)] if rule.where else []
    match rule.check:
        case SqlCheck(condition) | RegisteredCheck(condition=condition) if condition:
            conditions.append((rule.check.kind, condition))
        case PatternCheck():
            if (wrong := regex_error(rule.check.regex)) is not None:
                yield SpecProblem(rule.place, f"the regular expression of {rule.name} does not compile: {wrong}")
    for key, condition in conditions:
        wrong_sql = find_syntax_error(f"SELECT 1 FROM t WHERE (\n{condition}\n)")  # noqa: S608  parsed, never run
        if wrong_sql is not None:
            yield SpecProblem(rule.place, f"{key!r} of {rule.name} is no condition in SQL: {wrong_sql.message}")


def regex_error(expression: str) -> str | None:
    """Why a regular expression does not compile; None where it does, or where only Java knows.

    >>> regex_error("a(b"), regex_error("[a-z]+"), regex_error("(?<year>[0-9]")
    ('missing ), unterminated subpattern at position 1', None, None)
    """
    if _OF_JAVA_ONLY.search(expression):
        return None
    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None
