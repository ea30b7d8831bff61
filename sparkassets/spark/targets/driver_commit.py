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
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, FenceConflictError, RunOrder
from sparkassets.spark import scratch
from sparkassets.spark.own_session import given_setting, settings_of
from sparkassets.spark.target_table import format_marker, path_of
from sparkassets.spark.targets import staging_layout
from sparkassets.spark.targets.driver_staging import (
    DriverStaging,
    attempt_of,
    nullable_fields,
    rows_to_stage,
    stage_rows,
    table_fields,
    write_staged,
)
from sparkassets.spark.writes import PlannedWrite, RowLanding, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.computation import SparkComputation

_DEFAULTS = "spark.databricks.delta.properties.defaults."
_OF_THE_SESSION = {
    "spark.databricks.delta.optimizeWrite.enabled": "the session optimises each write",
    "spark.databricks.delta.autoCompact.enabled": "the session compacts after each write",
}
_LOG_STORES = ("spark.delta.logStore.class", "spark.delta.logStore.file.impl")


def spark_write_reason(work: PlannedWrite, table: DeltaTable | None) -> str | None:
    """Why Spark has to commit this write, as the end of a sentence; None where the driver can.

    Reasons of the asset and the table (`spark_commit_reason`) are not repeated here.
    """
    landing = work.landing
    if landing.merge is not None:
        return "the run's rows are merged by their keys"
    if work.partitions is not None and work.partitions.keeps_removed:
        return "rows of segments that were removed stay beside those of all others"
    if (
        landing.statements_before
        or landing.statements_after
        or (landing.columns == "widened" and landing.replaces != "all")
    ):
        return "the run changes the table's columns"
    session = landing.rows.sparkSession
    if found := _find_session_reason(session, new=table is None) or scratch.find_staging_obstacle(
        session, path_of(work.asset)
    ):
        return found
    if (table is None or landing.columns != "kept") and (found := reason_of_columns(table_fields(work, table), table)):
        return found
    return None if table is None else _find_unmet_promise(work, table)


def spark_making_reason(session: SparkSession, schema: StructType) -> str | None:
    """Why Spark has to create a new table without rows, as the end of a sentence; None where the driver can."""
    return _find_session_reason(session, new=True) or reason_of_columns(nullable_fields(schema), None)


def _find_unmet_promise(work: PlannedWrite, table: DeltaTable) -> str | None:
    """Why rows may not fit the table's folders or NOT NULL columns, as the end of a sentence; None where they do.

    The driver checks no values: it relies on the result's schema to say that a column has no NULL.
    """
    if list(table.metadata().partition_columns) != layout_of(work.asset, work.schema, work.table):
        return "the run changes the table's folders"
    if work.landing.columns == "replaced":
        return None
    promised = {field.name.lower() for field in work.schema.fields if not field.nullable}
    unsure = (name for name in required_columns(json.loads(table.schema().to_json())) if name.lower() not in promised)
    if (first := next(unsure, None)) is not None:
        return f"its column '{first}' must not be null, which the result does not promise"
    return None


def _find_session_reason(session: SparkSession, *, new: bool) -> str | None:
    """Which setting of the session only Delta's own writer follows, as the end of a sentence; None if there is none."""
    for key, reason in _OF_THE_SESSION.items():
        if (given_setting(session, key) or "").lower() == "true":
            return reason
    if any(given_setting(session, key) for key in _LOG_STORES):
        return "the session sets a log store of its own"
    if new and any(key.startswith(_DEFAULTS) for key in settings_of(session)):
        return "the session sets properties of new tables"
    return None


def write(computation: SparkComputation, work: PlannedWrite, table: DeltaTable | None, *, marker: CommitMarker) -> bool:
    """Stages the rows and commits them, and returns True; False, with nothing written, where Spark has to commit.

    Raises:
        RunError: As of `stage_rows`, or another writer was quicker.
        SourceError: As of `stage_rows`.
    """
    staged = stage_rows(computation, work, table, marker=marker)
    if staged is not None:
        commit_staged(staged, marker=marker)
    return staged is not None


