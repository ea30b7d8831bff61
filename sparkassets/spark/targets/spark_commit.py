"""One stamped commit of Spark's: the computed rows, a merge of them, or a fence."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.features import spark_properties
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, FenceConflictError
from sparkassets.spark.failures import error_condition, is_conflict, run_error
from sparkassets.spark.schema_changes import run_alterations
from sparkassets.spark.target_table import TargetTable, format_marker, mark_commits, relation_of
from sparkassets.spark.upserts import key_merge
from sparkassets.spark.writes import PlannedWrite, RowLanding, layout_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


_REFUSED_SCHEMAS = (
    "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION",
    "DELTA_CANNOT_WRITE_EMPTY_SCHEMA",
    "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE",
    "DELTA_DUPLICATE_COLUMNS_FOUND",
    "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
    "DELTA_INVALID_PARTITION_COLUMN_TYPE",
    "DELTA_UNSUPPORTED_DATA_TYPES",
    "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
)
"""Conditions by which Delta refuses the columns of a new table, before any job.

A fence, which would have to make the table with the same columns, could not tell more than such an error does.
"""
_MADE_MEANWHILE = ("DELTA_PATH_EXISTS", "TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS")


def write(work: PlannedWrite, *, marker: CommitMarker) -> None:
    """Commits the rows as they are to land.

    Raises:
        RunError: Rows outside the partitions (with examples), or whatever Spark says; nothing was published then.
    """
    landing, session = work.landing, work.landing.rows.sparkSession
    layout = layout_of(work.asset, work.schema, work.table)
    try:
        run_alterations(session, landing.statements_before, marker)
        relation_of(work.asset).save_rows(
            landing.rows,
            {**stamps(marker), **_options(work), **(spark_properties(work.asset) if work.table is None else {})},
            mode="append" if landing.replaces == "nothing" else "overwrite",
            layout=layout,
        )
    except Exception as error:
        refused = work.explain_error(error)
        refused.wrote_nothing = work.table is None and error_condition(error).startswith(_REFUSED_SCHEMAS)
        raise refused from error
    run_alterations(session, landing.statements_after, marker)


def merge(work: PlannedWrite, *, marker: CommitMarker) -> None:
    """Commits the staged rows by their keys.

    Raises:
        RunError: Whatever Spark says; nothing was published then.
    """
    landing, session = work.landing, work.landing.rows.sparkSession
    if landing.merge is None or work.table is None:
        raise TypeError(f"{work.asset.name} has nothing to merge, or nothing to merge it into")
    try:
        run_alterations(session, landing.statements_before, marker)
        key_merge.commit_merge(session, landing.merge, relation_of(work.asset), landing.rows.schema, marker=marker)
    except RunError:
        raise
    except Exception as error:
        raise work.explain_error(error) from error


def fence(
    session: SparkSession, asset: AssetSpec, schema: StructType, *, table: TargetTable | None, marker: CommitMarker
) -> None:
    """Commits no rows; a missing table is created with ``schema``.

    Raises:
        FenceConflictError: Somebody committed meanwhile.
    """
    relation = relation_of(asset)
    made = table is None and relation.storage.table  # of which Delta takes what it is told from a session alone
    try:
        with mark_commits(session, marker) if made else nullcontext(session) as own:
            layout = layout_of(asset, schema, table)
            options = {**stamps(marker), **(spark_properties(asset) if table is None else {})}
            relation.save_rows(own.createDataFrame([], schema), options, layout=layout, there=table is not None)
    except Exception as error:
        if is_conflict(error) or error_condition(error) in _MADE_MEANWHILE:
            raise FenceConflictError(f"{asset.name}: another writer was quicker: {error_condition(error)}") from error
        raise run_error(error, what=f"{asset.name} cannot be fenced") from error


def _options(work: PlannedWrite) -> Mapping[str, str]:
    """What Delta's writer is told to replace, and to change of the columns."""
    landing: RowLanding = work.landing
    if landing.columns == "replaced":
        # a session may be set to replace only the partitions that the new rows have
        return {"overwriteSchema": "true", "partitionOverwriteMode": "static"}
    merged = {"mergeSchema": "true"} if landing.columns == "widened" else {}
    match landing.replaces:
        case "all":
            return {"mergeSchema": "false", **merged, "replaceWhere": "true"}
        case "partitions" if work.partitions is not None:
            return {**merged, "replaceWhere": work.partitions.predicate}
    return merged


def stamps(marker: CommitMarker) -> Mapping[str, str]:
    """Options of a writer whose commit is the marker's."""
    return {"txnAppId": marker.app_id, "txnVersion": str(marker.version), "userMetadata": format_marker(marker)}
