"""One row for each key of a run, reduced and staged before the merge."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.core.validations import MASKED
from sparkassets.core.writes import UpsertWrite, is_unstored_column
from sparkassets.delta.file_statistics import FileStatistics, may_be_true
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitStamp
from sparkassets.spark import sqltext
from sparkassets.spark.failures import error_mentions, explain_errors
from sparkassets.spark.row_comparison import row_hash
from sparkassets.spark.schemas import column_type
from sparkassets.spark.scratch import ScratchRows, attempt_of, discard_scratch, staged_name

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

DELETED: Final = "__sparkassets_deleted"
"""The column that says whether a row deletes its key."""
_TIED: Final = "__sparkassets_tied"
_HASH: Final = "__sparkassets_hash"
_NULL_KEY, _NULL_ORDER, _AMBIGUOUS = (f"sparkassets: {what}" for what in ("no key", "no newest_by", "several of a key"))
_MOST_SHOWN = 5

CHANGE, VERSION = "_change_type", "_commit_version"
"""Columns of Delta's change feed."""
_REMOVING_KINDS = "('delete', 'update_preimage')"
"""Change kinds that remove a row; where its key stays, the row that the update made wins."""


@frozen
class UpsertRows:
    """The rows of a run, with the roles of their columns in an upsert.

    Attributes:
        asset: The asset's name, for messages.
        frame: The computed rows; one outside the run's partitions fails the job that computes it.
        keys: Key columns, then columns of partitions, as the frame spells them.
        newest_by: Columns that order the rows of a key, both within a run and against earlier runs.
        tie_breakers: Columns that choose among the run's own rows of a key, most important first; none may be NULL.
        delete_when: The condition of rows that delete; None where none does.
        is_feed: Whether the rows are changes of Delta's feed, which orders them by their commit as well.
        is_history: Whether each row is a change to store, at the instant in the last of ``keys``.
        private: Columns whose values no message shows, in lower case.
    """

    asset: str
    frame: DataFrame
    keys: tuple[str, ...]
    newest_by: tuple[str, ...]
    tie_breakers: tuple[str, ...]
    delete_when: str | None
    is_feed: bool = False
    is_history: bool = False
    private: frozenset[str] = frozenset()

    @classmethod
    def from_frame(cls, asset: str, write: UpsertWrite, frame: DataFrame, *, partition: Sequence[str]) -> UpsertRows:
        """The rows, with roles as the asset declares them.

        Raises:
            RunError: A declared column is missing, or `delete_when` is no condition on the rows.
        """
        schema, owner = frame.schema, f"the result of {asset}"
        key_columns = [column_type(schema, name, owner=owner)[0] for name in (*write.keys, *partition)]
        newest_by = tuple(column_type(schema, name, owner=owner)[0] for name in write.newest_by)
        names = {name.lower() for name in schema.names}
        is_feed = CHANGE in names and write.delete_when is None
        delete_when = f"{CHANGE} IN {_REMOVING_KINDS}" if is_feed else write.delete_when
        if write.delete_when is not None:
            _check_condition(frame, write.delete_when, f"delete_when of {asset} at {write.condition_place}")
        tie_breakers = (*newest_by, *([VERSION] if is_feed and VERSION in names else []))
        keys = tuple(dict.fromkeys(key_columns))
        return cls(asset, frame, keys, newest_by, tie_breakers, delete_when, is_feed)

    @property
    def stored_columns(self) -> list[str]:
        """The columns that the table stores."""
        return [name for name in self.frame.columns if not is_unstored_column(name)]

    @property
    def remembers_all(self) -> bool:
        """Whether the memory keeps the order of every key, because `newest_by` names a column that is not stored.

        Columns whose names begin with ``_`` are not stored.
        """
        return any(map(is_unstored_column, self.newest_by))

    @property
    def remembers(self) -> bool:
        """Whether rows leave something for later runs that the table does not store: deletions, or the order of keys.

        Without `newest_by` the rows of a later run always win, so nothing is remembered except for a history.
        """
        return (self.is_history or bool(self.newest_by)) and (self.delete_when is not None or self.remembers_all)

    def reduce_rows(self) -> DataFrame:
        """The newest row of each key, with `DELETED`.

        The job that computes them fails on a NULL key, a NULL among the tie breakers, or two rows that are both the
        newest.
        """
        from pyspark.sql import functions as sql

        first = sqltext.name(self.keys[0])
        nulls = " OR ".join(f"{sqltext.name(name)} IS NULL" for name in self.keys)
        unordered = " OR ".join(f"{sqltext.name(name)} IS NULL" for name in self.tie_breakers) or "false"
        guard = (
            f"CASE WHEN {nulls} THEN raise_error({sqltext.text(_NULL_KEY)}) "
            f"WHEN {unordered} THEN raise_error({sqltext.text(_NULL_ORDER)}) "
            f"WHEN {_TIED} THEN raise_error({sqltext.text(_AMBIGUOUS)}) ELSE {first} END"
        )
        chosen = self._choose_newest()
        return chosen.withColumn(self.keys[0], sql.expr(guard)).selectExpr(
            *map(sqltext.name, [*self.frame.columns, DELETED])
        )

    def _choose_newest(self) -> DataFrame:
        """The newest rows of each key; those after the first are marked as `_TIED`.

        Where there is an order, duplicates count as one row: changes may be delivered repeatedly.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        by_key = Window.partitionBy(*(sql.col(sqltext.name(name)) for name in self.keys))
        rows = self._mark_deleted()
        if not self.tie_breakers:
            return rows.withColumn(_TIED, sql.count(sql.lit(1)).over(by_key) > 1)
        ordered = by_key.orderBy(*(sql.expr(each).desc() for each in self._order_terms()))
        hash_sql = row_hash(self.frame.schema)
        rows = rows.withColumn(_HASH, sql.lit(None).cast("bigint") if hash_sql is None else sql.expr(hash_sql))
        rows = rows.withColumns(
            {
                "__sparkassets_rank": sql.rank().over(ordered),
                "__sparkassets_number": sql.row_number().over(ordered),
                "__sparkassets_first": sql.first_value(_HASH).over(ordered),
            }
        ).filter("__sparkassets_rank = 1")
        repeated = "__sparkassets_number > 1"
        return rows.filter(f"NOT ({repeated} AND {_HASH} <=> __sparkassets_first AND {_HASH} IS NOT NULL)").withColumn(
            _TIED, sql.expr(repeated)
        )

    def _order_terms(self) -> list[str]:
        """SQL that orders the rows of a key, the most important criterion first.

        In a history a change wins over a deletion that `newest_by` does not put after it. The commit of a feed comes
        last: later runs do not know it, and must decide in the same way.
        """
        terms, rows_first = [sqltext.name(name) for name in self.tie_breakers], f"NOT {DELETED}"
        if self.is_history and terms[-1:] == [sqltext.name(VERSION)] and VERSION not in self.newest_by:
            return [*terms[:-1], rows_first, terms[-1]]
        return [*terms, rows_first] if self.is_history or self.is_feed else terms

    def _mark_deleted(self) -> DataFrame:
        """The run's rows with `DELETED`, which is true of rows that delete.

        In a history of a feed the images of rows before an update are left out: a change has only the row after it.
        """
        from pyspark.sql import functions as sql

        rows = self.frame
        if (
            self.is_feed and self.is_history
        ):  # there a row is a change of its own time, which what it was before has not
            rows = rows.filter(f"{CHANGE} <> 'update_preimage'")
        deletes = "false" if self.delete_when is None else f"coalesce(({self.delete_when}), false)"
        return rows.withColumn(DELETED, sql.expr(deletes))

    def explain_error(self, error: Exception) -> RunError | None:
        """The refusal of rows that an upsert cannot put in order, with their first keys; None for other errors.

        It recognises the texts that `reduce_rows` raises in SQL.
        """
        refusal = None
        if error_mentions(error, _NULL_KEY):
            counts = self._count_nulls(self.keys)
            refusal = RunError(
                f"{self.asset}: {_describe_nulls(counts)}: a key cannot be NULL; nothing was written",
                hint=f"leave such rows out: WHERE {' AND '.join(f'{name} IS NOT NULL' for name in counts)}",
            )
        elif error_mentions(error, _NULL_ORDER):
            nulls = _describe_nulls(self._count_nulls(self.tie_breakers))
            refusal = RunError(f"{self.asset}: {nulls}, so the newest row of a key is unknown; nothing was written")
        elif error_mentions(error, _AMBIGUOUS):
            refusal = self._make_ambiguity_error()
        if refusal is not None:
            refusal.is_data_error = True
        return refusal

    def _count_nulls(self, columns: Sequence[str]) -> dict[str, int]:
        """The number of rows with NULL in each of these columns that has any."""
        counts = (
            self._mark_deleted().selectExpr(*(f"count_if({sqltext.name(name)} IS NULL)" for name in columns)).collect()
        )
        return {name: count for name, count in zip(columns, counts[0], strict=True) if count}

    def _show_key(self, values: Iterable[str]) -> Iterator[str]:
        """The values of the key's columns, as messages show them."""
        for name, value in zip(self.keys, values, strict=True):
            yield MASKED if name.lower() in self.private else str(value)

    def _make_ambiguity_error(self) -> RunError:
        """The error for keys with several rows that nothing puts in order, with examples and what would order them."""
        from pyspark.sql import functions as sql

        names = [sql.col(sqltext.name(name)).cast("string") for name in self.keys]
        tied = self._choose_newest().filter(_TIED).groupBy(*names)
        samples = tied.agg(sql.count(sql.lit(1))).limit(_MOST_SHOWN + 1).collect()  # Sail cannot limit a DISTINCT
        keys_shown = sorted(tuple(row[:-1]) for row in samples[:_MOST_SHOWN])
        shown = "; ".join(", ".join(self._show_key(key)) for key in keys_shown)
        ellipsis = "; …" if len(samples) > _MOST_SHOWN else ""
        keys = ", ".join(self.keys)
        if self.is_history:
            problem = "several changes of one key at one instant"
            if self.newest_by:
                problem += f", equal in {', '.join(self.newest_by)}"
            hint = "order them by several columns: newest_by: [<time>, <column>], such as the position in the log"
        elif self.newest_by:
            problem = f"several rows of one key that are equal in {', '.join(self.newest_by)}"
            hint = "order them by several columns: newest_by: [<column>, <column>]"
        elif self.tie_breakers:
            problem, hint = "several rows of one key in one commit of the inlet", "select one of them in the query"
        else:
            problem, hint = "several rows of one key", "newest_by: <column> decides which of them counts"
        return RunError(f"{self.asset}: {problem}: {keys} is {shown}{ellipsis}; nothing was written", hint=hint)


