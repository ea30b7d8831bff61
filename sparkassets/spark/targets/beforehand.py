"""Rows that rules judge before Spark commits them: computed once, into files beside the table's that nobody reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.partitions import PartitionSet
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.blocks import blocks_of
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.reader import ReadInlets
from sparkassets.spark.relation import relation_of
from sparkassets.spark.scratch import Scratch, attempt_of, discard
from sparkassets.spark.upserts.staged import Kept
from sparkassets.spark.validating import STAYS, TAKEN, Asked
from sparkassets.spark.writes import chosen

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_PART = "judged"
"""The folder in the attempt's."""


@frozen
class Beforehand:
    """What is staged.

    Attributes:
        made: Of what.
        place: Where.
        schema: Of their rows.
        columns: Those that the rows had when they were computed.
        deletes: Whether a row takes another away, which no rule judges.
    """

    made: SparkComputation
    place: Scratch
    schema: StructType
    columns: tuple[str, ...]
    deletes: str | None

    def judged(self) -> DataFrame:
        """The rows that rules judge."""
        rows = self._rows()
        return rows if self.deletes is None else rows.filter(f"NOT {self.deletes}").drop(self.deletes)

    def publishing(self, withheld: PartitionSet) -> SparkComputation:
        """What is to be written of it, where these blocks are withheld."""
        order, where = self.made.order, []
        if TAKEN in self.schema.names:
            where.append(f"{TAKEN} = {STAYS}")
        if withheld:
            order = order.publishing(order.blocks - withheld)
            blocks = blocks_of(order, self.schema)
            where += [] if blocks is None else [f"({blocks.predicate})"]
        chosen = (*self.columns, *([self.deletes] if self.deletes is not None else []))
        kept = Kept(self.place, self.schema, chosen, " AND ".join(where) or "true")
        frame = kept.rows(self.made.frame.sparkSession).select(*map(sqltext.name, self.columns))
        told = kept if self.deletes is not None else None
        return replace(self.made, order=order, frame=frame, inlets=ReadInlets(), kept=told)

    def _rows(self) -> DataFrame:
        return self.place.read(self.made.frame.sparkSession, self.schema)


def stage(made: SparkComputation, asked: Asked, *, marker: CommitMarker) -> Beforehand:
    """Stages the rows that are to land, and which of them rules take away.

    Raises:
        RunError: They cannot be computed, or must not land; nothing was published.
        SourceError: Files changed while they were read.
    """
    found, write = chosen(made.order, made.frame, schema=made.schema)
    place = Scratch(relation_of(made.order.asset), attempt_of(marker), _PART)
    rows = found.rows
    if asked.takes_rows:
        known = asked.with_others(rows)
        taking = _unless(found.deletes, asked.taking(known))
        rows = known.select(*map(_column, rows.columns), taking.alias(TAKEN))
    try:
        place.write(rows)
        made.inlets.check_files()
    except Exception as error:
        release(made, marker)
        raise write.refused(error) from error
    return Beforehand(made, place, rows.schema, tuple(found.columns), found.deletes)


def release(made: SparkComputation, marker: CommitMarker) -> None:
    """Removes it, where the storage lets it."""
    discard(made.frame.sparkSession, relation_of(made.order.asset), attempt_of(marker))


def _unless(deletes: str | None, taking: Column) -> Column:
    from pyspark.sql import functions as sql

    return taking if deletes is None else sql.when(sql.expr(deletes), sql.lit(STAYS)).otherwise(taking)


def _column(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(sqltext.name(name))
