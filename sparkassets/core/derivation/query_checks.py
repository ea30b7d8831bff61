"""Detects certain errors in a project's SQL before anything runs: bad syntax and unknown columns.

Spark's parser is the judge in the end. So a query is refused only for what no run can do with it; what sqlglot may not
know, and columns of relations that are not known whole, are left to Spark.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from sparkassets.core.derivation.asset_columns import (
    MARKS,
    MOST_PARAMS,
    AssetDerivations,
    RenderedQuery,
    StoredColumns,
    param_sets,
    render_failure,
)
from sparkassets.core.derivation.column_uses import parse_query
from sparkassets.core.derivation.listed_columns import impossible_types, wrong_columns
from sparkassets.core.query_text import find_extra_comma, yielded_columns
from sparkassets.core.spec.code_bodies import SqlBody
from sparkassets.core.spec.model import AssetSpec, ReadChanges
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.unlisted_segments import refuse_unlisted_segments
from sparkassets.core.suggestions import KnownColumns, did_you_mean
from sparkassets.core.validations import PatternCheck, RegisteredCheck, SqlCheck, ValidationRule
from sparkassets.errors import FileLocation, SpecProblem, TextFault
from sparkassets.frozen import frozen, replace

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
_NAMESPACES: Final = frozenset({"session", "system"})
"""Names that stand before a variable of the session."""
_JAVA_ONLY_REGEX: Final = re.compile(r"\\[pPhHRQEGXNkVvzZcx0]|\(\?<[A-Za-z]|&&|\(\?[a-zA-Z-]*[dUmsxu]|\[[^\]]*\[")
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
        problems += _unknown_delete_columns(asset)
        for rules in (asset.rules, *(inlet.rules for inlet in asset.inlets.values())):
            problems += [problem for rule in rules for problem in _rule_problems(rule)]
        problems += _unknown_rule_columns(asset.rules, derivations.columns_of(asset))
        for name, inlet in asset.inlets.items():
            problems += _unknown_rule_columns(inlet.rules, derivations.columns_of(project.assets[name]))
    return problems


def _query_problems(asset: AssetSpec, derivations: AssetDerivations) -> list[SpecProblem]:
    """The problems of an asset's query; with several sets of params, those of the first set that has any."""
    if not isinstance(asset.body, SqlBody) or asset.outlets:
        return []
    for params in param_sets(asset)[:MOST_PARAMS]:
        query = derivations.query_of(asset, asset.body.text, params)
        if query is None:
            if (failure := render_failure(asset, asset.body.text, params)) is not None:
                return [SpecProblem(asset.body.location, f"this template always fails: {failure}")]
            continue
        source, tree = _QuerySource(asset.body, query.sql), _parse_query(query.sql)
        if isinstance(tree, TextFault):
            return [source.problem(tree)]
        if tree is not None and (problems := [*_unknown_columns(asset, query, tree, source, derivations)]):
            return problems
        if tree is not None and (problems := [*impossible_types(asset, tree)]):
            return problems
    return [*wrong_columns(asset, derivations)]


# --------------------------------------------------------------------- syntax


def find_syntax_error(sql: str) -> TextFault | None:
    """The first place at which a query cannot be read; None where it can, or where only Spark knows.

    >>> find_syntax_error("SELECT sum(a FROM t")
    TextFault(line=1, column=14, width=4, message="expected ) before 'FROM'", hint=None)
    >>> find_syntax_error("SELECT a FROM t")
    """
    parsed = _parse_query(sql)
    return parsed if isinstance(parsed, TextFault) else None


def _parse_query(sql: str) -> exp.Expr | TextFault | None:
    """The tree of a query, or where it cannot be read; None where only Spark knows."""
    if _BEYOND_SQLGLOT.search(sql):
        return None
    if (place := find_extra_comma(sql)) is not None:
        line = sql.count("\n", 0, place) + 1
        return TextFault(line, place - sql.rfind("\n", 0, place), 1, "unexpected ','")
    try:
        return parse_query(sql)
    except ParseError as error:
        return _read_parse_error(error)
    except TokenError:
        return TextFault(1, 1, 1, "a quote or a comment is not closed")
    except (SqlglotError, RecursionError, ValueError):
        return None


def _read_parse_error(error: ParseError) -> TextFault | None:
    """The parser's first error in our words, at its place; None where the error has no place."""
    detail = error.errors[0] if error.errors else {}
    token, line, end = str(detail.get("highlight") or ""), detail.get("line"), detail.get("col")
    if not token or line is None or end is None:
        return None
    description = str(detail.get("description") or "").partition(" but got")[0]
    if description.startswith("Expecting "):
        message = f"expected {description.removeprefix('Expecting ')} before {token!r}"
    elif description.startswith("Required keyword"):
        message = f"incomplete expression near {token!r}"
    elif description.startswith("Expected "):
        message = f"expected {description.removeprefix('Expected ')} near {token!r}"
    else:
        message = f"unexpected {token!r}"
    return TextFault(line, max(1, end - len(token) + 1), len(token), message)


