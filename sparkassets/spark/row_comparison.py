"""Which blocks hold other rows than before, whatever the order of rows and the files that hold them.

A row stands for two 64-bit hashes of all of its values. By block, or less, the hashes of new rows are added and those
of old rows subtracted, in one aggregation: where nothing remains, the rows are the same, each as often as before. Other
rows leave nothing with odds of about 2^-128; nobody is kept from making such rows on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.partitions import NAMED_GRAINS, NOTHING, Partitioning, PartitionSet
from sparkassets.delta.columns import find_columns
from sparkassets.delta.file_parts import FileParts
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

_SALTS: Final = ("1L", "-7046029254386353131L")
"""What the two hashes of a row begin with."""
_FINEST, _MINUTE = 900, 60
"""Seconds: the clocks of every zone since 1972 differ by a multiple of it, those of crons by minutes.

Of older clocks two slots may share one: then both are told to hold other rows.
"""
_ATOMIC: Final = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "binary"}
)
_HALVES: Final = ("{hash} & 4294967295L", "shiftrightunsigned({hash}, 32)")
"""Of a hash, as numbers of which two thousand million can be added."""


class _NoHashError(Exception):
    """Spark has no hash of such a value."""


def find_changed_partitions(
    old: DataFrame, new: DataFrame, blocks: PartitionSet, *, partitioning: Partitioning, schema: str
) -> PartitionSet:
    """Those of ``blocks`` that hold other rows in ``new`` than in ``old``; all where it cannot be told.

    Args:
        old: Rows of the blocks, and of nothing else; of the same columns as ``new``.
        new: The same.
        blocks: Whole partitions.
        partitioning: Tells by which column a row is of a partition.
        schema: Of the table, as its log has it in JSON.
    """
    slices = _RowGrouping.from_schema(partitioning.with_segments_of(blocks), schema)
    try:
        told = slices.find_differing(old, new).collect()
    except _NoHashError:
        return blocks
    return NOTHING if not told else slices.find_partitions(told, blocks)


@frozen
class _RowGrouping:
    """By what rows are told apart: segments and a stretch of time, where each is of one block alone as a rule.

    Attributes:
        files: Tells the partitions of values; None where no column does.
        columns: Of these the name and whether it is an instant.
    """

    partitioning: Partitioning
    files: FileParts | None
    columns: Sequence[tuple[str, bool]] = ()

    @classmethod
    def from_schema(cls, partitioning: Partitioning, schema: str) -> _RowGrouping:
        """Those of a table with these columns."""
        told = find_columns(schema, partitioning) if partitioning.is_partitioned else None
        if told is None:
            return cls(partitioning, None)
        time = [] if told.time is None else [(told.time.name, told.time.kind.startswith("timestamp"))]
        return cls(
            partitioning,
            FileParts.from_columns(told, partitioning),
            [*time, *((each.name, False) for each in told.segments)],
        )

    @property
    def _step(self) -> int:
        """How many seconds are told together."""
        time = self.partitioning.time
        return _FINEST if time is not None and time.by in NAMED_GRAINS else _MINUTE

    @property
    def keys(self) -> list[str]:
        """Columns that rows are grouped by."""
        return [f"k{number}" for number in range(len(self.columns))]

    def find_differing(self, old: DataFrame, new: DataFrame) -> DataFrame:
        """What is told of each slice in which the rows are not the same.

        Raises:
            _NoHashError: Spark has no hash of some value.
        """
        hashes = [_hash(old.schema, salt) for salt in _SALTS]
        columns = [sqltext.name(name) for name in old.columns]
        rows = [_sign_rows(old, hashes, self, sign=-1), _sign_rows(new.select(*columns), hashes, self, sign=1)]
        sums = [f"sum(sign * ({half.format(hash=name)}))" for name in ("h1", "h2") for half in _HALVES]
        differs = " OR ".join(f"{each} <> 0" for each in ("sum(sign)", *sums))
        return rows[0].unionAll(rows[1]).groupBy(*self.keys).agg(*self.summary_columns(differs)).filter("differs")

    def values(self) -> Iterator[str]:
        """Of a row what it is grouped by, and of an instant the value itself."""
        for number, (name, is_instant) in enumerate(self.columns):
            column = sqltext.name(name)
            if is_instant:
                yield f"unix_seconds(CAST({column} AS TIMESTAMP)) DIV {self._step} AS k{number}"
                yield f"{column} AS v{number}"
            else:
                yield f"CAST({column} AS STRING) AS k{number}"

    def summary_columns(self, differs: str) -> Sequence[Column]:
        """What is told of each slice beside its keys.

        The least and the greatest text were found by sorting all rows; those of instants are not.
        """
        from pyspark.sql import functions as sql

        instants = [number for number, (_, is_instant) in enumerate(self.columns) if is_instant]
        bounds = [f"CAST({f}(v{number}) AS STRING) AS {f}{number}" for number in instants for f in ("min", "max")]
        return [sql.expr(each) for each in (f"{differs} AS differs", *bounds)]

    def find_partitions(self, slices: Sequence[Sequence[str | None]], blocks: PartitionSet) -> PartitionSet:
        """The blocks that hold something of these slices; all where one tells of none."""
        if self.files is None:
            return blocks
        found = [self._part(row, self.files, blocks) for row in slices]
        return PartitionSet.union(found) if all(found) else blocks

    def _part(self, row: Sequence[str | None], files: FileParts, blocks: PartitionSet) -> PartitionSet:
        """Those of the blocks that hold something of a slice; nothing where it tells of none."""
        keys, bounds = row[: len(self.columns)], row[len(self.columns) + 1 :]
        exact = {name: key for (name, is_instant), key in zip(self.columns, keys, strict=True) if not is_instant}
        names = [name for name, is_instant in self.columns if is_instant]
        instants = list(zip(names, bounds[::2], bounds[1::2], strict=True))
        stats = {
            "numRecords": 1,
            "minValues": {name: low for name, low, _ in instants},
            "maxValues": {name: high for name, _, high in instants},
            "nullCount": {name: 0 for name, _, _ in instants},
        }
        part = files.read_action(exact, stats)
        return self.partitioning.cover(files.within(part, blocks)) & blocks if part.is_known else NOTHING


def _sign_rows(frame: DataFrame, hashes: Sequence[str], slices: _RowGrouping, *, sign: int) -> DataFrame:
    """Of every row its two hashes, what it counts, and its slice."""
    first, second = hashes
    return frame.selectExpr(f"{first} AS h1", f"{second} AS h2", f"{sign}L AS sign", *slices.values())


def row_hash(schema: StructType) -> str | None:
    """A row's hash, as an expression; None where Spark has no hash of some value."""
    try:
        return _hash(schema, _SALTS[0])
    except _NoHashError:
        return None


