"""The columns that tell a row's partition, in the schema of a Delta table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from sparkassets.core.partitions import (
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

_TIMES = frozenset({"date", "timestamp", "timestamp_ntz", "string"})


@frozen
class PartitionColumn:
    """A column by which a table's rows are told apart: by time, or by segments.

    Attributes:
        kind: Its type as Delta's schema has it, such as ``date``, ``string`` or ``decimal(10,2)``.
        physical: Its name in the log, another one where the table maps its columns.
        field_id: Its number in the data files, where the table maps its columns.
    """

    name: str
    kind: str
    physical: str
    field_id: int | None = None


@frozen
class PartitionColumns:
    """One column for each dimension; ``time`` is None where there is no dimension of time."""

    time: PartitionColumn | None = None
    segments: tuple[PartitionColumn, ...] = ()

    def __iter__(self) -> Iterator[PartitionColumn]:
        if self.time is not None:
            yield self.time
        yield from self.segments

    @classmethod
    def from_json(cls, stored: Sequence[Any] | None) -> PartitionColumns:
        """What `to_json` gave."""
        time, *segments = (each and PartitionColumn(*each) for each in stored or [None])
        return cls(time, tuple(segments))

    def to_json(self) -> list[Any] | None:
        """That of time, or None, and those of segments; None where there are none.

        >>> columns_of = PartitionColumns(None, (PartitionColumn("region", "string", "region"),))
        >>> columns_of.to_json(), PartitionColumns.from_json(columns_of.to_json()) == columns_of
        ([None, ['region', 'string', 'region', None]], True)
        """
        if self.time is None and not self.segments:
            return None
        return [each and list(astuple(each)) for each in (self.time, *self.segments)]

    @property
    def quoted_names(self) -> str:
        """Their names, for messages."""
        return " and ".join(f"'{each.name}'" for each in self)


def columns_of(schema: str, partitioning: Partitioning, *, source: str) -> PartitionColumns:
    """The columns of a Delta ``schema`` (its JSON); ``source`` is the asset's name, for messages.

    Raises:
        SourceError: One is not there, or its type tells no partition.
    """
    fields = {entry["name"]: entry for entry in json.loads(schema)["fields"]}
    time = partitioning.time
    return PartitionColumns(
        None if time is None else _time_column(fields, time, source=source),
        tuple(_segment_column(fields, each, source=source) for each in partitioning.segments),
    )


def find_columns(schema: str, partitioning: Partitioning) -> PartitionColumns | None:
    """The same columns, upper and lower case aside; None where one is not there or its type tells no partition."""
    fields = {entry["name"].lower(): entry for entry in json.loads(schema)["fields"]}
    time = partitioning.time
    if not partitioning.has_columns:
        return None
    timed = None if time is None else fields.get((time.column or "").lower())
    if time is not None and (timed is None or not _tells_time(timed, time)):
        return None
    found = [fields.get(each.column.lower()) for each in partitioning.segments]
    segments = [each for each in found if each is not None and holds_segments(_kind(each))]
    if len(segments) < len(found):
        return None
    return PartitionColumns(None if timed is None else _column(timed), tuple(map(_column, segments)))


def _time_column(fields: Mapping[str, Any], partition: TimePartition, *, source: str) -> PartitionColumn:
    if partition.column is None:
        raise SourceError(
            f"the partition of the source '{source}' names no column",
            hint="write 'partition: {by: …, column: …}': a Delta table tells its partitions by a column",
        )
    found = _field(fields, partition.column, source=source)
    if not _tells_time(found, partition):
        dates = "a date, " if partition.has_dates else ""
        raise SourceError(
            f"the column '{partition.column}' of the source '{source}' is of type {_kind(found)}, which tells no"
            f" {partition.noun}; expected {dates}a timestamp or the partition's key as text"
        )
    return _column(found)


def _segment_column(fields: Mapping[str, Any], partition: SegmentPartition, *, source: str) -> PartitionColumn:
    found = _field(fields, partition.column, source=source)
    kind = _kind(found)
    if not holds_segments(kind):
        raise SourceError(
            f"the column '{partition.column}' of the source '{source}' is of type {kind}, which tells no segment;"
            " expected a string, an integer, a decimal, a date or a boolean"
        )
    for key in partition.keys:
        if segment_value(key, kind) is None:
            meant = segment_of(key, kind)
            raise SourceError(
                f"the segment '{escape_unwritable(key)}' is no value of the column '{partition.column}' of the source"
                f" '{source}', which is of type {kind}",
                hint=f"write '{meant}'" if meant is not None else None,
            )
    return _column(found)


def _field(fields: Mapping[str, Any], name: str, *, source: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = fields.get(name)
    if found is None:
        from difflib import get_close_matches

        near, has = get_close_matches(name, fields, n=1), f"; it has {', '.join(fields)}" if fields else ""
        raise SourceError(
            f"the source '{source}' has no column '{name}'{has}",
            hint=f"did you mean '{near[0]}'?" if near else None,
        )
    return found


def _kind(entry: Mapping[str, Any]) -> str:
    return str(entry["type"] if isinstance(entry["type"], str) else entry["type"].get("type", ""))


def _tells_time(entry: Mapping[str, Any], partition: TimePartition) -> bool:
    kind = _kind(entry)
    return kind in _TIMES and (kind != "date" or partition.has_dates)


def _column(entry: Mapping[str, Any]) -> PartitionColumn:
    mapped = entry.get("metadata") or {}
    physical = mapped.get("delta.columnMapping.physicalName", entry["name"])
    return PartitionColumn(entry["name"], _kind(entry), physical, mapped.get("delta.columnMapping.id"))
