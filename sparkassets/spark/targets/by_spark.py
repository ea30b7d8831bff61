"""One stamped commit of Spark's: the computed rows, a merge of them, or a fence."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.properties import made_by_spark
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, FenceConflictError
from sparkassets.spark.failures import condition, is_conflict, run_error
from sparkassets.spark.layouts import alter
from sparkassets.spark.markers import describe
from sparkassets.spark.relation import relation_of
from sparkassets.spark.table import TargetTable
from sparkassets.spark.telling import telling
from sparkassets.spark.upserts import merging
from sparkassets.spark.writes import Landing, PlannedWrite, layout_of

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
        RunError: Rows outside the blocks (with examples), or whatever Spark says; nothing was published then.
    """
    landing, session = work.landing, work.landing.rows.sparkSession
    layout = layout_of(work.asset, work.schema, work.table)
    try:
        alter(session, landing.before, marker)
        relation_of(work.asset).save(
            landing.rows,
            {**stamps(marker), **_options(work), **(made_by_spark(work.asset) if work.table is None else {})},
            mode="append" if landing.replaces == "nothing" else "overwrite",
            layout=layout,
        )
    except Exception as error:
        refused = work.refused(error)
        refused.wrote_nothing = work.table is None and condition(error).startswith(_REFUSED_SCHEMAS)
        raise refused from error
    alter(session, landing.after, marker)


def merge(work: PlannedWrite, *, marker: CommitMarker) -> None:
    """Commits the staged rows by their keys.

    Raises:
        RunError: Whatever Spark says; nothing was published then.
    """
    landing, session = work.landing, work.landing.rows.sparkSession
    if landing.merge is None or work.table is None:
        raise TypeError(f"{work.asset.name} has nothing to merge, or nothing to merge it into")
    try:
        alter(session, landing.before, marker)
        merging.merge(session, landing.merge, relation_of(work.asset), landing.rows.schema, marker=marker)
    except RunError:
        raise
    except Exception as error:
        raise work.refused(error) from error


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
        with telling(session, marker) if made else nullcontext(session) as own:
            layout = layout_of(asset, schema, table)
            options = {**stamps(marker), **(made_by_spark(asset) if table is None else {})}
            relation.save(own.createDataFrame([], schema), options, layout=layout, there=table is not None)
    except Exception as error:
        if is_conflict(error) or condition(error) in _MADE_MEANWHILE:
            raise FenceConflictError(f"{asset.name}: another writer was quicker: {condition(error)}") from error
        raise run_error(error, what=f"{asset.name} cannot be fenced") from error


def _options(work: PlannedWrite) -> Mapping[str, str]:
    """What Delta's writer is told to replace, and to change of the columns."""
    landing: Landing = work.landing
    if landing.columns == "replaced":
        # a session may be set to replace only the partitions that the new rows have
        return {"overwriteSchema": "true", "partitionOverwriteMode": "static"}
    merged = {"mergeSchema": "true"} if landing.columns == "widened" else {}
    match landing.replaces:
        case "all":
            return {"mergeSchema": "false", **merged, "replaceWhere": "true"}
        case "blocks" if work.blocks is not None:
            return {**merged, "replaceWhere": work.blocks.predicate}
    return merged


def stamps(marker: CommitMarker) -> Mapping[str, str]:
    """Options of a writer whose commit is the marker's."""
    return {"txnAppId": marker.app_id, "txnVersion": str(marker.version), "userMetadata": describe(marker)}
