"""``replace``: a run's rows take the place of exactly its blocks, or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.ports import RunOrder
from sparkassets.spark import layouts, schema_evolution
from sparkassets.spark.partition_guard import PartitionGuard
from sparkassets.spark.relation import relation_of
from sparkassets.spark.target_table import TargetTable
from sparkassets.spark.writes.landing import AllColumnsMode, RowLanding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class ReplaceMode(AllColumnsMode):
    """Implements `LandingMode` for `sparkassets.core.writes.ReplaceWrite`."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """A run that replaces all may change the columns; one of some blocks, as the asset's ``schema`` lets it."""
        if order.rebuilds or order.blocks.is_everything:
            layouts.refuse_broken(order.asset.name, schema, table)
        else:
            schema_evolution.refuse_misfit(order.asset, schema, table)

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: PartitionGuard | None
    ) -> RowLanding:
        """An overwrite of all, or of what is in the blocks."""
        asset = order.asset
        if order.rebuilds or blocks is None:
            guarded = frame if blocks is None else blocks.guard_rows(frame)
            rows, columns = layouts.replace_rows(guarded, table)
            after = layouts.restore_statements(frame.sparkSession, relation_of(asset), guarded.schema, table)
            return RowLanding(rows, "all", columns, statements_after=after)
        guarded = blocks.guard_rows(frame)
        rows, columns = schema_evolution.evolve_rows(guarded, asset, table)
        before = schema_evolution.widening_statements(asset, guarded.schema, table)
        return RowLanding(rows, "blocks", columns, statements_before=before)
