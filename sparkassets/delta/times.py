"""The time that a Delta table's files hold, from partition values and statistics, without reading one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import local_to_epoch, unix
from sparkassets.core.partitions import YEARS, PartitionError, TimePartition
from sparkassets.core.patterns import local_slot
from sparkassets.errors import SourceError
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from arro3.core import Table

Value = date | str | None
"""Of the partition's column: text as in the log, or a date or datetime as Arrow reads it."""

Span = tuple[int, int]
"""Unix seconds, half-open: one slot, or both of a local hour that is repeated where the value tells no offset."""

NULL = "NULL"
"""What stands for no value among those that name no slot."""

_MOST_IGNORED = 10_000

_KINDS = ("date", "timestamp", "timestamp_ntz", "string")


@frozen
class TimeColumn:
    """The column that tells a row's partition.

    Attributes:
        kind: ``date``, ``timestamp``, ``timestamp_ntz`` or ``string`` (the partition's key).
        physical: Its name in the log, another one where the table maps its columns.
        field_id: Its number in the data files, where the table maps its columns.
    """

    name: str
    kind: str
    physical: str
    field_id: int | None = None


@frozen
class FileTime:
    """The time of a file's rows as far as the log tells it.

    Attributes:
        start, end: From the slot of the least value to that of the greatest; equal where no row has a time.
        exact: Whether all of it is one slot.
        rows: How many rows have a time, None where that is not told; with a deletion vector there are fewer.
        nulls: Whether other rows may have none.
        plain: Whether no value between the bounds is anything but a time written the one way that a run writes it:
            text between two keys may be none, and an hour's key may carry an offset that it does not need.
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


NOWHEN = FileTime(0, 0, rows=0)
"""Of a file whose rows have no time."""


def time_column(schema: str, partition: TimePartition, *, source: str) -> TimeColumn:
    """The partition's column in a Delta ``schema`` (its JSON); ``source`` is the asset's name, for messages.

    Raises:
        SourceError: There is no such column, or its type tells no slot.
    """
    if partition.column is None:
        raise SourceError(
            f"the partition of the source '{source}' names no column",
            hint="write 'partition: {by: …, column: …}': a Delta table tells its partitions by a column",
        )
    fields = {entry["name"]: entry for entry in json.loads(schema)["fields"]}
    found = fields.get(partition.column)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(partition.column, fields, n=1)
        raise SourceError(
            f"the source '{source}' has no column '{partition.column}'; it has {', '.join(fields)}",
            hint=f"did you mean '{near[0]}'?" if near else None,
        )
    if not _tells(found, partition):
        kind = _kind(found)
        dates = "" if partition.by == "hour" else "a date, "
        raise SourceError(
            f"the column '{partition.column}' of the source '{source}' is of type {kind}, which tells no"
            f" {partition.by}; expected {dates}a timestamp or the partition's key as text"
        )
    return _column(found)


def told_by(schema: str, partition: TimePartition) -> TimeColumn | None:
    """The same column, upper and lower case aside; None where there is none or its type tells no slot."""
    wanted = (partition.column or "").lower()
    found = (entry for entry in json.loads(schema)["fields"] if entry["name"].lower() == wanted)
    return next((_column(entry) for entry in found if _tells(entry, partition)), None)


def _kind(entry: Mapping[str, Any]) -> str:
    return str(entry["type"] if isinstance(entry["type"], str) else entry["type"].get("type", ""))


def _tells(entry: Mapping[str, Any], partition: TimePartition) -> bool:
    kind = _kind(entry)
    return kind in _KINDS and not (kind == "date" and partition.by == "hour")


def _column(entry: Mapping[str, Any]) -> TimeColumn:
    mapped = entry.get("metadata") or {}
    physical = mapped.get("delta.columnMapping.physicalName", entry["name"])
    return TimeColumn(entry["name"], _kind(entry), physical, mapped.get("delta.columnMapping.id"))


@dataclass(slots=True)
class FileTimes:
    """Tells the time of files; remembers what could not be read.

    Attributes:
        ignored: Values that name no slot that can be planned, also `NULL`: their rows are left out.
    """

    column: TimeColumn
    partition: TimePartition
    ignored: set[str] = field(default_factory=set)
    _known: dict[Value, Span | None] = field(default_factory=dict)

    def of_partition(self, value: Value, *, rows: int | None) -> FileTime:
        """The time of a file in the physical partition ``value``."""
        empty = value is None or value == ""  # as Delta's protocol writes no value
        if empty and rows != 0:
            self.leave_out(NULL)
        span = None if empty or value is None else self.of_value(value)
        return NOWHEN if span is None else FileTime(*span, rows=rows, plain=self._is_plain(value, value, span))

    def of_bounds(self, low: Value, high: Value, *, rows: int | None, nulls: int | None) -> FileTime | None:
        """The time from the least to the greatest value in a file; None where its statistics do not tell."""
        if nulls:
            self.leave_out(NULL)
        if rows == 0 or (low is None and rows is not None and rows == nulls):
            return NOWHEN
        first, last = (None if bound is None else self._slot(bound) for bound in (low, high))
        if first is None or last is None:
            return None
        timed = None if rows is None or nulls is None else rows - nulls
        plain = self._is_plain(low, high, first)
        return FileTime(min(first[0], last[0]), max(first[1], last[1]), first == last, timed, nulls != 0, plain)

    def of_action(self, partition: Mapping[str, str | None], stats: Mapping[str, Any]) -> FileTime | None:
        """The time of a file by its action in the log; None where it does not tell."""
        name, rows = self.column.physical, stats.get("numRecords")
        if name in partition:
            return self.of_partition(partition[name], rows=rows)
        low, high, nulls = (stats.get(part, {}).get(name) for part in ("minValues", "maxValues", "nullCount"))
        return self.of_bounds(low, high, rows=rows, nulls=nulls)

    def of_live(self, adds: Table) -> dict[str, FileTime | None]:
        """Path and time of every file in an Arrow table of a Delta table's flattened add actions."""
        names, missing = adds.schema.names, [None] * adds.num_rows

        def column(name: str) -> list[Any]:
            return list(adds.column(name).to_pylist()) if name in names else missing

        paths, physical = column("path"), self.column.physical
        counts = column("num_records")
        if f"partition.{self.column.name}" in names:
            values = column(f"partition.{self.column.name}")
            found = zip(paths, values, counts, strict=True)
            return {path: self.of_partition(value, rows=rows) for path, value, rows in found}
        parts = (column(part) for part in (f"min.{physical}", f"max.{physical}", f"null_count.{physical}"))
        bounds = zip(paths, *parts, counts, strict=True)
        return {path: self.of_bounds(low, high, rows=rows, nulls=nulls) for path, low, high, nulls, rows in bounds}

    def of_value(self, value: date | str) -> Span | None:
        """The slot of one value; None for one that names no slot, which is noted."""
        span = self._slot(value)
        if span is None:
            self.leave_out(str(value))
        return span

    def of_instant(self, seconds: int) -> Span | None:
        """The slot that holds an instant; None, and noted, beyond the ends of the calendar."""
        span = self._planned(lambda: (self.partition.floor(seconds), self.partition.next(seconds)))
        if span is None:
            self.leave_out(_written(seconds))
        return span

    def leave_out(self, value: str) -> None:
        """Notes a value that names no slot that can be planned."""
        if len(self.ignored) < _MOST_IGNORED:
            self.ignored.add(value)

    def _slot(self, value: Value) -> Span | None:
        if value not in self._known:
            self._known[value] = self._planned(lambda: _SLOTS[self.column.kind](self.partition, value))
        return self._known[value]

    def _is_plain(self, low: Value, high: Value, span: Span) -> bool:
        return self.column.kind != "string" or (low == high == self.partition.key(span[0]))

    def _planned(self, span: Callable[[], Span | None]) -> Span | None:
        """The slot, unless there is none or it is beyond the years of partitions."""
        try:
            found = span()
            return found if found is not None and self.partition.local_start(found[0]).year in YEARS else None
        except (ValueError, OverflowError, PartitionError):
            return None


