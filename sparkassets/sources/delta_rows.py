"""The rows of a Delta table's data files by slot, read from the files themselves where the log does not tell.

Of a Parquet file only its footer is read where the statistics of each row group lie in one slot, else the one column of
the other row groups. Data files never change, so what was read of one stays in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import TimePartition
from sparkassets.delta.data_files import open_file
from sparkassets.delta.times import NULL, FileTimes, Span, TimeColumn
from sparkassets.frozen import frozen
from sparkassets.sources.delta_values import spans_of

if TYPE_CHECKING:
    from pyarrow import Array
    from pyarrow.parquet import ParquetFile

Rows = Mapping[Span, int | None]
"""How many rows of a file lie in each slot (None: some); those whose column is null, or names no slot, are in none."""

_THREADS = 16
_REMEMBERED = 20_000
"""Files; a year of hourly micro-batches is half of it."""


@frozen
class DataFiles:
    """The data files of the table at ``root``, an absolute local path or an object-store URI."""

    root: str
    column: TimeColumn
    partition: TimePartition

    def read(self, paths: Sequence[str], *, kept: Mapping[str, Array]) -> tuple[list[Rows | OSError], set[str]]:
        """The rows of each file, or why it cannot be read; and the values that name no slot.

        Args:
            paths: As the log has them.
            kept: For files with a deletion vector which rows are left, in the file's order.
        """
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(_THREADS, len(paths) or 1)) as pool:
            found = list(pool.map(lambda path: self._rows(path, kept.get(path)), paths))
        ignored = {value for each in found if not isinstance(each, OSError) for value in each[1]}
        return [each if isinstance(each, OSError) else each[0] for each in found], ignored

    def _rows(self, path: str, kept: Array | None) -> tuple[Rows, frozenset[str]] | OSError:
        try:
            if kept is None:
                return _remembered(self.root, path, self.column, self.partition)
            return _read(self.root, path, self.column, self.partition, kept)
        except OSError as error:
            return error


@lru_cache(maxsize=_REMEMBERED)
def _remembered(root: str, path: str, column: TimeColumn, partition: TimePartition) -> tuple[Rows, frozenset[str]]:
    return _read(root, path, column, partition, None)


def _read(
    root: str, path: str, column: TimeColumn, partition: TimePartition, kept: Array | None
) -> tuple[Rows, frozenset[str]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    times = FileTimes(column, partition)
    rows: Counter[Span] = Counter()
    told: Mapping[Span, int] | None
    try:
        with closing(open_file(root, path)) as source, ParquetFile(source, coerce_int96_timestamp_unit="us") as file:
            name = _name_in(file, column)
            if name is None and file.metadata.num_rows:
                times.leave_out(NULL)
            first = 0
            for group in range(file.num_row_groups if name is not None else 0):
                count = file.metadata.row_group(group).num_rows
                told = _told(file, group, name, times) if kept is None else None
                if told is None:
                    values = file.read_row_group(group, columns=[name]).column(0).combine_chunks()
                    values = values if kept is None else values.filter(kept.slice(first, count))
                    told = spans_of(values, times)
                rows.update(told)
                first += count
    except ArrowException as error:
        raise OSError(str(error).partition("\n")[0]) from error
    return dict(rows), frozenset(times.ignored)


def _name_in(file: ParquetFile, column: TimeColumn) -> str | None:
    """What the column is called in the file; None where the file was written before the table had it."""
    schema = file.schema_arrow
    if column.field_id is not None:
        for field in schema:
            if (field.metadata or {}).get(b"PARQUET:field_id") == str(column.field_id).encode():
                return str(field.name)
    return column.physical if column.physical in schema.names else None


def _told(file: ParquetFile, group: int, name: str | None, times: FileTimes) -> Mapping[Span, int] | None:
    """The rows of a row group by its statistics, where these lie in one slot."""
    metadata = file.metadata.row_group(group)
    chunks = (metadata.column(index) for index in range(metadata.num_columns))
    chunk: Any = next((each for each in chunks if each.path_in_schema == name), None)
    statistics = None if chunk is None else chunk.statistics
    if statistics is None or not statistics.has_null_count:
        return None
    if statistics.null_count == metadata.num_rows:
        times.leave_out(NULL)
        return {}
    if not statistics.has_min_max:
        return None
    time = times.of_bounds(statistics.min, statistics.max, rows=metadata.num_rows, nulls=statistics.null_count)
    return None if time is None or not time.exact else {time.span: metadata.num_rows - statistics.null_count}
