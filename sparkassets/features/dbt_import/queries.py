"""Rewrites rendered queries of a dbt project in Spark's SQL, and reads what their incremental filters mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from sparkassets.features.dbt_import.dbt_rendering import OWN_RELATION, RELATION, NotRenderableError, RenderedText
from sparkassets.frozen import frozen

WHOLE_DIVISIONS: Final = frozenset({"athena", "postgres", "presto", "redshift", "sqlite", "trino", "tsql"})
"""Dialects in which ``/`` of two whole numbers is a whole number."""
_OWN_DIALECTS: Final = frozenset({"databricks", "spark"})
_JINJA: Final = re.compile(r"\{[{%#]")
_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_OVERLAPS: Final = {"MINUTE": "m", "HOUR": "h", "DAY": "d", "WEEK": "w", "MONTH": "mo"}
_BOUND: Final = frozenset(
    {
        *(
            exp.Alias,
            exp.Cast,
            exp.Coalesce,
            exp.Column,
            exp.DataType,
            exp.From,
            exp.Identifier,
            exp.Interval,
            exp.Literal,
        ),
        *(exp.Max, exp.Paren, exp.Select, exp.Sub, exp.Subquery, exp.Table, exp.TableAlias, exp.Var),
    }
)
"""Kinds of nodes in the highest value of a column, less an interval."""


@frozen
class IncrementalFilter:
    """Rows above the highest value of a column that the table has.

    Attributes:
        reference: Number of the relation whose rows are filtered.
        column: Column of that relation.
        overlap: How far below the highest value rows are read again, such as ``3d``; empty for none.
        is_inclusive: Whether rows with the highest value itself are read again.
    """

    reference: int
    column: str
    overlap: str
    is_inclusive: bool


def parse_query(text: str, dialect: str) -> exp.Query:
    """The one query of a text.

    Raises:
        NotRenderableError: It is none in that dialect.
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=dialect) if tree is not None]
    except SqlglotError as error:
        raise NotRenderableError(f"its SQL cannot be parsed as {dialect}: {str(error).splitlines()[0]}") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise NotRenderableError("it is not one query")
    return trees[0]


def convert_query(rendered: RenderedText, inlets: Sequence[str], own: str, *, dialect: str) -> str:
    """The query in Spark's SQL with inlets for relations, as it was written where both dialects agree.

    Args:
        rendered: The query in ``dialect``.
        inlets: The asset of each of its references.
        own: Its own asset.
        dialect: The SQL of the dbt project.

    Raises:
        NotRenderableError: It cannot be parsed.
    """
    tree = parse_query(rendered.text, dialect)
    is_aliased = _alias_relations(tree, [name.rpartition(".")[2] for _, name in rendered.references])
    converted = tree.sql(dialect="spark", pretty=True)
    written = _BLANK_LINES.sub("\n\n", rendered.text.strip().rstrip(";").rstrip())
    if not is_aliased and (dialect in _OWN_DIALECTS or _has_tokens_of(written, converted)):
        converted = written
    # what looks like Jinja in the rendered SQL is text, and must not be rendered again
    converted = _JINJA.sub(lambda match: f"{{{{ '{match[0]}' }}}}", converted)
    converted = re.sub(rf"`?{RELATION}(\d+)`?", lambda match: f"{{{{ inlets.{inlets[int(match[1])]} }}}}", converted)
    return re.sub(rf"`?\b{OWN_RELATION}\b`?", f"{{{{ outlets.{own} }}}}", converted) + "\n"


def convert_type(text: str, dialect: str) -> str:
    """A type in Spark's SQL; empty where it is unknown."""
    try:
        return exp.DataType.build(text, dialect=dialect).sql(dialect="spark") if text else ""
    except SqlglotError:
        return ""


def convert_condition(text: str, dialect: str) -> str:
    """A condition of a test in Spark's SQL.

    Raises:
        NotRenderableError: It cannot be parsed.
    """
    try:
        return sqlglot.parse_one(text, dialect=dialect).sql(dialect="spark")
    except SqlglotError as error:
        raise NotRenderableError(
            f"its condition cannot be parsed as {dialect}: {str(error).splitlines()[0]}"
        ) from error


def divides(text: str, dialect: str) -> bool:
    """Whether a query divides by ``/``, which dialects of `WHOLE_DIVISIONS` compute otherwise than Spark."""
    return parse_query(text, dialect).find(exp.Div) is not None


def find_filter(everything: str, incremental: str, dialect: str) -> IncrementalFilter | None:
    """The filter by which an incremental run differs from a full one; None where it is anything else.

    Args:
        everything: The query of a full run.
        incremental: The query of an incremental run.
        dialect: Their SQL.
    """
    full, partial = parse_query(everything, dialect), parse_query(incremental, dialect)
    own = [table for table in partial.find_all(exp.Table) if table.name == OWN_RELATION]
    comparison = own[0].find_ancestor(exp.GT, exp.GTE) if len(own) == 1 else None
    if comparison is None or not isinstance(comparison.this, exp.Column):
        return None
    column, bound = comparison.this, comparison.expression
    reference, overlap = _find_reference(column, comparison), _find_overlap(bound)
    if reference is None or overlap is None or not _is_highest(bound, column.name):
        return None
    _remove_condition(comparison)
    if partial.sql() != full.sql():
        return None
    return IncrementalFilter(reference, column.name, overlap, isinstance(comparison, exp.GTE))


