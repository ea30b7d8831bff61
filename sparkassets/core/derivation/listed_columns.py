"""Checks what `columns` lists against what the query yields, as far as its syntax tells."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sparkassets.core.derivation.asset_columns import AssetDerivations
from sparkassets.core.spec.column_inference import UNLISTED_HINT, refuse_unlisted
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.suggestions import KnownColumns
from sparkassets.errors import SpecProblem


def wrong_columns(asset: AssetSpec, derivations: AssetDerivations) -> Iterator[SpecProblem]:
    """Listed columns that the query does not yield, and others where all have a type; none where it is uncertain."""
    derivation = derivations.derivation_of(asset) if asset.listed_columns else None
    if derivation is None or asset.write is None or asset.writes_itself:
        return
    known, listed = KnownColumns.of_select(asset.name, [*derivation.columns]), {*map(str.lower, asset.columns)}
    for name, column in asset.listed_columns.items():
        if refused := known.find_problem(name):
            yield SpecProblem(column.location, *refused)
    unlisted = [each for each in derivation.columns if listed and each.lower() not in listed]
    if unlisted := [each for each in unlisted if each not in asset.write.added_columns]:
        first = next(iter(asset.listed_columns.values()))
        yield SpecProblem(first.location, refuse_unlisted(unlisted), UNLISTED_HINT)


def impossible_types(asset: AssetSpec, tree: exp.Expr) -> Iterator[SpecProblem]:
    """Declared types of columns that the query casts to another one."""
    items = tree.expressions if isinstance(tree, exp.Select) else []
    casts = {each.alias_or_name.lower(): each.unalias() for each in items}
    cast_types = {name: each.to for name, each in casts.items() if isinstance(each, exp.Cast)}
    for name, column in asset.listed_columns.items():
        found = cast_types.get(name.lower()) if column.type else None
        if found is None or found.args.get("nested"):
            continue
        declared, cast = _type_text(exp.DataType.build(column.type, dialect="spark")), _type_text(found)
        if declared != cast:
            message = f"the column {name!r} is declared as {declared}, but the SELECT casts it to {cast}"
            yield SpecProblem(column.location, message, "cast it to the declared type, or declare that of the cast")


def _type_text(kind: exp.DataType) -> str:
    """A type as Spark writes it, with the digits of a decimal."""
    digits = [each.sql() for each in kind.expressions]
    if kind.is_type(exp.DataType.Type.DECIMAL):
        return f"decimal({','.join([*digits, *('10', '0')[len(digits) :]])})"
    text = kind.sql(dialect="spark").lower()
    return "string" if text.startswith(("varchar", "char")) else text
