"""Statistics of staged files, by their Parquet footers, for the columns that a table has them of.

What a footer does not contain is left out, so that readers do not skip the file: nulls of arrays or maps that may be
empty instead, instants as INT96, and long bounds that parquet-mr did not keep (`KEEPS_BOUNDS`).

The rules are those of ``StatisticsCollection`` and its ``getIndexedColumns`` in
https://github.com/delta-io/delta/tree/master/spark
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

from sparkassets.delta.bounds import BoundsFormat, find_bounds_format, has_bounds
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyarrow import DataType
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import FileMetaData, ParquetSchema, RowGroupMetaData, Statistics

_COUNT_PROPERTY, _DEFAULT_COUNT = "delta.dataSkippingNumIndexedCols", 32
_COLUMNS_PROPERTY = "delta.dataSkippingStatsColumns"
_PREFIX_PROPERTY, _DEFAULT_PREFIX = "delta.dataSkippingStringPrefixLength", 32
_NAME_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.,\s]+)|(,)")

_Path = tuple[str, ...]


@frozen
class IndexedColumn:
    """A column without fields of its own.

    Attributes:
        path: Its name, after those of enclosing structs.
        type: As in the log, such as ``decimal(9,2)``; ``array``, ``map``; ``collated`` for text with a collation.
    """

    path: _Path
    type: str


def select_statistics_columns(
    schema: Mapping[str, Any], *, layout: Sequence[str], properties: Mapping[str, str]
) -> tuple[IndexedColumn, ...]:
    """The columns with statistics, in the table's order.

    Args:
        schema: The table's, as its log has it in JSON.
        layout: The partition columns, which have none.
        properties: The table's.

    >>> fields = [{"name": "a", "type": "long"}, {"name": "day", "type": "date"}, {"name": "b", "type": "string"}]
    >>> [column.path for column in select_statistics_columns({"fields": fields}, layout=["day"], properties={})]
    [('a',), ('b',)]
    """
    columns = _list_columns([field for field in schema["fields"] if field["name"] not in layout])
    if (listed := properties.get(_COLUMNS_PROPERTY)) is not None:
        wanted = _parse_column_list(listed)
        return tuple(column for column in columns if _is_listed(column.path, wanted))
    count = int(properties.get(_COUNT_PROPERTY, _DEFAULT_COUNT))
    return tuple(columns if count < 0 else islice(columns, count))


def prefix_length(properties: Mapping[str, str]) -> int:
    """How many characters of a text its statistics keep."""
    return int(properties.get(_PREFIX_PROPERTY, _DEFAULT_PREFIX))


def _list_columns(fields: Sequence[Mapping[str, Any]], above: _Path = ()) -> Iterator[IndexedColumn]:
    """Every column without fields of its own, at any depth of structs; arrays and maps count as one column."""
    for field in fields:
        path, type_ = (*above, field["name"]), field["type"]
        if isinstance(type_, str):
            is_collated = field["name"] in field.get("metadata", {}).get("__COLLATIONS", {})
            yield IndexedColumn(path, "collated" if is_collated else type_)
        elif type_["type"] == "struct":
            yield from _list_columns(type_["fields"], path)
        else:
            yield IndexedColumn(path, type_["type"])


def _parse_column_list(text: str) -> frozenset[_Path]:
    """The columns of a list such as ``a, s.`b.c```, in lower case as Delta compares them."""
    paths: list[list[str]] = [[]]
    for quoted, plain, comma in _NAME_PART.findall(text):
        if comma:
            paths.append([])
        else:
            paths[-1].append((quoted.replace("``", "`") or plain).lower())
    return frozenset(tuple(path) for path in paths)


def _is_listed(path: _Path, wanted: frozenset[_Path]) -> bool:
    """Whether the column or an enclosing struct is in the list; if both are, only the column's entry counts."""
    path = tuple(name.lower() for name in path)
    for depth in range(1, len(path) + 1):
        wanted = frozenset(each for each in wanted if each[:depth] == path[:depth])
        deeper = frozenset(each for each in wanted if len(each) > depth)
        if wanted and not deeper:
            return True
        wanted = deeper
    return False


KEEPS_BOUNDS = {"parquet.statistics.truncate.length": "1024"}
"""Options of Spark's write: the footer keeps a prefix of long values; else it keeps nothing, not even nulls."""

