"""A run's rows, computed once into a place of the attempt's own, which is gone when the attempt is over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.relation import TableRelation
from sparkassets.spark.scratch import ScratchRows, attempt_of, discard_scratch
from sparkassets.spark.upserts.row_reduction import DELETED, UpsertRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BOUNDED: Final = frozenset({"tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string"})
_AS_TEXT: Final = {
    "timestamp": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
    "timestamp_ntz": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")",
}
"""So that no fraction of a second is lost."""


@frozen
class KeptRows:
    """Rows that were staged for somebody else, and of which some are to land.

    Attributes:
        place: Where.
        schema: Of all that is there.
        columns: Of these the ones that are needed.
        where: A condition in SQL on those that land.
    """

    place: ScratchRows
    schema: StructType
    columns: tuple[str, ...]
    where: str = "true"

    def read_rows(self, session: SparkSession) -> DataFrame:
        """The rows that are to land, in any session."""
        found = self.place.read_rows(session, self.schema).filter(self.where)
        return found.select(*map(sqltext.name, self.columns))


@frozen
class StagedRows:
    """What is staged.

    Attributes:
        place: Where; rows of which some are kept in place of being staged once more tell that themselves.
        schema: Of the rows: the result's columns and `DELETED`.
        count, deleted: How many rows there are, and how many of them delete.
        bounds: By key the lowest and the highest value as SQL, of the keys whose values can be told so.
    """

    place: ScratchRows | KeptRows
    schema: StructType
    count: int = 0
    deleted: int = 0
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def read_rows(self, session: SparkSession) -> DataFrame:
        """The rows, in any session."""
        return (
            self.place.read_rows(session)
            if isinstance(self.place, KeptRows)
            else self.place.read_rows(session, self.schema)
        )


def stage_kept(rows: UpsertRows, kept: KeptRows, session: SparkSession) -> StagedRows:
    """What is staged already, told as `staged` tells it."""
    return _measure_staged(session, StagedRows(kept, kept.read_rows(session).schema), rows)


@contextlib.contextmanager
def stage_rows(
    rows: UpsertRows, chosen: DataFrame, relation: TableRelation, *, marker: CommitMarker, part: str = "rows"
) -> Iterator[StagedRows]:
    """Stages the chosen rows while this lasts.

    Args:
        rows: What they were chosen of.
        chosen: What is staged, with `DELETED`.
        relation: The table.
        marker: Of the attempt.
        part: What is staged, by another name than anything else of the attempt.

    Raises:
        Exception: Whatever Spark says.
    """
    session, place = chosen.sparkSession, ScratchRows(relation, attempt_of(marker), part)
    try:
        place.write_rows(chosen)
        yield _measure_staged(session, StagedRows(place, chosen.schema), rows)
    finally:
        discard_scratch(session, relation, place.attempt)


def _measure_staged(session: SparkSession, found: StagedRows, rows: UpsertRows) -> StagedRows:
    """With how many there are, and between what their keys lie."""
    kinds = {field.name: field.dataType.simpleString() for field in found.schema.fields}
    bounded = [name for name in rows.keys if kinds[name] in _BOUNDED or kinds[name].startswith("decimal")]
    told = ["count(*)", f"count_if({DELETED})"]
    for name in bounded:
        shown = _AS_TEXT.get(kinds[name], "CAST({column} AS STRING)")
        told += [shown.format(column=f"{f}({sqltext.name(name)})") for f in ("min", "max")]
    ((count, deleted, *values),) = found.read_rows(session).selectExpr(*told).collect()
    bounds = {
        name: (_literal(low, kinds[name]), _literal(high, kinds[name]))
        for name, low, high in zip(bounded, values[::2], values[1::2], strict=True)
        if low is not None
    }
    return replace(found, count=count, deleted=deleted, bounds=bounds)


def _literal(text: str, kind: str) -> str:
    return sqltext.text(text) if kind == "string" else f"CAST({sqltext.text(text)} AS {kind})"
