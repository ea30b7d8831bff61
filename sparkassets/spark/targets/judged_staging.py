"""Rows that rules judge before Spark commits them: computed once, into files beside the table's that nobody reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sparkassets.core.partitions import PartitionSet
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.inlet_reader import ReadInlets
from sparkassets.spark.partition_guard import guard_for
from sparkassets.spark.relation import relation_of
from sparkassets.spark.scratch import ScratchRows, attempt_of, discard_scratch
from sparkassets.spark.upserts.staged_rows import KeptRows
from sparkassets.spark.validation import STAYS, TAKEN, RowRules
from sparkassets.spark.writes import choose_judged_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_PART = "judged"
"""The folder in the attempt's."""


@frozen
class JudgedStaging:
    """What is staged.

    Attributes:
        computation: Of what.
        place: Where.
        schema: Of their rows.
        columns: Those that the rows had when they were computed.
        delete_column: Whether a row takes another away, which no rule judges.
    """

    computation: SparkComputation
    place: ScratchRows
    schema: StructType
    columns: tuple[str, ...]
    delete_column: str | None

    def read_judged(self) -> DataFrame:
        """The rows that rules judge."""
        rows = self._rows()
        return rows if self.delete_column is None else rows.filter(f"NOT {self.delete_column}").drop(self.delete_column)

    def select_published(self, withheld: PartitionSet) -> SparkComputation:
        """What is to be written of it, where these blocks are withheld."""
        order, where = self.computation.order, []
        if TAKEN in self.schema.names:
            where.append(f"{TAKEN} = {STAYS}")
        if withheld:
            order = order.restrict_to(order.blocks - withheld)
            blocks = guard_for(order, self.schema)
            where += [] if blocks is None else [f"({blocks.predicate})"]
        chosen = (*self.columns, *([self.delete_column] if self.delete_column is not None else []))
        kept = KeptRows(self.place, self.schema, chosen, " AND ".join(where) or "true")
        frame = kept.read_rows(self.computation.frame.sparkSession).select(*map(sqltext.name, self.columns))
        told = kept if self.delete_column is not None else None
        return replace(self.computation, order=order, frame=frame, inlets=ReadInlets(), kept_rows=told)

    def _rows(self) -> DataFrame:
        return self.place.read_rows(self.computation.frame.sparkSession, self.schema)


def stage_judged(made: SparkComputation, asked: RowRules, *, marker: CommitMarker) -> JudgedStaging:
    """Stages the rows that are to land, and which of them rules take away.

    Raises:
        RunError: They cannot be computed, or must not land; nothing was published.
        SourceError: Files changed while they were read.
    """
    found, write = choose_judged_rows(made.order, made.frame, schema=made.schema)
    place = ScratchRows(relation_of(made.order.asset), attempt_of(marker), _PART)
    rows = found.rows
    if asked.takes_rows:
        known = asked.with_others(rows)
        taking = _unless(found.delete_condition, asked.taking(known))
        rows = known.select(*map(_column, rows.columns), taking.alias(TAKEN))
    try:
        place.write_rows(rows)
        made.inlets.check_files()
    except Exception as error:
        release_judged(made, marker)
        raise write.explain_error(error) from error
    return JudgedStaging(made, place, rows.schema, tuple(found.columns), found.delete_condition)


def release_judged(made: SparkComputation, marker: CommitMarker) -> None:
    """Removes it, where the storage lets it."""
    discard_scratch(made.frame.sparkSession, relation_of(made.order.asset), attempt_of(marker))


def _unless(deletes: str | None, taking: Column) -> Column:
    from pyspark.sql import functions as sql

    return taking if deletes is None else sql.when(sql.expr(deletes), sql.lit(STAYS)).otherwise(taking)


def _column(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(sqltext.name(name))
