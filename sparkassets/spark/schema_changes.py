"""What a write changes of a table's columns, folders and properties, and refusal of what it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.spec.column_changes import describe_remedies, rebuild_command
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.schemas import GENERATED, SchemaDifferences, find_differences, is_generated
from sparkassets.spark.target_table import TableRelation, TargetTable, mark_commits, relation_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from sparkassets.spark.writes.landing import Columns

_COMMENT = "comment"
_OF_THE_TYPE = "delta.typeChanges"
_INVARIANTS = "delta.invariants"
"""A column's own condition, by Delta's protocol. Delta makes every column of a new schema nullable, and lets none be
made NOT NULL again, but refuses rows by this all the same."""


def refuse_broken(asset: str, schema: StructType, target: TargetTable) -> None:
    """Refuses a new schema that contradicts a constraint of the table.

    Raises:
        RunError: A CHECK constraint or an identity column stands in the way.
    """
    found = find_differences(schema, target.schema)
    if not _is_other(found):
        return
    gone = [field.name for field in found.missing]
    for name, expression in target.constraints.items():
        if lost := sorted(_named_in(expression, gone)):
            raise RunError(
                f"{asset}: the constraint {name} ({expression}) of the target uses the column {lost[0]!r}, "
                "which the result no longer has",
                hint=f"ALTER TABLE delta.`…` DROP CONSTRAINT {name}, or give the column",
            )
    have = {name.lower() for name in schema.names}
    for field in target.schema.fields:
        if field.name.lower() not in have and is_generated(field) and GENERATED not in field.metadata:
            raise RunError(
                f"{asset}: Delta cannot keep the identity column {field.name!r} of the target while other columns "
                f"go: {'; '.join(found.phrases('the target'))}",
                hint="give those columns, or drop the table",
            )


def replace_rows(frame: DataFrame, target: TargetTable) -> tuple[DataFrame, Columns]:
    """The rows that replace all of ``target``, and what becomes of its columns."""
    found = find_differences(frame.schema, target.schema)
    if not _is_other(found):
        return frame, "widened" if found.extra else "kept"
    return _copy_metadata(frame, target), "replaced"


def restore_statements(
    session: SparkSession, relation: TableRelation, schema: StructType, target: TargetTable
) -> Sequence[str]:
    """Statements that restore, after the write, what no commit of rows can keep."""
    if not _is_other(find_differences(schema, target.schema)):
        return ()
    table, names = relation.sql, {name.lower() for name in schema.names}
    statements = []
    if target.is_clustered:
        (detail,) = session.sql(f"DESCRIBE DETAIL {table}").collect()
        columns = [str(column) for column in detail["clusteringColumns"]]
        if columns and names.issuperset(column.lower() for column in columns):
            statements.append(f"ALTER TABLE {table} CLUSTER BY ({', '.join(map(_path, columns))})")
    return statements


def run_alterations(session: SparkSession, statements: Sequence[str], marker: CommitMarker) -> None:
    """Runs statements that change no rows, in commits marked as the run's."""
    if not statements:
        return
    with mark_commits(session, replace(marker, kind="layout", version=0)) as own:
        for statement in statements:
            own.sql(statement)


def _is_other(found: SchemaDifferences) -> bool:
    """Whether the table's schema has to be replaced, not only extended."""
    return bool(found.missing or found.changed)


def _copy_metadata(frame: DataFrame, target: TargetTable) -> DataFrame:
    """Copies the table's column metadata onto the rows, with its generated columns."""
    from pyspark.sql import functions as sql

    there = {field.name.lower(): field for field in target.schema.fields}
    have = {name.lower() for name in frame.columns}
    lost = [field.name for field in target.schema.fields if field.name.lower() not in have]
    kept = [
        sql.col(sqltext.name(field.name)).alias(
            field.name, metadata=_column_metadata(field, there.get(field.name.lower()), lost)
        )
        for field in frame.schema.fields
    ]
    copied = [
        sql.expr(field.metadata[GENERATED]).cast(field.dataType).alias(field.name, metadata=_keep_metadata(field))
        for field in target.schema.fields
        if field.name in lost and GENERATED in field.metadata and not _named_in(field.metadata[GENERATED], lost)
    ]
    return frame.select(*kept, *copied)


def _column_metadata(new: StructField, old: StructField | None, lost: Sequence[str]) -> dict[str, object]:
    """The column's metadata in the table, as far as it is still true of the new column."""
    if old is None:
        return dict(new.metadata)
    if new.dataType.simpleString() != old.dataType.simpleString() or _named_in(old.metadata.get(GENERATED, ""), lost):
        return {key: value for key, value in old.metadata.items() if key == _COMMENT}
    return _keep_metadata(old)


def _keep_metadata(field: StructField) -> dict[str, object]:
    kept = {key: value for key, value in field.metadata.items() if key != _OF_THE_TYPE}
    if not field.nullable:
        kept[_INVARIANTS] = json.dumps({"expression": {"expression": f"{sqltext.name(field.name)} IS NOT NULL"}})
    return kept


def _named_in(expression: str, columns: Iterable[str]) -> list[str]:
    """The columns that an expression names, ignoring case."""
    return [name for name in columns if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", expression, re.IGNORECASE)]


def _path(column: str) -> str:
    """A column, or a field within one, as `DESCRIBE DETAIL` writes it, quoted."""
    return ".".join(map(sqltext.name, column.replace("`", "").split(".")))


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
    differences = "; ".join(found.phrases("the target"))
    raise RunError(f"{asset.name}: the result does not fit the target: {differences}", hint=_hint(asset, found))


def _refuse_without_partitions(asset: AssetSpec, target: TargetTable) -> None:
    """Refuses a table without the columns of partitions: a partition's rows would be duplicated.

    Raises:
        RunError: With the command that makes the table anew.
    """
    known = {field.name.lower() for field in target.schema.fields}
    lacking = [column for column in asset.partitioning.columns if column.lower() not in known]
    if lacking:
        missing = ", ".join(map(repr, lacking))
        raise RunError(
            f"{asset.name}: the target has no column {missing}, so its rows do not tell which partition they are of",
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