def commit_staged(staged: DriverStaging, *, marker: CommitMarker) -> None:
    """Commits staged files; files of unchanged partitions are dropped, and the table's own stay.

    An iteration also gets a log of its own. If a newer iteration is published already, the commit adds no files.

    Raises:
        RunError: Another writer was quicker; nothing was published.
    """
    computation, work, table = staged.computation, staged.planned_write, staged.table
    asset, same, path = work.asset, staged.unchanged or UnchangedFiles(), path_of(work.asset)
    publishes, layout = asset.publishes, layout_of(asset, work.schema, work.table)
    keeps_newest = publishes and computation.order.keeps_newest_iteration and table is not None
    added = [file for file in staged.files if file.path not in same.staged_paths]
    removed = FileSplit() if keeps_newest else staged.replaced.without(same.table_paths)
    if useless := staged.dropped_paths | same.staged_paths:
        discard_files(path, useless) if added else discard(path, staged.attempt)
    added = _move_files(work, added)
    schema = _delta_schema(staged.fields)
    request = CommitRequest(
        owner=asset.name,
        app=marker.app_id,
        version=marker.version,
        user_metadata=format_marker(
            marker if staged.unchanged is None else marker.with_unchanged(same.parts, rows=same.rows)
        ),
        metrics=_metrics(added, removed),
        is_parallel_run=_make_parallel_test(computation, work, marker),
    )
    if not keeps_newest:
        request = replace(
            request,
            adds=[file.add(layout) for file in added],
            removes=[*removed.inside, *removed.mixed],
            replaces_all=work.landing.replaces == "all" and not same.table_paths,
            schema=schema if table is None or work.landing.columns != "kept" else None,
            conflicts_with=_make_conflict_test(staged),
        )
    if publishes:
        make_readable(path, staged.attempt, added, request, schema=schema, layout=layout)
    if table is None:
        create(path, request, layout=layout, properties=driver_properties(asset))
    else:
        commit(path, table, request, since=computation.read_version)


def plan_iteration_copy(
    computation: SparkComputation, work: PlannedWrite, table: DeltaTable | None, marker: CommitMarker
) -> PlannedWrite:
    """Stages the rows as an iteration with a log of its own, and returns the write that copies them into the table.

    Spark commits that copy, because the driver may not commit to the table itself.

    Raises:
        RunError: As of `write`.
    """
    fields, attempt, path = table_fields(work, table), attempt_of(work.asset, marker), path_of(work.asset)
    rows = rows_to_stage(work, fields, None)
    if rows is None:
        raise TypeError("rows without others can always be staged")
    files = write_staged(computation, work, rows, attempt, fields=fields, table=table)
    request = CommitRequest(work.asset.name, marker.app_id, marker.version, format_marker(marker))
    layout = layout_of(work.asset, work.schema, work.table)
    make_readable(path, attempt, files, request, schema=_delta_schema(fields), layout=layout)
    staged = rows.sparkSession.read.format("delta").load(f"{path}/{attempt.folder}")
    if computation.order.keeps_newest_iteration:
        return replace(work, landing=RowLanding(staged.filter("false")))
    return replace(work, landing=replace(work.landing, rows=staged))


def commit_restored(order: RunOrder, rows: IterationRows, table: DeltaTable, *, marker: CommitMarker) -> bool:
    """Publishes an older iteration's files again, for its partitions or the whole table, and returns True.

    False, with nothing written, where Spark has to: folders or columns differ, or files hold other partitions, too.

    Raises:
        RunError: Another writer was quicker.
    """
    asset, whole = order.asset, order.partitions.is_everything
    if list(table.metadata().partition_columns) != list(rows.layout) or not (whole or _fits(rows, table)):
        return False
    replaced = FileSplit() if whole else split_files(table, order.partitions, partitioning=asset.partitioning)
    if replaced.mixed:
        return False
    own = asset_app(marker.app_id)
    request = CommitRequest(
        owner=asset.name,
        app=marker.app_id,
        version=marker.version,
        user_metadata=format_marker(marker),
        adds=rows.adds(),
        removes=replaced.inside,
        replaces_all=whole,
        schema=_delta_schema(rows.schema["fields"]) if whole else None,
        metrics={"numOutputRows": rows.rows},
        conflicts_with=(lambda _: True)
        if whole
        else make_touch_test(table, order.partitions, partitioning=asset.partitioning, found=replaced),
        is_parallel_run=lambda app: not whole and app != marker.app_id and asset_app(app) == own,
    )
    commit(path_of(asset), table, request)
    return True


