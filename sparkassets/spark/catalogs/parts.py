"""The partitions that the rows of a table lie in, as a session counts them: all that it holds, and what changed.

What is compared are the partitions that each data file of two versions has, and how many rows of each. Of a file that
was written anew all of its partitions count as changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.delta.columns import columns_of
from sparkassets.delta.parts import FileParts
from sparkassets.frozen import frozen
from sparkassets.spark.relation import Relation
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
    relation: Relation
    rows: RowParts

    @classmethod
    def of(
        cls, session: SparkSession, relation: Relation, schema: str, partitioning: Partitioning, *, source: str
    ) -> NamedParts:
        """Those of a table with that schema.

        Raises:
            SourceError: A column is not there, or its type tells no partition.
        """
        told = FileParts.of(columns_of(schema, partitioning, source=source), partitioning)
        return cls(session, relation, RowParts(told))

    @property
    def told(self) -> FileParts:
        """Tells the partition of values, and remembers those that name none."""
        return self.rows.told

    def held(self, version: int) -> PartitionSet:
        """Every partition that a row of the version lies in."""
        return self._parts(self._rows(version).select(*self.rows.names).distinct())

    def between(self, before: int, after: int) -> PartitionSet:
        """The partitions of the rows that came, went or changed from one version to a later one."""
        counted = [self._rows(version).groupBy("f", *self.rows.names).count() for version in (before, after)]
        old, new = counted
        other = old.exceptAll(new).unionAll(new.exceptAll(old))
        return self._parts(other.select(*self.rows.names).distinct())

    def _rows(self, version: int) -> DataFrame:
        return self.rows.select(self.relation.rows(self.session, version))

    def _parts(self, rows: DataFrame) -> PartitionSet:
        cells = (self.rows.cell(row) for row in rows.collect())
        return PartitionSet.of_slots(cell for cell in cells if cell is not None)
