"""What one commit of a run's rows is to do to the table that is there, decided before anybody commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import RunOrder
from sparkassets.spark.blocks import Blocks, blocks_of, refuse_unfit_column
from sparkassets.spark.failures import condition, is_conflict, run_error
from sparkassets.spark.predicates import LAID_OUT
from sparkassets.spark.schemas import declared_schema, refuse_undeclared, refuse_unwritable
from sparkassets.spark.violations import violation
from sparkassets.spark.writes.landing import Landing
from sparkassets.spark.writes.modes import mode_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sparkassets.spark.table import TargetTable


@frozen
class PlannedWrite:
    """A run's rows on their way into a table.

    Attributes:
        frame: The rows as they were computed.
        schema: Of these.
        table: With columns that bind; None where there is none, or nothing but fences.
        blocks: None for a run without.
    """

    asset: AssetSpec
    frame: DataFrame
    schema: StructType
    table: TargetTable | None
    blocks: Blocks | None
    landing: Landing

    def refused(self, error: Exception) -> RunError:
        """What a write that failed says to people."""
        found = violation(error, self.schema, asset=self.asset.name)
        if found is None and self.blocks is not None:
            found = self.blocks.refused(error, self.frame)
        if found is not None:
            return found
        if is_conflict(error):
            told = condition(error)
            made = RunError(f"{self.asset.name}: another writer committed to the target meanwhile ({told})")
            made.retryable = True
            return made
        return run_error(error, what=self.asset.name)


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


def planned(order: RunOrder, frame: DataFrame, *, schema: StructType, table: TargetTable | None) -> PlannedWrite:
    """How the rows land, as the asset's write mode has them."""
    blocks = blocks_of(order, schema)
    there = None if table is None or table.bare else table
    if there is not None:
        landing = mode_of(order.asset).landing(order, frame, there, blocks=blocks)
    else:
        landing = _first(frame, blocks, remade=table is not None)
    return PlannedWrite(order.asset, frame, schema, there, blocks, landing)


def layout_of(asset: AssetSpec, schema: StructType, table: TargetTable | None) -> list[str]:
    """The columns that folders are named by: the table's, or for a new one those that its partitions suggest."""
    layout = list(table.layout) if table is not None else _new_layout(asset, schema)
    return layout if set(schema.names).issuperset(layout) else []


def _first(frame: DataFrame, blocks: Blocks | None, *, remade: bool) -> Landing:
    """The first rows of a table, whatever the mode; one that has nothing but fences is made again for them."""
    rows = frame if blocks is None else blocks.guarded(frame)
    return Landing(rows, "all", "replaced") if remade else Landing(rows)


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
