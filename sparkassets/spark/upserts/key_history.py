"""A history of each key: a row for each of its changes, from when to when that held.

What the table holds is a function of all changes that ever came, whatever their order: of a key sorted by time each
change holds until the next one, or until the key was deleted. A row of the table is a change; deletions are remembered
beside it, and of every change how new it is where the table does not store that. So the rows of the keys that a run
touches are made anew from what is there, what is remembered, and what comes; those that come out as they are stay.

Of several changes of a key at one instant the last by `newest_by` counts; the others leave no row. Where that does not
order them a change wins over a deletion, and a later run over an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sparkassets.core.writes import HistoryColumns, UpsertWrite, is_unstored_column
from sparkassets.errors import RunError
from sparkassets.spark import sqltext
from sparkassets.spark.upserts.row_reduction import DELETED, UpsertRows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_CAME: Final = "__sparkassets_came"
_UNTIL: Final = "__sparkassets_until"
_NUMBER: Final = "__sparkassets_number"
_STORED: Final = "__sparkassets_stored"


def with_times(schema: StructType, write: UpsertWrite, history: HistoryColumns, *, asset: str) -> StructType:
    """The columns of a table with a history, by those of a result.

    Raises:
        RunError: The result has one that is added, or none that tells the time.
    """
    from pyspark.sql.types import BooleanType, StructField, StructType

    names = {field.name.lower(): field for field in schema.fields}
    for added in (history.valid_to, history.current):
        if added.lower() in names:
            raise RunError(f"{asset}: the result has the column {added!r}, which the history adds")
    time = names.get(history.valid_from.lower())
    if time is None and not write.newest_by:
        raise RunError(
            f"{asset}: nothing tells from when a row holds: the result has no column {history.valid_from!r}",
            hint="give it, or write newest_by: <the column of the source's time>, which it then holds",
        )
    stored = [field for field in schema.fields if not is_unstored_column(field.name)]
    if time is None:
        first = names.get(write.newest_by[0].lower())
        if first is None:
            raise RunError(f"the result of {asset} has no column {write.newest_by[0]!r}")
        time = StructField(history.valid_from, first.dataType, nullable=True)
        stored.append(time)
    ends = StructField(history.valid_to, time.dataType, nullable=True)
    return StructType([*stored, ends, StructField(history.current, BooleanType(), nullable=True)])


def changes(
    asset: str, write: UpsertWrite, history: HistoryColumns, frame: DataFrame, *, partition: Sequence[str]
) -> UpsertRows:
    """The rows of a run as changes: each of a key at an instant."""
    from pyspark.sql import functions as sql

    given = {name.lower() for name in frame.columns}
    has_time = history.valid_from.lower() in given
    if not has_time:
        frame = frame.withColumn(history.valid_from, sql.col(sqltext.name(write.newest_by[0])))
    more = write.newest_by if has_time else write.newest_by[1:]
    rows = UpsertRows.from_frame(
        asset, replace(write, newest_by=more), frame, partition=[*partition, history.valid_from]
    )
    within = rows.tie_breakers if has_time and rows.tie_breakers else (rows.keys[-1], *rows.tie_breakers)
    return replace(rows, tie_breakers=within, is_history=True)


def state(
    rows: UpsertRows, history: HistoryColumns, came: DataFrame, *, there: DataFrame | None, remembered: DataFrame | None
) -> DataFrame:
    """The rows that the table is to have of the keys that come, but for those that it has so.

    A row of the table that a deletion of its instant came after is among them, as one with `DELETED`.

    Args:
        rows: What comes, as told by `changes`.
        history: The names of its columns.
        came: The changes and deletions, with `DELETED`.
        there: The rows of the table, of these keys at least; None of an empty one.
        remembered: What is remembered of the keys, as `Memory.as_rows` yields it; None where nothing is.
    """
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    hidden = [name for name in rows.newest_by if is_unstored_column(name)]
    values = [name for name in came.columns if name not in (*rows.keys, DELETED)]
    values = [name for name in values if name in hidden or not is_unstored_column(name)]
    mine = came.select(*map(_c, rows.keys), *map(_c, values), _c(DELETED), sql.lit(1).alias(_CAME))
    mine = mine.withColumn(_UNTIL, sql.lit(None).cast(came.schema[time].dataType))
    touched = came.select(*map(_c, keys)).distinct()
    events = mine
    if remembered is not None:
        remembered = remembered.join(touched, keys, "left_semi")
        gone = remembered.filter(DELETED).withColumn(_CAME, sql.lit(0))
        events = events.unionByName(gone, allowMissingColumns=True)
    if there is not None:
        known = there.join(touched, keys, "left_semi").withColumns({DELETED: sql.expr("false"), _CAME: sql.lit(0)})
        known = known.withColumnRenamed(history.valid_to, _UNTIL).drop(history.current)
        if remembered is not None and hidden:
            newest = remembered.filter(f"NOT {DELETED}").select(*map(_c, rows.keys), *map(_c, hidden))
            known = known.join(newest, list(rows.keys), "left")
        events = events.unionByName(known, allowMissingColumns=True)
    return _sequence(events, rows, history).drop(*hidden)


def _sequence(events: DataFrame, rows: UpsertRows, history: HistoryColumns) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    at_once = Window.partitionBy(*map(_c, rows.keys))
    newest = [_c(name).desc() for name in rows.newest_by]
    order = [*newest, _c(DELETED).asc(), _c(_CAME).desc()]
    is_stored = sql.expr(f"{_CAME} = 0 AND NOT {DELETED}")
    numbered = events.withColumns(
        {
            _NUMBER: sql.row_number().over(at_once.orderBy(*order)),
            _STORED: sql.max(is_stored).over(at_once),
        }
    )
    chosen = numbered.filter(f"{_NUMBER} = 1")
    by_key = Window.partitionBy(*map(_c, keys)).orderBy(_c(time))
    until = sql.lead(_c(time)).over(by_key)
    ended = chosen.withColumn(history.valid_to, until)
    ended = ended.withColumn(history.current, sql.col(_q(history.valid_to)).isNull())
    same = f"{_CAME} = 0 AND {_UNTIL} <=> {_q(history.valid_to)}"
    changed = ended.filter(f"CASE WHEN {DELETED} THEN {_STORED} ELSE NOT ({same}) END")
    return changed.drop(_NUMBER, _STORED, _CAME, _UNTIL)


def _c(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(_q(name))


def _q(name: str) -> str:
    return sqltext.name(name)