def _check_condition(frame: DataFrame, condition: str, what: str) -> None:
    """Raises `RunError` for a condition that Spark cannot read or resolve; ``what`` names it."""
    with explain_errors(what=what):
        _ = frame.filter(condition).schema  # a session of Spark Connect looks only when it is asked for columns


def _describe_nulls(counts: Mapping[str, int]) -> str:
    """The number of rows with NULL in each column, for a message."""
    return ", ".join(f"{name} is NULL in {count:,} row{'s' if count > 1 else ''}" for name, count in counts.items())


def stored_schema(schema: StructType) -> StructType:
    """The columns of a result that an upsert stores."""
    from pyspark.sql.types import StructType

    return StructType([field for field in schema.fields if not is_unstored_column(field.name)])


_BOUNDED_TYPES: Final = frozenset(
    {"tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string"}
)
_TEXT_SQL: Final = {
    "timestamp": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
    "timestamp_ntz": "date_format({column}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")",
}
"""Formats times with all fractions of a second."""
_WHOLE_VALUES: Final = {"delta.dataSkippingNumIndexedCols": "-1", "delta.dataSkippingStringPrefixLength": str(2**20)}
"""Properties by which statistics are of all columns, and of whole texts."""


EVERY_ROW: Final = "true"
"""The condition of rows of which all land."""


