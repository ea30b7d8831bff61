"""Reads columns of data files without Spark, and counts their values and partitions.

Only the footer of a Parquet file is read if the statistics of each row group lie in one partition, else the partition
columns of the other row groups, too. Data files never change, so results are cached.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from threading import Lock
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import TimePartition
from sparkassets.delta.bounds import read_bounds
from sparkassets.delta.file_parts import ALWAYS, Cell, FilePart, FileParts, are_equal
from sparkassets.delta.live_files import open_file
from sparkassets.delta.partition_columns import NULL, FileTime, FileTimes, PartitionColumn, PartitionColumns, Span
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyarrow import Array
    from pyarrow.parquet import ParquetFile

Values = tuple[Any, ...]
"""One value for each segment dimension, as the log or Arrow has it; None is NULL."""

_MICROSECONDS = 1_000_000


def count_values(
    segments: Sequence[Any], time: Array | Span, times: FileTimes | None, *, rows: int
) -> Counter[tuple[Values, Span]]:
    """The number of rows by segments and slot; ``times`` notes values that name no slot, whose rows are left out.

    Args:
        segments: For each dimension an array of the rows' values, or the one value of all rows.
        time: An array of the rows' values, or the one slot of all rows.
        times: Maps values to slots; None where the slot is known.
        rows: The number of rows; only used where all values are known.
    """
    import pyarrow as pa

    counts: Counter[tuple[Values, Span]] = Counter()
    arrays = {
        str(index): _decode_dictionary(row_values)
        for index, row_values in enumerate(segments)
        if isinstance(row_values, pa.Array)
    }
    if not arrays:
        _add_count(counts, tuple(segments), time, times, rows=rows)
        return counts
    names = list(arrays)
    if isinstance(time, pa.Array):
        groups = pa.table(arrays | {"time": _decode_dictionary(time)}).group_by(names).aggregate([("time", "list")])
        lists: Any = groups.column("time_list").combine_chunks()
        shares = [(row_values.values, len(row_values.values)) for row_values in lists]
    else:
        groups = pa.table(arrays).group_by(names).aggregate([([], "count_all")])
        shares = [(time, count) for count in groups.column("count_all").to_pylist()]
    keys = zip(*(groups.column(name).to_pylist() for name in names), strict=True)
    for key, (share, count) in zip(keys, shares, strict=True):
        values = dict(zip(names, key, strict=True))
        row_values = tuple(values.get(str(index), constant) for index, constant in enumerate(segments))
        _add_count(counts, row_values, share, times, rows=count)
    return counts


def _add_count(
    counts: Counter[tuple[Values, Span]], values: Values, time: Array | Span, times: FileTimes | None, *, rows: int
) -> None:
    if isinstance(time, tuple):
        if rows:
            counts[values, time] += rows
    elif times is not None:
        for span, count in count_slots(time, times).items():
            counts[values, span] += count


def _decode_dictionary(values: Array) -> Array:
    import pyarrow as pa

    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def count_slots(values: Array, times: FileTimes) -> Counter[Span]:
    """The number of values in each slot; ``times`` notes the values that name none."""
    import pyarrow as pa

    if values.null_count:
        times.leave_out(NULL)
    values = _decode_dictionary(values.drop_null())
    if times.column.kind == "timestamp":
        return _count_instants(values.cast(pa.timestamp("us"), safe=False), times)
    if times.column.kind == "timestamp_ntz":
        return _count_by_span(_coarsen_times(values.cast(pa.timestamp("us"), safe=False), times), times)
    return _count_by_span(values, times)


def _coarsen_times(values: Array, times: FileTimes) -> Array:
    """Rounds local times down to a quarter of an hour (a minute for crons by the minute), so that fewer are distinct.

    No slot begins in between.
    """
    from pyarrow import compute

    return compute.floor_temporal(values, 1 if times.partition.precision == "minute" else 15, "minute")


def _count_by_span(values: Array, times: FileTimes) -> Counter[Span]:
    rows: Counter[Span] = Counter()
    for each in values.value_counts().to_pylist():
        span = times.of_value(each["values"])
        if span is not None:
            rows[span] += each["counts"]
    return rows


def _count_instants(values: Array, times: FileTimes) -> Counter[Span]:
    """The number of instants in each slot, found by bisection in the sorted instants: a slot holds many."""
    import pyarrow as pa

    rows: Counter[Span] = Counter()
    ordered = values.cast(pa.int64()).sort()
    instants: Any = memoryview(ordered.buffers()[1] or b"").cast("q")[ordered.offset : ordered.offset + len(ordered)]
    index = 0
    while index < len(instants):
        span = times.of_instant(instants[index] // _MICROSECONDS)
        if span is None:
            after = bisect_right(instants, instants[index], index)
        else:
            after = bisect_left(instants, times.partition.stop(span[0]) * _MICROSECONDS, index)
            rows[span] += after - index
        index = after
    return rows


Rows = Mapping[Cell, int | None]
"""The number of a file's rows in each partition (None: some), without rows in none."""