class _QuerySource:
    """A rendered query as its author wrote it: finds places of the one in the other.

    Args:
        body: The template.
        sql: The rendered query, without the space around it.
    """

    def __init__(self, body: SqlBody, sql: str) -> None:
        self._body = body
        self._lines = body.template.split("\n")
        leading_space = body.template[: len(body.template) - len(body.template.lstrip())]
        self._leading_lines = leading_space.count("\n")
        self._has_same_lines = body.template.strip().rstrip(";").count("\n") == sql.count("\n")
        self._rendered = sql.split("\n")

    def problem(self, fault: TextFault) -> SpecProblem:
        """The problem at its line; at its column, too, where the line as written shows it."""
        # where the template adds or drops lines, such as in a loop, no line of it is known: the first is shown
        template_line = fault.line + self._leading_lines if self._has_same_lines else 1
        line, rendered = _find_line(self._lines, template_line), _find_line(self._rendered, fault.line)
        end = fault.column - 1 + fault.width
        is_first_line = self._leading_lines + 1 == template_line and line.lstrip() == rendered
        indent_of_line = len(line) - len(line.lstrip()) if is_first_line else 0
        word = rendered[fault.column - 1 : end]
        if self._has_same_lines and line[indent_of_line : indent_of_line + end] == rendered[:end]:
            column, width = fault.column + indent_of_line, fault.width
        elif self._has_same_lines and word and line.count(word) == 1:
            column, width = line.index(word) + 1, fault.width
        else:
            column, width = len(line) - len(line.lstrip()) + 1, len(line.strip())
        body_location = self._body.location
        indent = body_location.column - 1
        where = FileLocation(body_location.file, body_location.line + template_line - 1, indent + column)
        return SpecProblem(where, f"the SQL cannot run: {fault.message}", None, " " * indent + line, max(1, width))

    def locate_name(self, name: str) -> TextFault:
        """The first place of a name in the rendered query."""
        for number, line in enumerate(self._rendered, start=1):
            if match := re.search(rf"(?<![\w`]){re.escape(name)}(?!\w)", line):
                return TextFault(number, match.start() + 1, len(name), "")
        return TextFault(1, 1, 1, "")


def _find_line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if number <= len(lines) else ""


# --------------------------------------------------------------------- columns


def _unknown_columns(
    asset: AssetSpec, query: RenderedQuery, tree: exp.Expr, source: _QuerySource, derivations: AssetDerivations
) -> Iterator[SpecProblem]:
    """Columns that nothing in the query can have, where the columns of all that it reads are known."""
    if unlisted := [*_unlisted_segments(asset, query, tree, source)]:
        yield from unlisted
        return
    columns = _relation_columns(asset, query, derivations)
    if columns is None:
        return
    names = {name.casefold(): name for each in columns.values() for name in each}
    made_names = map(str.casefold, _names_made_by_query(tree))
    known = _KnownNames(names, frozenset({*names, *made_names, *_NOT_COLUMNS}), _columns_by_qualifier(tree, columns))
    for node in tree.find_all(exp.Column):
        if (unknown := known.explain_unknown(node)) is not None:
            yield _unknown_name_problem(source, *unknown)


@frozen
class _KnownNames:
    """The names that a column can have in a query.

    Attributes:
        columns: The columns of all that the query reads, by their names in lower case.
        unqualified: All names that may stand alone, in lower case.
        by_qualifier: The columns of a relation, by the name that qualifies them.
    """

    columns: Mapping[str, str]
    unqualified: frozenset[str]
    by_qualifier: Mapping[str, Sequence[str]]

    def explain_unknown(self, node: exp.Column) -> tuple[str, str, Iterable[str]] | None:
        """The name that is not known, why nothing has it, and those that may be meant; None where something may."""
        name, qualifier = node.name, node.table.casefold()
        is_column = name and not isinstance(node.this, exp.Star) and not node.args.get("db")
        if not is_column or any(mark in name for mark in MARKS):
            return None
        if not qualifier:
            is_known = name.casefold() in self.unqualified
            message = f"none of the query's inputs has a column {name!r}"
            return None if is_known else (name, message, self.columns.values())
        if qualifier not in self.unqualified | _NAMESPACES:
            return node.table, f"unknown table or alias {node.table!r}", self.by_qualifier
        owner_columns = self.by_qualifier.get(qualifier)
        if owner_columns is None or name.casefold() in {*map(str.casefold, owner_columns), *_NOT_COLUMNS}:
            return None
        return name, f"{node.table!r} has no column {name!r}", owner_columns


