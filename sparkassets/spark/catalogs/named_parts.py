"""The partitions of a table's rows, and of its changed rows, as a Spark session counts them.

Two versions are compared by the partitions of each data file and the number of rows in each. All partitions of a
rewritten file count as changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.delta.columns import columns_of
from sparkassets.delta.file_parts import FileParts
from sparkassets.frozen import frozen
from sparkassets.spark.relation import TableRelation
from sparkassets.spark.row_parts import RowParts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frozen
class NamedParts:
    """Determines the partitions of a table's versions.

    Attributes:
        rows: Determines the partitions of their rows.
    """

    session: SparkSession
    relation: TableRelation
    rows: RowParts

    @classmethod
    def from_schema(
        cls, session: SparkSession, relation: TableRelation, schema: str, partitioning: Partitioning, *, source: str
    ) -> NamedParts:
        """For a table with that schema.

        Raises:
            SourceError: A column is not there, or its type tells no partition.
        """
        told = FileParts.from_columns(columns_of(schema, partitioning, source=source), partitioning)
        return cls(session, relation, RowParts(told))

    @property
    def file_parts(self) -> FileParts:
        """Maps values to partitions, and collects the values that name none."""
        return self.rows.file_parts

    def find_partitions(self, version: int) -> PartitionSet:
        """Every partition that has a row in the version."""
        return self._parts(self._rows(version).select(*self.rows.names).distinct())

    def find_changes(self, before: int, after: int) -> PartitionSet:
        """The partitions of rows added, removed or changed between two versions."""
        counted = [self._rows(version).groupBy("f", *self.rows.names).count() for version in (before, after)]
        old, new = counted
        other = old.exceptAll(new).unionAll(new.exceptAll(old))
        return self._parts(other.select(*self.rows.names).distinct())

    def _rows(self, version: int) -> DataFrame:
        return self.rows.select(self.relation.read_rows(self.session, version))

    def _parts(self, rows: DataFrame) -> PartitionSet:
        cells = (self.rows.find_cell(row) for row in rows.collect())
        return PartitionSet.from_slots(cell for cell in cells if cell is not None)