_THREADS = 16
_MOST_CACHED = 500_000
"""Partitions of files, and files: a year of hourly micro-batches is a fraction of it."""

_Counted = Mapping[tuple[Values, Span], int]
"""The number of a file's rows by their values, whichever segments are known."""


@frozen
class DataFiles:
    """The data files of the table at ``root``, an absolute local path or an object-store URI."""

    root: str
    file_parts: FileParts

    def read_rows(self, files: Mapping[str, FilePart], *, kept: Mapping[str, Array]) -> list[Rows | OSError]:
        """The number of rows by partition in each file, or the error of reading it; reads files in parallel.

        Values that name no partition are noted in `file_parts`, and their rows are left out.

        Args:
            files: The known part of each file, by its path in the log.
            kept: For files with a deletion vector, which rows are left, in the file's order.
        """
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(_THREADS, len(files) or 1)) as pool:
            counted = list(pool.map(lambda path: self._count_file_rows(path, files[path], kept.get(path)), files))
        return [each if isinstance(each, OSError) else self._assign_partitions(*each) for each in counted]

    def _count_file_rows(
        self, path: str, part: FilePart, kept: Array | None
    ) -> tuple[_Counted, frozenset[str]] | OSError:
        """The rows of a file by their values, and the times that name no slot; or the error of reading it.

        A file without a deletion vector never changes, so its rows are cached.
        """
        time = part.time
        span = None if time is None or not time.exact or time.nulls else time.span
        known_segments = tuple(
            None if each is None or not each.exact or each.nulls else each.low for each in part.segments
        )
        request = RowRequest(self.file_parts.columns, self.file_parts.partitioning.time, span, known_segments)
        try:
            if kept is not None:
                return _read_file(self.root, path, request, kept)
            return row_cache.get((self.root, path, request), lambda: _read_file(self.root, path, request, None))
        except OSError as error:
            return error

    def _assign_partitions(self, rows: _Counted, untimed: frozenset[str]) -> Rows:
        """The number of rows by partition, from their number by values; ``untimed`` are times that name no slot."""
        if self.file_parts.times is not None:
            self.file_parts.times.ignored_values |= untimed
        if not self.file_parts.segments:
            return rows
        counts: Counter[Cell] = Counter()
        for (values, span), count in rows.items():
            segment = self.file_parts.segment_of(values)
            if segment is not None:
                counts[segment, span] += count
        return counts


@frozen
class RowRequest:
    """What to read from a file; also a key of the cache.

    Attributes:
        span: The one slot of all rows; None to read their times.
        known_segments: For each dimension the one segment of all rows; None to read them.
    """

    columns: PartitionColumns
    time: TimePartition | None
    span: Span | None
    known_segments: tuple[str | None, ...]


class _RowCache:
    """A thread-safe cache of the most recently used files; ``room`` counts files and their partitions."""

    def __init__(self, room: int) -> None:
        self._room = self._free = room
        self._lock = Lock()
        self._read: dict[object, tuple[_Counted, frozenset[str]]] = {}

    def get(self, key: object, read: Callable[[], tuple[_Counted, frozenset[str]]]) -> tuple[_Counted, frozenset[str]]:
        """The cached rows of ``key``, else the result of ``read``, which is cached."""
        with self._lock:
            cached = self._read.pop(key, None)
            if cached is not None:
                self._read[key] = cached
                return cached
        value = read()
        with self._lock:
            if key not in self._read:
                self._read[key] = value
                self._free -= len(value[0]) + 1
            while self._free < 0:
                oldest = next(iter(self._read))
                self._free += len(self._read.pop(oldest)[0]) + 1
        return value

    def clear(self) -> None:
        """Empties the cache."""
        with self._lock:
            self._read.clear()
            self._free = self._room


row_cache = _RowCache(_MOST_CACHED)


def _read_file(root: str, path: str, request: RowRequest, kept: Array | None) -> tuple[_Counted, frozenset[str]]:
    """The number of rows by values in a file, and the times in it that name no slot.

    Raises:
        OSError: It cannot be read, or is no Parquet file.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    column, time = request.columns.time, request.time
    times = None if column is None or time is None else FileTimes(column, time)
    try:
        with closing(open_file(root, path)) as source, ParquetFile(source, coerce_int96_timestamp_unit="us") as file:
            rows = count_file_rows(file, request, times, kept)
    except ArrowException as error:
        raise OSError(str(error).partition("\n")[0]) from error
    return dict(rows), frozenset(times.ignored_values if times is not None else ())


def count_file_rows(
    file: ParquetFile, request: RowRequest, times: FileTimes | None, kept: Array | None = None
) -> Counter[tuple[Values, Span]]:
    """The number of rows by values in an open file; ``times`` notes the times that name no slot.

    ``kept`` says which rows a deletion vector leaves; None for all.
    """
    rows: Counter[tuple[Values, Span]] = Counter()
    first = 0
    for number in range(file.num_row_groups):
        count = file.metadata.row_group(number).num_rows
        remaining = None if kept is None else kept.slice(first, count)
        rows.update(_RowGroup(file, number, count, request, times, remaining).count_rows())
        first += count
    return rows


@frozen
class _UnreadColumn:
    """Stands for a column's value in a row group where the footer does not say that all rows have the same."""

    name: str


