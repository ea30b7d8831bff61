"""The time that a Delta table's files hold, from partition values and statistics, without reading one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from sparkassets.core.instants import local_to_epoch, to_unix
from sparkassets.core.partitions import YEARS, PartitionError, TimePartition
from sparkassets.delta.columns import PartitionColumn
from sparkassets.frozen import frozen

Value = date | str | None
"""Of the partition's column: text as in the log, or a date or datetime as Arrow reads it."""

Span = tuple[int, int]
"""Unix seconds, half-open: one slot, or both of a local hour that is repeated where the value tells no offset."""

NULL = "NULL"
"""What stands for no value among those that name no slot."""

MOST_IGNORED = 10_000


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


@dataclass(slots=True)
class FileTimes:
    """Tells the time of files; remembers what could not be read.

    Attributes:
        ignored_values: Values that name no slot that can be planned, also `NULL`: their rows are left out.
    """

    column: PartitionColumn
    partition: TimePartition
    ignored_values: set[str] = field(default_factory=set)
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

    def of_value(self, value: date | str) -> Span | None:
        """The slot of one value; None for one that names no slot, which is noted."""
        span = self._slot(value)
        if span is None:
            self.leave_out(str(value))
        return span

    def of_instant(self, seconds: int) -> Span | None:
        """The slot that holds an instant; None, and noted, beyond the ends of the calendar."""
        span = self._find_plannable_slot(lambda: self.partition.slot_of_instant(seconds))
        if span is None:
            self.leave_out(_format_seconds(seconds))
        return span

    def leave_out(self, value: str) -> None:
        """Notes a value that names no slot that can be planned."""
        if len(self.ignored_values) < MOST_IGNORED:
            self.ignored_values.add(value)

    def _slot(self, value: Value) -> Span | None:
        if value not in self._known:
            self._known[value] = self._find_plannable_slot(lambda: _SLOTS[self.column.kind](self.partition, value))
        return self._known[value]

    def _is_plain(self, low: Value, high: Value, span: Span) -> bool:
        return self.column.kind != "string" or (low == high == self.partition.key(span[0]))

    def _find_plannable_slot(self, span: Callable[[], Span | None]) -> Span | None:
        """The slot, unless there is none or it is beyond the years of partitions."""
        try:
            found = span()
            return found if found is not None and self.partition.local_start(found[0]).year in YEARS else None
        except (ValueError, OverflowError, PartitionError):
            return None


def _format_seconds(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"


def _of_date(partition: TimePartition, value: date | str) -> Span | None:
    day = date.fromisoformat(value) if isinstance(value, str) else value
    return partition.slot_of_date(day)


def _of_timestamp(partition: TimePartition, value: datetime | str) -> Span | None:
    when = datetime.fromisoformat(value) if isinstance(value, str) else value
    at = to_unix(when if when.tzinfo else when.replace(tzinfo=UTC))
    return partition.slot_of_instant(at)


def _of_local_timestamp(partition: TimePartition, value: date | str) -> Span | None:
    local = datetime.fromisoformat(str(value)) if not isinstance(value, datetime) else value
    both = [local_to_epoch(local, partition.timezone, fold=fold) for fold in (0, 1)]
    start, end = partition.floor(min(both)), partition.next(max(both))
    if local < partition.local_start(start):  # of a day that clocks skip: it belongs to the slot before
        return partition.previous(start), start
    if partition.exclude and partition.slot_of_instant(min(both)) is None:
        return None
    return start, end


def _of_key(partition: TimePartition, value: str) -> Span:
    start, _ = partition.parse_key(value)
    return partition.slots_of_local_start(start)  # bounds compare as text: of a repeated hour either may be the lesser


_SLOTS: Mapping[str, Callable[[TimePartition, Any], Span | None]] = {
    "date": _of_date,
    "timestamp": _of_timestamp,
    "timestamp_ntz": _of_local_timestamp,
    "string": _of_key,
}
