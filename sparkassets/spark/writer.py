"""One stamped commit: the computed rows, or a fence, into the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.partitions import RangeSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import FenceConflictError, RunOrder, Stamp, TargetMissingError
from sparkassets.spark import sqltext
from sparkassets.spark.failures import condition, is_conflict, run_error, tells
from sparkassets.spark.predicates import LAID_OUT, inside, refuse_unfit_type
from sparkassets.spark.schemas import column_type, declared_schema, refuse_misfit, refuse_unwritable
from sparkassets.spark.target import Target, describe, path_of, target_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

_OUTSIDE = "sparkassets: outside the blocks of the run"
_REFUSED_BY_DELTA = "DELTA_REPLACE_WHERE_MISMATCH"
_SHOWN = 5


def check_schema(session: SparkSession, asset: AssetSpec, schema: StructType, target: Target | None) -> None:
    """Refuses columns that do not fit, before any row is computed.

    ``target`` is None where there is no table, and where it is replaced as a whole, its schema with it.

    Raises:
        RunError: With every difference to the declared columns, or else to the target.
    """
    refuse_unwritable(asset.name, schema)
    if asset.columns:
        refuse_misfit(asset.name, schema, declared_schema(session, asset.columns), against="the declared columns")
    if target is not None:
        refuse_misfit(asset.name, schema, target.schema, against="the target")
    if asset.partition is not None and asset.partition.column is not None:
        owner = f"the result of {asset.name}"
        column, kind = column_type(schema, asset.partition.column, owner=owner)
        refuse_unfit_type(column, kind, partition=asset.partition, owner=owner)


def write(order: RunOrder, frame: DataFrame, *, schema: StructType, target: Target | None, stamp: Stamp) -> None:
    """Commits the rows: replaces exactly the run's blocks or the whole table, or appends.

    Raises:
        RunError: Rows outside the blocks (with examples), or whatever Spark says; nothing was published then.
    """
    asset = order.asset
    predicate = _predicate(asset, schema, order.blocks)
    if target is not None and target.bare:
        guarded = frame if predicate is None else _guarded(frame, asset, schema, predicate)
        writer, target = _stamped(guarded, stamp).mode("overwrite").option("overwriteSchema", "true"), None
    elif replaces_whole(order):
        # a session may be set to replace only the partitions that the new rows have
        static = _stamped(frame, stamp).mode("overwrite").option("partitionOverwriteMode", "static")
        writer = static.option("overwriteSchema", "true")
    elif asset.write == "replace" and target is not None and predicate is not None:
        writer = _stamped(frame, stamp).mode("overwrite").option("replaceWhere", predicate)
    else:
        guarded = frame if predicate is None else _guarded(frame, asset, schema, predicate)
        writer = _stamped(guarded, stamp).mode("append")
    try:
        _laid_out(writer, asset, schema, target).save(path_of(asset))
    except Exception as error:
        if predicate is not None and (tells(error, _OUTSIDE) or tells(error, _REFUSED_BY_DELTA)):
            raise _outside(order, frame, schema, predicate) from error
        raise _refused(error, asset) from error


def replaces_whole(order: RunOrder) -> bool:
    """Whether the run's rows take the place of the whole table."""
    return order.asset.write == "replace" and order.blocks is None


def fence(session: SparkSession, asset: AssetSpec, schema: StructType | None, *, stamp: Stamp) -> None:
    """Commits no rows; a missing table is created with ``schema``.

    Raises:
        FenceConflictError: Somebody committed meanwhile.
        TargetMissingError: There is no table, and no schema to create it with.
    """
    target = target_of(asset)
    known = target.schema if target is not None else schema
    if known is None:
        raise TargetMissingError(f"{asset.name}: there is no table at {path_of(asset)} yet")
    writer = _stamped(session.createDataFrame([], known), stamp).mode("append")
    try:
        _laid_out(writer, asset, known, target).save(path_of(asset))
    except Exception as error:
        if is_conflict(error) or condition(error) == "DELTA_PATH_EXISTS":
            raise FenceConflictError(f"{asset.name}: another writer was quicker: {condition(error)}") from error
        raise run_error(error, what=f"{asset.name} cannot be fenced") from error


