"""The values of a partition's column, and the relation ``partitions`` that holds a run's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from sparkassets.core.instants import instant
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    import pyarrow as pa


def value(partition: TimePartition, start: int) -> date | datetime:
    """What the column holds for the slot with that start: its local date, or for an hour its instant."""
    return instant(start) if partition.by == "hour" else partition.local_start(start).date()


def literal(partition: TimePartition, start: int) -> str:
    """`value` as SQL text."""
    held = value(partition, start)
    return sqltext.moment(start) if isinstance(held, datetime) else sqltext.day(held)


def arrow_type(partition: TimePartition) -> pa.DataType:
    """The type of `value` in a table."""
    import pyarrow as pa

    return pa.timestamp("us", "UTC") if partition.by == "hour" else pa.date32()


def table(partition: TimePartition, blocks: RangeSet) -> pa.Table:
    """One row a block: the partition's column (named as its grain where it has none), ``start`` and ``end``."""
    import pyarrow as pa

    slots: Sequence[tuple[int, int]] = list(partition.slots(blocks))
    moment = pa.timestamp("us", "UTC")
    columns = {
        partition.column or partition.by: pa.array(
            [value(partition, start) for start, _ in slots], arrow_type(partition)
        ),
        "start": pa.array([instant(start) for start, _ in slots], moment),
        "end": pa.array([instant(end) for _, end in slots], moment),
    }
    return pa.table(columns)
