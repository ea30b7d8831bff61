"""Columns that tell a row's partition, and the times that their values stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from sparkassets.core.instants import local_to_epoch, to_unix
from sparkassets.core.partitions import (
    YEARS,
    PartitionError,
    Partitioning,
    SegmentPartition,
    TimePartition,
    holds_segments,
    segment_of,
    segment_value,
)
from sparkassets.core.phrases import escape_unwritable
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen

_TIME_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "string"})


@frozen
class PartitionColumn:
    """A column that tells a row's partition: its time, or its segment.

    Attributes:
        kind: Its type as Delta's schema has it, such as ``date``, ``string`` or ``decimal(10,2)``.
        physical: Its name in the log, which differs where the table maps its columns.
        field_id: Its id in the data files, where the table maps its columns.
    """

    name: str
    kind: str
    physical: str
    field_id: int | None = None


@frozen
class PartitionColumns:
    """One column for each dimension; ``time`` is None without a time dimension."""

    time: PartitionColumn | None = None
    segments: tuple[PartitionColumn, ...] = ()

    def __iter__(self) -> Iterator[PartitionColumn]:
        if self.time is not None:
            yield self.time
        yield from self.segments

    @classmethod
    def from_json(cls, stored: Sequence[Any] | None) -> PartitionColumns:
        """The columns from `to_json`."""
        time, *segments = (each and PartitionColumn(*each) for each in stored or [None])
        return cls(time, tuple(segments))

    def to_json(self) -> list[Any] | None:
        """The time column or None, then the segment columns or None.

        >>> columns_of = PartitionColumns(None, (PartitionColumn("region", "string", "region"),))
        >>> columns_of.to_json(), PartitionColumns.from_json(columns_of.to_json()) == columns_of
        ([None, ['region', 'string', 'region', None]], True)
        """
        if self.time is None and not self.segments:
            return None
        return [each and list(astuple(each)) for each in (self.time, *self.segments)]

    @property
    def quoted_names(self) -> str:
        """Their quoted names, for messages."""
        return " and ".join(f"'{each.name}'" for each in self)


def columns_of(schema: str, partitioning: Partitioning, *, source: str) -> PartitionColumns:
    """The columns of a Delta ``schema`` (its JSON); ``source`` is the asset's name, for messages.

    Raises:
        SourceError: One is missing, or its type tells no partition.
    """
    fields = {entry["name"]: entry for entry in json.loads(schema)["fields"]}
    time = partitioning.time
    return PartitionColumns(
        None if time is None else _find_time_column(fields, time, source=source),
        tuple(_find_segment_column(fields, each, source=source) for each in partitioning.segments),
    )


def find_columns(schema: str, partitioning: Partitioning) -> PartitionColumns | None:
    """The same columns, ignoring case; None where one is missing or its type tells no partition."""
    fields = {entry["name"].lower(): entry for entry in json.loads(schema)["fields"]}
    time = partitioning.time
    if not partitioning.has_columns:
        return None
    time_column = None
    if time is not None:
        field = fields.get((time.column or "").lower())
        if field is None or not _tells_time(field, time):
            return None
        time_column = _make_column(field)
    segments = [fields.get(each.column.lower()) for each in partitioning.segments]
    found = [_make_column(each) for each in segments if each is not None and holds_segments(_read_type(each))]
    return PartitionColumns(time_column, tuple(found)) if len(found) == len(segments) else None


def _find_time_column(fields: Mapping[str, Any], partition: TimePartition, *, source: str) -> PartitionColumn:
    """The column of the time dimension.

    Raises:
        SourceError: The partition names no column, or the column's type cannot tell its slots apart.
    """
    if partition.column is None:
        raise SourceError(
            f"the partition of the source '{source}' lacks its column",
            hint="write 'partition: {by: …, column: …}': a Delta table needs a partition column",
        )
    time_field = _find_field(fields, partition.column, source=source)
    if not _tells_time(time_field, partition):
        dates = "a date, " if partition.has_dates else ""
        raise SourceError(
            f"the column '{partition.column}' of the source '{source}' is {_read_type(time_field)}; a partition by "
            f"{partition.noun} needs {dates}a timestamp or the key as text"
        )
    return _make_column(time_field)


def _find_segment_column(fields: Mapping[str, Any], partition: SegmentPartition, *, source: str) -> PartitionColumn:
    """The column of a segment dimension.

    Raises:
        SourceError: Its type cannot hold segments, or a listed key is no value of that type in its usual spelling.
    """
    segment_field = _find_field(fields, partition.column, source=source)
    kind = _read_type(segment_field)
    if not holds_segments(kind):
        raise SourceError(
            f"the column '{partition.column}' of the source '{source}' is {kind}; segments need a string, integer, "
            "decimal, date or boolean"
        )
    for key in partition.keys:
        if segment_value(key, kind) is None:
            usual_spelling = segment_of(key, kind)
            raise SourceError(
                f"the segment '{escape_unwritable(key)}' is not a value of the column '{partition.column}' of the "
                f"source '{source}', which is {kind}",
                hint=f"write '{usual_spelling}'" if usual_spelling is not None else None,
            )
    return _make_column(segment_field)


def _find_field(fields: Mapping[str, Any], name: str, *, source: str) -> Mapping[str, Any]:
    """The field of that name.

    Raises:
        SourceError: There is none; with all columns, and a suggestion.
    """
    entry: Mapping[str, Any] | None = fields.get(name)
    if entry is None:
        from difflib import get_close_matches

        closest, all_columns = get_close_matches(name, fields, n=1), f"; it has {', '.join(fields)}" if fields else ""
        raise SourceError(
            f"the source '{source}' has no column '{name}'{all_columns}",
            hint=f"did you mean '{closest[0]}'?" if closest else None,
        )
    return entry


def _read_type(entry: Mapping[str, Any]) -> str:
    return str(entry["type"] if isinstance(entry["type"], str) else entry["type"].get("type", ""))


def _tells_time(entry: Mapping[str, Any], partition: TimePartition) -> bool:
    kind = _read_type(entry)
    return kind in _TIME_TYPES and (kind != "date" or partition.has_dates)


def _make_column(entry: Mapping[str, Any]) -> PartitionColumn:
    metadata = entry.get("metadata") or {}
    physical = metadata.get("delta.columnMapping.physicalName", entry["name"])
    return PartitionColumn(entry["name"], _read_type(entry), physical, metadata.get("delta.columnMapping.id"))


Value = date | str | None
"""A partition column's value: text as in the log, or a date or datetime as Arrow reads it."""

