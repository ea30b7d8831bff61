"""Describes partitions by the values of their columns: each one, or neighbours by their bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_ORDERED: Final = frozenset({"hour", "day", "month", "year"})
"""Grains whose keys are prefixes of an ISO local time, so that keys are ordered like times."""


@frozen
class ColumnRange:
    """A range of neighbouring partitions.

    Attributes:
        segments: Column to segment.
        column: The column of time; None where there is no time.
        low, end: The first partition's key, and the key of the one after the last.
    """

    segments: dict[str, str]
    column: str | None = None
    low: str = ""
    end: str = ""


def telling_dimensions(partitioning: Partitioning, parts: PartitionSet) -> tuple[Partitioning, PartitionSet] | None:
    """The dimensions whose columns identify the rows of these partitions, and the partitions by these dimensions.

    None where all rows belong to them, no column identifies them, or the partitions cannot be listed.
    """
    less, rest = partitioning.without_whole_dimensions(parts)
    if rest.is_everything or not less.is_partitioned or (less.time is not None and less.time.column is None):
        return None
    if less.segments and rest.time:  # of any segment, known or not
        if rest.apart or less.time is None:
            return None
        less = Partitioning(less.time)
    return (less.with_segments_of(rest), rest) if less.can_list(rest) else None


def partition_values(partitioning: Partitioning, parts: PartitionSet) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the key of each partition with its values by column, oldest first, in the order of the key.

    Takes the result of `telling_dimensions`, like `column_ranges`.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> both = Partitioning(TimePartition("day", "UTC", column="day"), (SegmentPartition("shop", ("a", "b")),))
    >>> list(partition_values(both, both.parse("2025-01-02,a")))
    [('2025-01-02,a', {'day': '2025-01-02', 'shop': 'a'})]
    """
    time, keys = partitioning.time, partitioning.keys(parts)
    for start, _, segment in partitioning.slots(parts):
        values = list(zip(partitioning.segment_columns, segment, strict=True))
        if time is not None:
            values.insert(partitioning.time_at, (time.column or time.name, time.key(start)))
        yield next(keys), dict(values)


def column_ranges(partitioning: Partitioning, parts: PartitionSet) -> list[ColumnRange] | None:
    """The partitions with neighbours joined; None where keys of time are not ordered like the values of its column."""
    time = partitioning.time
    if time is not None and not _has_comparable_keys(time):
        return None
    joined = []
    for segment, ranges in partitioning.by_tuple(parts):
        own = dict(zip(partitioning.segment_columns, segment, strict=True))
        if time is None:
            joined.append(ColumnRange(own))
        else:
            joined += [ColumnRange(own, time.column, time.key(low), time.key(high)) for low, high in ranges.pairs()]
    return joined


def _has_comparable_keys(time: TimePartition) -> bool:
    """Whether the key of a slot is the local time at which it begins, and no two slots share one."""
    return (
        time.by in _ORDERED and not time.exclude and not time.offset and (time.by != "hour" or time.timezone == "UTC")
    )
