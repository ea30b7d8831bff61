"""``append``: a run's rows come to those that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.ports import RunOrder
from sparkassets.spark import evolution
from sparkassets.spark.blocks import Blocks
from sparkassets.spark.table import TargetTable
from sparkassets.spark.writes.landing import Landing, OfAllColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class AppendMode(OfAllColumns):
    """Implements `Mode` for `sparkassets.core.writes.Append`."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """The columns change only as the asset's ``schema`` lets them."""
        evolution.refuse_misfit(order.asset, schema, table)

    def landing(self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: Blocks | None) -> Landing:
        """An append of rows that are checked here, as Delta checks none."""
        guarded = frame if blocks is None else blocks.guarded(frame)
        rows, columns = evolution.evolving(guarded, order.asset, table)
        return Landing(rows, columns=columns, before=evolution.to_prepare(order.asset, guarded.schema, table))
