"""Groups rows by partition: columns to group by, and the way back from their values to the partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import gcd
from typing import TYPE_CHECKING, Any, Final

from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet, RangeSet, segment_of
from sparkassets.core.partitions import TimePartition as Time
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark import sqltext
from sparkassets.spark.predicates import PredicateColumn, partition_columns

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_MOST_STEPS: Final = 200_000
"""The most slots of a run that are numbered by steps of equal length."""
_DOTS: Final = r"\.(?=\.)"
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock


@frozen
class PartitionGrouping:
    """The partitions of rows, all of which are in one.

    Attributes:
        partitions: All of them; a single one needs no column.
        keys: The SQL expressions that rows are grouped by.
        find_partition: Maps their values to a partition; None for values of none.
    """

    partitions: tuple[PartitionSet, ...]
    keys: tuple[str, ...]
    find_partition: Callable[[Sequence[Any]], PartitionSet | None]

    def label(self, partitioning: Partitioning) -> str:
        """The key of a row's partition, as SQL."""
        time, keys = partitioning.time, list(self.keys)
        parts = []
        if time is not None:
            starts = sorted({partition.extent[0] for partition in self.partitions if partition.extent is not None})
            texts = ",".join(time.key(start) for start in starts)
            first = keys.pop(0)
            is_text = first.startswith("`")
            parts.append(first if is_text else f"get(split({sqltext.text(texts)}, ','), {first})")
        segments = [_encode_segment(key) for key in keys]
        parts = [*segments[: partitioning.time_at], *parts, *segments[partitioning.time_at :]]
        return f"concat_ws(',', {', '.join(parts)})"

    @classmethod
    def from_schema(
        cls, schema: StructType, partitions: PartitionSet, *, partitioning: Partitioning, owner: str
    ) -> PartitionGrouping:
        """The partitions in rows of that schema; as one group where no column tells them apart.

        Raises:
            RunError: A column that tells them is missing.
        """
        resolved = partitioning.with_segments_of(partitions)
        columns = () if partitions.is_everything else partition_columns(schema, partitioning=partitioning, owner=owner)
        if not columns or not resolved.can_list(partitions):
            return cls.whole(partitions)
        listed = tuple(resolved.each_partition(partitions))
        if len(listed) == 1:
            return cls.whole(partitions)
        time, values = partitioning.time, _PartitionValues(partitions, columns)
        keys = [sqltext.name(column.name) for column in columns if column.is_segment]
        if time is not None:
            slot_numbers = _SlotNumbers.from_slots(columns[0], time, list(time.slots(partitions.any_time())))
            keys.insert(0, slot_numbers.sql)
            values = _PartitionValues(partitions, columns, slot_numbers.slot)
        return cls(listed, tuple(keys), values.partition)

    @classmethod
    def whole(cls, partitions: PartitionSet) -> PartitionGrouping:
        """All partitions as one group."""
        return cls((partitions,), (), lambda _: partitions)


@frozen
class _PartitionValues:
    """The values of a row's grouping columns.

    Attributes:
        slot: Maps the first value to a slot; unused without time.
    """

    partitions: PartitionSet
    columns: Sequence[PredicateColumn]
    slot: Callable[[Any], RangeSet | None] | None = None

    def partition(self, values: Sequence[Any]) -> PartitionSet | None:
        """The partition; None where it is not one of the run's."""
        kinds = [column.kind for column in self.columns if column.is_segment]
        time: RangeSet | None = EVERYTHING.time
        if self.slot is not None:
            time, values = self.slot(values[0]), values[1:]
        segment = tuple(segment_of(value, kind) for value, kind in zip(values, kinds, strict=True))
        if time is None or None in segment:
            return None
        partition_set = PartitionSet.by_segment({segment: time}) if segment else PartitionSet(time)  # type: ignore[dict-item]
        return partition_set if self.partitions.covers(partition_set) else None


@frozen
class _SlotNumbers:
    """The number of a row's time slot, as SQL; for text keys that text.

    Attributes:
        slots: The slots, by the SQL's values.
    """

    sql: str
    slots: Mapping[Any, RangeSet]

    def slot(self, value: Any) -> RangeSet | None:  # noqa: ANN401  as the SQL gives it
        """The slot with that number."""
        return self.slots.get(value)

    @classmethod
    def from_slots(cls, column: PredicateColumn, time: Time, slots: Sequence[tuple[int, int]]) -> _SlotNumbers:
        quoted = sqltext.name(column.name)
        if column.kind == "string":
            return cls(quoted, {time.key(start): RangeSet.span(start, end) for start, end in slots})
        number, to_number = _number_slots(column.kind, time)
        starts = [to_number(start) for start, _ in slots]
        spans = {place: RangeSet.span(*slot) for place, slot in enumerate(slots)}
        return cls(_index_sql(f"{number.format(column=quoted)} - {starts[0]}L", [s - starts[0] for s in starts]), spans)


def _number_slots(kind: str, time: Time) -> tuple[str, Callable[[int], int]]:
    """A column's value as a number, as SQL; and the number of a slot's start."""
    match kind:
        case "date":
            return "unix_date({column})", lambda start: time.first_date(start).toordinal() - _EPOCH.toordinal()
        case "timestamp":
            return "unix_seconds({column})", lambda start: start
        case "timestamp_ntz":
            to_seconds = "unix_seconds(CAST({column} AS TIMESTAMP))"  # of a session in UTC
            return to_seconds, lambda start: int(time.local_start(start).replace(tzinfo=UTC).timestamp())
    raise RunError(f"a column of {kind} does not hold a time")


def _encode_segment(column: str) -> str:
    """A segment as part of a key, as SQL."""
    text = f"replace(replace(CAST({column} AS STRING), '%', '%25'), ',', '%2C')"
    return f"regexp_replace({text}, {sqltext.text(_DOTS)}, '%2E')"


def _index_sql(number: str, starts: Sequence[int]) -> str:
    """The index of the last of the ascending ``starts`` that is not after ``number``, as SQL.

    By division where they are equidistant; else by a table of steps, or if that would be too long, by a tree.
    """
    if len(starts) == 1:
        return "0"
    step = gcd(*starts)
    last = len(starts) - 1
    if starts == [place * step for place in range(len(starts))]:
        return f"CAST(least(({number}) DIV {step}L, {last}L) AS INT)"
    steps = starts[-1] // step
    if steps > _MOST_STEPS:
        return _bisection_sql(f"({number})", starts, 0, len(starts))
    places, place = list[int](), 0
    for each in range(steps + 1):
        place += place < last and starts[place + 1] <= each * step
        places.append(place)
    table = f"CAST(split({sqltext.text(','.join(map(str, places)))}, ',') AS ARRAY<INT>)"
    return f"get({table}, CAST(least(({number}) DIV {step}L, {steps}L) AS INT))"


def _bisection_sql(number: str, starts: Sequence[int], low: int, high: int) -> str:
    """The same for the starts from ``low`` to ``high``, exclusive, by bisection."""
    if high - low == 1:
        return str(low)
    middle = (low + high) // 2
    first, second = _bisection_sql(number, starts, low, middle), _bisection_sql(number, starts, middle, high)
    return f"IF({number} < {starts[middle]}L, {first}, {second})"
