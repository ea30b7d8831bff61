"""The partitions that the rows of a table lie in, as a session counts them: all that it holds, and what changed.

What is compared are the partitions that each data file of two versions has, and how many rows of each: the session
reads the columns of the partitions alone. Of a file that was written anew all of its partitions count as changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.delta.columns import columns_of
from sparkassets.delta.parts import ALWAYS, Cell, FileParts
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.relation import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIME: Final = "t"


@frozen
class NamedParts:
    """Asks for the partitions of a table's versions.

    Attributes:
        told: Tells the partition of values, and remembers those that name none.
    """

    session: SparkSession
    relation: Relation
    told: FileParts

    @classmethod
    def of(
        cls, session: SparkSession, relation: Relation, schema: str, partitioning: Partitioning, *, source: str
    ) -> NamedParts:
        """Those of a table with that schema.

        Raises:
            SourceError: A column is not there, or its type tells no partition.
        """
        return cls(session, relation, FileParts.of(columns_of(schema, partitioning, source=source), partitioning))

    def held(self, version: int) -> PartitionSet:
        """Every partition that a row of the version lies in."""
        return self._parts(self._rows(version).select(*self._names).distinct())

    def between(self, before: int, after: int) -> PartitionSet:
        """The partitions of the rows that came, went or changed from one version to a later one."""
        counted = [self._rows(version).groupBy("f", *self._names).count() for version in (before, after)]
        old, new = counted
        other = old.exceptAll(new).unionAll(new.exceptAll(old))
        return self._parts(other.select(*self._names).distinct())

    @property
    def _names(self) -> list[str]:
        segments = [f"s{number}" for number in range(len(self.told.segments))]
        return segments if self.told.times is None else [*segments, _TIME]

    def _rows(self, version: int) -> DataFrame:
        """Of each row its file and what tells its partition, times as coarse as no slot begins within one."""
        told = [f"{sqltext.name(each.column.name)} AS s{n}" for n, each in enumerate(self.told.segments)]
        times = self.told.times
        if times is not None:
            step = 60 if times.partition.precision == "minute" else 900
            told.append(f"{_coarse(sqltext.name(times.column.name), times.column.kind, step)} AS {_TIME}")
        return self.relation.rows(self.session, version).selectExpr("_metadata.file_path AS f", *told)

    def _parts(self, rows: DataFrame) -> PartitionSet:
        return PartitionSet.of_slots(cell for row in rows.collect() for cell in self._cells(row))

    def _cells(self, row: Any) -> Iterator[Cell]:  # noqa: ANN401  a row of Spark's
        told, times = self.told, self.told.times
        segment = told.segment_of(row[: len(told.segments)]) if told.segments else ()
        span: tuple[int, int] | None = ALWAYS
        if times is not None:
            value = row[len(told.segments)]
            if value is None:
                times.leave_out("NULL")
                span = None
            else:
                span = times.of_instant(value) if times.column.kind == "timestamp" else times.of_value(value)
        if segment is not None and span is not None:
            yield segment, span


def _coarse(column: str, kind: str, step: int) -> str:
    """The beginning of the quarter of an hour, or minute, of a time; days and keys as they are."""
    match kind:
        case "timestamp":
            return f"CAST(floor(unix_seconds({column}) / {step}) * {step} AS BIGINT)"
        case "timestamp_ntz":
            seconds = f"unix_seconds(CAST(CAST({column} AS STRING) || 'Z' AS TIMESTAMP))"
            local = f"timestamp_seconds(floor({seconds} / {step}) * {step})"
            return f"date_format({local}, \"yyyy-MM-dd'T'HH:mm:ss\")"
    return column
