"""What stays of a table's layout when a run's rows replace all of it.

A table whose columns stay, or only gain some, keeps everything: Delta is told to replace the rows that there are, not
the table. If a column goes or gets another type, Delta takes the schema of the rows as the new one, without
clustering, comments, defaults, generated columns and NOT NULL. Whatever still applies is put back here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.marked_commits import mark_commits
from sparkassets.spark.relation import TableRelation
from sparkassets.spark.schemas import GENERATED, SchemaDifferences, find_differences, is_generated
from sparkassets.spark.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

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
    made = [
        sql.expr(field.metadata[GENERATED]).cast(field.dataType).alias(field.name, metadata=_keep_metadata(field))
        for field in target.schema.fields
        if field.name in lost and GENERATED in field.metadata and not _named_in(field.metadata[GENERATED], lost)
    ]
    return frame.select(*kept, *made)


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
