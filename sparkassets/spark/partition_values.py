"""Values of partition columns, and the relation ``partitions`` of a run's partitions."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from sparkassets.core.instants import from_unix
from sparkassets.core.partitions import Partitioning, PartitionSet, Slot, TimePartition
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    import pyarrow as pa


def column_value(partition: TimePartition, start: int) -> date | datetime:
    """The column's value for the slot that starts then: its local date, or an instant where dates do not tell slots."""
    return partition.first_date(start) if partition.has_dates else from_unix(start)


def literal(partition: TimePartition, start: int) -> str:
    """`column_value` as SQL text."""
    held = column_value(partition, start)
    return sqltext.moment(start) if isinstance(held, datetime) else sqltext.day(held)


def arrow_type(partition: TimePartition) -> pa.DataType:
    """The Arrow type of `column_value`."""
    import pyarrow as pa

    return pa.date32() if partition.has_dates else pa.timestamp("us", "UTC")


def name_partition(partitioning: Partitioning, slot: Slot) -> dict[str, date | datetime | str | None]:
    """One partition by its dimensions' columns, in the order of its key; segments as text.

    None stands for the whole of a dimension whose segments are not known yet.

    A time dimension without a column is named by its grain.
    """
    start, _, segment = slot
    values: list[tuple[str, date | datetime | str | None]] = [
        (each.column, None if text == WHOLE else text)
        for each, text in zip(partitioning.segments, segment, strict=True)
    ]
    if (time := partitioning.time) is not None:
        values.insert(partitioning.time_at, (time.column or time.name, column_value(time, start)))
    return dict(values)


def partitions_table(partitioning: Partitioning, blocks: PartitionSet) -> pa.Table:
    """One row for each partition: its dimensions' columns, and ``start`` and ``end`` with time."""
    import pyarrow as pa

    slots, time = list(partitioning.slots(blocks)), partitioning.time
    rows = [name_partition(partitioning, slot) for slot in slots]
    fields = [(each.column, pa.string()) for each in partitioning.segments]
    if time is not None:
        fields.insert(partitioning.time_at, (time.column or time.name, arrow_type(time)))
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in fields}
    if time is not None:
        moment = pa.timestamp("us", "UTC")
        columns["start"] = pa.array([from_unix(start) for start, _, _ in slots], moment)
        columns["end"] = pa.array([from_unix(time.stop(start)) for start, _, _ in slots], moment)
    return pa.table(columns)
