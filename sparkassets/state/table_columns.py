"""The columns of the state's two tables, in Delta's types and Arrow's, and rows to and from columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sparkassets.core.journal.rows import JournalRow, SnapshotRow

if TYPE_CHECKING:
    import pyarrow as pa
    from arro3.core import Array, Table
    from deltalake import Schema

Kind = Literal["long", "timestamp", "string", "longs", "strings"]
Columns = Mapping[str, Kind]
"""Column names in the order of the table to their kinds: the fields of a row class, in its order."""

JOURNAL_COLUMNS: Columns = {
    "seq": "long",
    "at": "timestamp",
    "driver": "string",
    "kind": "string",
    "asset": "string",
    "uri": "string",
    "run": "string",
    "segment": "string",
    "starts": "longs",
    "ends": "longs",
    "table_id": "string",
    "version": "long",
    "id": "string",
    "extra": "string",
    "body": "string",
}

SNAPSHOT_COLUMNS: Columns = {
    "asset": "string",
    "uri": "string",
    "segment": "string",
    "seq": "long",
    "commit": "long",
    "starts": "longs",
    "ends": "longs",
    "stale_inlets": "strings",
    "stale_starts": "longs",
    "stale_ends": "longs",
    "stale_seqs": "longs",
    "watermarks": "string",
    "cursor": "string",
    "body": "string",
}

REQUIRED = frozenset({"seq", "commit", "at", "driver", "kind", "watermarks", "cursor", "body"})
"""Columns that are never null: Delta refuses other programs' rows without them."""

Row = TypeVar("Row", JournalRow, SnapshotRow)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def delta_schema(columns: Columns) -> Schema:
    """The table's schema as Delta has it."""
    from deltalake import Field, Schema
    from deltalake.schema import ArrayType, PrimitiveType

    types: dict[Kind, PrimitiveType | ArrayType] = {
        "long": PrimitiveType("long"),
        "timestamp": PrimitiveType("timestamp"),
        "string": PrimitiveType("string"),
        "longs": ArrayType(PrimitiveType("long"), contains_null=True),
        "strings": ArrayType(PrimitiveType("string"), contains_null=True),
    }
    return Schema([Field(name, types[kind], nullable=name not in REQUIRED) for name, kind in columns.items()])


def arrow_table(columns: Columns, rows: Sequence[JournalRow] | Sequence[SnapshotRow]) -> pa.Table:
    """The rows as a `pyarrow.Table` that is written as Delta expects it.

    Built by arro3: pyarrow's own constructors import pandas where it is installed, half a second for one row.
    """
    import pyarrow as pa
    from arro3.core import Table

    arrays = {name: _array(kind, [getattr(row, name) for row in rows]) for name, kind in columns.items()}
    return pa.RecordBatchReader.from_stream(Table.from_pydict(arrays)).read_all()


def _array(kind: Kind, values: Sequence[Any]) -> Array:
    """An arro3 array of the values of one column."""
    from arro3.core import Array, DataType, list_array

    match kind:
        case "long":
            return Array(values, DataType.int64())
        case "string":
            return Array(values, DataType.string())
        case "timestamp":
            instants = Array([_microseconds(value) for value in values], DataType.int64())
            return instants.cast(DataType.timestamp("us", tz="UTC"))
        case "longs" | "strings":
            # an Arrow list is all items in a row, and the offset at which each list begins
            offsets = Array(list(accumulate(map(len, values), initial=0)), DataType.int32())
            return list_array(offsets, _array("long" if kind == "longs" else "string", list(chain(*values))))


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def rows_from_table(columns: Columns, table: Table, make: type[Row]) -> list[Row]:
    """The rows of an Arrow table with these columns, ascending by ``seq``: a scan returns batches in any order."""
    values = [_values(kind, table.column(name).to_pylist()) for name, kind in columns.items()]
    rows = list(map(make, *values))
    rows.sort(key=lambda row: row.seq)
    return rows


def _values(kind: Kind, values: list[Any]) -> Iterable[Any]:
    """A column's values as the row classes have them: tuples for lists, UTC datetimes for timestamps."""
    match kind:
        case "longs" | "strings":
            return [tuple(value or ()) for value in values]
        case "timestamp":
            return [value.astimezone(UTC) for value in values]
        case _:
            return values