@frozen
class KeptRows:
    """Rows that were staged to be judged, and that are used from there instead of being staged again.

    Attributes:
        place: Where they are staged.
        schema: The schema of all staged rows.
        columns: The columns to read.
        where: SQL that is true of the rows to land, without withheld and dropped ones.
    """

    place: ScratchRows
    schema: StructType
    columns: tuple[str, ...]
    where: str = EVERY_ROW

    def read_rows(self, session: SparkSession) -> DataFrame:
        """The rows that are to land, in any session."""
        rows = self.place.read_rows(session, self.schema).filter(self.where)
        return rows.selectExpr(*map(sqltext.name, self.columns))


@frozen
class StagedRows:
    """The staged rows of an upsert, measured.

    Attributes:
        place: Where they are; `KeptRows` where they were staged to be judged before.
        schema: The result's columns and `DELETED`.
        count: The number of rows.
        deletes: Whether any of them may delete.
        size: At most so many bytes without compression; without end where the driver cannot read the files.
        ranges: The lowest and the highest value as text that SQL casts, by key column, where there is such a text.
    """

    place: ScratchRows | KeptRows
    schema: StructType
    count: int = 0
    deletes: bool = False
    size: float = inf
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def bounds(self) -> dict[str, tuple[str, str]]:
        """`ranges` as SQL."""
        kinds = {field.name: field.dataType.simpleString() for field in self.schema.fields}
        return {
            name: (_literal_sql(low, kinds[name]), _literal_sql(high, kinds[name]))
            for name, (low, high) in self.ranges.items()
        }

    def read_rows(self, session: SparkSession) -> DataFrame:
        """The rows, in any session."""
        return (
            self.place.read_rows(session)
            if isinstance(self.place, KeptRows)
            else self.place.read_rows(session, self.schema)
        )


def stage_kept(rows: UpsertRows, kept: KeptRows, session: SparkSession) -> StagedRows:
    """The rows that were staged to be judged, with their number and bounds."""
    return _measure_staged(session, StagedRows(kept, kept.read_rows(session).schema), rows)