def _hash(schema: StructType, salt: str) -> str:
    """A row's hash."""
    return _hash_call(salt, *((sqltext.name(field.name), field.dataType) for field in schema.fields))


def _hash_call(salt: str, *typed: tuple[str, DataType], depth: int = 0) -> str:
    values = [value for expression, kind in typed for value in _values(expression, kind, salt, depth)]
    return f"xxhash64({', '.join([salt, *values])})"


def _values(expression: str, kind: DataType, salt: str, depth: int) -> Iterator[str]:
    """What goes into a hash for one value: Spark leaves out what is null, and tells no 0.0 from -0.0.

    Texts count by their bytes, whatever order they are compared in; maps by their entries, in no order.
    """
    from pyspark.sql.types import ArrayType, MapType, StringType, StructType

    yield f"{expression} IS NULL"
    name, each = kind.simpleString(), f"x{depth}"
    match kind:
        case StringType():
            yield f"CAST({expression} AS BINARY)"
        case StructType():
            for field in kind.fields:
                yield from _values(f"{expression}.{sqltext.name(field.name)}", field.dataType, salt, depth)
        case ArrayType():
            yield f"size({expression})"
            yield f"transform({expression}, {each} -> {_hash_call(salt, (each, kind.elementType), depth=depth + 1)})"
        case MapType():
            entry = ((f"{each}.key", kind.keyType), (f"{each}.value", kind.valueType))
            hashes = f"transform(map_entries({expression}), {each} -> {_hash_call(salt, *entry, depth=depth + 1)})"
            yield f"size({expression})"
            yield f"array_sort({hashes})"
        case _ if name in ("float", "double"):
            yield expression
            yield f"coalesce({expression} = 0 AND CAST({expression} AS STRING) LIKE '-%', false)"
        case _ if name in _ATOMIC or name.startswith("decimal"):
            yield expression
        case _:
            raise _NoHashError
