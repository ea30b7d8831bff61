"""Which rows belong to a set of partitions, as a Spark SQL predicate over the partition's column."""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.errors import RunError
from sparkassets.spark import sqltext

LAID_OUT = frozenset({"date", "string"})
"""Types of a partition's column by which a new table is laid out in folders."""


def inside(column: str, column_type: str, *, partition: TimePartition, ranges: RangeSet, owner: str) -> str:
    """A predicate that is true for the rows of ``ranges``, and false or null for all others.

    Args:
        column: Its name, as the table has it.
        column_type: Spark's ``simpleString`` of the column: a date holds a local day of the slot, a timestamp an
            instant, a timestamp_ntz the wall clock, a string the slot's key.
        partition: What the column holds.
        ranges: Whole slots of ``partition``.
        owner: What the column belongs to, for the message.

    Raises:
        RunError: The column's type cannot hold such a partition.
    """
    refuse_unfit_type(column, column_type, partition=partition, owner=owner)
    quoted = sqltext.name(column)
    if not ranges:
        return "false"
    if column_type == "string":
        keys = ", ".join(sqltext.text(partition.key(start)) for start, _ in partition.slots(ranges))
        return f"{quoted} IN ({keys})"
    bounds = _bounds(column_type, partition, ranges)
    return " OR ".join(f"({quoted} >= {low} AND {quoted} < {high})" for low, high in bounds)


def refuse_unfit_type(column: str, column_type: str, *, partition: TimePartition, owner: str) -> None:
    """Refuses a column whose type cannot tell the partition's slots apart.

    Raises:
        RunError: With the types that can.
    """
    by = partition.by
    if column_type in {"timestamp", "string"}:
        return
    if column_type == "date" and by != "hour":
        return
    if column_type == "timestamp_ntz" and (by != "hour" or partition.timezone == "UTC"):
        return
    wanted = "TIMESTAMP or STRING" if by == "hour" else "DATE, TIMESTAMP or STRING"
    why = " (it cannot tell a repeated hour)" if column_type == "timestamp_ntz" else ""
    raise RunError(
        f"the column {column!r} of {owner} is {column_type.upper()}, which cannot hold a partition by {by}{why}",
        hint=f"make it {wanted}",
    )


def _bounds(column_type: str, partition: TimePartition, ranges: RangeSet) -> Iterator[tuple[str, str]]:
    for start, end in ranges.pairs():
        match column_type:
            case "date":
                yield (
                    sqltext.day(partition.local_start(start).date()),
                    sqltext.day(partition.local_start(end).date()),
                )
            case "timestamp_ntz":
                yield sqltext.wall_clock(partition.local_start(start)), sqltext.wall_clock(partition.local_start(end))
            case _:
                yield sqltext.moment(start), sqltext.moment(end)