def _unlisted_segments(
    asset: AssetSpec, query: RenderedQuery, tree: exp.Expr, source: _QuerySource
) -> Iterator[SpecProblem]:
    """Columns of `partitions` that a query names although only rows make these segments known."""
    unlisted = {column.casefold(): column for column in asset.segments_from_rows}
    relation = next((name for name, read in query.relations.items() if not read), None) if unlisted else None
    if relation is None:
        return
    listed = asset.listed_partition_names
    qualifiers = _columns_by_qualifier(tree, {relation: listed})
    named = [
        (node.table, node.args["table"], node.this)
        for node in tree.find_all(exp.Column)
        if node.table.casefold() in qualifiers
    ]
    joined = [
        (node.this.alias or "partitions", each, each)
        for node in tree.find_all(exp.Join)
        if node.this.name == relation
        for each in node.args.get("using") or ()
    ]
    for owner, first, last in (*named, *joined):
        if (column := unlisted.get(last.name.casefold())) is not None:
            message, hint = refuse_unlisted_segments(owner, column, listed)
            width = last.meta["end"] - first.meta["start"] + 1
            fault = TextFault(last.meta["line"], last.meta["col"] - width + 1, width, message)
            yield replace(source.problem(fault), hint=hint)


def _unknown_name_problem(source: _QuerySource, name: str, message: str, known_names: Iterable[str]) -> SpecProblem:
    """The problem at the first place of the name, with the known name that is most like it as the hint."""
    place = source.locate_name(name)
    fault = TextFault(place.line, place.column, place.width, message)
    problem = source.problem(fault)
    return SpecProblem(
        problem.location, problem.message, did_you_mean(name, [*known_names]), problem.excerpt, problem.width
    )


def _relation_columns(
    asset: AssetSpec, query: RenderedQuery, derivations: AssetDerivations
) -> Mapping[str, Sequence[str]] | None:
    """The columns of each relation of a query, by its name there; None where any are unknown."""
    columns_by_relation: dict[str, Sequence[str]] = {}
    for name, asset_name in query.relations.items():
        if not asset_name:
            bound_columns = ("start", "end") if asset.partitioning.time is not None else ()
            columns_by_relation[name] = (*asset.listed_partition_names, *bound_columns)
            continue
        inlet = asset.inlets.get(asset_name)
        if asset_name == asset.name or inlet is None or isinstance(inlet.read, ReadChanges):
            return None
        columns = derivations.columns_of(derivations.project.assets[asset_name])
        if columns is None:
            return None
        columns_by_relation[name] = columns
    return columns_by_relation


def _names_made_by_query(tree: exp.Expr) -> Iterator[str]:
    """Names that the query itself makes: aliases, columns of aliases, arguments of lambdas, fields of structs."""
    for node in tree.walk():
        match node:
            case exp.Alias() | exp.PropertyEQ():
                yield node.alias or node.this.name
            case exp.TableAlias():
                yield node.name
                yield from (each.name for each in node.args.get("columns") or ())
            case exp.Aliases() | exp.Lambda():
                yield from (each.name for each in node.expressions)
            case exp.Kwarg():
                yield node.this.name
            case exp.Table():
                yield node.name  # all columns of a row as one value
            case exp.Func():
                yield from _generator_names(node)


def _generator_names(node: exp.Func) -> Iterator[str]:
    """The names that Spark gives to what generators make."""
    if isinstance(node, exp.Explode | exp.Inline | exp.Posexplode | exp.Unnest | exp.Anonymous):
        yield from ("col", "pos", "key", "value", "id")


