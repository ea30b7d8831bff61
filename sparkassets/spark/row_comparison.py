"""Detects partitions whose rows changed, whatever the order of rows and the files that hold them.

Two 64-bit hashes of all its values represent a row. By partition, or part of one, hashes of new rows are added and
those of old rows subtracted, in one aggregation: where nothing remains, the rows are the same, each as often as before.
Different rows cancel out with odds of about 2^-128; nothing prevents rows that are made to on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sparkassets.core.partitions import NAMED_GRAINS, NOTHING, Partitioning, PartitionSet
from sparkassets.delta.file_parts import FileParts
from sparkassets.delta.partition_columns import find_columns
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

_SALTS: Final = ("1L", "-7046029254386353131L")
"""Prefixes that make the two hashes of a row differ."""
_ZONE_OFFSET_STEP, _CRON_STEP = 900, 60
"""Seconds: offsets of every zone since 1972 are multiples of the first, cron ticks of the second.

In older times two slots may share one; then both count as changed.
"""
_ATOMIC: Final = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "binary"}
)
_HASH_HALVES: Final = ("{hash} & 4294967295L", "shiftrightunsigned({hash}, 32)")
"""The parts of a hash, as numbers of which two thousand million can be added."""


class _NoHashError(Exception):
    """Spark cannot hash some value of the rows, so that they cannot be compared."""


def find_changed_partitions(
    old: DataFrame, new: DataFrame, partitions: PartitionSet, *, partitioning: Partitioning, schema: str
) -> PartitionSet:
    """The ``partitions`` whose rows differ between ``old`` and ``new``; all of them where that cannot be determined.

    Args:
        old: Rows of the partitions only, with the same columns as ``new``.
        new: The same.
        partitions: Whole partitions.
        partitioning: Determines by its columns which partition a row is in.
        schema: The table's schema, in the JSON of its log.
    """
    grouping = _RowGrouping.from_schema(partitioning.with_segments_of(partitions), schema)
    try:
        differing = grouping.find_differing(old, new).collect()
    except _NoHashError:
        return partitions
    return NOTHING if not differing else grouping.find_partitions(differing, partitions)


@frozen
class _RowGrouping:
    """Groups rows by segments and a range of time, so that a group is usually of one partition.

    Attributes:
        files: Maps values to partitions; None if no column assigns rows to them.
        columns: The names of the grouping columns, and whether each is an instant.
    """

    partitioning: Partitioning
    files: FileParts | None
    columns: Sequence[tuple[str, bool]] = ()

    @classmethod
    def from_schema(cls, partitioning: Partitioning, schema: str) -> _RowGrouping:
        """For a table with these columns."""
        grouping_columns = find_columns(schema, partitioning) if partitioning.is_partitioned else None
        if grouping_columns is None:
            return cls(partitioning, None)
        time = (
            []
            if grouping_columns.time is None
            else [(grouping_columns.time.name, grouping_columns.time.kind.startswith("timestamp"))]
        )
        return cls(
            partitioning,
            FileParts.from_columns(grouping_columns, partitioning),
            [*time, *((each.name, False) for each in grouping_columns.segments)],
        )

    @property
    def _step(self) -> int:
        """The length of a time group in seconds."""
        time = self.partitioning.time
        return _ZONE_OFFSET_STEP if time is not None and time.by in NAMED_GRAINS else _CRON_STEP

    @property
    def keys(self) -> list[str]:
        """The columns that rows are grouped by."""
        return [f"k{number}" for number in range(len(self.columns))]

    def find_differing(self, old: DataFrame, new: DataFrame) -> DataFrame:
        """The summary of each group whose rows differ.

        Raises:
            _NoHashError: Spark has no hash of some value.
        """
        hashes = [_row_hash_sql(old.schema, salt) for salt in _SALTS]
        columns = [sqltext.name(name) for name in old.columns]
        rows = [_sign_rows(old, hashes, self, sign=-1), _sign_rows(new.select(*columns), hashes, self, sign=1)]
        sums = [f"sum(sign * ({half.format(hash=name)}))" for name in ("h1", "h2") for half in _HASH_HALVES]
        differs = " OR ".join(f"{each} <> 0" for each in ("sum(sign)", *sums))
        return rows[0].unionAll(rows[1]).groupBy(*self.keys).agg(*self.summary_columns(differs)).filter("differs")

    def key_expressions(self) -> Iterator[str]:
        """A row's values to group by, and an instant's value itself."""
        for number, (name, is_instant) in enumerate(self.columns):
            column = sqltext.name(name)
            if is_instant:
                yield f"unix_seconds(CAST({column} AS TIMESTAMP)) DIV {self._step} AS k{number}"
                yield f"{column} AS v{number}"
            else:
                yield f"CAST({column} AS STRING) AS k{number}"

    def summary_columns(self, differs: str) -> Sequence[Column]:
        """The columns of a group's summary besides its keys.

        Only instants have a minimum and maximum: for text Spark would sort all rows.
        """
        from pyspark.sql import functions as sql

        instants = [number for number, (_, is_instant) in enumerate(self.columns) if is_instant]
        bounds = [f"CAST({f}(v{number}) AS STRING) AS {f}{number}" for number in instants for f in ("min", "max")]
        return [sql.expr(each) for each in (f"{differs} AS differs", *bounds)]

    def find_partitions(self, groups: Sequence[Sequence[str | None]], partitions: PartitionSet) -> PartitionSet:
        """The partitions with rows in these groups; all if one group names none."""
        if self.files is None:
            return partitions
        sets = [self._read_partitions_of(row, self.files, partitions) for row in groups]
        return PartitionSet.union(sets) if all(sets) else partitions

    def _read_partitions_of(
        self, row: Sequence[str | None], files: FileParts, partitions: PartitionSet
    ) -> PartitionSet:
        """The partitions with rows in a group; empty if it names none."""
        keys, bounds = row[: len(self.columns)], row[len(self.columns) + 1 :]
        segments = {name: key for (name, is_instant), key in zip(self.columns, keys, strict=True) if not is_instant}
        names = [name for name, is_instant in self.columns if is_instant]
        instants = list(zip(names, bounds[::2], bounds[1::2], strict=True))
        stats = {
            "numRecords": 1,
            "minValues": {name: low for name, low, _ in instants},
            "maxValues": {name: high for name, _, high in instants},
            "nullCount": {name: 0 for name, _, _ in instants},
        }
        file_part = files.read_action(segments, stats)
        return (
            self.partitioning.cover(files.within(file_part, partitions)) & partitions if file_part.is_known else NOTHING
        )


def _sign_rows(frame: DataFrame, hashes: Sequence[str], grouping: _RowGrouping, *, sign: int) -> DataFrame:
    """For each row: its two hashes, its count, and its group."""
    first, second = hashes
    return frame.selectExpr(f"{first} AS h1", f"{second} AS h2", f"{sign}L AS sign", *grouping.key_expressions())


def row_hash(schema: StructType) -> str | None:
    """A row's hash, as an expression; None where Spark cannot hash some value."""
    try:
        return _row_hash_sql(schema, _SALTS[0])
    except _NoHashError:
        return None


