"""The blocks of a run as a condition on its rows: who lies outside is refused before anything is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.instants import instant, zone
from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.failures import tells
from sparkassets.spark.predicates import belonging, check_columns
from sparkassets.spark.schemas import column_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_OUTSIDE = "sparkassets: outside the blocks of the run"
_SHOWN = 5
_NULL = "NULL"


@frozen
class Blocks:
    """The blocks of one run.

    Attributes:
        labels: Their keys.
        timezone: Of the clocks that a timestamp is told by.
        column: Whose values tell of a row which block it is of, as the result has it.
        kind: Its type, as ``simpleString``.
        predicate: Holds for the rows of the blocks and for no others.
    """

    asset: str
    labels: tuple[str, ...]
    timezone: str
    column: str
    kind: str
    predicate: str

    def guarded(self, frame: DataFrame) -> DataFrame:
        """The same rows, of which one outside the blocks fails the job that computes it."""
        from pyspark.sql import functions as sql

        name, message = sqltext.name(self.column), sqltext.text(_OUTSIDE)
        guard = sql.expr(f"CASE WHEN {self.predicate} THEN {name} ELSE raise_error({message}) END")
        return frame.withColumn(self.column, guard)

    def refused(self, error: Exception, frame: DataFrame) -> RunError | None:
        """The refusal of rows outside the blocks, with the first values that do not belong; None of another error."""
        if not tells(error, _OUTSIDE):
            return None
        zoned = self.kind == "timestamp" and self.timezone != "UTC"
        name, zone_name = sqltext.name(self.column), self.timezone if zoned else "UTC"
        value = f"unix_micros({name})" if zoned else f"CAST({name} AS STRING)"
        strangers = frame.filter(f"NOT coalesce(({self.predicate}), false)").selectExpr(f"{value} AS value").distinct()
        values = [row[0] for row in strangers.orderBy("value").limit(_SHOWN + 1).collect()]
        told = [_NULL if each is None else _local(each, zone_name) if zoned else each for each in values]
        shown = ", ".join(told[:_SHOWN]) + (", …" if len(told) > _SHOWN else "")
        hint = "filter them in the query, or join {{ partitions }}"
        if zoned:
            hint = (
                f"a TIMESTAMP is an instant, here shown in {zone_name}, and midnight of UTC is none there: "
                f"where a day is meant, CAST({self.column} AS DATE); else {hint}"
            )
        return RunError(
            f"{self.asset}: rows outside the run's partitions {', '.join(self.labels)}: {self.column} is {shown}; "
            "nothing was written",
            hint=hint,
        )


def blocks_of(order: RunOrder, schema: StructType) -> Blocks | None:
    """The blocks of the run in a result of that schema; None for a run without blocks.

    Raises:
        RunError: The result has no such column, or its type cannot hold the partition.
    """
    asset, partitioning = order.asset, order.asset.partitioning
    predicate, time = belonging(schema, order.blocks, partitioning=partitioning, owner=_owner(asset)), partitioning.time
    if predicate is None or time is None or time.column is None:
        return None
    column, kind = column_type(schema, time.column, owner=_owner(asset))
    return Blocks(asset.name, tuple(partitioning.labels(order.blocks)), time.timezone, column, kind, predicate)


def refuse_unfit_column(asset: AssetSpec, schema: StructType) -> None:
    """Refuses a result whose rows do not tell which block they are of.

    Raises:
        RunError: It has no such column, or its type cannot hold the partition.
    """
    check_columns(schema, partitioning=asset.partitioning, owner=_owner(asset))


def _owner(asset: AssetSpec) -> str:
    return f"the result of {asset.name}"


def _local(micros: int, zone_name: str) -> str:
    """An instant on the clocks of a zone, with its offset."""
    return str(instant(micros // 1_000_000).astimezone(zone(zone_name)))
