"""The partitions that rows lie in, as Spark counts them, and those that differ between two versions.

Two versions are compared by the partitions of each data file and the number of rows in each. All partitions of a
rewritten file count as changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.delta.file_parts import ALWAYS, Cell, FileParts
from sparkassets.delta.partition_columns import columns_of
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.table_locations import read_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIME_COLUMN: Final = "t"


@frozen
class RowParts:
    """Determines the partitions of rows.

    Attributes:
        file_parts: Maps values to partitions, and collects those that name none.
    """

    file_parts: FileParts

    @property
    def names(self) -> list[str]:
        """The columns of `select` that tell a row's partition."""
        segments = [f"s{number}" for number in range(len(self.file_parts.segments))]
        return segments if self.file_parts.times is None else [*segments, _TIME_COLUMN]

    def select(
        self, frame: DataFrame, *, constant: Collection[str] = (), file: str = "_metadata.file_path"
    ) -> DataFrame:
        """For each row its file, as ``f``, and the columns that tell its partition.

        Times are coarsened as far as no slot begins within one. Columns of ``constant`` are NULL: known already.
        ``file`` is SQL for the file.
        """
        segments = [each.column.name for each in self.file_parts.segments]
        columns = [f"{'NULL' if name in constant else sqltext.name(name)} AS s{n}" for n, name in enumerate(segments)]
        times = self.file_parts.times
        if times is not None:
            step = 60 if times.partition.precision == "minute" else 900
            columns.append(
                f"{_coarsen_time(sqltext.name(times.column.name), times.column.kind, step)} AS {_TIME_COLUMN}"
            )
        return frame.selectExpr(f"{file} AS f", *columns)

    def find_cell(self, values: Sequence[Any]) -> Cell | None:
        """The partition that the values of `names` name; None, and noted, where they name none."""
        parts, times = self.file_parts, self.file_parts.times
        segment = parts.segment_of(values[: len(parts.segments)]) if parts.segments else ()
        interval: tuple[int, int] | None = ALWAYS
        if times is not None:
            value = values[len(parts.segments)]
            if value is None:
                times.leave_out("NULL")
                interval = None
            else:
                interval = times.of_instant(value) if times.column.kind == "timestamp" else times.of_value(value)
        return None if segment is None or interval is None else (segment, interval)


def _coarsen_time(column: str, kind: str, step: int) -> str:
    """Rounds times down to a quarter of an hour, or a minute; days and keys stay."""
    match kind:
        case "timestamp":
            return f"CAST(floor(unix_seconds({column}) / {step}) * {step} AS BIGINT)"
        case "timestamp_ntz":
            seconds = f"unix_seconds(CAST(CAST({column} AS STRING) || 'Z' AS TIMESTAMP))"
            local = f"timestamp_seconds(floor({seconds} / {step}) * {step})"
            return f"date_format({local}, \"yyyy-MM-dd'T'HH:mm:ss\")"
    return column


@frozen
class CatalogParts:
    """Determines the partitions of a table's versions.

    Attributes:
        rows: Determines the partitions of their rows.
    """

    session: SparkSession
    location: StorageLocation
    rows: RowParts

    @classmethod
    def from_schema(
        cls, session: SparkSession, location: StorageLocation, schema: str, partitioning: Partitioning, *, source: str
    ) -> CatalogParts:
        """For a table with that schema.

        Raises:
            SourceError: A column is not there, or its type tells no partition.
        """
        file_parts = FileParts.from_columns(columns_of(schema, partitioning, source=source), partitioning)
        return cls(session, location, RowParts(file_parts))

    @property
    def file_parts(self) -> FileParts:
        """Maps values to partitions, and collects the values that name none."""
        return self.rows.file_parts

    def find_partitions(self, version: int) -> PartitionSet:
        """Every partition that has a row in the version."""
        return self._collect_partitions(self._select_rows(version).select(*self.rows.names).distinct())

    def find_changes(self, before: int, after: int) -> PartitionSet:
        """The partitions of rows added, removed or changed between two versions."""
        counts = [self._select_rows(version).groupBy("f", *self.rows.names).count() for version in (before, after)]
        old, new = counts
        differing = old.exceptAll(new).unionAll(new.exceptAll(old))
        return self._collect_partitions(differing.select(*self.rows.names).distinct())

    def _select_rows(self, version: int) -> DataFrame:
        return self.rows.select(read_rows(self.location, self.session, version))

    def _collect_partitions(self, rows: DataFrame) -> PartitionSet:
        cells = (self.rows.find_cell(row) for row in rows.collect())
        return PartitionSet.from_slots(cell for cell in cells if cell is not None)
