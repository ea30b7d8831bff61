"""The partitions that the rows of a table lie in, as a session counts them: all that it holds, and what changed.

What is compared are the partitions that each data file of two versions has, and how many rows of each. Of a file that
was written anew all of its partitions count as changed.
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
    """Asks for the partitions of a table's versions.

    Attributes:
        rows: Asks for the partitions of their rows.
    """

    session: SparkSession
    relation: TableRelation
    rows: RowParts

    @classmethod
    def from_schema(
        cls, session: SparkSession, relation: TableRelation, schema: str, partitioning: Partitioning, *, source: str
    ) -> NamedParts:
        """Those of a table with that schema.

        Raises:
            SourceError: A column is not there, or its type tells no partition.
        """
        told = FileParts.from_columns(columns_of(schema, partitioning, source=source), partitioning)
        return cls(session, relation, RowParts(told))

    @property
    def file_parts(self) -> FileParts:
        """Tells the partition of values, and remembers those that name none."""
        return self.rows.file_parts

    def find_partitions(self, version: int) -> PartitionSet:
        """Every partition that a row of the version lies in."""
        return self._parts(self._rows(version).select(*self.rows.names).distinct())

    def find_changes(self, before: int, after: int) -> PartitionSet:
        """The partitions of the rows that came, went or changed from one version to a later one."""
        counted = [self._rows(version).groupBy("f", *self.rows.names).count() for version in (before, after)]
        old, new = counted
        other = old.exceptAll(new).unionAll(new.exceptAll(old))
        return self._parts(other.select(*self.rows.names).distinct())

    def _rows(self, version: int) -> DataFrame:
        return self.rows.select(self.relation.read_rows(self.session, version))

    def _parts(self, rows: DataFrame) -> PartitionSet:
        cells = (self.rows.find_cell(row) for row in rows.collect())
        return PartitionSet.from_slots(cell for cell in cells if cell is not None)