def _columns_by_qualifier(tree: exp.Expr, columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The columns of relations by the names that columns are qualified with; of names with one meaning only."""
    meanings: defaultdict[str, list[Sequence[str] | None]] = defaultdict(list)
    for node in tree.find_all(exp.Table, exp.Subquery):
        meanings[(node.alias or node.name).casefold()].append(_columns_of_source(node, columns))
    query_names = {each.alias.casefold() for each in tree.find_all(exp.CTE)}
    field_names = {name.casefold() for each in columns.values() for name in each}
    others = {"", *query_names, *field_names}
    sole = {name: found[0] for name, found in meanings.items() if len(found) == 1 and name not in others}
    return {name: found for name, found in sole.items() if found is not None}


def _columns_of_source(node: exp.Expr, columns: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """The columns of a source in FROM; None for a subquery, and where an alias renames the columns."""
    alias = node.args.get("alias")
    renames = alias is not None and bool(alias.args.get("columns"))
    return columns.get(node.name) if isinstance(node, exp.Table) and not renames else None


# --------------------------------------------------------------------- rules


def _rule_problems(rule: ValidationRule) -> Iterator[SpecProblem]:
    """The problems of the SQL and the regular expressions of a rule."""
    conditions = [("where", rule.where)] if rule.where else []
    match rule.check:
        case SqlCheck(condition) | RegisteredCheck(condition=condition) if condition:
            conditions.append((rule.check.kind, condition))
        case PatternCheck():
            if (regex_fault := regex_error(rule.check.regex)) is not None:
                yield SpecProblem(rule.place, f"the regular expression of {rule.name} does not compile: {regex_fault}")
    for key, condition in conditions:
        sql_fault = find_syntax_error(f"SELECT 1 FROM t WHERE (\n{condition}\n)")  # noqa: S608  parsed, never run
        if sql_fault is not None:
            yield SpecProblem(rule.place, f"{key!r} of {rule.name} is not a valid SQL condition: {sql_fault.message}")


def _unknown_rule_columns(rules: Iterable[ValidationRule], columns: Sequence[str] | None) -> Iterator[SpecProblem]:
    """Columns in the conditions of rules that their rows surely do not have; none where the columns are not known."""
    if columns is None:
        return
    names = {name.casefold() for name in columns}
    for rule in rules:
        conditions = [("where", rule.where), ("sql", rule.check.condition if isinstance(rule.check, SqlCheck) else "")]
        for key, condition in conditions:
            for name in _column_names(condition) if condition else ():
                if not name.startswith("_") and name.casefold() not in names:
                    message = f"{key!r} of {rule.name} reads a column {name!r}, which the rows do not have"
                    yield SpecProblem(rule.place, message, did_you_mean(name, columns))


def _unknown_delete_columns(asset: AssetSpec) -> Iterator[SpecProblem]:
    """Columns in an upsert's `delete_when` that its SELECT does not yield; none where its text does not show them."""
    write = asset.write
    if write is None or not isinstance(asset.body, SqlBody) or (condition := write.condition_on_rows()) is None:
        return
    text, place = condition
    selected = yielded_columns(asset.body.text)
    if selected is None:
        return
    known_columns = KnownColumns.of_select(asset.name, (*selected, *write.added_columns))
    for name in _column_names(text):
        if refusal := known_columns.find_problem(name):
            hint = "; ".join(filter(None, [f"write text in quotes: '{name}'", refusal[1]]))
            yield SpecProblem(place, f"{refusal[0]}, which 'delete_when' reads", hint)


def _column_names(condition: str) -> list[str]:
    """The columns that a condition surely reads; empty where it has queries of its own or cannot be read."""
    tree = _parse_query(f"SELECT 1 FROM t WHERE (\n{condition}\n)")  # noqa: S608  parsed, never run
    if tree is None or isinstance(tree, TextFault) or len([*tree.find_all(exp.Query)]) > 1:
        return []
    made = {*map(str.casefold, _names_made_by_query(tree)), *_NOT_COLUMNS}
    columns = [each.name for each in tree.find_all(exp.Column) if not each.table]
    return [name for name in columns if name and name.casefold() not in made]


_OF_BOTH: Final = re.compile(
    r"missing \)|unbalanced parenthesis|unterminated character set|nothing to repeat|multiple repeat|bad escape \(end"
)
"""Errors of Python that are errors in Java too: it has other rules for ranges, look-behind and references."""
_OF_PYTHON_ONLY: Final = re.compile(r"\(\?(?:P[<=>]|\()")
_LOOSE_BRACE: Final = re.compile(r"(?<!\\)\{(?!\d)")


def regex_error(expression: str) -> str | None:
    """Why a regular expression does not compile; None where it does, or where only Java knows.

    >>> regex_error("a(b"), regex_error("[a-z]+"), regex_error("(?<year>[0-9]")
    ('missing ), unterminated subpattern at position 1', None, None)
    >>> regex_error("(?<=a{1,3})b"), regex_error("(?P<year>[0-9]+)")
    (None, "'(?P<' at position 0 is Python syntax; Spark uses Java's regular expressions")
    """
    if _JAVA_ONLY_REGEX.search(expression):
        return None
    if (found := _OF_PYTHON_ONLY.search(expression)) is not None:
        return f"{found[0]!r} at position {found.start()} is Python syntax; Spark uses Java's regular expressions"
    if "[" not in expression and (found := _LOOSE_BRACE.search(expression)) is not None:
        return f"'{{' at position {found.start()} is not a repetition; write '\\{{' for the character"
    try:
        re.compile(expression)
    except re.error as error:
        repeats_range = error.msg == "multiple repeat" and expression[error.pos or 0 :].startswith("{")
        return str(error) if _OF_BOTH.search(str(error)) and not repeats_range else None
    except (RecursionError, OverflowError):
        return None
    return None
