"""One stamped commit: the computed rows, or a fence, into the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkassets.core.instants import instant, zone
from sparkassets.core.partitions import RangeSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import Replace
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, FenceConflictError, RunOrder, TargetMissingError
from sparkassets.spark import evolution, sqltext
from sparkassets.spark.failures import condition, is_conflict, run_error, tells
from sparkassets.spark.layouts import alter, refuse_broken, replacing, to_restore
from sparkassets.spark.markers import describe
from sparkassets.spark.own_session import checks_blocks
from sparkassets.spark.predicates import LAID_OUT, inside, refuse_unfit_type
from sparkassets.spark.schemas import column_type, declared_schema, given_columns, refuse_undeclared, refuse_unwritable
from sparkassets.spark.table import TargetTable, path_of, table_of
from sparkassets.spark.violations import violation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

_OUTSIDE = "sparkassets: outside the blocks of the run"
_REFUSED_BY_DELTA = "DELTA_REPLACE_WHERE_MISMATCH"
_SHOWN = 5
_NULL = "NULL"
_REMADE = {"overwriteSchema": "true", "partitionOverwriteMode": "static"}
"""A session may be set to replace only the partitions that the new rows have."""


def check_schema(session: SparkSession, order: RunOrder, schema: StructType, target: TargetTable | None) -> None:
    """Refuses columns that do not fit, before any row is computed.

    Raises:
        RunError: With every difference to the declared columns, or else to the target.
    """
    asset = order.asset
    refuse_unwritable(asset.name, schema)
    if asset.columns:
        refuse_undeclared(asset.name, schema, declared_schema(session, asset.columns))
    if target is not None and not target.bare:
        if replaces_whole(order):
            refuse_broken(asset.name, schema, target)
        else:
            evolution.refuse_misfit(asset, schema, target)
    if asset.partition is not None and asset.partition.column is not None:
        owner = f"the result of {asset.name}"
        column, kind = column_type(schema, asset.partition.column, owner=owner)
        refuse_unfit_type(column, kind, partition=asset.partition, owner=owner)


def write(
    order: RunOrder, frame: DataFrame, *, schema: StructType, target: TargetTable | None, marker: CommitMarker
) -> None:
    """Commits the rows: replaces exactly the run's blocks or the whole table, or appends.

    Raises:
        RunError: Rows outside the blocks (with examples), or whatever Spark says; nothing was published then.
    """
    asset = order.asset
    predicate = _predicate(asset, schema, order.blocks)
    there = None if target is None or target.bare else target
    by_blocks = (
        there is not None and isinstance(asset.write, Replace) and predicate is not None and not replaces_whole(order)
    )
    rows = frame
    if predicate is not None and not (by_blocks and checks_blocks(frame)):
        rows = _guarded(frame, asset, schema, predicate)
    options: dict[str, str] = {}
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    if there is not None and replaces_whole(order):
        after = to_restore(frame.sparkSession, path_of(asset), schema, there)
        rows, options = replacing(rows, there)
    elif there is not None:
        before = evolution.to_prepare(asset, schema, there)
        rows, options = evolution.evolving(rows, asset, there)
    elif target is not None:
        options = dict(_REMADE)
    if by_blocks and predicate is not None:
        options["replaceWhere"] = predicate
    mode = "overwrite" if options.keys() & {"replaceWhere", "overwriteSchema"} else "append"
    writer = _laid_out(_stamped(rows, marker).mode(mode).options(**options), asset, schema, there)
    try:
        alter(frame.sparkSession, before, marker)
        writer.save(path_of(asset))
    except Exception as error:
        raise _explained(error, order, frame, schema=schema, predicate=predicate) from error
    alter(frame.sparkSession, after, marker)


def _explained(
    error: Exception, order: RunOrder, frame: DataFrame, *, schema: StructType, predicate: str | None
) -> RunError:
    """What the refused write says to people."""
    refused = violation(error, schema, asset=order.asset.name)
    if refused is not None:
        return refused
    if predicate is not None and (tells(error, _OUTSIDE) or tells(error, _REFUSED_BY_DELTA)):
        return _outside(order, frame, schema, predicate)
    return _refused(error, order.asset)


def replaces_whole(order: RunOrder) -> bool:
    """Whether the run's rows take the place of the whole table."""
    return order.rebuilds or (isinstance(order.asset.write, Replace) and order.blocks is None)


