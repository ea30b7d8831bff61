"""The partitions that a table's files hold, by folders and statistics: times and segments.

The one place that knows which partitions a file holds, whatever the asset's dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

from sparkassets.core.partitions import (
    NOTHING,
    Partitioning,
    PartitionSet,
    RangeSet,
    Segment,
    SegmentPartition,
    SegmentValue,
    segment_of,
    segment_value,
)
from sparkassets.delta.partition_columns import (
    MOST_IGNORED,
    NULL,
    FileTime,
    FileTimes,
    PartitionColumn,
    PartitionColumns,
    Span,
    count_present,
    holds_no_value,
)
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from arro3.core import Table

_SHORTENED_LENGTH = 32
"""From this length on, a bound may be a text that its writer truncated."""

_LONG_DECIMAL = re.compile(r"decimal\((1[6-9]|[23]\d),")
"""More digits than a float keeps, as which deltalake writes bounds: they may miss the values then."""


@frozen
class FileSegment:
    """The known segments of a file's rows in one dimension.

    Attributes:
        low, high: The least and the greatest; both None if no row has one.
        exact: Whether all of them are equal.
        rows: The number of rows with one; None where unknown; an upper limit with a deletion vector.
        nulls: Whether other rows may have none.
    """

    low: str | None
    high: str | None
    exact: bool = True
    rows: int | None = None
    nulls: bool = False


NOWHERE = FileSegment(None, None, rows=0)
"""The segments of a file whose rows have none."""


@dataclass(slots=True)
class FileSegments:
    """Determines the segments of files in one dimension, and notes values that are no segment.

    Attributes:
        ignored_values: Values that are not among the keys, and `NULL`: rows with them are left out.
    """

    column: PartitionColumn
    partition: SegmentPartition
    ignored_values: set[str] = field(default_factory=set)
    _known: frozenset[str] = field(init=False)
    _texts: dict[Any, str | None] = field(default_factory=dict)
    _values: dict[str, SegmentValue | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._known = frozenset(self.partition.keys)

    def read_folder_value(self, value: Any, *, rows: int | None) -> FileSegment:  # noqa: ANN401 - of any type
        """The segment of all rows of a file in the folder of the partition ``value``; `NOWHERE` if that is none."""
        key = self.key_of(None if value == "" else value) if rows != 0 else None  # as Delta's protocol writes no value
        return NOWHERE if key is None else FileSegment(key, key, rows=rows)

    def read_value_bounds(self, low: Any, high: Any, *, rows: int | None, nulls: int | None) -> FileSegment | None:  # noqa: ANN401
        """The segments of a file whose column has these least and greatest values; None if that says nothing.

        Args:
            low: The least value in the file's statistics.
            high: The greatest one.
            rows: Rows of the file; None if unknown.
            nulls: How many of them are NULL; None if unknown.
        """
        if nulls:
            self.leave_out(NULL)
        if holds_no_value(low, rows=rows, nulls=nulls):
            return NOWHERE
        first, last = self._text(low), self._text(high)
        if first is None or last is None or _LONG_DECIMAL.match(self.column.kind):
            return None
        known_rows = count_present(rows, nulls)
        if not are_equal(first, last, self.column.kind):
            return FileSegment(first, last, exact=False, rows=known_rows, nulls=nulls != 0)
        key = self.key_of(low)
        return NOWHERE if key is None else FileSegment(key, key, rows=known_rows, nulls=nulls != 0)

    def key_of(self, value: Any) -> str | None:  # noqa: ANN401 - of any type
        """The segment of a value; None for one that is not among the listed keys, which is noted."""
        text = self._text(value)
        if text in self._known or (self.partition.is_open and text is not None):
            return text
        self.leave_out(NULL if value is None else str(value) if text is None else text)
        return None

    def leave_out(self, value: str) -> None:
        """Notes a value whose rows are left out, up to `MOST_IGNORED` of them."""
        if len(self.ignored_values) < MOST_IGNORED:
            self.ignored_values.add(value)

    def may_be(self, segment: str, segments: FileSegment | None) -> bool:
        """Whether some row of a file with these segments may have ``segment``.

        Bounds are compared in the order of the column's type, not as text: 9 is less than 10.
        """
        if segments is None:
            return True
        if segments.exact:
            return segments.low == segment
        value, low, high = (self._value(text) for text in (segment, segments.low, segments.high))
        return value is not None and low is not None and high is not None and bool(low <= value <= high)  # type: ignore[operator]

    def _text(self, value: Any) -> str | None:  # noqa: ANN401 - of any type
        if isinstance(value, float):  # equal to a decimal that has more digits than it
            return segment_of(value, self.column.kind)
        if value not in self._texts:
            self._texts[value] = segment_of(value, self.column.kind)
        return self._texts[value]

    def _value(self, text: str | None) -> SegmentValue | None:
        if text is None:
            return None
        if text not in self._values:
            self._values[text] = segment_value(text, self.column.kind)
        return self._values[text]


def are_equal(low: Any, high: Any, kind: str) -> bool:  # noqa: ANN401 - of any type
    """Whether all values between two bounds of a column are certainly equal.

    Equal bounds of long texts prove nothing: writers shorten them.

    >>> are_equal("de", "de", "string"), are_equal("x" * 32, "x" * 32, "string"), are_equal(1, 2, "integer")
    (True, False, False)
    """
    return bool(low == high) and not (kind == "string" and len(low) >= _SHORTENED_LENGTH)


Cell = tuple[Segment, Span]
"""One tuple of segments and one time slot; the tuple is empty for an asset by time alone."""

ALWAYS: Span = (RangeSet.always().first, RangeSet.always().last)
"""The one slot of an asset without a time dimension."""


@dataclass(slots=True)
class FilePart:
    """What is known about the partitions of a file's rows; never changed.

    Attributes:
        time: The rows' time; None where unknown.
        segments: For each dimension of segments the rows' segments; None where unknown.
    """

    time: FileTime | None
    segments: tuple[FileSegment | None, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether something is known about every dimension."""
        return self.time is not None and None not in self.segments

    @property
    def is_empty(self) -> bool:
        """Whether no row is in any partition."""
        time = self.time
        if time is not None and time.start == time.end:
            return True
        return bool(self.segments) and any(each is not None and each.low is None for each in self.segments)

    @property
    def segment(self) -> Segment | None:
        """The one tuple of segments of all rows that have one; None if it is unknown, or there may be several."""
        if not self.segments:
            return ()
        keys = tuple(each.low for each in self.segments if each is not None and each.exact and each.low is not None)
        return keys if len(keys) == len(self.segments) else None

    @property
    def span(self) -> Span:
        """From the slot of the least time to that of the greatest; `ALWAYS` where unknown."""
        return ALWAYS if self.time is None else self.time.span

    @property
    def cell(self) -> Cell | None:
        """The one partition of all rows that are in any; None if it is unknown, or there may be several or none."""
        time = self.time
        if time is None or not time.exact or not self._can_count_nulls:
            return None
        segment = self.segment if self.segments else ()
        return None if segment is None else (segment, (time.start, time.end))

    @property
    def is_of_one_slot(self) -> bool:
        """Whether every row certainly has a time, all in one slot."""
        time = self.time
        return time is not None and time.exact and not time.nulls and time.start < time.end

    @property
    def rows(self) -> int | None:
        """The number of rows that are in some partition; None where unknown.

        With several dimensions it is only known if at most one of them lacks values: a row may lack both, and would
        count twice.
        """
        if not self.segments:
            return None if self.time is None else self.time.rows
        counts = [each.rows for each in (self.time, *self.segments) if each is not None and each.rows is not None]
        return min(counts) if len(counts) == 1 + len(self.segments) and self._can_count_nulls else None

    @property
    def nulls(self) -> bool:
        """Whether some rows may be in no partition."""
        return any(each is None or each.nulls for each in (self.time, *self.segments))

    @property
    def _can_count_nulls(self) -> bool:
        """Whether rows without a partition can be counted: at most one dimension may have NULL or foreign values."""
        return not self.segments or sum(each is None or each.nulls for each in (self.time, *self.segments)) <= 1


