"""Stamped commits of the driver: files that Spark has staged, or a fence, into a table at a path.

Spark computes and writes Parquet into the attempt's own folder within the table's. The driver reads the footers and
commits the files without Spark. Such a commit takes milliseconds, and is atomic between processes on every storage that
deltalake knows, even where Spark's own is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkassets.core.runs import asset_app
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.commit import CommitConflictError, CommitRequest, commit, create
from sparkassets.delta.features import driver_properties, reason_of_columns, required_columns
from sparkassets.delta.file_split import FileSplit, make_touch_test, split_files
from sparkassets.delta.log import FileAction
from sparkassets.delta.partition_files import UnchangedFiles
from sparkassets.delta.staging import IterationRows, StagedFile, discard, discard_files, make_readable
from sparkassets.ports import CommitStamp, FenceConflictError, RunOrder
from sparkassets.spark import scratch
from sparkassets.spark.column_comments import with_comments
from sparkassets.spark.commit_stamps import format_stamp
from sparkassets.spark.own_session import given_setting, settings_of
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets import staging_layout
from sparkassets.spark.targets.driver_staging import (
    DriverStaging,
    nullable_fields,
    rows_to_stage,
    stage_rows,
    table_fields,
)
from sparkassets.spark.targets.staged_write import attempt_of, move_files, write_staged
from sparkassets.spark.writes import PlannedWrite, RowLanding, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.computation import SparkComputation

_DEFAULTS_PREFIX = "spark.databricks.delta.properties.defaults."
_SESSION_REASONS = {
    "spark.databricks.delta.optimizeWrite.enabled": "the session optimizes each write",
    "spark.databricks.delta.autoCompact.enabled": "the session compacts after each write",
}
_LOG_STORES = ("spark.delta.logStore.class", "spark.delta.logStore.file.impl")


def spark_write_reason(planned: PlannedWrite, table: DeltaTable | None) -> str | None:
    """Why Spark has to commit this write, as the end of a sentence; None where the driver can.

    Reasons of the asset and the table (`spark_commit_reason`) are not repeated here.
    """
    landing = planned.landing
    if planned.partitions is not None and planned.partitions.keeps_removed:
        return "rows of removed segments stay beside those of all others"
    if landing.changes_columns:
        return "the run changes the table's columns"
    session = landing.rows.sparkSession
    reason = _find_session_reason(session, new=table is None)
    reason = reason or scratch.find_staging_obstacle(session, path_of(planned.asset))
    if reason is None and (table is None or landing.columns != "kept"):
        reason = reason_of_columns(table_fields(planned, table), table)
    if reason is None and table is not None:
        reason = _find_unmet_promise(planned, table)
    return reason


def session_creation_reason(session: SparkSession, schema: StructType) -> str | None:
    """Why Spark has to create a new table without rows, as the end of a sentence; None where the driver can."""
    return _find_session_reason(session, new=True) or reason_of_columns(nullable_fields(schema), None)


def _find_unmet_promise(planned: PlannedWrite, table: DeltaTable) -> str | None:
    """Why rows may not fit the table's folders or NOT NULL columns, as the end of a sentence; None where they do.

    The driver checks no values: it relies on the result's schema to say that a column has no NULL.
    """
    if list(table.metadata().partition_columns) != layout_of(planned.asset, planned.schema, planned.table):
        return "the run changes the table's folders"
    if planned.landing.columns == "replaced":
        return None
    promised = {field.name.lower() for field in planned.schema.fields if not field.nullable}
    unpromised = (
        name for name in required_columns(json.loads(table.schema().to_json())) if name.lower() not in promised
    )
    if (first := next(unpromised, None)) is not None:
        return f"its column '{first}' must not be null, but the result may contain NULL"
    return None


def _find_session_reason(session: SparkSession, *, new: bool) -> str | None:
    """Which setting of the session only Delta's own writer follows, as the end of a sentence; None if there is none."""
    for key, reason in _SESSION_REASONS.items():
        if (given_setting(session, key) or "").lower() == "true":
            return reason
    if any(given_setting(session, key) for key in _LOG_STORES):
        return "the session sets its own log store"
    if new and any(key.startswith(_DEFAULTS_PREFIX) for key in settings_of(session)):
        return "the session sets properties of new tables"
    return None


def write(
    computation: SparkComputation, planned: PlannedWrite, table: DeltaTable | None, *, stamp: CommitStamp
) -> str | None:
    """Stages the rows and commits them; returns why Spark has to commit instead, with nothing written, or None.

    Raises:
        RunError: As of `stage_rows`, or another writer was quicker.
        SourceError: As of `stage_rows`.
    """
    staged = stage_rows(computation, planned, table, stamp=stamp)
    if isinstance(staged, str):
        return staged
    commit_staged(staged, stamp=stamp)
    return None


