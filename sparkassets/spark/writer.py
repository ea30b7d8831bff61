"""One stamped commit: the computed rows, or a fence, into the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import FenceConflictError, RunOrder, Stamp, TargetMissingError
from sparkassets.spark import sqltext
from sparkassets.spark.failures import condition, is_conflict, run_error
from sparkassets.spark.predicates import LAID_OUT, inside, refuse_unfit_type
from sparkassets.spark.schemas import column_type, declared_schema, refuse_misfit, refuse_unwritable
from sparkassets.spark.target import Target, describe, path_of, target_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

_OUTSIDE = "sparkassets: outside the blocks of the run"
_SHOWN = 5


def check_schema(session: SparkSession, asset: AssetSpec, frame: DataFrame, *, whole: bool) -> None:
    """Refuses rows that do not fit, before any of them is computed.

    With ``whole`` the table is replaced as a whole, its schema with it, so what is there does not matter.

    Raises:
        RunError: With every difference to the declared columns, or else to the table that is there.
    """
    refuse_unwritable(asset.name, frame.schema)
    if asset.columns:
        refuse_misfit(asset.name, frame.schema, declared_schema(session, asset.columns), against="the declared columns")
    target = None if whole else target_of(asset)
    if target is not None:
        refuse_misfit(asset.name, frame.schema, target.schema, against="the target")
    if asset.partition is not None and asset.partition.column is not None:
        owner = f"the result of {asset.name}"
        column, kind = column_type(frame, asset.partition.column, owner=owner)
        refuse_unfit_type(column, kind, partition=asset.partition, owner=owner)


def write(session: SparkSession, order: RunOrder, frame: DataFrame, *, stamp: Stamp) -> None:
    """Commits the rows: replaces exactly the run's blocks or the whole table, or appends.

    Raises:
        RunError: Rows outside the blocks (with examples), or whatever Spark says; nothing was published then.
    """
    asset, target = order.asset, target_of(order.asset)
    blocked = order.blocks is not None and asset.partition is not None and asset.partition.column is not None
    whole = asset.write == "replace" and order.blocks is None
    check_schema(session, asset, frame, whole=whole)
    predicate = _predicate(asset, frame, order.blocks) if blocked else None
    rows = frame if predicate is None else _guarded(frame, asset, predicate)
    writer = _stamped(rows, stamp)
    if whole:
        writer = writer.mode("overwrite").option("overwriteSchema", "true")
    elif asset.write == "replace" and target is not None and predicate is not None:
        writer = writer.mode("overwrite").option("replaceWhere", predicate)
    else:
        writer = writer.mode("append")
    try:
        _laid_out(writer, asset, frame.schema, target).save(path_of(asset))
    except Exception as error:
        if predicate is not None and _OUTSIDE in str(error):
            raise _outside(asset, frame, predicate, order.blocks or RangeSet()) from error
        raise _refused(error, asset) from error


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
    names = {field.name for field in schema.fields}
    return writer.partitionBy(*layout) if layout and names.issuperset(layout) else writer


def _new_layout(asset: AssetSpec, schema: StructType) -> list[str]:
    partition = asset.partition
    if partition is None or partition.column is None or partition.by == "hour":
        return []
    column = partition.column.lower()
    return [
        field.name
        for field in schema.fields
        if field.name.lower() == column and field.dataType.simpleString() in LAID_OUT
    ]


def _predicate(asset: AssetSpec, frame: DataFrame, blocks: RangeSet | None) -> str:
    partition = _partition(asset)
    owner = f"the result of {asset.name}"
    column, kind = column_type(frame, partition.column or "", owner=owner)
    return inside(column, kind, partition=partition, ranges=blocks or RangeSet(), owner=owner)


def _guarded(frame: DataFrame, asset: AssetSpec, predicate: str) -> DataFrame:
    """The same rows, of which one outside the blocks fails the job that computes it."""
    from pyspark.sql import functions as sql

    column, _ = column_type(frame, _partition(asset).column or "", owner=asset.name)
    message = sqltext.text(_OUTSIDE)
    guard = sql.expr(f"CASE WHEN {predicate} THEN {sqltext.name(column)} ELSE raise_error({message}) END")
    return frame.withColumn(column, guard)


def _outside(asset: AssetSpec, frame: DataFrame, predicate: str, blocks: RangeSet) -> RunError:
    """The refusal, with the first values that do not belong."""
    partition = _partition(asset)
    column, _ = column_type(frame, partition.column or "", owner=asset.name)
    quoted = sqltext.name(column)
    strangers = frame.filter(f"NOT coalesce(({predicate}), false)").selectExpr(f"CAST({quoted} AS STRING)").distinct()
    values = [row[0] for row in strangers.orderBy(column).limit(_SHOWN + 1).collect()]
    shown = ", ".join("NULL" if value is None else value for value in values[:_SHOWN])
    more = ", …" if len(values) > _SHOWN else ""
    return RunError(
        f"{asset.name}: rows outside the run's partitions {', '.join(partition.labels(blocks))}: "
        f"{column} is {shown}{more}; nothing was written",
        hint="filter them in the query, or join {{ partitions }}",
    )


def _refused(error: Exception, asset: AssetSpec) -> RunError:
    if is_conflict(error):
        made = RunError(f"{asset.name}: another writer committed to the target meanwhile ({condition(error)})")
        made.retryable = True
        return made
    return run_error(error, what=asset.name)


def _partition(asset: AssetSpec) -> TimePartition:
    if asset.partition is None:
        raise RunError(f"{asset.name} has no partitions")
    return asset.partition
