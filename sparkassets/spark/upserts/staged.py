"""A run's rows, computed once into files of the attempt's own, which are gone when the attempt is over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from sparkassets.delta.staged import Attempt, discard, discard_all
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import committers, sqltext
from sparkassets.spark.upserts.reduced import DELETED, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

HOME: Final = "_sparkassets"
"""The folder beside a table's files: neither readers nor ``VACUUM`` look into it."""

_BOUNDED: Final = frozenset({"tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string"})
_AS_TEXT: Final = {
    "timestamp": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
    "timestamp_ntz": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")",
}
"""So that no fraction of a second is lost."""


@frozen
class Staged:
    """What is staged.

    Attributes:
        folder: Of the files.
        schema: Of the rows: the result's columns and `DELETED`.
        count, deleted: How many rows there are, and how many of them delete.
        bounds: By key the lowest and the highest value as SQL, of the keys whose values can be told so.
    """

    folder: str
    schema: StructType
    count: int = 0
    deleted: int = 0
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def rows(self, session: SparkSession) -> DataFrame:
        """The rows, in any session."""
        return read(session, self.folder, self.schema)


def home(table: str) -> str:
    """Where what belongs to upserts into the table at a path is."""
    return f"{table}/{HOME}"


@contextlib.contextmanager
def staged(rows: Rows, chosen: DataFrame, path: str, *, marker: CommitMarker, part: str = "rows") -> Iterator[Staged]:
    """Stages the chosen rows while this lasts.

    Args:
        rows: What they were chosen of.
        chosen: What is staged, with `DELETED`.
        path: Of the table.
        marker: Of the attempt.
        part: What is staged, by another name than anything else of the attempt.

    Raises:
        Exception: Whatever Spark says.
    """
    session, attempt = chosen.sparkSession, Attempt(marker.run, marker.token, marker.attempt)
    folder = f"{home(path)}/{attempt.folder}/{part}"
    try:
        write(chosen, folder)
        yield _told(session, Staged(folder, chosen.schema), rows)
    finally:
        discard(home(path), attempt)


def write(rows: DataFrame, folder: str) -> None:
    """Writes the rows into files there, with the columns of `numbered`.

    Raises:
        Exception: Whatever Spark says.
    """
    session = rows.sparkSession
    options = committers.options(session, folder) if committers.why_none(session, folder) is None else {}
    plain = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
    plain.write.format("parquet").mode("overwrite").options(**options).save(folder)


def read(session: SparkSession, folder: str, schema: StructType) -> DataFrame:
    """The rows that `write` put there, with their columns as they were."""
    from pyspark.sql import functions as sql

    given = session.read.schema(numbered(schema)).parquet(folder)
    fields = enumerate(schema.fields)
    return given.select(*(sql.col(f"c{number}").alias(each.name, metadata=each.metadata) for number, each in fields))


def tidy(path: str, runs: Sequence[str], *, upto: int) -> None:
    """Removes what attempts of these runs staged, by claims with fence tokens up to that."""
    discard_all(home(path), runs, upto=upto)


def _told(session: SparkSession, found: Staged, rows: Rows) -> Staged:
    """With how many there are, and between what their keys lie."""
    kinds = {field.name: field.dataType.simpleString() for field in found.schema.fields}
    bounded = [name for name in rows.keys if kinds[name] in _BOUNDED or kinds[name].startswith("decimal")]
    told = ["count(*)", f"count_if({DELETED})"]
    for name in bounded:
        shown = _AS_TEXT.get(kinds[name], "CAST({column} AS STRING)")
        told += [shown.format(column=f"{f}({sqltext.name(name)})") for f in ("min", "max")]
    ((count, deleted, *values),) = found.rows(session).selectExpr(*told).collect()
    bounds = {
        name: (_literal(low, kinds[name]), _literal(high, kinds[name]))
        for name, low, high in zip(bounded, values[::2], values[1::2], strict=True)
        if low is not None
    }
    return replace(found, count=count, deleted=deleted, bounds=bounds)


def _literal(text: str, kind: str) -> str:
    return sqltext.text(text) if kind == "string" else f"CAST({sqltext.text(text)} AS {kind})"


def numbered(schema: StructType) -> StructType:
    """The schema of the files: names that any file can hold, in the order of the columns."""
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(f"c{number}", each.dataType, True) for number, each in enumerate(schema.fields)]  # noqa: FBT003
    return StructType(fields)