def _written(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"


def _of_date(partition: TimePartition, value: date | str) -> Span | None:
    day = date.fromisoformat(value) if isinstance(value, str) else value
    return local_slot(partition, datetime(day.year, day.month, day.day))  # noqa: DTZ001 - local by definition


def _of_timestamp(partition: TimePartition, value: datetime | str) -> Span:
    when = datetime.fromisoformat(value) if isinstance(value, str) else value
    at = unix(when if when.tzinfo else when.replace(tzinfo=UTC))
    return partition.floor(at), partition.next(at)


def _of_local_timestamp(partition: TimePartition, value: date | str) -> Span:
    local = datetime.fromisoformat(str(value)) if not isinstance(value, datetime) else value
    both = [local_to_epoch(local, partition.timezone, fold=fold) for fold in (0, 1)]
    start, end = partition.floor(min(both)), partition.next(max(both))
    if local < partition.local_start(start):  # of a day that clocks skip: it belongs to the slot before
        return partition.previous(start), start
    return start, end


def _of_key(partition: TimePartition, value: str) -> Span:
    start, end = partition.parse_key(value)
    if partition.by == "hour":  # bounds compare as text: of a repeated hour either may be the lesser
        return local_slot(partition, partition.local_start(start)) or (start, end)
    return start, end


_SLOTS: Mapping[str, Callable[[TimePartition, Any], Span | None]] = {
    "date": _of_date,
    "timestamp": _of_timestamp,
    "timestamp_ntz": _of_local_timestamp,
    "string": _of_key,
}