def fence(session: SparkSession, asset: AssetSpec, schema: StructType | None, *, marker: CommitMarker) -> None:
    """Commits no rows; a missing table is created with ``schema``.

    Raises:
        FenceConflictError: Somebody committed meanwhile.
        TargetMissingError: There is no table, and no schema to create it with.
    """
    target = table_of(asset)
    known = given_columns(target.schema) if target is not None else schema
    if known is None:
        raise TargetMissingError(f"{asset.name}: there is no table at {path_of(asset)} yet")
    writer = _stamped(session.createDataFrame([], known), marker).mode("append")
    try:
        _laid_out(writer, asset, known, target).save(path_of(asset))
    except Exception as error:
        if is_conflict(error) or condition(error) == "DELTA_PATH_EXISTS":
            raise FenceConflictError(f"{asset.name}: another writer was quicker: {condition(error)}") from error
        raise run_error(error, what=f"{asset.name} cannot be fenced") from error


def _stamped(frame: DataFrame, marker: CommitMarker) -> DataFrameWriter:
    return (
        frame.write.format("delta")
        .option("txnAppId", marker.app_id)
        .option("txnVersion", marker.version)
        .option("userMetadata", describe(marker))
    )


def _laid_out(
    writer: DataFrameWriter, asset: AssetSpec, schema: StructType, target: TargetTable | None
) -> DataFrameWriter:
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
    column, kind = column_type(schema, _column(asset, schema), owner=asset.name)
    zoned = kind == "timestamp" and asset.partition is not None and asset.partition.timezone != "UTC"
    zone_name = asset.partition.timezone if asset.partition is not None and zoned else "UTC"
    value = f"unix_micros({sqltext.name(column)})" if zoned else f"CAST({sqltext.name(column)} AS STRING)"
    strangers = frame.filter(f"NOT coalesce(({predicate}), false)").selectExpr(f"{value} AS value").distinct()
    values = [row[0] for row in strangers.orderBy("value").limit(_SHOWN + 1).collect()]
    told = [_NULL if each is None else _local(each, zone_name) if zoned else each for each in values]
    shown = ", ".join(told[:_SHOWN]) + (", …" if len(told) > _SHOWN else "")
    labels = ", ".join(asset.partition.labels(blocks)) if asset.partition is not None else ""
    hint = "filter them in the query, or join {{ partitions }}"
    if zoned:
        hint = (
            f"a TIMESTAMP is an instant, here shown in {zone_name}, and midnight of UTC is none there: "
            f"where a day is meant, CAST({column} AS DATE); else {hint}"
        )
    return RunError(
        f"{asset.name}: rows outside the run's partitions {labels}: {column} is {shown}; nothing was written", hint=hint
    )


def _local(micros: int, zone_name: str) -> str:
    """An instant on the clocks of a zone, with its offset."""
    return str(instant(micros // 1_000_000).astimezone(zone(zone_name)))


def _column(asset: AssetSpec, schema: StructType) -> str:
    wanted = asset.partition.column if asset.partition is not None and asset.partition.column else ""
    return column_type(schema, wanted, owner=f"the result of {asset.name}")[0]


def _refused(error: Exception, asset: AssetSpec) -> RunError:
    if is_conflict(error):
        made = RunError(f"{asset.name}: another writer committed to the target meanwhile ({condition(error)})")
        made.retryable = True
        return made
    return run_error(error, what=asset.name)
