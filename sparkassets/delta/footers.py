"""The statistics by which readers skip a data file: from its footer alone, equal to what Delta makes of its rows.

What a footer cannot tell is left out, so that readers keep the file: the nulls of an array or a map that may be empty
instead, instants as INT96, and bounds that parquet-mr did not keep because they are long (`KEEPS_BOUNDS`).

The rules are those of ``StatisticsCollection`` in https://github.com/delta-io/delta/tree/master/spark
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from sparkassets.delta.bounds import form_of, has_bounds
from sparkassets.delta.indexed import Column, indexed, prefix_length
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from pyarrow import DataType, Schema
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import FileMetaData, RowGroupMetaData, Statistics

KEEPS_BOUNDS = {"parquet.statistics.truncate.length": "1024"}
"""Options of Spark's write: of longer values the footer keeps the beginning, else nothing, not even the nulls."""

_THREADS = 16
_OTHER_CALENDAR = frozenset({b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"})

_Path = tuple[str, ...]
_Tree = dict[str, Any]
"""By name a JSON text, or another tree."""


@frozen
class _Leaf:
    """Where a column without fields of its own is in a file; of an array or a map what lies first in it."""

    index: int
    type: DataType


def footers(store: FileSystem, paths: Sequence[str]) -> list[FileMetaData]:
    """The footers of files.

    Raises:
        OSError: One of them cannot be read, or is no Parquet file.
    """
    with ThreadPoolExecutor(min(_THREADS, len(paths) or 1)) as pool:
        return list(pool.map(lambda path: _footer(store, path), paths))


def statistics(
    metadata: FileMetaData, schema: Mapping[str, Any], *, layout: Sequence[str], properties: Mapping[str, str]
) -> str:
    """The JSON text that the file's add action has as ``stats``.

    Args:
        metadata: The file's footer.
        schema: The table's, as its log has it in JSON; without column mapping.
        layout: The partition columns: the file does not hold them.
        properties: The table's, which may say what statistics it keeps.
    """
    leaves = _leaves(metadata)
    columns = indexed(schema, layout=layout, properties=properties) if leaves is not None else ()
    found = [(column, (leaves or {}).get(_folded(column.path))) for column in columns]
    bounds = [
        (column.path, *_bounds(metadata, leaf, column, prefix=prefix_length(properties)))
        for column, leaf in found
        if leaf is not None and has_bounds(column.type)
    ]
    told: _Tree = {"numRecords": str(metadata.num_rows)}
    if bounds:
        told["minValues"] = _tree((path, low) for path, low, _ in bounds)
        told["maxValues"] = _tree((path, high) for path, _, high in bounds)
    if found:
        told["nullCount"] = _tree((column.path, _nulls(metadata, leaf)) for column, leaf in found)
    return _json(told)


def _footer(store: FileSystem, path: str) -> FileMetaData:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with store.open_input_file(path) as source, ParquetFile(source) as file:
            return file.metadata
    except ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise OSError(f"cannot read the footer of '{path}': {reason}") from error


def _leaves(metadata: FileMetaData) -> dict[_Path, _Leaf] | None:
    """The columns of a file by path, in lower case as Delta compares names; None where they cannot be told apart."""
    schema: Schema = metadata.schema.to_arrow_schema()
    leaves, count = {}, 0
    for path, type_ in _columns(schema):
        leaves[_folded(path)] = _Leaf(count, type_)
        count += _width(type_)
    return leaves if count == metadata.num_columns == len(metadata.schema) else None


def _columns(fields: Iterable[Any], above: _Path = ()) -> Iterable[tuple[_Path, DataType]]:
    """The columns without fields of their own, in the file's order."""
    from pyarrow.types import is_struct

    for field in fields:
        path = (*above, field.name)
        if is_struct(field.type):
            yield from _columns((field.type.field(index) for index in range(field.type.num_fields)), path)
        else:
            yield path, field.type


def _width(type_: DataType) -> int:
    """How many columns of a file a type takes."""
    stored = getattr(type_, "storage_type", type_)
    return sum(_width(stored.field(index).type) for index in range(stored.num_fields)) if stored.num_fields else 1


def _folded(path: _Path) -> _Path:
    return tuple(name.lower() for name in path)


def _bounds(metadata: FileMetaData, leaf: _Leaf, column: Column, *, prefix: int) -> tuple[str | None, str | None]:
    """Least and greatest value, JSON; None without any, and where the footer does not tell."""
    form = form_of(column.type, leaf.type, prefix=prefix)
    groups = _with_values(metadata, leaf)
    if form is None or not groups or (form.of_calendar and _OTHER_CALENDAR & (metadata.metadata or {}).keys()):
        return None, None
    try:
        low = min(form.value(group.min_raw) for group in groups)
        high = max(form.value(group.max_raw) for group in groups)
    except UnicodeDecodeError:
        return None, None
    hides_nan = form.of_floats and not (metadata.created_by or "").startswith("parquet-mr")
    return form.low(low), None if hides_nan else form.high(high)


def _with_values(metadata: FileMetaData, leaf: _Leaf) -> list[Statistics]:
    """The statistics of the row groups in which the column has values; empty where one of them has no bounds."""
    found = []
    for group in _groups(metadata):
        told = group.column(leaf.index).statistics
        if told is not None and told.has_null_count and told.null_count == group.num_rows:
            continue
        if told is None or not told.has_min_max:
            return []
        found.append(told)
    return found


def _groups(metadata: FileMetaData) -> Iterator[RowGroupMetaData]:
    """The row groups that have rows."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return (group for group in groups if group.num_rows)


def _nulls(metadata: FileMetaData, leaf: _Leaf | None) -> str | None:
    """In how many rows the column is null, JSON: in all where the file was written before the table had it."""
    if leaf is None:
        return str(metadata.num_rows)
    count = 0
    for group in _groups(metadata):
        told = group.column(leaf.index).statistics
        if told is None or not told.has_null_count:
            return None
        count += told.null_count
    return str(count) if count == 0 or not leaf.type.num_fields else None


def _tree(values: Iterable[tuple[_Path, str | None]]) -> _Tree:
    """What is known by path, as objects in objects; an object is there also where nothing in it is known."""
    tree: _Tree = {}
    for path, value in values:
        place = tree
        for name in path[:-1]:
            place = place.setdefault(name, {})
        if value is not None:
            place[path[-1]] = value
    return tree


def _json(tree: _Tree) -> str:
    """Numbers are in it as they stand: of decimals more digits than a float has."""
    inside = (
        f"{json.dumps(name, ensure_ascii=False)}:{each if isinstance(each, str) else _json(each)}"
        for name, each in tree.items()
    )
    return "{" + ",".join(inside) + "}"
