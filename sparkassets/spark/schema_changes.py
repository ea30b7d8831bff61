"""What a write changes of a table's columns, folders and properties, and refusal of what it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.spec.column_changes import ColumnChanges, rebuild_command, widens
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import RunError
from sparkassets.ports import CommitStamp, RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.column_comments import COMMENT
from sparkassets.spark.commit_stamps import stamp_commits
from sparkassets.spark.open_tables import TableDescription
from sparkassets.spark.schemas import GENERATED, SchemaDifferences, find_differences, is_generated
from sparkassets.spark.table_locations import location_of, table_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

    from sparkassets.spark.writes.landing import Columns

_TYPE_CHANGES = "delta.typeChanges"
_INVARIANTS = "delta.invariants"
"""A column's own condition, by Delta's protocol. Delta makes every column of a new schema nullable, and lets none be
made NOT NULL again, but refuses rows by this all the same."""


def refuse_broken(asset: str, schema: StructType, target: TableDescription) -> None:
    """Refuses a new schema that contradicts a constraint of the table.

    Raises:
        RunError: A CHECK constraint or an identity column stands in the way.
    """
    differences = find_differences(schema, target.schema)
    if not _needs_replacing(differences):
        return
    missing = [field.name for field in differences.missing]
    for name, expression in target.constraints.items():
        if used := sorted(_find_named(expression, missing)):
            raise RunError(
                f"{asset}: the constraint {name} ({expression}) of the target uses the column {used[0]!r}, "
                "which the result no longer has",
                hint=f"ALTER TABLE delta.`…` DROP CONSTRAINT {name}, or return the column",
            )
    present = {name.lower() for name in schema.names}
    for field in target.schema.fields:
        if field.name.lower() not in present and is_generated(field) and GENERATED not in field.metadata:
            raise RunError(
                f"{asset}: Delta cannot remove columns beside the identity column {field.name!r} of the target: "
                f"{'; '.join(differences.phrases('the target'))}",
                hint="return those columns, or drop the table",
            )


def replace_rows(frame: DataFrame, target: TableDescription) -> tuple[DataFrame, Columns]:
    """The frame to write in place of all rows of ``target``, and what that does to the columns of the table."""
    differences = find_differences(frame.schema, target.schema)
    if not _needs_replacing(differences):
        return frame, "widened" if differences.extra else "kept"
    return _copy_metadata(frame, target), "replaced"


def restore_statements(
    session: SparkSession, location: StorageLocation, schema: StructType, target: TableDescription
) -> Sequence[str]:
    """Statements that restore, after the write, what no commit of rows can keep."""
    if not _needs_replacing(find_differences(schema, target.schema)):
        return ()
    table, names = table_sql(location), {name.lower() for name in schema.names}
    statements = []
    if target.is_clustered:
        (detail,) = session.sql(f"DESCRIBE DETAIL {table}").collect()
        columns = [str(column) for column in detail["clusteringColumns"]]
        if columns and names.issuperset(column.lower() for column in columns):
            statements.append(f"ALTER TABLE {table} CLUSTER BY ({', '.join(map(_quote_path, columns))})")
    return statements


def run_alterations(session: SparkSession, statements: Sequence[str], stamp: CommitStamp) -> None:
    """Runs statements that change no rows, in commits that are stamped as the run's wherever the session takes that."""
    if not statements:
        return
    with stamp_commits(session, replace(stamp, kind="layout", version=0)) as stamped:
        for statement in statements:
            (stamped or session).sql(statement)


def _needs_replacing(differences: SchemaDifferences) -> bool:
    """Whether the table's schema has to be replaced, not only extended."""
    return bool(differences.missing or differences.changed)


def _copy_metadata(frame: DataFrame, target: TableDescription) -> DataFrame:
    """Copies the table's column metadata onto the rows, with its generated columns."""
    from pyspark.sql import functions as sql

    table_fields = {field.name.lower(): field for field in target.schema.fields}
    present = {name.lower() for name in frame.columns}
    missing = [field.name for field in target.schema.fields if field.name.lower() not in present]
    own_columns = [
        sql.col(sqltext.name(field.name)).alias(
            field.name, metadata=_column_metadata(field, table_fields.get(field.name.lower()), missing)
        )
        for field in frame.schema.fields
    ]
    generated_columns = [
        sql.expr(field.metadata[GENERATED]).cast(field.dataType).alias(field.name, metadata=_copy_kept_metadata(field))
        for field in target.schema.fields
        if field.name in missing and GENERATED in field.metadata and not _find_named(field.metadata[GENERATED], missing)
    ]
    return frame.select(*own_columns, *generated_columns)


