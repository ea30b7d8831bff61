"""Writes rows as Parquet into an attempt's folder of a table, and lists the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.file_statistics import KEEPS_BOUNDS
from sparkassets.delta.staging import NULL_FOLDER, StagedFile, StagingAttempt, discard, list_staged_files
from sparkassets.errors import RunError
from sparkassets.ports import CommitStamp
from sparkassets.spark import scratch, sqltext
from sparkassets.spark.capabilities import capabilities_of
from sparkassets.spark.failures import error_condition
from sparkassets.spark.table_locations import path_of
from sparkassets.spark.targets import staging_layout
from sparkassets.spark.validation import RuleObservation
from sparkassets.spark.versions import rebalance
from sparkassets.spark.writes import PlannedWrite, layout_of

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame

    from sparkassets.spark.computation import SparkComputation


def attempt_of(asset: AssetSpec, stamp: CommitStamp) -> StagingAttempt:
    """The attempt that stages the files of a write with that stamp."""
    return StagingAttempt(stamp.run, stamp.token, stamp.attempt, asset.publishes)


def write_staged(
    computation: SparkComputation,
    planned: PlannedWrite,
    rows: DataFrame,
    attempt: StagingAttempt,
    *,
    fields: Sequence[Mapping[str, Any]],
    table: DeltaTable | None,
    part: str = "",
    observation: RuleObservation | None = None,
) -> Sequence[StagedFile]:
    """Writes the rows into the attempt's folder and returns the files; after a failure nothing is left behind.

    Args:
        computation: The computation of the rows.
        planned: Their planned write.
        rows: The rows, with the columns that separate some of them into other folders.
        attempt: The attempt that stages them.
        fields: The columns of the table.
        table: The table to land in; None for a new one.
        part: A folder within the attempt's, for rows that are staged a second time.
        observation: Measures rules meanwhile.
    """
    path, layout = path_of(planned.asset), layout_of(planned.asset, planned.schema, planned.table)
    folder = f"{attempt.folder}/{part}" if part else attempt.folder
    properties = {} if table is None else table.metadata().configuration
    try:
        folders = [*staging_layout.separating_columns(rows), *layout]
        _write_parquet(planned, rows, f"{path}/{folder}", folders, observation)
        computation.inlets.check_files()
        files = list_staged_files(path, attempt, schema={"fields": fields}, layout=layout, properties=properties)
    except BaseException as error:
        if error_condition(error) != "PATH_ALREADY_EXISTS":  # some of what is there may be in the table
            discard(path, attempt)
        if isinstance(error, OSError):
            failure = RunError(f"{planned.asset.name}: the files that Spark wrote cannot be read: {error}")
            failure.retryable = True
            raise failure from error
        raise
    return [file for file in files if file.path.startswith(f"{folder}/")]


def _arrange_by_folder(rows: DataFrame, layout: Sequence[str]) -> DataFrame:
    """The rows, so distributed that few tasks write into each folder."""
    from pyspark.sql import functions as sql

    # Delta reads this text as NULL: one task has to write both, or two files would have one name
    texts = [name for name in layout if rows.schema[name].dataType.simpleString() == "string"]
    null = sqltext.text(NULL_FOLDER)
    if texts:  # Spark Connect refuses to add no columns
        rows = rows.withColumns({name: sql.expr(f"nullif({sqltext.name(name)}, {null})") for name in texts})
    if capabilities_of(rows.sparkSession).rebalances:
        return rebalance(rows, layout)
    return rows.repartition(*map(sqltext.name, layout))


def _write_parquet(
    planned: PlannedWrite, rows: DataFrame, folder: str, layout: Sequence[str], observation: RuleObservation | None
) -> None:
    """Writes the rows; those of one folder of the table go into as few files as their size allows."""
    if layout:
        rows = _arrange_by_folder(rows, layout)
    if observation is not None:
        rows = observation.attach(rows)
    options = {**KEEPS_BOUNDS, **scratch.staging_options(rows.sparkSession, folder)}
    writer = rows.write.format("parquet").mode("error").options(**options)
    try:
        (writer.partitionBy(*layout) if layout else writer).save(folder)
    except Exception as error:
        explained = observation.explain_error(error) if observation is not None else None
        raise explained or planned.explain_error(error) from error


def move_files(planned: PlannedWrite, files: Sequence[StagedFile]) -> list[StagedFile]:
    """Moves the files out of folders that separate rows (`staging_layout`), and returns them with their new paths.

    Raises:
        RunError: The storage does not let them be moved.
    """
    try:
        return staging_layout.move_committed(path_of(planned.asset), files)
    except OSError as error:
        failure = RunError(f"{planned.asset.name}: the files that Spark wrote cannot be moved: {error}")
        failure.retryable = True
        raise failure from error