def commit_staged(staged: DriverStaging, *, stamp: CommitStamp) -> None:
    """Commits staged files; files of unchanged partitions are dropped, and the table's own stay.

    An iteration also gets a log of its own. If a newer iteration is published already, the commit adds no files.

    Raises:
        RunError: Another writer was quicker; nothing was published.
    """
    planned, table, asset = staged.planned_write, staged.table, staged.planned_write.asset
    path, layout = path_of(asset), layout_of(asset, planned.schema, planned.table)
    added = _settle_files(staged)
    request = _make_request(staged, added, stamp)
    if asset.publishes:
        make_readable(path, staged.attempt, added, request, schema=_delta_schema(staged.fields), layout=layout)
    if table is None:
        create(path, request, layout=layout, properties=driver_properties(asset))
    else:
        since = (staged.computation.read_version, staged.since)
        commit(path, table, request, since=min((each for each in since if each is not None), default=None))


def _settle_files(staged: DriverStaging) -> list[StagedFile]:
    """Removes staged files that the commit will not hold, and returns the others at their final paths."""
    unchanged, path = staged.unchanged or UnchangedFiles(), path_of(staged.planned_write.asset)
    added = [file for file in staged.files if file.path not in unchanged.staged_paths]
    if dropped := staged.dropped_paths | unchanged.staged_paths:
        discard_files(path, dropped) if added else discard(path, staged.attempt)
    return move_files(staged.planned_write, added)


def _make_request(staged: DriverStaging, added: Sequence[StagedFile], stamp: CommitStamp) -> CommitRequest:
    """The commit of these files; it adds and removes none if a newer iteration is published already."""
    computation, planned, table = staged.computation, staged.planned_write, staged.table
    unchanged, publishes = staged.unchanged or UnchangedFiles(), planned.asset.publishes
    keeps_newest = publishes and computation.order.keeps_newest_iteration and table is not None
    removed = FileSplit() if keeps_newest else staged.replaced.without(unchanged.table_paths)
    if staged.unchanged is not None:
        stamp = stamp.with_unchanged(unchanged.parts, rows=unchanged.rows)
    request = CommitRequest(
        owner=planned.asset.name,
        app=stamp.app_id,
        version=stamp.version,
        user_metadata=format_stamp(stamp),
        metrics=_count_metrics(added, removed) if staged.merge is None else staged.merge.metrics(added),
        is_parallel_run=_make_parallel_test(computation, planned, stamp),
    )
    if keeps_newest:
        return request
    layout = layout_of(planned.asset, planned.schema, planned.table)
    return replace(
        request,
        adds=[file.add(layout) for file in added],
        removes=[*removed.inside, *removed.mixed],
        replaces_all=planned.landing.replaces == "all" and not unchanged.table_paths,
        reads_table=_reads_table(staged),
        schema=_delta_schema(staged.fields) if table is None or planned.landing.columns != "kept" else None,
        conflicts_with=_make_conflict_test(staged),
    )


def plan_iteration_copy(
    computation: SparkComputation, planned: PlannedWrite, table: DeltaTable | None, stamp: CommitStamp
) -> PlannedWrite:
    """Stages the rows as an iteration with a log of its own, and returns the write that copies them into the table.

    Spark commits that copy, because the driver may not commit to the table itself.

    Raises:
        RunError: As of `write`.
    """
    fields, attempt, path = table_fields(planned, table), attempt_of(planned.asset, stamp), path_of(planned.asset)
    rows = rows_to_stage(planned, fields, None)
    if isinstance(rows, str):
        raise TypeError("rows without others can always be staged")
    files = write_staged(computation, planned, rows, attempt, fields=fields, table=table)
    request = CommitRequest(planned.asset.name, stamp.app_id, stamp.version, format_stamp(stamp))
    layout = layout_of(planned.asset, planned.schema, planned.table)
    make_readable(path, attempt, files, request, schema=_delta_schema(fields), layout=layout)
    staged = rows.sparkSession.read.format("delta").load(f"{path}/{attempt.folder}")
    if computation.order.keeps_newest_iteration:
        return replace(planned, landing=RowLanding(staged.filter("false")))
    return replace(planned, landing=replace(planned.landing, rows=staged))


