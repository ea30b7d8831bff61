"""Partitions in SQL: predicates that select their rows, and the values of their columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from sparkassets.core.instants import DAY, from_unix, local_date, zone_offsets
from sparkassets.core.partitions import (
    Partitioning,
    PartitionSet,
    RangeSet,
    Segment,
    Slot,
    TimePartition,
    holds_segments,
    segment_of,
    segment_value,
)
from sparkassets.core.partitions.excluding_grid import split_excluded_hours
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.schemas import column_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_ALL_TIME = RangeSet.always()
_MOST_RANGES: Final = 32
"""Above this, ranges of days between excluded ones become one range, without the days between."""


@frozen
class PredicateColumn:
    """A column that tells a row's partition.

    Attributes:
        name: Its name in the rows.
        kind: Its type as Spark's ``simpleString``.
        is_segment: Whether it holds segments, and not time.
    """

    name: str
    kind: str
    is_segment: bool


def partition_columns(
    schema: StructType | Mapping[str, str], *, partitioning: Partitioning, owner: str
) -> tuple[PredicateColumn, ...]:
    """The columns that assign rows to partitions, time first; dimensions without a column are left out.

    Raises:
        RunError: One is missing, or its type cannot hold such a partition.
    """
    time, columns = partitioning.time, []
    if time is not None and time.column is not None:
        columns = [PredicateColumn(*column_type(schema, time.column, owner=owner), is_segment=False)]
        refuse_unfit_type(columns[0].name, columns[0].kind, partition=time, owner=owner)
    for each in partitioning.by_columns.segments:
        column, kind = column_type(schema, each.column, owner=owner)
        if not holds_segments(kind):
            raise RunError(
                f"the column {column!r} of {owner} is {kind.upper()}, which cannot hold segments",
                hint="change it to STRING, a whole number, DECIMAL, DATE or BOOLEAN",
            )
        columns.append(PredicateColumn(column, kind, is_segment=True))
    return tuple(columns)


def partition_predicate(
    schema: StructType | Mapping[str, str], parts: PartitionSet, *, partitioning: Partitioning, owner: str
) -> str | None:
    """SQL that is true for the rows of ``parts``, which are whole partitions, and false or NULL for all others.

    None where ``parts`` is everything, or no dimension has a column; dimensions without a column are ignored.

    Tuples of segments with equal time share one condition. Where time is unrestricted, rows without a time belong, too;
    a row without a segment only belongs to time that all tuples share.

    Raises:
        RunError: A column is missing, its type cannot hold such a partition, or it has no value for a segment.
    """
    if parts.is_everything:
        return None
    partitioning, parts = partitioning.by_columns, partitioning.widen_to_rows(parts)
    columns = partition_columns(schema, partitioning=partitioning, owner=owner)
    if not columns:
        return None
    if not parts:
        return "false"
    restricted, rest_parts = partitioning.without_whole_dimensions(parts)
    whole_columns = {*map(str.lower, partitioning.segment_columns)} - {*map(str.lower, restricted.segment_columns)}
    not_null = [f"{sqltext.name(each.name)} IS NOT NULL" for each in columns if each.name.lower() in whole_columns]
    if rest_parts.is_everything:
        return _join_all(not_null)
    predicates = _SegmentPredicates(
        restricted, [each for each in columns if each.name.lower() not in whole_columns], owner
    )
    terms = filter(None, (*predicates.listed_conditions(rest_parts), predicates.others_condition(rest_parts)))
    condition = _join_any([*terms])
    return _join_all([condition, *not_null]) if not_null else condition


@frozen
class _SegmentPredicates:
    """Conditions on tuples of segments and their time.

    Attributes:
        columns: As from `partition_columns`.
        owner: The table or result that has the columns, for messages.
    """

    partitioning: Partitioning
    columns: Sequence[PredicateColumn]
    owner: str

    def listed_conditions(self, parts: PartitionSet) -> Iterator[str]:
        """Conditions for the rows of tuples with a time of their own, one for each distinct time."""
        for ranges, segments in parts.by_time().items():
            if ranges:
                yield _join_all([*self._time_condition(ranges), self._membership_sql(self._segments, segments)])

    def others_condition(self, parts: PartitionSet) -> str | None:
        """The condition for the rows of all other tuples, which share one time; None where that is empty."""
        if not parts.time:
            return None
        time = self._time_condition(parts.time)
        if not parts.apart:
            return _join_all(time)
        not_null = (f"{sqltext.name(each.name)} IS NOT NULL" for each in self._segments)
        listed = self._membership_sql(self._segments, [segment for segment, _ in parts.apart])
        return _join_all([*time, *not_null, f"NOT ({listed})"])

    @property
    def _segments(self) -> Sequence[PredicateColumn]:
        return [each for each in self.columns if each.is_segment]

    def _time_condition(self, ranges: RangeSet) -> list[str]:
        """The condition on time, as a list of at most one; empty where all time is meant."""
        time = self.partitioning.time
        if time is None or ranges == _ALL_TIME:
            return []
        return [
            time_predicate(self.columns[0].name, self.columns[0].kind, partition=time, ranges=ranges, owner=self.owner)
        ]

    def _membership_sql(self, columns: Sequence[PredicateColumn], segments: Iterable[Segment]) -> str:
        """The condition that the columns hold one of these tuples; values followed by equal ones share a list."""
        first, *others = columns
        tails_by_head: defaultdict[str, list[Segment]] = defaultdict(list)
        for segment in segments:
            tails_by_head[segment[0]].append(segment[1:])
        heads_by_tails: defaultdict[tuple[Segment, ...], list[str]] = defaultdict(list)
        for head, rest in tails_by_head.items():
            heads_by_tails[tuple(rest)].append(head)
        terms = []
        for tails, heads in heads_by_tails.items():
            literals = ", ".join(_segment_literal(head, first, owner=self.owner) for head in heads)
            in_list = f"{sqltext.name(first.name)} IN ({literals})"
            terms.append(_join_all([in_list, self._membership_sql(others, tails)]) if others else in_list)
        return _join_any(terms)


def _segment_literal(segment: str, column: PredicateColumn, *, owner: str) -> str:
    """The segment's value as SQL text of exactly the column's type.

    Raises:
        RunError: The type cannot hold it.
    """
    value = segment_value(segment, column.kind)
    if value is None:
        nearest = segment_of(segment, column.kind)
        raise RunError(
            f"the segment {segment!r} is not a value of the column {column.name!r} of {owner}, which is "
            f"{column.kind.upper()}",
            hint=None if nearest is None else f"write it as {nearest!r}",
        )
    return sqltext.literal(value, column.kind)


def _join_all(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else " AND ".join(f"({each})" for each in terms) or "true"


def _join_any(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else " OR ".join(f"({each})" for each in terms)


def time_predicate(column: str, kind: str, *, partition: TimePartition, ranges: RangeSet, owner: str) -> str:
    """SQL that is true for the rows of ``ranges``, and false or NULL for all others.

    Args:
        column: The column's name, as the table has it.
        kind: Spark's ``simpleString`` of the column: a date holds a local day of the slot, a timestamp an
            instant, a timestamp_ntz the wall clock, a string the slot's key.
        partition: The dimension of time that the column holds.
        ranges: Whole slots of ``partition``.
        owner: The table or result that has the column, for messages.

    Raises:
        RunError: The column's type cannot hold such a partition.
    """
    refuse_unfit_type(column, kind, partition=partition, owner=owner)
    quoted = sqltext.name(column)
    if not ranges:
        return "false"
    if kind == "string":
        keys = ", ".join(sqltext.text(partition.key(start)) for start, _ in partition.slots(ranges))
        return f"{quoted} IN ({keys})"
    exact = list(partition.exact(ranges).pairs())
    narrowed = _predicate_with_exclusions(quoted, kind, partition, ranges) if len(exact) > _MOST_RANGES else None
    return narrowed or _ranges_sql(quoted, _iterate_bounds(kind, partition, exact))


def _predicate_with_exclusions(quoted: str, kind: str, partition: TimePartition, ranges: RangeSet) -> str | None:
    """A shorter condition for many ranges: the spans around them, without the excluded hours and days.

    None where exclusions are neither whole local days nor hours.
    """
    hours, rest = (
        split_excluded_hours(partition.exclude) if partition.by == "hour" else (frozenset[int](), partition.exclude)
    )
    by_days = replace(partition, exclude=rest)
    exact = list(by_days.exact(ranges).pairs())
    days = _find_excluded_days(exact, ranges, by_days) if rest else [(at, at, list[date]()) for at in range(len(exact))]
    if not days:
        return None
    spans = [(exact[first][0], exact[last][1]) for first, last, _ in days]
    terms = [_ranges_sql(quoted, _iterate_bounds(kind, by_days, spans))]
    if excluded_days := ", ".join(sqltext.day(each) for _, _, days_between in days for each in days_between):
        day = quoted if kind == "date" else f"CAST({_local_time_sql(quoted, kind, partition)} AS DATE)"
        terms.append(f"{day} NOT IN ({excluded_days})")
    if hours:
        terms.append(f"hour({_local_time_sql(quoted, kind, partition)}) NOT IN ({', '.join(map(str, sorted(hours)))})")
    return _join_all(terms)


def _ranges_sql(quoted: str, bounds: Iterable[tuple[str, str]]) -> str:
    return " OR ".join(f"({quoted} >= {low} AND {quoted} < {high})" for low, high in bounds)


def _find_excluded_days(
    exact: Sequence[tuple[int, int]], ranges: RangeSet, partition: TimePartition
) -> list[tuple[int, int, list[date]]]:
    """For each of ``ranges``: the indices of its first and last ``exact`` range, and the excluded local days between.

    Empty where the exclusions are not whole local days.
    """
    if not partition.exclude or partition.offset:
        return []
    groups, index = list[tuple[int, int, list[date]]](), 0
    for _, end in ranges.pairs():
        first, days = index, list[date]()
        while index + 1 < len(exact) and exact[index + 1][0] < end:
            left, right = (_find_day(each, partition) for each in (exact[index][1], exact[index + 1][0]))
            if left is None or right is None:
                return []
            days += [left + timedelta(days=each) for each in range((right - left).days)]
            index += 1
        groups.append((first, index, days))
        index += 1
    return groups


def _find_day(unix: int, partition: TimePartition) -> date | None:
    """The local day that begins at an instant; None where none does."""
    if partition.by == "day":
        return partition.first_date(unix)
    days, seconds = divmod(unix + zone_offsets(partition.timezone).offset_at(unix), DAY)
    return None if seconds else local_date(days)


def _local_time_sql(quoted: str, kind: str, partition: TimePartition) -> str:
    """SQL for the local time of a column's value."""
    if kind == "timestamp" and partition.timezone != "UTC":
        return f"from_utc_timestamp({quoted}, {sqltext.text(partition.timezone)})"
    return quoted