def _row_hash_sql(schema: StructType, salt: str) -> str:
    return _hash_call(salt, *((sqltext.name(field.name), field.dataType) for field in schema.fields))


def _hash_call(salt: str, *typed: tuple[str, DataType], depth: int = 0) -> str:
    inputs = [each for expression, kind in typed for each in _hash_inputs(expression, kind, salt, depth)]
    return f"xxhash64({', '.join([salt, *inputs])})"


def _hash_inputs(expression: str, kind: DataType, salt: str, depth: int) -> Iterator[str]:
    """The hash input for one value: Spark ignores nulls, and does not distinguish 0.0 from -0.0.

    Texts are hashed by their bytes, whatever their collation; maps by their entries, in any order.
    """
    from pyspark.sql.types import ArrayType, MapType, StringType, StructType

    yield f"{expression} IS NULL"
    type_name, variable = kind.simpleString(), f"x{depth}"
    match kind:
        case StringType():
            yield f"CAST({expression} AS BINARY)"
        case StructType():
            for field in kind.fields:
                yield from _hash_inputs(f"{expression}.{sqltext.name(field.name)}", field.dataType, salt, depth)
        case ArrayType():
            yield f"size({expression})"
            element_hash = _hash_call(salt, (variable, kind.elementType), depth=depth + 1)
            yield f"transform({expression}, {variable} -> {element_hash})"
        case MapType():
            entry = ((f"{variable}.key", kind.keyType), (f"{variable}.value", kind.valueType))
            hashes = f"transform(map_entries({expression}), {variable} -> {_hash_call(salt, *entry, depth=depth + 1)})"
            yield f"size({expression})"
            yield f"array_sort({hashes})"
        case _ if type_name in ("float", "double"):
            yield expression
            yield f"coalesce({expression} = 0 AND CAST({expression} AS STRING) LIKE '-%', false)"
        case _ if type_name in _ATOMIC or type_name.startswith("decimal"):
            yield expression
        case _:
            raise _NoHashError