def _column_metadata(new: StructField, old: StructField | None, missing: Sequence[str]) -> dict[str, object]:
    """The column's metadata in the table, as far as it is still true of the new column."""
    if old is None:
        return dict(new.metadata)
    if new.dataType.simpleString() != old.dataType.simpleString() or _find_named(
        old.metadata.get(GENERATED, ""), missing
    ):
        return {key: value for key, value in old.metadata.items() if key == COMMENT}
    return _copy_kept_metadata(old)


def _copy_kept_metadata(field: StructField) -> dict[str, object]:
    metadata = {key: value for key, value in field.metadata.items() if key != _TYPE_CHANGES}
    if not field.nullable:
        metadata[_INVARIANTS] = json.dumps({"expression": {"expression": f"{sqltext.name(field.name)} IS NOT NULL"}})
    return metadata


def _find_named(expression: str, columns: Iterable[str]) -> list[str]:
    """The columns that an expression names, ignoring case."""
    return [name for name in columns if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", expression, re.IGNORECASE)]


def _quote_path(column: str) -> str:
    """A column, or a field within one, as `DESCRIBE DETAIL` writes it, quoted."""
    return ".".join(map(sqltext.name, column.replace("`", "").split(".")))


_WIDENING = "delta.enableTypeWidening"


def refuse_misfit(order: RunOrder, schema: StructType, target: TableDescription) -> None:
    """Refuses columns that do not fit the target unless the asset's ``schema`` allows the change.

    Raises:
        RunError: With every difference, the key that would allow it, or the command.
    """
    asset = order.asset
    rebuild = rebuild_command(asset, branch=order.promotes.branch if order.promotes is not None else "")
    _refuse_without_partitions(asset, target, rebuild)
    differences = find_differences(schema, target.schema)
    changes = ColumnChanges(
        tuple(field.name for field in differences.extra),
        tuple(field.name for field in differences.missing),
        tuple((want.name, *_type_names(want, have)) for have, want in differences.changed),
    )
    if changes.is_allowed(asset):
        return
    phrases = "; ".join(differences.phrases("the target"))
    raise RunError(
        f"{asset.name}: the result does not match the target: {phrases}", hint=changes.describe_remedies(asset, rebuild)
    )


def _refuse_without_partitions(asset: AssetSpec, target: TableDescription, rebuild: str) -> None:
    """Refuses a table without the columns of partitions: a partition's rows would be duplicated.

    Raises:
        RunError: With the command that rebuilds the table.
    """
    present = {field.name.lower() for field in target.schema.fields}
    missing = [column for column in asset.partitioning.columns if column.lower() not in present]
    if missing:
        shown = ", ".join(map(repr, missing))
        raise RunError(
            f"{asset.name}: the target has no column {shown}, so its rows cannot be assigned to partitions",
            hint=rebuild,
        )


def evolve_rows(frame: DataFrame, asset: AssetSpec, target: TableDescription) -> tuple[DataFrame, Columns]:
    """The rows in the target's present or future types, and what becomes of its columns."""
    from pyspark.sql import functions as sql

    differences = find_differences(frame.schema, target.schema)
    if asset.schema == "strict" or not differences:
        return frame, "kept"
    cast_types = {
        have.name: want.dataType for have, want in differences.changed if not widens(*_type_names(want, have))
    }
    columns = [
        sql.col(sqltext.name(name)).cast(cast_types[name]).alias(name)
        if name in cast_types
        else sql.col(sqltext.name(name))
        for name in frame.columns
    ]
    return (frame.select(*columns) if cast_types else frame), "widened"


def widening_statements(asset: AssetSpec, schema: StructType, target: TableDescription) -> Sequence[str]:
    """Statements before the write without which Delta does not widen a column."""
    if target.allows_widening or not any(
        widens(*_type_names(want, have)) for have, want in _find_type_changes(schema, target)
    ):
        return ()
    return (f"ALTER TABLE {table_sql(location_of(asset))} SET TBLPROPERTIES ('{_WIDENING}' = 'true')",)


def alter_statements(asset: AssetSpec, schema: StructType, target: TableDescription) -> Sequence[str]:
    """Statements that give the target the columns and types of a merge's rows, as far as allowed."""
    alter, differences = f"ALTER TABLE {table_sql(location_of(asset))}", find_differences(schema, target.schema)
    added = ", ".join(f"{sqltext.name(each.name)} {each.dataType.simpleString()}" for each in differences.extra)
    widenings = [
        f"{alter} ALTER COLUMN {sqltext.name(want.name)} TYPE {have.dataType.simpleString()}"
        for have, want in differences.changed
        if widens(*_type_names(want, have))
    ]
    additions = [f"{alter} ADD COLUMNS ({added})"] if added else []
    return (*widening_statements(asset, schema, target), *additions, *widenings)


def _find_type_changes(schema: StructType, target: TableDescription) -> Sequence[tuple[StructField, StructField]]:
    return find_differences(schema, target.schema).changed


def _type_names(first: StructField, second: StructField) -> tuple[str, str]:
    return first.dataType.simpleString(), second.dataType.simpleString()