def find_columns(text: str, relations: Sequence[Mapping[str, str] | None], dialect: str) -> dict[str, str] | None:
    """The columns that a query yields, with their types; None where a star stands for unknown ones.

    Args:
        text: The query.
        relations: The columns of each of its relations, None where they are unknown. Types are Spark's, or empty.
        dialect: Its SQL.
    """
    schema: dict[str, object] = {
        f"{RELATION}{at}": {
            name: exp.DataType.build(kind or "unknown", dialect="spark") for name, kind in columns.items()
        }
        for at, columns in enumerate(relations)
        if columns
    }
    try:
        qualified = qualify(parse_query(text, dialect), schema=schema, dialect=dialect, validate_qualify_columns=False)
        typed = annotate_types(qualified, schema=schema, dialect=dialect)
    except SqlglotError:
        return None
    selects = typed.selects if isinstance(typed, exp.Query) else []
    found = {select.alias_or_name: _type_text(select) for select in selects}
    return None if "*" in found or not all(found) else found


def _type_text(select: exp.Expr) -> str:
    """The type of an annotated expression in Spark's SQL; empty where it is unknown."""
    kind = select.type
    if kind is None or kind.is_type(exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL):
        return ""
    return kind.sql(dialect="spark")


def _alias_relations(tree: exp.Expr, names: Sequence[str]) -> bool:
    """Gives relations by whose bare names columns are qualified these names as aliases; whether there were any."""
    is_aliased = False
    for table in tree.find_all(exp.Table):
        number = table.name.removeprefix(RELATION)
        select = table.find_ancestor(exp.Select)
        if number == table.name or table.alias or select is None:
            continue
        if (name := names[int(number)]) in {column.table for column in select.find_all(exp.Column)}:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
            is_aliased = True
    return is_aliased


def _has_tokens_of(text: str, other: str) -> bool:
    """Whether Spark reads the same tokens in both, so that sqlglot had nothing to change."""
    try:
        first, second = (
            [(token.token_type, token.text.casefold()) for token in sqlglot.tokenize(each, read="spark")]
            for each in (text, other)
        )
    except SqlglotError:
        return False
    return first == second


def _find_overlap(bound: exp.Expr) -> str | None:
    """The interval that is taken off the highest value, empty for none; None where it is no such value."""
    counts = Counter(type(node) for node in bound.walk())
    intervals = list(bound.find_all(exp.Interval))
    if not counts.keys() <= _BOUND or counts[exp.Max] != 1 or len(intervals) > 1 or counts[exp.Sub] != len(intervals):
        return None
    if not intervals:
        return ""
    amount, unit = intervals[0].this, str(intervals[0].args.get("unit") or "").upper().removesuffix("S")
    if not isinstance(amount, exp.Literal) or not amount.name.isdecimal() or unit not in _OVERLAPS:
        return None
    return f"{amount.name}{_OVERLAPS[unit]}"


def _is_highest(bound: exp.Expr, column: str) -> bool:
    """Whether the highest value is that of the column which is compared: of a day, hours would be read once only."""
    highest = bound.find(exp.Max)
    return highest is not None and isinstance(highest.this, exp.Column) and highest.this.name.lower() == column.lower()


def _find_reference(column: exp.Column, comparison: exp.Expr) -> int | None:
    """The number of the relation that a column belongs to, also through CTEs that are all of it."""
    select = comparison.find_ancestor(exp.Select)
    tables = _tables_of(select) if select is not None else []
    if column.table:
        tables = [table for table in tables if table.alias_or_name == column.table]
    ctes: dict[str, Any] = {cte.alias: cte.this for cte in comparison.root().find_all(exp.CTE)}
    while len(tables) == 1 and isinstance(tables[0], exp.Table):
        name = tables[0].name
        if name.startswith(RELATION):
            return int(name.removeprefix(RELATION))
        inner = ctes.pop(name, None)
        is_whole = isinstance(inner, exp.Select) and inner.is_star and not inner.args.get("where")
        tables = _tables_of(inner) if is_whole else []
    return None


def _tables_of(select: exp.Select) -> list[exp.Expr]:
    clauses = [select.args.get("from_"), *(select.args.get("joins") or [])]
    return [clause.this for clause in clauses if clause is not None]


def _remove_condition(condition: exp.Expr) -> None:
    """Takes a condition out of the conjunction or the WHERE that it stands in."""
    while isinstance(condition.parent, exp.Paren):
        condition = condition.parent
    parent = condition.parent
    if isinstance(parent, exp.And):
        parent.replace(parent.expression if parent.this is condition else parent.this)
    elif isinstance(parent, exp.Where):
        parent.pop()