def commit_restored(order: RunOrder, rows: IterationRows, table: DeltaTable, *, stamp: CommitStamp) -> bool:
    """Publishes an older iteration's files again, for its partitions or the whole table, and returns True.

    False, with nothing written, where Spark has to: folders or columns differ, or files hold other partitions, too.

    Raises:
        RunError: Another writer was quicker.
    """
    asset, is_whole_table = order.asset, order.partitions.is_everything
    if list(table.metadata().partition_columns) != list(rows.layout) or not (
        is_whole_table or _has_columns_of(rows, table)
    ):
        return False
    replaced = FileSplit() if is_whole_table else split_files(table, order.partitions, partitioning=asset.partitioning)
    if replaced.mixed:
        return False
    own_app = asset_app(stamp.app_id)
    request = CommitRequest(
        owner=asset.name,
        app=stamp.app_id,
        version=stamp.version,
        user_metadata=format_stamp(stamp),
        adds=rows.adds(),
        removes=replaced.inside,
        replaces_all=is_whole_table,
        schema=_delta_schema(rows.schema["fields"]) if is_whole_table else None,
        metrics={"numOutputRows": rows.rows},
        conflicts_with=(lambda _: True)
        if is_whole_table
        else make_touch_test(table, order.partitions, partitioning=asset.partitioning, split=replaced),
        is_parallel_run=lambda app: not is_whole_table and app != stamp.app_id and asset_app(app) == own_app,
    )
    commit(path_of(asset), table, request)
    return True


def _has_columns_of(rows: IterationRows, table: DeltaTable) -> bool:
    types = {field["name"]: field["type"] for field in json.loads(table.schema().to_json())["fields"]}
    return all(types.get(field["name"]) == field["type"] for field in rows.schema["fields"])


def fence(asset: AssetSpec, table: DeltaTable, *, stamp: CommitStamp) -> None:
    """Commits an empty version with the stamp, so that no older claim can write to the table any more.

    Raises:
        FenceConflictError: Another writer was quicker, and changed the table.
    """
    request = CommitRequest(asset.name, stamp.app_id, stamp.version, format_stamp(stamp))
    try:
        commit(path_of(asset), table, request)
    except CommitConflictError as error:
        raise FenceConflictError(str(error)) from error


def make_table(asset: AssetSpec, schema: StructType, *, stamp: CommitStamp) -> None:
    """Creates the table without rows, by a fence.

    Raises:
        FenceConflictError: Another writer created it first.
    """
    columns = _delta_schema(with_comments(nullable_fields(schema), asset))
    request = CommitRequest(asset.name, stamp.app_id, stamp.version, format_stamp(stamp), schema=columns)
    try:
        create(path_of(asset), request, layout=layout_of(asset, schema, None), properties=driver_properties(asset))
    except CommitConflictError as error:
        raise FenceConflictError(str(error)) from error


def _make_parallel_test(
    computation: SparkComputation, planned: PlannedWrite, stamp: CommitStamp
) -> Callable[[str], bool]:
    """Returns a test for application ids of parallel runs of the asset, whose commits do not conflict with this one.

    It is never true if the rows come from the asset's own table or replace all of it: then any commit conflicts.
    """
    own_app = asset_app(stamp.app_id)
    conflicts_always = computation.read_version is not None or planned.landing.replaces == "all"
    return lambda app: not conflicts_always and app != stamp.app_id and asset_app(app) == own_app


def _make_conflict_test(staged: DriverStaging) -> Callable[[FileAction], bool]:
    """Returns a test whether another writer's file has rows that the run replaces, or read from its own table."""
    computation, landing, table = staged.computation, staged.planned_write.landing, staged.table
    if table is None or (landing.replaces == "nothing" and not _reads_table(staged)):
        return lambda _: False
    if _reads_table(staged) or landing.replaces == "all":
        return lambda _: True
    order = computation.order
    return make_touch_test(table, order.partitions, partitioning=order.asset.partitioning, split=staged.replaced)


def _reads_table(staged: DriverStaging) -> bool:
    """Whether the staged rows were made from rows of the table."""
    return staged.computation.read_version is not None or staged.merge is not None


def _delta_schema(fields: Sequence[Mapping[str, Any]]) -> Schema:
    from deltalake import Schema

    return Schema.from_json(json.dumps({"type": "struct", "fields": list(fields)}))


def _count_metrics(files: Sequence[StagedFile], replaced: FileSplit) -> dict[str, int]:
    """Operation metrics as Delta's own writer has them."""
    removed, copied = [*replaced.inside, *replaced.mixed], staging_layout.count_copied(files)
    row_counts = [file.rows for file in removed if file.rows is not None]
    deleted = {"numDeletedRows": sum(row_counts) - copied} if replaced.mixed and len(row_counts) == len(removed) else {}
    return {
        "numFiles": len(files),
        "numOutputRows": sum(file.rows for file in files),
        "numCopiedRows": copied,
        **deleted,
        "numOutputBytes": sum(file.size for file in files),
        "numRemovedFiles": len(removed),
        "numRemovedBytes": sum(file.size for file in removed),
    }
