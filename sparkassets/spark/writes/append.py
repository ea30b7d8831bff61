"""``append``: a run's rows come to those that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.ports import RunOrder
from sparkassets.spark import schema_evolution
from sparkassets.spark.partition_guard import PartitionGuard
from sparkassets.spark.target_table import TargetTable
from sparkassets.spark.writes.landing import AllColumnsMode, RowLanding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class AppendMode(AllColumnsMode):
    """Implements `LandingMode` for `sparkassets.core.writes.AppendWrite`."""

    def refuse_misfit(self, order: RunOrder, schema: StructType, table: TargetTable) -> None:
        """The columns change only as the asset's ``schema`` lets them."""
        schema_evolution.refuse_misfit(order.asset, schema, table)

    def plan_landing(
        self, order: RunOrder, frame: DataFrame, table: TargetTable, *, blocks: PartitionGuard | None
    ) -> RowLanding:
        """An append of rows that are checked here, as Delta checks none."""
        guarded = frame if blocks is None else blocks.guard_rows(frame)
        rows, columns = schema_evolution.evolve_rows(guarded, order.asset, table)
        return RowLanding(
            rows,
            columns=columns,
            statements_before=schema_evolution.widening_statements(order.asset, guarded.schema, table),
        )
