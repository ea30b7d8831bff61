"""One stamped commit of Spark's: the computed rows, or a fence, into a table at a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, FenceConflictError, RunOrder, TargetMissingError
from sparkassets.spark.blocks import Blocks, blocks_of, refuse_unfit_column
from sparkassets.spark.failures import condition, is_conflict, run_error
from sparkassets.spark.layouts import alter
from sparkassets.spark.markers import describe
from sparkassets.spark.predicates import LAID_OUT
from sparkassets.spark.schemas import declared_schema, given_columns, refuse_undeclared, refuse_unwritable
from sparkassets.spark.table import TargetTable, path_of, table_of
from sparkassets.spark.violations import violation
from sparkassets.spark.writes import Landing, mode_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

_REMADE = {"overwriteSchema": "true", "partitionOverwriteMode": "static"}
"""A session may be set to replace only the partitions that the new rows have."""


def check_schema(session: SparkSession, order: RunOrder, schema: StructType, table: TargetTable | None) -> None:
    """Refuses columns that do not fit, before any row is computed.

    Raises:
        RunError: With every difference to the declared columns, or else to the target.
    """
    asset = order.asset
    refuse_unwritable(asset.name, schema)
    if asset.columns:
        refuse_undeclared(asset.name, schema, declared_schema(session, asset.columns))
    if table is not None and not table.bare:
        mode_of(asset).refuse_misfit(order, schema, table)
    refuse_unfit_column(asset, schema)


def write(
    order: RunOrder, frame: DataFrame, *, schema: StructType, table: TargetTable | None, marker: CommitMarker
) -> None:
    """Commits the rows, as the asset's write mode has them land.

    Raises:
        RunError: Rows outside the blocks (with examples), or whatever Spark says; nothing was published then.
    """
    asset, blocks = order.asset, blocks_of(order, schema)
    there = None if table is None or table.bare else table
    if there is not None:
        landing = mode_of(asset).landing(order, frame, there, blocks=blocks)
    else:
        landing = _first(frame, blocks, remade=table is not None)
    writer = _stamped(landing.rows, marker).mode(landing.save).options(**landing.options)
    try:
        alter(frame.sparkSession, landing.before, marker)
        _laid_out(writer, asset, schema, there).save(path_of(asset))
    except Exception as error:
        raise _explained(error, asset, frame, schema=schema, blocks=blocks) from error
    alter(frame.sparkSession, landing.after, marker)


def fence(session: SparkSession, asset: AssetSpec, schema: StructType | None, *, marker: CommitMarker) -> None:
    """Commits no rows; a missing table is created with ``schema``.

    Raises:
        FenceConflictError: Somebody committed meanwhile.
        TargetMissingError: There is no table, and no schema to create it with.
    """
    table = table_of(asset)
    known = given_columns(table.schema) if table is not None else schema
    if known is None:
        raise TargetMissingError(f"{asset.name}: there is no table at {path_of(asset)} yet")
    writer = _stamped(session.createDataFrame([], known), marker).mode("append")
    try:
        _laid_out(writer, asset, known, table).save(path_of(asset))
    except Exception as error:
        if is_conflict(error) or condition(error) == "DELTA_PATH_EXISTS":
            raise FenceConflictError(f"{asset.name}: another writer was quicker: {condition(error)}") from error
        raise run_error(error, what=f"{asset.name} cannot be fenced") from error


def _first(frame: DataFrame, blocks: Blocks | None, *, remade: bool) -> Landing:
    """The first rows of a table, whatever the mode; one that has nothing but fences is made again for them."""
    rows = frame if blocks is None else blocks.guarded(frame)
    return Landing(rows, "overwrite", _REMADE) if remade else Landing(rows)


def _stamped(frame: DataFrame, marker: CommitMarker) -> DataFrameWriter:
    return (
        frame.write.format("delta")
        .option("txnAppId", marker.app_id)
        .option("txnVersion", marker.version)
        .option("userMetadata", describe(marker))
    )


def _laid_out(
    writer: DataFrameWriter, asset: AssetSpec, schema: StructType, table: TargetTable | None
) -> DataFrameWriter:
    """With the folders that the table has, or for a new one those that its partitions suggest."""
    layout = list(table.layout) if table is not None else _new_layout(asset, schema)
    return writer.partitionBy(*layout) if layout and set(schema.names).issuperset(layout) else writer


def _new_layout(asset: AssetSpec, schema: StructType) -> list[str]:
    partition = asset.partitioning.time
    if partition is None or partition.column is None or partition.by == "hour" or len(schema) == 1:
        return []  # Delta refuses a table that has nothing but its folders' columns
    column = partition.column.lower()
    return [
        field.name
        for field in schema.fields
        if field.name.lower() == column and field.dataType.simpleString() in LAID_OUT
    ]


def _explained(
    error: Exception, asset: AssetSpec, frame: DataFrame, *, schema: StructType, blocks: Blocks | None
) -> RunError:
    """What the refused write says to people."""
    refused = violation(error, schema, asset=asset.name)
    if refused is None and blocks is not None:
        refused = blocks.refused(error, frame)
    if refused is not None:
        return refused
    if is_conflict(error):
        made = RunError(f"{asset.name}: another writer committed to the target meanwhile ({condition(error)})")
        made.retryable = True
        return made
    return run_error(error, what=asset.name)
