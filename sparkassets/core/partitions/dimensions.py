"""The dimensions of an asset's partitions: at most one of time, and any number of segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Self

from sparkassets.core.partitions.segments import WHOLE, SegmentPartition
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen


@frozen
class PartitionDimensions:
    """The product of at most one dimension of time and any number of dimensions of segments.

    Attributes:
        time: The dimension of time; None where there is none.
        segments: The dimensions of segments, in the order of a tuple.
        time_at: Index of the segment before which a key has the time.
    """

    time: TimePartition | None = None
    segments: tuple[SegmentPartition, ...] = ()
    time_at: int = 0

    @property
    def is_partitioned(self) -> bool:
        """Whether there is any dimension."""
        return self.time is not None or bool(self.segments)

    @property
    def is_product(self) -> bool:
        """Whether there are time and segments, so that partitions form a grid of rows and columns."""
        return self.time is not None and bool(self.segments)

    @property
    def is_ahead(self) -> bool:
        """Whether partitions count as finished before they are over (``ahead``)."""
        return self.time is not None and self.time.ahead is not None

    @property
    def timeless(self) -> Self:
        """The partitioning without the dimension of time."""
        return replace(self, time=None, time_at=0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the dimensions that have one in rows, in the order of a key."""
        columns: list[str | None] = [each.column if each.in_rows else None for each in self.segments]
        if self.time is not None:
            columns.insert(self.time_at, self.time.column)
        return tuple(column for column in columns if column is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions in the order of a key: their columns, or the grain of time without a column.

        >>> PartitionDimensions(TimePartition("day", "UTC"), (SegmentPartition("store", ("a",)),)).names
        ('day', 'store')
        """
        names = [each.column for each in self.segments]
        if self.time is not None:
            names.insert(self.time_at, self.time.column or self.time.name)
        return tuple(names)

    @property
    def has_columns(self) -> bool:
        """Whether a row identifies its partition, because each dimension has a column."""
        return len(self.columns) == len(self.names)

    @property
    def by_columns(self) -> Self:
        """The partitioning by only those dimensions that have a column in rows, so that rows tell them apart.

        >>> PartitionDimensions(TimePartition("day", "UTC"), (SegmentPartition("store", ("a",)),)).by_columns.names
        ('store',)
        """
        if self.has_columns:
            return self
        time = self.time if self.time is not None and self.time.column is not None else None
        before = sum(each.in_rows for each in self.segments[: self.time_at])  # the position of time among what is kept
        kept = tuple(each for each in self.segments if each.in_rows)
        return replace(self, time=time, segments=kept, time_at=before if time else 0)

    @property
    def description(self) -> str:
        """The dimensions in words, in the order of a key; empty where there is none.

        >>> stores = SegmentPartition("store", ("a", "b"))
        >>> PartitionDimensions(TimePartition("day", "UTC"), (stores,)).description, PartitionDimensions().description
        ('by day in UTC, by store', '')
        """
        phrases = [f"by {each.column}" for each in self.segments]
        if self.time is not None:
            phrases.insert(self.time_at, f"by {self.time.grain} in {self.time.timezone}")
        return ", ".join(phrases)

    @property
    def description_with_columns(self) -> str:
        """`description` with the column of time.

        >>> PartitionDimensions(TimePartition("day", "UTC", "sold_on")).description_with_columns
        'by day in UTC (column sold_on)'
        """
        column = self.time.column if self.time is not None else None
        phrase = f"by {self.time.grain} in {self.time.timezone}" if self.time is not None else ""
        return self.description.replace(phrase, f"{phrase} (column {column})", 1) if column else self.description

    @property
    def placeholder(self) -> str:
        """The placeholder of a key in a message: ``A..B`` for time, ``KEY`` for segments.

        >>> stores = SegmentPartition("store", ("a", "b"))
        >>> days = TimePartition("day", "UTC")
        >>> PartitionDimensions(days, (stores,)).placeholder, PartitionDimensions(None, (stores,)).placeholder
        ('A..B,KEY', 'KEY')
        """
        words = ["KEY"] * len(self.segments)
        if self.time is not None:
            words.insert(self.time_at, "A..B")
        return ",".join(words)

    @property
    def segment_columns(self) -> tuple[str, ...]:
        """The columns of the dimensions of segments, in the order of a tuple."""
        return tuple(each.column for each in self.segments)

    def same_grid(self, other: PartitionDimensions) -> bool:
        """Whether both have the same partitions, whichever keys are known."""
        if not self._same_columns(other):
            return False
        if self.time is None or other.time is None:
            return self.time is other.time
        return self.time.same_grid(other.time)

    def same_slots(self, other: PartitionDimensions) -> bool:
        """Whether a partition of both holds the same rows, whichever partitions are known, wanted or excluded."""
        if not self._same_columns(other) or (self.time is None) is not (other.time is None):
            return False
        return self.time is None or other.time is None or self.time.same_slots(other.time)

    def understands(self, other: PartitionDimensions) -> bool:
        """Whether a set of the other's partitions has the same meaning here; a set by time alone fits all segments.

        >>> days, stores = TimePartition("day", "UTC"), SegmentPartition("store", ("a", "b"))
        >>> both = PartitionDimensions(days, (stores,))
        >>> both.understands(PartitionDimensions(days)), PartitionDimensions(days).understands(both)
        (True, False)
        """
        if not self.segments and not other.segments:
            return True  # sets by time alone are ranges of instants, whatever the grain
        if (self.time is None) is not (other.time is None):
            return False
        return not other.segments or self._same_columns(other)

    def _same_columns(self, other: PartitionDimensions) -> bool:
        if len(self.segments) != len(other.segments):
            return False
        return all(map(SegmentPartition.same_column, self.segments, other.segments))

    @property
    def is_open(self) -> bool:
        """Whether a dimension is open: its segments are learned at runtime."""
        return any(each.is_open for each in self.segments)

    @property
    def open_columns(self) -> tuple[str, ...]:
        """The columns of the open dimensions."""
        return tuple(each.column for each in self.segments if each.is_open)

    @property
    def without_open_segments(self) -> Self:
        """The partitioning that bounds possible partitions: by time alone where a dimension is open."""
        return replace(self, segments=(), time_at=0) if self.is_open else self

    @property
    def with_excluded_slots(self) -> Self:
        """The partitioning without exclusions in its time."""
        return replace(self, time=replace(self.time, exclude="")) if self.time is not None else self

    @property
    def as_declared(self) -> Self:
        """The partitioning as a project's files declare it: without known segments of open dimensions.

        >>> stores = SegmentPartition("store", ("a",), is_open=True)
        >>> PartitionDimensions(None, (stores,)).as_declared.segments[0].keys
        ()
        """
        return self.with_keys({each.column: () for each in self.segments if each.is_open})

    def with_keys(self, keys: Mapping[str, tuple[str, ...]]) -> Self:
        """The partitioning with these segments in the dimensions of these columns; itself where nothing changes.

        Args:
            keys: Column to segments, ascending.
        """
        known = tuple(
            each if keys.get(each.column, each.keys) == each.keys else replace(each, keys=keys[each.column])
            for each in self.segments
        )
        return self if known == self.segments else replace(self, segments=known)

    @property
    def has_whole(self) -> bool:
        """Whether an open dimension has no known segment yet, so that its whole is one partition."""
        return any(each.keys == (WHOLE,) for each in self.segments)

    def as_range(self, label: str) -> str:
        """The label with its time as ``A..B`` even for a single partition, so that a reader needs only one rule.

        >>> PartitionDimensions(TimePartition("day", "UTC")).as_range("2013-01-05")
        '2013-01-05..2013-01-05'
        """
        keys = label.split(",")
        if self.time is None or ".." in keys[self.time_at]:
            return label
        keys[self.time_at] = f"{keys[self.time_at]}..{keys[self.time_at]}"
        return ",".join(keys)

    def _join_keys(self, time: str, segments: Iterable[str]) -> str:
        """Joins the keys of all dimensions into one."""
        keys = list(segments)
        if self.time is not None:
            keys.insert(self.time_at, time)
        return ",".join(keys)
