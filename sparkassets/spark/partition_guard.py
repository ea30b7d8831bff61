"""The partitions of a run as a condition on its rows: rows outside are refused before anything is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import find_zone, from_unix
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, segment_of
from sparkassets.core.spec.code_bodies import PythonBody
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import NewSegmentsError, RunOrder
from sparkassets.spark import sqltext
from sparkassets.spark.failures import error_mentions
from sparkassets.spark.predicates import PredicateColumn, partition_columns, partition_predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_OUTSIDE = "sparkassets: outside the partitions of the run"
_MOST_SHOWN = 5
_NULL = "NULL"


@frozen
class PartitionGuard:
    """The partitions of one run, as a condition on its rows.

    Attributes:
        labels: The keys of the first partitions, for messages.
        timezone: The zone in which timestamps are read.
        columns: The columns that assign rows to partitions.
        predicate: SQL that is true for rows of the partitions and for no others.
        order: The run, to which unknown segments may be added.
    """

    asset: str
    labels: str
    timezone: str
    columns: tuple[PredicateColumn, ...]
    predicate: str
    order: RunOrder

    @property
    def keeps_removed(self) -> bool:
        """Whether rows of removed segments must stay in the table while a run replaces those of all others."""
        return self.order.discovers_segments and any(self.order.removed_segments.values())

    def guard_rows(self, frame: DataFrame) -> DataFrame:
        """The same rows; one outside the partitions fails the job that computes it, before anything is published."""
        from pyspark.sql import functions as sql

        guarding = self.columns[0].name
        name, message = sqltext.name(guarding), sqltext.text(_OUTSIDE)
        guard = sql.expr(f"CASE WHEN {self.predicate} THEN {name} ELSE raise_error({message}) END")
        return frame.withColumn(guarding, guard)

    def find_outside_rows(self, frame: DataFrame) -> DataFrame:
        """The rows outside the partitions."""
        return frame.filter(f"NOT coalesce(({self.predicate}), false)")

    def explain_error(self, error: Exception, frame: DataFrame) -> RunError | None:
        """The error for rows outside the partitions, with the first values that do not belong; None for another error.

        If the run may still take over unknown segments of these rows, it is a `NewSegmentsError` that names them.
        """
        if not error_mentions(error, _OUTSIDE):
            return None
        outside_rows = self.find_outside_rows(frame)
        failure = self._make_outside_error(outside_rows)
        new_segments = self._find_unknown_segments(outside_rows) if self.order.can_discover_segments else {}
        return NewSegmentsError(*failure.args, hint=failure.hint, keys=new_segments) if new_segments else failure

    def _find_unknown_segments(self, outside_rows: DataFrame) -> dict[str, tuple[str, ...]]:
        """Segments of the rows outside that the run could take over, by column; empty if there are none."""
        segments = {
            column: tuple(keys) for column, keys in _list_segments(outside_rows, self.columns, self.order).items()
        }
        return segments if self.order.with_new_segments(segments) is not self.order else {}

    def _make_outside_error(self, outside_rows: DataFrame) -> RunError:
        """The error for rows outside the run's partitions, with a few of their values and the number of NULLs."""
        values = [f"{self._text_sql(column)} AS v{number}" for number, column in enumerate(self.columns)]
        distinct_values = outside_rows.selectExpr(*values).distinct()
        samples = distinct_values.orderBy(*distinct_values.columns).limit(_MOST_SHOWN + 1).collect()
        shown = (", " if len(values) == 1 else "; ").join(map(self._format_row, samples[:_MOST_SHOWN]))
        names, nulls = ", ".join(column.name for column in self.columns), self._count_nulls(outside_rows)
        parts = (
            [f"{names} is {shown}{', …' if len(samples) > _MOST_SHOWN else ''}"] if shown != _NULL or not nulls else []
        )
        parts += [f"{name} is NULL in {n:,} row{'s' if n > 1 else ''}" for name, n in nulls.items()]
        return RunError(
            f"{self.asset}: rows outside the run's partitions {self.labels}: {'; '.join(parts)}; nothing was written",
            hint=self._hint_of(nulls, only_nulls=all(None in tuple(row) for row in samples)),
        )

    def _hint_of(self, nulls: Mapping[str, int], *, only_nulls: bool) -> str:
        """The hint for rows outside, some of which, or ``only_nulls`` these, have NULL as their segment."""
        if not nulls:
            return self.hint
        (name, *_) = nulls
        hint = f"NULL belongs to no partition: filter these rows, or give them a key, as in coalesce({name}, …)"
        return hint if only_nulls else f"{hint}; {self.hint}"

    @property
    def hint(self) -> str:
        """The hint for rows outside: filter them, or convert days and midnights to the partition's own time zone."""
        hint = "filter them in the query, or join {{ partitions }}"
        if isinstance(self.order.asset.body, PythonBody):
            hint = (
                "filter them by context.partitions, or write strategy: full_refresh, which computes all partitions "
                "in each run"
            )
        if self.order.asset.partitioning.is_open:
            hint += f"; to compute more segments: `sparkassets partitions {self.asset} add KEY…`"
        if (zoned_column := next(filter(self._is_zoned, self.columns), None)) is not None:
            hint = (
                f"a TIMESTAMP is an instant, here shown in {self.timezone}, and midnight of UTC is none there: "
                f"where a day is meant, CAST({zoned_column.name} AS DATE); else {hint}"
            )
        elif (day_column := next(filter(self._is_local_day, self.columns), None)) is not None:
            hint = (
                f"{day_column.name} is a day in {self.timezone}, but Spark derives UTC days from a TIMESTAMP: use "
                f"to_date(from_utc_timestamp(<column>, '{self.timezone}')); else {hint}"
            )
        return hint

    def _is_zoned(self, column: PredicateColumn) -> bool:
        return column.kind == "timestamp" and self.timezone != "UTC"

    def _is_local_day(self, column: PredicateColumn) -> bool:
        return column.kind == "date" and not column.is_segment and self.timezone != "UTC"

    def _text_sql(self, column: PredicateColumn) -> str:
        name = sqltext.name(column.name)
        return f"unix_micros({name})" if self._is_zoned(column) else f"CAST({name} AS STRING)"

    def _format_row(self, row: Sequence[Any]) -> str:
        """The values of a row outside the partitions, for a message."""
        values = []
        for column, value in zip(self.columns, row, strict=True):
            is_instant = value is not None and self._is_zoned(column)
            values.append(_NULL if value is None else _format_local(value, self.timezone) if is_instant else value)
        return ", ".join(values)

    def _count_nulls(self, outside_rows: DataFrame) -> dict[str, int]:
        """The number of rows with NULL as their segment, by column; without columns where none has."""
        names = [column.name for column in self.columns if column.is_segment]
        if not names:
            return {}
        (counts,) = outside_rows.selectExpr(*(f"count_if({sqltext.name(name)} IS NULL)" for name in names)).collect()
        return {name: n for name, n in zip(names, counts, strict=True) if n}