Span = tuple[int, int]
"""Unix seconds, half-open: one slot, or both of a repeated local hour where the value has no offset."""

NULL = "NULL"
"""Stands for a missing value among values that name no slot."""

MOST_IGNORED = 10_000


@frozen
class FileTime:
    """What is known about the time of a file's rows.

    Attributes:
        start, end: From the slot of the least value to that of the greatest; equal if no row has a time.
        exact: Whether all rows are in one slot.
        rows: The number of rows with a time; None if unknown; an upper limit with a deletion vector.
        nulls: Whether other rows may have none.
        plain: Whether every value between the bounds is surely a valid time: text between two keys may be no key, and
            an hour's key may have a redundant offset.
    """

    start: int
    end: int
    exact: bool = True
    rows: int | None = None
    nulls: bool = False
    plain: bool = True

    @property
    def span(self) -> Span:
        """From ``start`` to ``end``."""
        return self.start, self.end


def holds_no_value(low: object, *, rows: int | None, nulls: int | None) -> bool:
    """Whether the statistics of a file say that no row has a value in a column."""
    return rows == 0 or (low is None and rows is not None and rows == nulls)


def count_present(rows: int | None, nulls: int | None) -> int | None:
    """How many rows of a file have a value in a column; None where its statistics do not say."""
    return None if rows is None or nulls is None else rows - nulls


NOWHEN = FileTime(0, 0, rows=0)
"""The time of a file whose rows have none."""