@frozen
class FileParts:
    """Determines the partitions of files, dimension by dimension, and notes values that name none.

    Attributes:
        times: Determines the time; None without a time dimension.
        segments: Determines the segments, for each dimension.
    """

    partitioning: Partitioning
    columns: PartitionColumns
    times: FileTimes | None
    segments: tuple[FileSegments, ...]

    @classmethod
    def from_columns(cls, columns: PartitionColumns, partitioning: Partitioning) -> FileParts:
        """For a table with these columns."""
        time = partitioning.time
        times = None if columns.time is None or time is None else FileTimes(columns.time, time)
        dimensions = zip(columns.segments, partitioning.segments, strict=True)
        return cls(partitioning, columns, times, tuple(FileSegments(*each) for each in dimensions))

    @property
    def ignored_values(self) -> dict[str, set[str]]:
        """Values that name no partition, by column: their rows are left out."""
        return {each.column.name: each.ignored_values for each in self._dimensions() if each.ignored_values}

    @property
    def dimension_names(self) -> str:
        """The names of its dimensions, for messages."""
        times = [] if self.times is None else [self.times.partition.nouns]
        return " and ".join([*times, *(f"'{each.partition.column}'" for each in self.segments)])

    @property
    def unknown_part(self) -> FilePart:
        """The part of a file about which nothing is known."""
        return FilePart(None, (None,) * len(self.segments))

    def read_action(self, partition: Mapping[str, str | None], stats: Mapping[str, Any]) -> FilePart:
        """The partitions of a file, from the partition values and statistics of its add or remove action."""
        rows = stats.get("numRecords")

        def read_dimension(dimension: Any) -> Any:  # noqa: ANN401 - of any dimension
            name = dimension.column.physical
            if name in partition:
                return dimension.read_folder_value(partition[name], rows=rows)
            low, high, nulls = (stats.get(part, {}).get(name) for part in ("minValues", "maxValues", "nullCount"))
            return dimension.read_value_bounds(low, high, rows=rows, nulls=nulls)

        time = _timeless_file(rows) if self.times is None else read_dimension(self.times)
        return FilePart(time, tuple(map(read_dimension, self.segments)))

    def read_live(self, adds: Table) -> dict[str, FilePart]:
        """The partitions of every live file by its path, from deltalake's table of flattened add actions."""
        names, missing = adds.schema.names, [None] * adds.num_rows

        def column(name: str) -> list[Any]:
            return list(adds.column(name).to_pylist()) if name in names else missing

        paths, counts = column("path"), column("num_records")

        def read_dimension(dimension: Any) -> Iterable[Any]:  # noqa: ANN401 - of any dimension
            name, physical = f"partition.{dimension.column.name}", dimension.column.physical
            if name in names:
                values = zip(column(name), counts, strict=True)
                return (dimension.read_folder_value(value, rows=rows) for value, rows in values)
            parts = (column(part) for part in (f"min.{physical}", f"max.{physical}", f"null_count.{physical}"))
            bounds = zip(*parts, counts, strict=True)
            return (dimension.read_value_bounds(low, high, rows=rows, nulls=nulls) for low, high, nulls, rows in bounds)

        times = map(_timeless_file, counts) if self.times is None else read_dimension(self.times)
        segments = zip(*map(read_dimension, self.segments), strict=True) if self.segments else repeat(())
        return dict(zip(paths, map(FilePart, times, segments), strict=False))

    def notes_all(self, part: FilePart) -> bool:
        """Whether reading the file would note no further value, as all its values name partitions or were noted.

        A time between two valid ones is valid, too; text between two keys may be no key.
        """
        if part.is_empty:
            return True
        holds_text = self.times is not None and self.times.column.kind == "string"
        return part.segment is not None and part.time is not None and (part.time.exact or not holds_text)

    def within(self, part: FilePart, parts: PartitionSet) -> PartitionSet:
        """The subset of ``parts`` that some row of the file may be in.

        A file that may hold several segments is compared with each segment that ``parts`` names.
        """
        if part.is_empty:
            return NOTHING
        span = RangeSet.span(*part.span)
        if not self.segments:
            return PartitionSet(parts.time & span)
        segment_of_file = part.segment
        if segment_of_file is not None:
            return PartitionSet.by_segment({segment_of_file: parts.time_of(segment_of_file) & span})
        return PartitionSet.by_segment(
            {segment: time & span for segment, time in parts.apart if self.may_be(segment, part)}
        )

    def segment_of(self, values: Sequence[Any]) -> Segment | None:
        """The tuple of segments of a row's values; None if one of them is not among the keys, which is noted."""
        keys = tuple(each.key_of(value) for each, value in zip(self.segments, values, strict=True))
        return None if None in keys else cast("Segment", keys)

    def may_be(self, segment: Segment, part: FilePart) -> bool:
        """Whether a row of the file may have that tuple of segments."""
        return all(
            dimension.may_be(key, segments)
            for dimension, key, segments in zip(self.segments, segment, part.segments, strict=True)
        )

    def _dimensions(self) -> Iterator[FileTimes | FileSegments]:
        if self.times is not None:
            yield self.times
        yield from self.segments


def _timeless_file(rows: int | None) -> FileTime:
    """The time of a file without a time dimension: one slot for all rows."""
    return FileTime(*ALWAYS, rows=rows)