@frozen
class _RowGroup:
    """One row group of a file; ``remaining`` says which of its rows a deletion vector leaves, None for all."""

    file: ParquetFile
    number: int
    count: int
    request: RowRequest
    times: FileTimes | None
    remaining: Array | None

    def count_rows(self) -> Counter[tuple[Values, Span]]:
        """The number of rows by values; reads only columns of which the footer says too little."""
        columns = zip(self.request.columns.segments, self.request.known_segments, strict=True)
        segments = [segment if segment is not None else self._find_segment(column) for column, segment in columns]
        unread = [each.name for each in segments if isinstance(each, _UnreadColumn)]
        time = self._find_time(alone=not unread)
        if time is None:
            return Counter()
        values = self._read_values([*unread, time.name] if isinstance(time, _UnreadColumn) else unread)
        segment_values = [values[each.name] if isinstance(each, _UnreadColumn) else each for each in segments]
        if isinstance(time, _UnreadColumn):
            return count_values(segment_values, values[time.name], self.times, rows=0)
        return count_values(segment_values, time.span, None, rows=time.rows or 0)

    def _find_time(self, *, alone: bool) -> FileTime | _UnreadColumn | None:
        """The slot of all rows, if the footer tells; None if no row has a time.

        Rows without a time may only be left out by number (``alone``) if no segments have to be read row by row.
        """
        column, times = self.request.columns.time, self.times
        rows = self.count if self.remaining is None else self.remaining.true_count
        if self.request.span is not None or column is None or times is None:
            return FileTime(*(self.request.span or ALWAYS), rows=rows)
        name = _find_name(self.file, column)
        if name is not None:
            statistics = self._find_statistics(name)
            if statistics is None or statistics.null_count < self.count:
                return self._read_time(name, statistics, times, alone=alone)
        if rows:
            times.leave_out(NULL)
        return None

    def _read_time(self, name: str, statistics: Any, times: FileTimes, *, alone: bool) -> FileTime | _UnreadColumn:  # noqa: ANN401  pyarrow has no types
        """The slot of all rows by a column's statistics, if these tell."""
        if statistics is None or not statistics.has_min_max:
            return _UnreadColumn(name)
        time = times.read_value_bounds(*read_bounds(statistics), rows=self.count, nulls=statistics.null_count)
        return time if time is not None and time.exact and (alone or not time.nulls) else _UnreadColumn(name)

    def _find_segment(self, column: PartitionColumn) -> Any:  # noqa: ANN401 - of any type
        """The one value of all rows, if the footer tells; None if no row has a value."""
        name = _find_name(self.file, column)
        if name is None:
            return None
        statistics = self._find_statistics(name)
        if statistics is None or (0 < statistics.null_count < self.count):
            return _UnreadColumn(name)
        if statistics.null_count:
            return None
        has_bounds = statistics.has_min_max and not column.kind.startswith(
            "decimal"
        )  # which pyarrow gives without scale
        if not has_bounds:
            return _UnreadColumn(name)
        low, high = read_bounds(statistics)
        return low if are_equal(low, high, column.kind) else _UnreadColumn(name)

    def _find_statistics(self, name: str) -> Any:  # noqa: ANN401 - pyarrow has no types
        """A column's statistics in the footer; None if they do not count NULLs, or include deleted rows."""
        if self.remaining is not None:
            return None
        metadata = self.file.metadata.row_group(self.number)
        chunks = (metadata.column(index) for index in range(metadata.num_columns))
        chunk: Any = next((each for each in chunks if each.path_in_schema == name), None)
        statistics = None if chunk is None else chunk.statistics
        return statistics if statistics is not None and statistics.has_null_count else None

    def _read_values(self, names: Sequence[str]) -> dict[str, Array]:
        """The values of these columns in the rows that are left."""
        if not names:
            return {}
        table = self.file.read_row_group(self.number, columns=list(names))
        table = table if self.remaining is None else table.filter(self.remaining)
        return {name: table.column(name).combine_chunks() for name in names}


def _find_name(file: ParquetFile, column: PartitionColumn) -> str | None:
    """The column's name in the file; None where the file lacks it."""
    schema = file.schema_arrow
    if column.field_id is not None:
        for field in schema:
            if (field.metadata or {}).get(b"PARQUET:field_id") == str(column.field_id).encode():
                return str(field.name)
    return column.physical if column.physical in schema.names else None
