"""Marked commits of Spark: the computed rows, a merge of them, or a fence."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta import commit as delta_commit
from sparkassets.delta.commit import CommitConflictError, CommitRequest
from sparkassets.delta.features import spark_properties
from sparkassets.errors import RunError
from sparkassets.ports import CommitStamp, FenceConflictError
from sparkassets.spark.commit_history import changes_rows, commits_since
from sparkassets.spark.commit_stamps import format_stamp, stamp_commits
from sparkassets.spark.failures import error_condition, is_conflict, is_refused_by_parquet, run_error
from sparkassets.spark.open_tables import OpenedTable, PathTable, TableDescription, find_catalog_table
from sparkassets.spark.schema_changes import run_alterations
from sparkassets.spark.table_locations import location_of, save_rows
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
"""Conditions with which Delta refuses the columns of a new table, before any job.

A fence would have to create the table with the same columns, so it would fail, too.
"""
_CREATED_CONDITIONS = ("DELTA_PATH_EXISTS", "TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS")


def write(planned: PlannedWrite, *, stamp: CommitStamp) -> None:
    """Commits the rows as their landing says.

    Raises:
        RunError: Rows outside the partitions (with examples), or whatever Spark says; nothing was published then.
    """
    landing, session = planned.landing, planned.landing.rows.sparkSession
    layout = layout_of(planned.asset, planned.schema, planned.table)
    try:
        run_alterations(session, landing.statements_before, stamp)
        save_rows(
            location_of(planned.asset),
            landing.rows,
            {
                **stamp_options(stamp),
                **_make_writer_options(planned),
                **(spark_properties(planned.asset) if planned.table is None else {}),
            },
            mode="append" if landing.replaces == "nothing" else "overwrite",
            layout=layout,
        )
    except Exception as error:
        failure = planned.explain_error(error)
        failure.wrote_nothing = planned.table is None and _refuses_schema(error)
        raise failure from error
    run_alterations(session, landing.statements_after, stamp)


def _refuses_schema(error: Exception) -> bool:
    """Whether every write with these columns fails in the same way."""
    return error_condition(error).startswith(_REFUSED_SCHEMAS) or is_refused_by_parquet(error)


def merge(planned: PlannedWrite, *, stamp: CommitStamp) -> None:
    """Commits the staged rows by their keys, after the changes of columns that they need.

    Raises:
        RunError: Whatever Spark says. No row was published then; columns may have been changed already.
    """
    landing, session = planned.landing, planned.landing.rows.sparkSession
    if landing.merge is None or planned.table is None:
        raise TypeError(f"{planned.asset.name} has nothing to merge, or nothing to merge it into")
    try:
        run_alterations(session, landing.statements_before, stamp)
        key_merge.commit_merge(session, landing.merge, location_of(planned.asset), landing.rows.schema, stamp=stamp)
    except RunError:
        raise
    except Exception as error:
        raise planned.explain_error(error) from error


def fence(
    session: SparkSession, asset: AssetSpec, schema: StructType, *, table: TableDescription | None, stamp: CommitStamp
) -> None:
    """Commits no rows; a missing table is created with ``schema``.

    Raises:
        FenceConflictError: Somebody committed meanwhile.
    """
    location, layout = location_of(asset), layout_of(asset, schema, table)
    properties = spark_properties(asset) if table is None else {}
    exists, creates = table is not None, table is None and location.table
    try:
        # Of a new table in a catalog, Delta takes the stamp from a session alone
        with stamp_commits(session, stamp) if creates else nullcontext(session) as stamped:
            if stamped is None:
                save_rows(location, session.createDataFrame([], schema), properties, layout=layout, exists=False)
                exists = True
            rows = (stamped or session).createDataFrame([], schema)
            options = {**stamp_options(stamp), **({} if exists else properties)}
            save_rows(location, rows, options, layout=layout, exists=exists)
    except Exception as error:
        if is_conflict(error) or error_condition(error) in _CREATED_CONDITIONS:
            raise FenceConflictError(
                f"{asset.name}: another writer committed first: {error_condition(error)}"
            ) from error
        raise run_error(error, what=f"{asset.name} cannot be fenced") from error


def refuse_conflicts(asset: AssetSpec, table: OpenedTable, *, stamp: CommitStamp, since: int) -> None:
    """Refuses what others did to the table since rows were made from it: Spark does not check such reads.

    Raises:
        CommitConflictError: They changed it.
    """
    if isinstance(table, PathTable):
        table.opened.update_incremental()
        request = CommitRequest(
            asset.name, stamp.app_id, stamp.version, format_stamp(stamp), conflicts_with=lambda _: True
        )
        if not is_done(table, stamp):
            delta_commit.refuse_conflicts(table.path, table.opened, request, since=since)
        return
    now = find_catalog_table(table.session, table.location)
    if now is None or is_done(now, stamp):
        return
    later = commits_since(now, since)
    if later is None or any(map(changes_rows, later)):
        raise CommitConflictError(f"{asset.name}: another writer changed the table during the run")


def is_done(table: OpenedTable | None, stamp: CommitStamp) -> bool:
    """Whether the stamp's commit is in the table, or one with a newer version."""
    newest = None if table is None else table.transaction_version(stamp.app_id)
    return newest is not None and newest >= stamp.version


def _make_writer_options(planned: PlannedWrite) -> Mapping[str, str]:
    """Options for what Delta's writer replaces, and how columns change."""
    landing: RowLanding = planned.landing
    if landing.columns == "replaced":
        # a session may be set to replace only the partitions that the new rows have
        return {"overwriteSchema": "true", "partitionOverwriteMode": "static"}
    schema_options = {"mergeSchema": "true"} if landing.columns == "widened" else {}
    match landing.replaces:
        case "all":
            return {"mergeSchema": "false", **schema_options, "replaceWhere": "true"}
        case "partitions" if planned.partitions is not None:
            return {**schema_options, "replaceWhere": planned.partitions.predicate}
    return schema_options


def stamp_options(stamp: CommitStamp) -> Mapping[str, str]:
    """Options of a writer for a commit with the stamp."""
    return {"txnAppId": stamp.app_id, "txnVersion": str(stamp.version), "userMetadata": format_stamp(stamp)}
