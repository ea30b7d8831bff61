"""``replace``: a run's rows take the place of exactly its blocks, or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.ports import RunOrder
from sparkassets.spark import evolution, layouts
from sparkassets.spark.blocks import Blocks
from sparkassets.spark.relation import relation_of
from sparkassets.spark.table import TargetTable
from sparkassets.spark.writes.landing import Landing, OfAllColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class ReplaceMode(OfAllColumns):
    """Implements `Mode` for `sparkassets.core.writes.Replace`."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """A run that replaces all may change the columns; one of some blocks, as the asset's ``schema`` lets it."""
        if order.rebuilds or order.blocks.is_everything:
            layouts.refuse_broken(order.asset.name, schema, table)
        else:
            evolution.refuse_misfit(order.asset, schema, table)

    def landing(self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: Blocks | None) -> Landing:
        """An overwrite of all, or of what is in the blocks."""
        asset = order.asset
        if order.rebuilds or blocks is None:
            guarded = frame if blocks is None else blocks.guarded(frame)
            rows, columns = layouts.replacing(guarded, table)
            after = layouts.to_restore(frame.sparkSession, relation_of(asset), guarded.schema, table)
            return Landing(rows, "all", columns, after=after)
        guarded = blocks.guarded(frame)
        rows, columns = evolution.evolving(guarded, asset, table)
        before = evolution.to_prepare(asset, guarded.schema, table)
        return Landing(rows, "blocks", columns, before=before)