_THREADS = 16
_JULIAN_KEYS = frozenset({b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"})

_Value = tuple[_Path, str | None]
_Tree = dict[str, Any]
"""A JSON text or another tree, by name."""


@frozen
class _FooterColumn:
    """A column with statistics, as files of one schema have it.

    Attributes:
        index: None where the files lack it; for an array or a map that of its first part.
        is_nested: Whether it is an array or a map.
        is_bounded: Whether Delta keeps its bounds.
        bounds_format: Their format; None where the files store another type.
    """

    path: _Path
    index: int | None
    is_nested: bool
    is_bounded: bool
    bounds_format: BoundsFormat | None

    def find_bounds(
        self,
        statistics: Sequence[Statistics | None],
        groups: Sequence[RowGroupMetaData],
        *,
        is_julian: bool,
        hides_nan: bool,
    ) -> tuple[str | None, str | None]:
        """Least and greatest value as JSON; None where the file's writer leaves it open.

        Args:
            statistics: The column's, by row group.
            groups: The row groups.
            is_julian: Whether the writer used the Julian calendar for old dates.
            hides_nan: Whether the writer leaves NaN out of the statistics.
        """
        bounds_format = self.bounds_format
        if bounds_format is None or (bounds_format.is_calendar and is_julian):
            return None, None
        least, greatest = _find_extremes(bounds_format, statistics, groups)
        return least, None if bounds_format.is_float and hides_nan else greatest


def read_footers(store: FileSystem, paths: Sequence[str]) -> list[FileMetaData]:
    """The footers of files.

    Raises:
        OSError: One of them cannot be read, or is no Parquet file.
    """
    with ThreadPoolExecutor(min(_THREADS, len(paths) or 1)) as pool:
        return list(pool.map(lambda path: _read_footer(store, path), paths))


class FileStatistics:
    """Builds the ``stats`` of add actions from the files' footers.

    Args:
        schema: The table's, in the JSON of its log; without column mapping.
        layout: The partition columns, which the files lack.
        properties: The table's, which may choose its statistics.
    """

    def __init__(self, schema: Mapping[str, Any], *, layout: Sequence[str], properties: Mapping[str, str]) -> None:
        self._iterate_leaves = select_statistics_columns(schema, layout=layout, properties=properties)
        self._prefix = prefix_length(properties)
        self._cached_columns: tuple[ParquetSchema, Sequence[_FooterColumn]] | None = None

    def build_json(self, metadata: FileMetaData) -> str:
        """The statistics as JSON text."""
        groups = [group for group in map(metadata.row_group, range(metadata.num_row_groups)) if group.num_rows]
        is_julian = bool(_JULIAN_KEYS & (metadata.metadata or {}).keys())
        hides_nan = not (metadata.created_by or "").startswith("parquet-mr")
        low: list[_Value] = []
        high: list[_Value] = []
        nulls: list[_Value] = []
        for leaf in self._footer_columns(metadata):
            if leaf.index is None:
                nulls.append((leaf.path, str(metadata.num_rows)))
                continue
            statistics = [group.column(leaf.index).statistics for group in groups]
            nulls.append((leaf.path, _count_nulls(statistics, is_nested=leaf.is_nested)))
            if leaf.is_bounded:
                least, greatest = leaf.find_bounds(statistics, groups, is_julian=is_julian, hides_nan=hides_nan)
                low.append((leaf.path, least))
                high.append((leaf.path, greatest))
        parts = (("minValues", low), ("maxValues", high), ("nullCount", nulls))
        trees = {name: _nest_values(values) for name, values in parts if values}
        return _to_json({"numRecords": str(metadata.num_rows), **trees})

    def _footer_columns(self, metadata: FileMetaData) -> Sequence[_FooterColumn]:
        """The columns with statistics, cached for consecutive files of one schema."""
        if self._cached_columns is None or not self._cached_columns[0].equals(metadata.schema):
            self._cached_columns = metadata.schema, self._find_columns(metadata.schema)
        return self._cached_columns[1]

    def _find_columns(self, schema: ParquetSchema) -> list[_FooterColumn]:
        """The table's columns with statistics, each with its place in files of this schema.

        Empty if two columns of a file are equal in lower case: nothing can then be told apart.
        """
        leaves = _find_leaf_columns(schema)
        if leaves is None:
            return []
        columns = []
        for column in self._iterate_leaves:
            index, stored = leaves.get(_to_lower_case(column.path), (None, None))
            bounds_format = None if stored is None else find_bounds_format(column.type, stored, prefix=self._prefix)
            is_nested = stored is not None and bool(stored.num_fields)
            columns.append(_FooterColumn(column.path, index, is_nested, has_bounds(column.type), bounds_format))
        return columns


def may_be_true(metadata: FileMetaData, column: str) -> bool:
    """Whether a boolean column, not one of a struct, is true in some row of the file, or the footer does not say."""
    (index,) = (n for n in range(metadata.num_columns) if metadata.schema.column(n).path == column)
    found = [metadata.row_group(number).column(index).statistics for number in range(metadata.num_row_groups)]
    return any(each is None or not each.has_min_max or bool(each.max) for each in found)


def _read_footer(store: FileSystem, path: str) -> FileMetaData:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with store.open_input_file(path) as source, ParquetFile(source) as file:
            return file.metadata
    except ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise OSError(f"cannot read the footer of '{path}': {reason}") from error


def _find_leaf_columns(schema: ParquetSchema) -> dict[_Path, tuple[int, DataType]] | None:
    """Index and type of a file's columns by path, in lower case as Delta compares names.

    None where two names are equal.
    """
    leaves, count = {}, 0
    for path, type_ in _iterate_leaves(schema.to_arrow_schema()):
        leaves[_to_lower_case(path)] = count, type_
        count += _count_leaves(type_)
    return leaves if count == len(schema) else None


def _iterate_leaves(fields: Iterable[Any], above: _Path = ()) -> Iterator[tuple[_Path, DataType]]:
    """The leaf columns, in the file's order."""
    from pyarrow.types import is_struct

    for field in fields:
        path = (*above, field.name)
        if is_struct(field.type):
            yield from _iterate_leaves((field.type.field(index) for index in range(field.type.num_fields)), path)
        else:
            yield path, field.type


def _count_leaves(type_: DataType) -> int:
    """How many leaf columns a type takes in a file."""
    stored = getattr(type_, "storage_type", type_)
    return (
        sum(_count_leaves(stored.field(index).type) for index in range(stored.num_fields)) if stored.num_fields else 1
    )


def _to_lower_case(path: _Path) -> _Path:
    return tuple(name.lower() for name in path)


def _find_extremes(
    bounds_format: BoundsFormat, statistics: Sequence[Statistics | None], groups: Sequence[RowGroupMetaData]
) -> tuple[str | None, str | None]:
    """Least and greatest value as JSON; None without any, or where a row group does not say."""
    lows, highs = [], []
    for each, group in zip(statistics, groups, strict=True):
        if each is not None and each.has_min_max:
            lows.append(each.min_raw)
            highs.append(each.max_raw)
        elif each is None or not each.has_null_count or each.null_count != group.num_rows:
            return None, None
    if not lows:
        return None, None
    try:
        return bounds_format.low(min(map(bounds_format.value, lows))), bounds_format.high(
            max(map(bounds_format.value, highs))
        )
    except UnicodeDecodeError:
        return None, None


def _count_nulls(statistics: Sequence[Statistics | None], *, is_nested: bool) -> str | None:
    """The number of nulls as JSON; None where the file does not say."""
    count = 0
    for each in statistics:
        if each is None or not each.has_null_count:
            return None
        count += each.null_count
    return None if is_nested and count else str(count)


def _nest_values(values: Iterable[_Value]) -> _Tree:
    """Values by path as nested objects; an object is there even if nothing in it is known."""
    tree: _Tree = {}
    for path, value in values:
        branch = tree
        for name in path[:-1]:
            branch = branch.setdefault(name, {})
        if value is not None:
            branch[path[-1]] = value
    return tree


def _to_json(tree: _Tree) -> str:
    """JSON with numbers verbatim: decimals may have more digits than a float."""
    members = (
        f"{json.dumps(name, ensure_ascii=False)}:{each if isinstance(each, str) else _to_json(each)}"
        for name, each in tree.items()
    )
    return "{" + ",".join(members) + "}"