def refuse_unfit_type(column: str, kind: str, *, partition: TimePartition, owner: str) -> None:
    """Refuses a column whose type cannot tell the partition's slots apart.

    Raises:
        RunError: With the types that can.
    """
    has_dates = partition.has_dates
    if kind in {"timestamp", "string"}:
        return
    if kind == "date" and has_dates:
        return
    if kind == "timestamp_ntz" and (has_dates or partition.timezone == "UTC"):
        return
    wanted = "DATE, TIMESTAMP or STRING" if has_dates else "TIMESTAMP or STRING"
    why = " (a repeated hour would be ambiguous)" if kind == "timestamp_ntz" else ""
    raise RunError(
        f"the column {column!r} of {owner} is {kind.upper()}, which cannot hold a partition by {partition.grain}{why}",
        hint=f"make it {wanted}",
    )


def _iterate_bounds(kind: str, partition: TimePartition, exact: Iterable[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """First value and first value after each range, as SQL text of the column's type."""
    for start, end in exact:
        match kind:
            case "date":
                yield (
                    sqltext.day(partition.first_date(start)),
                    sqltext.day(partition.first_date(end)),
                )
            case "timestamp_ntz":
                yield sqltext.wall_clock(partition.local_start(start)), sqltext.wall_clock(partition.local_start(end))
            case _:
                yield sqltext.moment(start), sqltext.moment(end)


def column_value(partition: TimePartition, start: int) -> date | datetime:
    """The column's value for a slot, by the slot's start: its local date, or an instant if dates cannot tell slots."""
    return partition.first_date(start) if partition.has_dates else from_unix(start)


def literal(partition: TimePartition, start: int) -> str:
    """SQL for the `column_value` of a slot."""
    value = column_value(partition, start)
    return sqltext.moment(start) if isinstance(value, datetime) else sqltext.day(value)


def arrow_type(partition: TimePartition) -> pa.DataType:
    """The Arrow type of `column_value`."""
    import pyarrow as pa

    return pa.date32() if partition.has_dates else pa.timestamp("us", "UTC")


def name_partition(partitioning: Partitioning, slot: Slot) -> dict[str, date | datetime | str | None]:
    """The values of one partition by column, in the order of its key; segments are text.

    The value is None for segments that are not known yet. A time dimension without a column has its grain as its name.
    """
    start, _, segment = slot
    values: list[tuple[str, date | datetime | str | None]] = [
        (each.column, None if text == WHOLE else text)
        for each, text in zip(partitioning.segments, segment, strict=True)
    ]
    if (time := partitioning.time) is not None:
        values.insert(partitioning.time_at, (time.column or time.name, column_value(time, start)))
    return dict(values)


def partitions_table(partitioning: Partitioning, partitions: PartitionSet) -> pa.Table:
    """One row for each partition: its dimensions' columns, and ``start`` and ``end`` with time."""
    import pyarrow as pa

    slots, time = list(partitioning.slots(partitions)), partitioning.time
    rows = [name_partition(partitioning, slot) for slot in slots]
    fields = [(each.column, pa.string()) for each in partitioning.segments]
    if time is not None:
        fields.insert(partitioning.time_at, (time.column or time.name, arrow_type(time)))
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in fields}
    if time is not None:
        moment = pa.timestamp("us", "UTC")
        columns["start"] = pa.array([from_unix(start) for start, _, _ in slots], moment)
        columns["end"] = pa.array([from_unix(time.stop(start)) for start, _, _ in slots], moment)
    return pa.table(columns)
