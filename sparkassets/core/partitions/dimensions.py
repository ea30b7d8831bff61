"""Partitions by the columns that tell them: each by its values, or neighbours by their bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_ORDERED: Final = frozenset({"hour", "day", "month", "year"})
"""Grains whose keys are beginnings of a local time as ISO has it: they compare as times and as text alike."""


@frozen
class ColumnRange:
    """Neighbouring partitions.

    Attributes:
        segments: Column to segment.
        column: That of time; None where there is no time.
        low, end: The first partition's key, and the key of the one after the last.
    """

    segments: dict[str, str]
    column: str | None = None
    low: str = ""
    end: str = ""


def telling_dimensions(partitioning: Partitioning, parts: PartitionSet) -> tuple[Partitioning, PartitionSet] | None:
    """The dimensions whose columns tell which rows are of these partitions, and these by them.

    None where all rows are, no column tells it, or the partitions cannot be listed.
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
    """The key of each partition with its dimensions by their columns, oldest first, in the order of the key.

    What `telling` gave is taken, here and by `stretches`.

    >>> from sparkassets.core.partitions import SegmentPartition, TimePartition
    >>> both = Partitioning(TimePartition("day", "UTC", column="day"), (SegmentPartition("shop", ("a", "b")),))
    >>> list(partition_values(both, both.parse("2025-01-02,a")))
    [('2025-01-02,a', {'day': '2025-01-02', 'shop': 'a'})]
    """
    time, keys = partitioning.time, partitioning.keys(parts)
    for start, _, segment in partitioning.slots(parts):
        found = list(zip(partitioning.segment_columns, segment, strict=True))
        if time is not None:
            found.insert(partitioning.time_at, (time.column or time.name, time.key(start)))
        yield next(keys), dict(found)


def column_ranges(partitioning: Partitioning, parts: PartitionSet) -> list[ColumnRange] | None:
    """The same partitions with neighbours together; None where the keys of time do not compare as its columns do."""
    time = partitioning.time
    if time is not None and not _has_comparable_keys(time):
        return None
    found = []
    for segment, ranges in partitioning.by_tuple(parts):
        own = dict(zip(partitioning.segment_columns, segment, strict=True))
        if time is None:
            found.append(ColumnRange(own))
        else:
            found += [ColumnRange(own, time.column, time.key(low), time.key(high)) for low, high in ranges.pairs()]
    return found


def _has_comparable_keys(time: TimePartition) -> bool:
    """Whether the key of a slot is where its time begins, and no two slots have readings of one clock."""
    return (
        time.by in _ORDERED and not time.exclude and not time.offset and (time.by != "hour" or time.timezone == "UTC")
    )