def _stamped(frame: DataFrame, stamp: Stamp) -> DataFrameWriter:
    return (
        frame.write.format("delta")
        .option("txnAppId", stamp.app_id)
        .option("txnVersion", stamp.version)
        .option("userMetadata", describe(stamp))
    )


def _laid_out(writer: DataFrameWriter, asset: AssetSpec, schema: StructType, target: Target | None) -> DataFrameWriter:
    """With the folders that the table has, or for a new one those that its partitions suggest."""
    layout = list(target.layout) if target is not None else _new_layout(asset, schema)
    return writer.partitionBy(*layout) if layout and set(schema.names).issuperset(layout) else writer


def _new_layout(asset: AssetSpec, schema: StructType) -> list[str]:
    partition = asset.partition
    if partition is None or partition.column is None or partition.by == "hour" or len(schema) == 1:
        return []  # Delta refuses a table that has nothing but its folders' columns
    column = partition.column.lower()
    return [
        field.name
        for field in schema.fields
        if field.name.lower() == column and field.dataType.simpleString() in LAID_OUT
    ]


def _predicate(asset: AssetSpec, schema: StructType, blocks: RangeSet | None) -> str | None:
    """What holds for the rows of the blocks and for no others; None for a run without blocks."""
    partition = asset.partition
    if blocks is None or partition is None or partition.column is None:
        return None
    owner = f"the result of {asset.name}"
    column, kind = column_type(schema, partition.column, owner=owner)
    return inside(column, kind, partition=partition, ranges=blocks, owner=owner)


def _guarded(frame: DataFrame, asset: AssetSpec, schema: StructType, predicate: str) -> DataFrame:
    """The same rows, of which one outside the blocks fails the job that computes it.

    Delta checks ``replaceWhere`` itself, nulls included, but only where there is a table.
    """
    from pyspark.sql import functions as sql

    column = _column(asset, schema)
    message = sqltext.text(_OUTSIDE)
    guard = sql.expr(f"CASE WHEN {predicate} THEN {sqltext.name(column)} ELSE raise_error({message}) END")
    return frame.withColumn(column, guard)


def _outside(order: RunOrder, frame: DataFrame, schema: StructType, predicate: str) -> RunError:
    """The refusal, with the first values that do not belong."""
    asset, blocks = order.asset, order.blocks or RangeSet()
    column = _column(asset, schema)
    strangers = frame.filter(f"NOT coalesce(({predicate}), false)")
    texts = strangers.selectExpr(f"CAST({sqltext.name(column)} AS STRING) AS value").distinct()
    values = [row[0] for row in texts.orderBy("value").limit(_SHOWN + 1).collect()]
    shown = ", ".join("NULL" if value is None else value for value in values[:_SHOWN])
    more = ", …" if len(values) > _SHOWN else ""
    labels = ", ".join(asset.partition.labels(blocks)) if asset.partition is not None else ""
    return RunError(
        f"{asset.name}: rows outside the run's partitions {labels}: {column} is {shown}{more}; nothing was written",
        hint="filter them in the query, or join {{ partitions }}",
    )


def _column(asset: AssetSpec, schema: StructType) -> str:
    wanted = asset.partition.column if asset.partition is not None and asset.partition.column else ""
    return column_type(schema, wanted, owner=f"the result of {asset.name}")[0]


def _refused(error: Exception, asset: AssetSpec) -> RunError:
    if is_conflict(error):
        made = RunError(f"{asset.name}: another writer committed to the target meanwhile ({condition(error)})")
        made.retryable = True
        return made
    return run_error(error, what=asset.name)