@contextlib.contextmanager
def stage_rows(
    rows: UpsertRows, chosen: DataFrame, location: StorageLocation, *, stamp: CommitStamp, part: str = "rows"
) -> Iterator[StagedRows]:
    """Stages the chosen rows while the context lasts, and removes them afterwards.

    Args:
        rows: The run's rows, whose keys are measured.
        chosen: The rows to stage, with `DELETED`.
        location: The table.
        stamp: The attempt's stamp.
        part: A name for these rows, unique within the attempt.

    Raises:
        Exception: Whatever Spark says.
    """
    session, place = chosen.sparkSession, ScratchRows(location, attempt_of(stamp), part)
    try:
        place.write_rows(chosen)
        yield _measure_staged(session, StagedRows(place, chosen.schema), rows)
    finally:
        discard_scratch(session, location, place.attempt)


def _measure_staged(session: SparkSession, found: StagedRows, rows: UpsertRows) -> StagedRows:
    """Counts the rows, and finds the ranges of their keys: by the files' footers where the driver reads them."""
    kinds = {field.name: field.dataType.simpleString() for field in found.schema.fields}
    bounded = [name for name in rows.keys if kinds[name] in _BOUNDED_TYPES or kinds[name].startswith("decimal")]
    place = found.place.place if isinstance(found.place, KeptRows) else found.place
    if (footers := place.read_footers()) is not None:
        size = sum(footer.row_group(n).total_byte_size for footer in footers for n in range(footer.num_row_groups))
        found = replace(found, size=size)
        if not isinstance(found.place, KeptRows):
            return _measure_footers(found, bounded, footers, schema=found.schema)
        if found.place.where == EVERY_ROW:
            return _measure_footers(found, bounded, footers, schema=found.place.schema)
    return _measure_by_query(session, found, {name: kinds[name] for name in bounded})


def _measure_by_query(session: SparkSession, found: StagedRows, bounded: Mapping[str, str]) -> StagedRows:
    """As `_measure_staged`; ``bounded`` has the types of the key columns with bounds."""
    aggregates = ["count(*)", f"count_if({DELETED})"]
    for name, kind in bounded.items():
        shown = _TEXT_SQL.get(kind, "CAST({column} AS STRING)")
        aggregates += [shown.format(column=f"{f}({sqltext.name(name)})") for f in ("min", "max")]
    ((count, deleted, *values),) = found.read_rows(session).selectExpr(*aggregates).collect()
    ranges = {
        name: (low, high) for name, low, high in zip(bounded, values[::2], values[1::2], strict=True) if low is not None
    }
    return replace(found, count=count, deletes=deleted > 0, ranges=ranges)


def _measure_footers(
    found: StagedRows, bounded: Sequence[str], footers: Sequence[FileMetaData], *, schema: StructType
) -> StagedRows:
    """As `_measure_staged`; a column whose bounds some file does not have gets no range.

    Args:
        found: The rows.
        bounded: The key columns with bounds.
        footers: Of the files, all of whose rows land.
        schema: The columns of the files.
    """
    footers = [footer for footer in footers if footer.num_rows]
    numbers = {name: number for number, name in enumerate(schema.names)}
    fields = [found.schema[name].jsonValue() | {"name": staged_name(numbers[name])} for name in bounded]
    statistics = FileStatistics({"fields": fields}, layout=(), properties=_WHOLE_VALUES)
    files = [json.loads(statistics.build_json(footer), parse_float=Decimal) for footer in footers]
    ranges = {}
    for name in bounded:
        bounds = _find_bounds(files, staged_name(numbers[name]))
        known = None if bounds is None else _as_range(bounds, found.schema[name].dataType.simpleString())
        if known is not None:
            ranges[name] = known
    gone = staged_name(numbers[DELETED])
    deletes = any(may_be_true(footer, gone) for footer in footers)
    return replace(found, count=sum(footer.num_rows for footer in footers), deletes=deletes, ranges=ranges)


def _find_bounds(files: Sequence[Mapping[str, Any]], column: str) -> tuple[str, str] | None:
    """The least and the greatest value in the statistics of all files; None where one of them has no such value."""
    lows, highs = ([file.get(kind, {}).get(column) for file in files] for kind in ("minValues", "maxValues"))
    return None if not files or None in lows or None in highs else (str(min(lows)), str(max(highs)))


def _as_range(bounds: tuple[str, str], kind: str) -> tuple[str, str] | None:
    """The bounds of statistics as a range: these have instants down to the millisecond; None for years far away."""
    if kind not in ("date", *_TEXT_SQL):
        return bounds
    try:
        low, high = map(datetime.fromisoformat, bounds)
        return bounds if kind == "date" else (low.isoformat(), (high + timedelta(milliseconds=1)).isoformat())
    except (ValueError, OverflowError):
        return None


def _literal_sql(text: str, kind: str) -> str:
    return sqltext.text(text) if kind == "string" else f"CAST({sqltext.text(text)} AS {kind})"