def _fits(rows: IterationRows, table: DeltaTable) -> bool:
    """Whether the table has all columns of the iteration with their types."""
    there = {field["name"]: field["type"] for field in json.loads(table.schema().to_json())["fields"]}
    return all(there.get(field["name"]) == field["type"] for field in rows.schema["fields"])


def fence(asset: AssetSpec, table: DeltaTable, *, marker: CommitMarker) -> None:
    """Commits no rows.

    Raises:
        FenceConflictError: Another writer was quicker, and changed the table.
    """
    request = CommitRequest(asset.name, marker.app_id, marker.version, format_marker(marker))
    try:
        commit(path_of(asset), table, request)
    except CommitConflictError as error:
        raise FenceConflictError(str(error)) from error


def make_table(asset: AssetSpec, schema: StructType, *, marker: CommitMarker) -> None:
    """Creates the table without rows, by a fence.

    Raises:
        FenceConflictError: Another writer created it first.
    """
    columns = _delta_schema(nullable_fields(schema))
    request = CommitRequest(asset.name, marker.app_id, marker.version, format_marker(marker), schema=columns)
    try:
        create(path_of(asset), request, layout=layout_of(asset, schema, None), properties=driver_properties(asset))
    except CommitConflictError as error:
        raise FenceConflictError(str(error)) from error


def _make_parallel_test(
    computation: SparkComputation, work: PlannedWrite, marker: CommitMarker
) -> Callable[[str], bool]:
    """Returns a test for application ids of parallel runs of the asset, whose commits do not conflict with this one.

    It is never true if the rows come from the asset's own table or replace all of it: then any commit conflicts.
    """
    own, alone = asset_app(marker.app_id), computation.read_version is not None or work.landing.replaces == "all"
    return lambda app: not alone and app != marker.app_id and asset_app(app) == own


def _make_conflict_test(staged: DriverStaging) -> Callable[[FileAction], bool]:
    """Returns a test whether another writer's file has rows that the run replaces, or read from its own table."""
    computation, landing, table = staged.computation, staged.planned_write.landing, staged.table
    if table is None or (landing.replaces == "nothing" and computation.read_version is None):
        return lambda _: False
    if computation.read_version is not None or landing.replaces == "all":
        return lambda _: True
    order = computation.order
    return make_touch_test(table, order.partitions, partitioning=order.asset.partitioning, found=staged.replaced)


def _delta_schema(fields: Sequence[Mapping[str, Any]]) -> Schema:
    from deltalake import Schema

    return Schema.from_json(json.dumps({"type": "struct", "fields": list(fields)}))


def _move_files(work: PlannedWrite, files: Sequence[StagedFile]) -> list[StagedFile]:
    """Moves the files out of folders that separate rows (`staging_layout`), and returns them with their new paths.

    Raises:
        RunError: The storage does not let them be moved.
    """
    try:
        return staging_layout.move_committed(path_of(work.asset), files)
    except OSError as error:
        unmoved = RunError(f"{work.asset.name}: the files that Spark wrote cannot be moved: {error}")
        unmoved.retryable = True
        raise unmoved from error


def _metrics(files: Sequence[StagedFile], replaced: FileSplit) -> dict[str, int]:
    """Operation metrics as Delta's own writer has them."""
    removed, copied = [*replaced.inside, *replaced.mixed], staging_layout.count_copied(files)
    known = [file.rows for file in removed if file.rows is not None]
    deleted = {"numDeletedRows": sum(known) - copied} if replaced.mixed and len(known) == len(removed) else {}
    return {
        "numFiles": len(files),
        "numOutputRows": sum(file.rows for file in files),
        "numCopiedRows": copied,
        **deleted,
        "numOutputBytes": sum(file.size for file in files),
        "numRemovedFiles": len(removed),
        "numRemovedBytes": sum(file.size for file in removed),
    }
