"""Which rows belong to a set of partitions, as a Spark SQL predicate over the columns that tell a row's partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkassets.core.partitions import Partitioning, PartitionSet, RangeSet, TimePartition
from sparkassets.errors import RunError
from sparkassets.spark import sqltext
from sparkassets.spark.schemas import column_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

LAID_OUT = frozenset({"date", "string"})
"""Types of a partition's column by which a new table is laid out in folders."""


def belonging(schema: StructType, parts: PartitionSet, *, partitioning: Partitioning, owner: str) -> str | None:
    """A predicate that is true for the rows of ``parts``, whole partitions, and false or null for all others.

    None where ``parts`` is everything, or no column tells a row's partition.

    Raises:
        RunError: A column is not there, or its type cannot hold such a partition.
    """
    time = partitioning.time
    if parts.is_everything or time is None or time.column is None:
        return None
    column, kind = column_type(schema, time.column, owner=owner)
    return inside(column, kind, partition=time, ranges=parts.time, owner=owner)


def check_columns(schema: StructType, *, partitioning: Partitioning, owner: str) -> None:
    """Refuses columns that cannot tell a row's partition.

    Raises:
        RunError: One is not there, or its type cannot hold such a partition.
    """
    time = partitioning.time
    if time is not None and time.column is not None:
        column, kind = column_type(schema, time.column, owner=owner)
        refuse_unfit_type(column, kind, partition=time, owner=owner)


def inside(column: str, kind: str, *, partition: TimePartition, ranges: RangeSet, owner: str) -> str:
    """A predicate that is true for the rows of ``ranges``, and false or null for all others.

    Args:
        column: Its name, as the table has it.
        kind: Spark's ``simpleString`` of the column: a date holds a local day of the slot, a timestamp an
            instant, a timestamp_ntz the wall clock, a string the slot's key.
        partition: What the column holds.
        ranges: Whole slots of ``partition``.
        owner: What the column belongs to, for the message.

    Raises:
        RunError: The column's type cannot hold such a partition.
    """
    refuse_unfit_type(column, kind, partition=partition, owner=owner)
    quoted = sqltext.name(column)
    if not ranges:
        return "false"
    if kind == "string":
        keys = ", ".join(sqltext.text(partition.key(start)) for start, _ in partition.slots(ranges))
        return f"{quoted} IN ({keys})"
    bounds = _bounds(kind, partition, ranges)
    return " OR ".join(f"({quoted} >= {low} AND {quoted} < {high})" for low, high in bounds)


def refuse_unfit_type(column: str, kind: str, *, partition: TimePartition, owner: str) -> None:
    """Refuses a column whose type cannot tell the partition's slots apart.

    Raises:
        RunError: With the types that can.
    """
    by = partition.by
    if kind in {"timestamp", "string"}:
        return
    if kind == "date" and by != "hour":
        return
    if kind == "timestamp_ntz" and (by != "hour" or partition.timezone == "UTC"):
        return
    wanted = "TIMESTAMP or STRING" if by == "hour" else "DATE, TIMESTAMP or STRING"
    why = " (it cannot tell a repeated hour)" if kind == "timestamp_ntz" else ""
    raise RunError(
        f"the column {column!r} of {owner} is {kind.upper()}, which cannot hold a partition by {by}{why}",
        hint=f"make it {wanted}",
    )


def _bounds(kind: str, partition: TimePartition, ranges: RangeSet) -> Iterator[tuple[str, str]]:
    for start, end in ranges.pairs():
        match kind:
            case "date":
                yield (
                    sqltext.day(partition.local_start(start).date()),
                    sqltext.day(partition.local_start(end).date()),
                )
            case "timestamp_ntz":
                yield sqltext.wall_clock(partition.local_start(start)), sqltext.wall_clock(partition.local_start(end))
            case _:
                yield sqltext.moment(start), sqltext.moment(end)
