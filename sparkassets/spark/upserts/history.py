"""A history of each key: a row for each of its changes, from when to when that held.

What the table holds is a function of all changes that ever came, whatever their order: of a key sorted by time each
change holds until the next one, or until the key was deleted. A row of the table is a change; deletions are remembered
beside it. So the rows of the keys that a run touches are made anew from what is there, what is remembered, and what
comes; those that come out as they are stay. At one instant a change wins over a deletion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sparkassets.core.writes import History, Upsert, is_hidden
from sparkassets.errors import RunError
from sparkassets.spark import sqltext
from sparkassets.spark.upserts.reduced import DELETED, Rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_CAME: Final = "__sparkassets_came"
_UNTIL: Final = "__sparkassets_until"


def with_times(schema: StructType, write: Upsert, history: History, *, asset: str) -> StructType:
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
    if time is not None and any(map(is_hidden, write.newest_by)):
        raise RunError(f"{asset}: beside {history.valid_from!r} 'newest_by' must be stored: rename it without '_'")
    stored = [field for field in schema.fields if not is_hidden(field.name)]
    if time is None:
        first = names.get(write.newest_by[0].lower())
        if first is None:
            raise RunError(f"the result of {asset} has no column {write.newest_by[0]!r}")
        time = StructField(history.valid_from, first.dataType, nullable=True)
        stored.append(time)
    ends = StructField(history.valid_to, time.dataType, nullable=True)
    return StructType([*stored, ends, StructField(history.current, BooleanType(), nullable=True)])


def changes(asset: str, write: Upsert, history: History, frame: DataFrame, *, partition: Sequence[str]) -> Rows:
    """The rows of a run as changes: each of a key at an instant."""
    from pyspark.sql import functions as sql

    given = {name.lower() for name in frame.columns}
    has_time = history.valid_from.lower() in given
    if not has_time:
        frame = frame.withColumn(history.valid_from, sql.col(sqltext.name(write.newest_by[0])))
    more = write.newest_by if has_time else write.newest_by[1:]
    rows = Rows.of(asset, replace(write, newest_by=more), frame, partition=[*partition, history.valid_from])
    within = rows.within if has_time and rows.within else (rows.keys[-1], *rows.within)
    stored = tuple(name for name in rows.newest_by if not is_hidden(name))
    return replace(rows, within=within, newest_by=stored, is_history=True)


def state(
    rows: Rows, history: History, came: DataFrame, *, there: DataFrame | None, deleted: DataFrame | None
) -> DataFrame:
    """The rows that the table is to have of the keys that come, but for those that it has so.

    Args:
        rows: What comes, as told by `changes`.
        history: The names of its columns.
        came: The changes and deletions, with `DELETED`.
        there: The rows of the table, of these keys at least; None of an empty one.
        deleted: What is remembered of deletions, the columns of ``rows.keys``; None where nothing is.
    """
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    values = [name for name in came.columns if name not in (*rows.keys, DELETED) and not is_hidden(name)]
    mine = came.select(*map(_c, rows.keys), *map(_c, values), _c(DELETED), sql.lit(1).alias(_CAME))
    mine = mine.withColumn(_UNTIL, sql.lit(None).cast(came.schema[time].dataType))
    touched = came.select(*map(_c, keys)).distinct()
    events = mine
    if deleted is not None:
        gone = deleted.join(touched, keys, "left_semi").withColumns({DELETED: sql.expr("true"), _CAME: sql.lit(0)})
        events = events.unionByName(gone, allowMissingColumns=True)
    if there is not None:
        known = there.join(touched, keys, "left_semi").withColumns({DELETED: sql.expr("false"), _CAME: sql.lit(0)})
        known = known.withColumnRenamed(history.valid_to, _UNTIL).drop(history.current)
        events = events.unionByName(known, allowMissingColumns=True)
    return _sequence(events, rows, history, newest_by=rows.newest_by)


def _sequence(events: DataFrame, rows: Rows, history: History, *, newest_by: Sequence[str]) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    *keys, time = rows.keys
    order = [sql.col(_q(DELETED)).asc(), *(sql.col(_q(name)).desc() for name in newest_by), sql.col(_CAME).desc()]
    at_once = Window.partitionBy(*map(_c, rows.keys)).orderBy(*order)
    chosen = events.withColumn("__sparkassets_number", sql.row_number().over(at_once)).filter(
        "__sparkassets_number = 1"
    )
    by_key = Window.partitionBy(*map(_c, keys)).orderBy(_c(time))
    until = sql.lead(_c(time)).over(by_key)
    ended = chosen.withColumn(history.valid_to, until).filter(f"NOT {_q(DELETED)}")
    ended = ended.withColumn(history.current, sql.col(_q(history.valid_to)).isNull())
    same = f"{_CAME} = 0 AND {_UNTIL} <=> {_q(history.valid_to)}"
    kept = ended.filter(f"NOT ({same})").withColumn(DELETED, sql.expr("false"))
    return kept.drop("__sparkassets_number", _CAME, _UNTIL)


def _c(name: str) -> Column:
    from pyspark.sql import functions as sql

    return sql.col(_q(name))


def _q(name: str) -> str:
    return sqltext.name(name)