def guard_for(order: RunOrder, schema: StructType) -> PartitionGuard | None:
    """The run's partitions as a condition on a result of that schema; None for a run without partitions.

    Raises:
        RunError: The result has no such column, or it cannot hold the partitions.
    """
    asset, partitioning = order.asset, order.asset.partitioning
    owner = f"the result of {asset.name}"
    columns = partition_columns(schema, partitioning=partitioning, owner=owner)
    predicate = partition_predicate(schema, order.partitions, partitioning=partitioning, owner=owner)
    if order.discovers_segments and (removed := _kept_segment_predicates(schema, order, owner=owner)):
        predicate = " AND ".join(f"({each})" for each in [predicate, *removed] if each is not None)
    if predicate is None:
        return None
    labels = partitioning.display_labels(order.partitions, most=_MOST_SHOWN)
    ellipsis = ", …" if partitioning.display_label_count(order.partitions) > _MOST_SHOWN else ""
    timezone = "UTC" if partitioning.time is None else partitioning.time.timezone
    return PartitionGuard(asset.name, ", ".join(labels) + ellipsis, timezone, columns, predicate, order)


def find_segments(rows: DataFrame, order: RunOrder) -> dict[str, list[str]]:
    """The segments in rows of the run's partitions, ascending, by column of each open dimension.

    Raises:
        RunError: A column is not there, or cannot hold segments.
    """
    asset, partitioning = order.asset, order.asset.partitioning
    owner = f"the table of {asset.name}"
    columns = partition_columns(rows.schema, partitioning=partitioning, owner=owner)
    predicate = partition_predicate(rows.schema, order.partitions, partitioning=partitioning, owner=owner)
    for each in (
        *([] if predicate is None else [predicate]),
        *_kept_segment_predicates(rows.schema, order, owner=owner),
    ):
        rows = rows.filter(each)
    return _list_segments(rows, columns, order)


def drop_other_segments(rows: DataFrame, order: RunOrder) -> DataFrame:
    """Drops rows of segments that somebody removed, and of known ones that other runs compute.

    Where only rows make segments known, no query can be asked for those of the run alone.
    """
    owner = f"the result of {order.asset.name}"
    found = _kept_segment_predicates(rows.schema, order, owner=owner)
    if others := _computed_by_others(order):
        alone = order.asset.partitioning.by_columns
        predicate = partition_predicate(rows.schema, others, partitioning=alone, owner=owner)
        found += [f"NOT coalesce(({predicate}), false)"]
    for each in found:
        rows = rows.filter(each)
    return rows


def _computed_by_others(order: RunOrder) -> PartitionSet:
    """Partitions of known segments that the run does not compute, for its time and its other segments."""
    keys, partitioning = order.segments_in_rows, order.asset.partitioning
    if not keys or order.partitions.is_everything:
        return NOTHING
    own = partitioning.widen_to_rows(order.partitions)
    return partitioning.by_columns.repeat_for_segments(own, keys) - own


def _kept_segment_predicates(schema: StructType, order: RunOrder, *, owner: str) -> list[str]:
    """Predicates, one for each dimension, that are true for rows of no removed segment."""
    predicates = []
    for dimension in order.asset.partitioning.segments:
        removed = order.removed_segments.get(dimension.column.lower(), ())
        if not removed:
            continue
        parts = PartitionSet.by_segment({(key,): EVERYTHING.time for key in removed})
        predicate = partition_predicate(schema, parts, partitioning=Partitioning(None, (dimension,)), owner=owner)
        if predicate is not None:
            predicates.append(f"NOT coalesce(({predicate}), false)")
    return predicates


def _list_segments(rows: DataFrame, columns: Sequence[PredicateColumn], order: RunOrder) -> dict[str, list[str]]:
    """The segments in rows, ascending, by column of each open dimension."""
    segments: dict[str, list[str]] = {}
    columns_by_name = {each.name.lower(): each for each in columns if each.is_segment}
    for dimension in order.asset.partitioning.segments:
        column = columns_by_name.get(dimension.column.lower())
        if dimension.is_open and column is not None:
            values = (row[0] for row in rows.select(sqltext.name(column.name)).distinct().collect())
            keys = (segment_of(value, column.kind) for value in values)
            segments[dimension.column] = sorted(key for key in keys if key is not None)
    return segments


def _format_local(micros: int, zone_name: str) -> str:
    """An instant in a zone's local time, with its offset."""
    return str(from_unix(micros // 1_000_000).astimezone(find_zone(zone_name)))