@dataclass(slots=True)
class FileTimes:
    """Determines the time of files, and notes values that name no slot.

    Attributes:
        ignored_values: Values that name no valid slot, and `NULL`: rows with them are left out.
    """

    column: PartitionColumn
    partition: TimePartition
    ignored_values: set[str] = field(default_factory=set)
    _slots: dict[Value, Span | None] = field(default_factory=dict)

    def read_folder_value(self, value: Value, *, rows: int | None) -> FileTime:
        """The time of a file in the folder of the partition ``value``; `NOWHEN` if that names no slot."""
        is_empty = value is None or value == ""  # as Delta's protocol writes no value
        if is_empty and rows != 0:
            self.leave_out(NULL)
        span = None if is_empty or value is None else self.of_value(value)
        return NOWHEN if span is None else FileTime(*span, rows=rows, plain=self._is_plain(value, value, span))

    def read_value_bounds(self, low: Value, high: Value, *, rows: int | None, nulls: int | None) -> FileTime | None:
        """The time between two bounds in a file; None where its statistics do not say."""
        if nulls:
            self.leave_out(NULL)
        if holds_no_value(low, rows=rows, nulls=nulls):
            return NOWHEN
        first, last = (None if bound is None else self._find_slot(bound) for bound in (low, high))
        if first is None or last is None:
            return None
        return FileTime(
            min(first[0], last[0]),
            max(first[1], last[1]),
            exact=first == last,
            rows=count_present(rows, nulls),
            nulls=nulls != 0,
            plain=self._is_plain(low, high, first),
        )

    def of_value(self, value: date | str) -> Span | None:
        """The slot of a value; None for one that names no slot, which is noted."""
        span = self._find_slot(value)
        if span is None:
            self.leave_out(str(value))
        return span

    def of_instant(self, seconds: int) -> Span | None:
        """The slot of an instant in Unix seconds; None outside the years of partitions, which is noted."""
        span = self._find_plannable_slot(lambda: self.partition.slot_of_instant(seconds))
        if span is None:
            self.leave_out(_format_seconds(seconds))
        return span

    def leave_out(self, value: str) -> None:
        """Notes a value whose rows are left out, up to `MOST_IGNORED` of them."""
        if len(self.ignored_values) < MOST_IGNORED:
            self.ignored_values.add(value)

    def _find_slot(self, value: Value) -> Span | None:
        if value not in self._slots:
            self._slots[value] = self._find_plannable_slot(
                lambda: _SLOT_FINDERS[self.column.kind](self.partition, value)
            )
        return self._slots[value]

    def _is_plain(self, low: Value, high: Value, span: Span) -> bool:
        return self.column.kind != "string" or (low == high == self.partition.key(span[0]))

    def _find_plannable_slot(self, find: Callable[[], Span | None]) -> Span | None:
        """The slot that ``find`` returns; None if there is none, or if it is outside the years of partitions."""
        try:
            slot = find()
            return slot if slot is not None and self.partition.local_start(slot[0]).year in YEARS else None
        except (ValueError, OverflowError, PartitionError):
            return None


def _format_seconds(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"


def _slot_of_date(partition: TimePartition, value: date | str) -> Span | None:
    day = date.fromisoformat(value) if isinstance(value, str) else value
    return partition.slot_of_date(day)


def _slot_of_timestamp(partition: TimePartition, value: datetime | str) -> Span | None:
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    seconds = to_unix(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return partition.slot_of_instant(seconds)


def _slot_of_local_timestamp(partition: TimePartition, value: date | str) -> Span | None:
    local = datetime.fromisoformat(str(value)) if not isinstance(value, datetime) else value
    instants = [local_to_epoch(local, partition.timezone, fold=fold) for fold in (0, 1)]
    start, end = partition.floor(min(instants)), partition.next(max(instants))
    if local < partition.local_start(start):  # of a day that clocks skip: it belongs to the slot before
        return partition.previous(start), start
    if partition.exclude and partition.slot_of_instant(min(instants)) is None:
        return None
    return start, end


def _slot_of_key(partition: TimePartition, value: str) -> Span:
    start, _ = partition.parse_key(value)
    return partition.slots_of_local_start(start)  # bounds compare as text: of a repeated hour either may be the lesser


_SLOT_FINDERS: Mapping[str, Callable[[TimePartition, Any], Span | None]] = {
    "date": _slot_of_date,
    "timestamp": _slot_of_timestamp,
    "timestamp_ntz": _slot_of_local_timestamp,
    "string": _slot_of_key,
}
