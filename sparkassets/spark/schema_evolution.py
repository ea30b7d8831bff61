"""How a run may change its target's columns, by the asset's ``schema``, and how the write does it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.core.spec.column_changes import describe_remedies, rebuild_command
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.spark import sqltext
from sparkassets.spark.relation import relation_of
from sparkassets.spark.schemas import SchemaDifferences, find_differences
from sparkassets.spark.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

    from sparkassets.spark.writes.landing import Columns

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_WIDER = {"float": ("double",), "date": ("timestamp_ntz",)}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_WIDENING = "delta.enableTypeWidening"


def refuse_misfit(asset: AssetSpec, schema: StructType, target: TargetTable) -> None:
    """Refuses columns that do not fit the target unless the asset's ``schema`` allows the change.

    Raises:
        RunError: With every difference, the key that would allow it, or the command.
    """
    found = find_differences(schema, target.schema)
    _refuse_without_partitions(asset, target)
    if not found or _may(asset, found):
        return
    told = "; ".join(found.phrases("the target"))
    raise RunError(f"{asset.name}: the result does not fit the target: {told}", hint=_hint(asset, found))


def _refuse_without_partitions(asset: AssetSpec, target: TargetTable) -> None:
    """Refuses a table without the columns of partitions: a partition's rows would be duplicated.

    Raises:
        RunError: With the command that makes the table anew.
    """
    known = {field.name.lower() for field in target.schema.fields}
    lacking = [column for column in asset.partitioning.columns if column.lower() not in known]
    if lacking:
        told = ", ".join(map(repr, lacking))
        raise RunError(
            f"{asset.name}: the target has no column {told}, so its rows do not tell which partition they are of",
            hint=rebuild_command(asset),
        )


def evolve_rows(frame: DataFrame, asset: AssetSpec, target: TargetTable) -> tuple[DataFrame, Columns]:
    """The rows in the target's present or future types, and what becomes of its columns."""
    from pyspark.sql import functions as sql

    found = find_differences(frame.schema, target.schema)
    if asset.schema == "strict" or not found:
        return frame, "kept"
    narrow = {have.name: want.dataType for have, want in found.changed if not _widens(want.dataType, have.dataType)}
    cast = [
        sql.col(sqltext.name(name)).cast(narrow[name]).alias(name) if name in narrow else sql.col(sqltext.name(name))
        for name in frame.columns
    ]
    return (frame.select(*cast) if narrow else frame), "widened"


def widening_statements(asset: AssetSpec, schema: StructType, target: TargetTable) -> Sequence[str]:
    """Statements before the write without which Delta does not widen a column."""
    if target.allows_widening or not any(
        _widens(want.dataType, have.dataType) for have, want in _find_type_changes(schema, target)
    ):
        return ()
    return (f"ALTER TABLE {relation_of(asset).sql} SET TBLPROPERTIES ('{_WIDENING}' = 'true')",)


def alter_statements(asset: AssetSpec, schema: StructType, target: TargetTable) -> Sequence[str]:
    """Statements that give the target the columns and types of a merge's rows, as far as allowed."""
    table, found = f"ALTER TABLE {relation_of(asset).sql}", find_differences(schema, target.schema)
    added = ", ".join(f"{sqltext.name(each.name)} {each.dataType.simpleString()}" for each in found.extra)
    wider = [
        f"{table} ALTER COLUMN {sqltext.name(want.name)} TYPE {have.dataType.simpleString()}"
        for have, want in found.changed
        if _widens(want.dataType, have.dataType)
    ]
    adding = [f"{table} ADD COLUMNS ({added})"] if added else []
    return (*widening_statements(asset, schema, target), *adding, *wider)


def _find_type_changes(schema: StructType, target: TargetTable) -> Sequence[tuple[StructField, StructField]]:
    return find_differences(schema, target.schema).changed


def _may(asset: AssetSpec, found: SchemaDifferences) -> bool:
    match asset.schema:
        case "add_columns":
            return not found.missing and not found.changed
        case "evolve":
            return not found.missing and all(_fits(have.dataType, want.dataType) for have, want in found.changed)
    return False


def _hint(asset: AssetSpec, found: SchemaDifferences) -> str:
    """The key that allows all of the changes, if there is one; else the command."""
    if found.missing or not all(_fits(have.dataType, want.dataType) for have, want in found.changed):
        return rebuild_command(asset)
    key = "schema: evolve" if found.changed else "schema: add_columns"
    return describe_remedies(asset, key, rebuild_command(asset))


def _fits(have: DataType, want: DataType) -> bool:
    return _widens(want, have) or _widens(have, want)


def _widens(old: DataType, new: DataType) -> bool:
    """Whether Delta itself widens a column from one type to the other when rows are written."""
    before, after = old.simpleString(), new.simpleString()
    if before in _WHOLE and after in _WHOLE:
        return _WHOLE.index(before) < _WHOLE.index(after)
    first, second = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if first and second:
        scale, more = int(second[2]) - int(first[2]), int(second[1]) - int(first[1])
        return scale >= 0 and more >= scale and more > 0
    return after in _WIDER.get(before, ())
