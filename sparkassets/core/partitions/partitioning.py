"""The partitioning of an asset: the product of its dimensions; of no dimension, the whole asset is the one partition.

Everybody else asks it in terms of sets of partitions, and knows no dimension by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

from sparkassets.core.instants import Duration
from sparkassets.core.partitions.chunks import Row, Slot, chunks, iterate_slots
from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.incremental_answers import count_common_ends
from sparkassets.core.partitions.memoization import MANY, memoize_large
from sparkassets.core.partitions.open_ended import apply_open_ended
from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet, union_by_segment
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment, constant_on
from sparkassets.core.partitions.segments import (
    ALL,
    WHOLE,
    SegmentPartition,
    encode_segment,
    parse_segment_names,
    segment_tuples,
)
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_ALWAYS = EVERYTHING.time
_NEVER = NOTHING.time


@frozen
class Partitioning:
    """The product of at most one dimension of time and any number of segments.

    The whole of an asset without dimensions is one partition, the set `EVERYTHING`; it has no key. Without a dimension
    of time all time of a tuple of segments is one partition. Sets may be open at either side, but where their
    partitions are named, counted or listed.

    A set may hold time of tuples that are not among the known keys: their data stays where it is, and is nothing that
    is wanted. What is the same for all tuples is named, counted and listed for those that are known.

    Attributes:
        time: The dimension of time; None where there is none.
        segments: The dimensions of segments, in the order of a tuple.
        time_at: Before which of the segments a key has the time.
    """

    time: TimePartition | None = None
    segments: tuple[SegmentPartition, ...] = ()
    time_at: int = 0

    @property
    def is_partitioned(self) -> bool:
        """Whether there is a dimension."""
        return self.time is not None or bool(self.segments)

    @property
    def is_product(self) -> bool:
        """Whether there is time and something beside it, so that partitions lie in rows and columns."""
        return self.time is not None and bool(self.segments)

    @property
    def is_ahead(self) -> bool:
        """Whether partitions count before they are over."""
        return self.time is not None and self.time.ahead is not None

    @property
    def timeless(self) -> Partitioning:
        """The product of its other dimensions."""
        return Partitioning(None, self.segments)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the dimensions, in the order of a key; one may have none."""
        found: list[str | None] = [each.column if each.in_rows else None for each in self.segments]
        if self.time is not None:
            found.insert(self.time_at, self.time.column)
        return tuple(column for column in found if column is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """What the dimensions are called where a partition is told, in the order of a key: their columns, or a word.

        >>> Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a",)),)).names
        ('day', 'store')
        """
        found = [each.column for each in self.segments]
        if self.time is not None:
            found.insert(self.time_at, self.time.column or self.time.name)
        return tuple(found)

    @property
    def has_columns(self) -> bool:
        """Whether a row tells its partition: each dimension has a column."""
        return len(self.columns) == len(self.names)

    @property
    def by_columns(self) -> Partitioning:
        """Of the dimensions that have a column alone: what rows can be told by.

        >>> Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a",)),)).by_columns.names
        ('store',)
        """
        if self.has_columns:
            return self
        time = self.time if self.time is not None and self.time.column is not None else None
        before = sum(each.in_rows for each in self.segments[: self.time_at])
        return Partitioning(time, tuple(each for each in self.segments if each.in_rows), before if time else 0)

    def in_rows(self, parts: PartitionSet) -> PartitionSet:
        """The partitions of `by_columns` that hold something of ``parts``.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.in_rows(PartitionSet.span(0, 86400)) == EVERYTHING
        True
        """
        if self.has_columns:
            return parts
        if not parts:
            return NOTHING
        less, kept = self.by_columns, [i for i, each in enumerate(self.segments) if each.in_rows]
        if less.time is None:
            parts = parts.lift(lambda ranges: _ALWAYS if ranges else ranges)
        if len(kept) == len(self.segments):
            return parts
        times = union_by_segment(
            (tuple(segment[i] for i in kept), ranges) for segment, ranges in self.by_tuple(self.cover(parts))
        )
        return PartitionSet.by_segment(times) if kept else PartitionSet(times.get((), _NEVER))

    @property
    def description(self) -> str:
        """The dimensions in words, in the order of a key; empty where there is none.

        >>> stores = SegmentPartition("store", ("a", "b"))
        >>> Partitioning(TimePartition("day", "UTC"), (stores,)).description, UNPARTITIONED.description
        ('by day in UTC, by store', '')
        """
        found = [f"by {each.column}" for each in self.segments]
        if self.time is not None:
            found.insert(self.time_at, f"by {self.time.grain} in {self.time.timezone}")
        return ", ".join(found)

    @property
    def description_with_columns(self) -> str:
        """The same with the columns that hold the rows' partitions.

        >>> Partitioning(TimePartition("day", "UTC", "sold_on")).description_with_columns
        'by day in UTC (column sold_on)'
        """
        column = self.time.column if self.time is not None else None
        told = f"by {self.time.grain} in {self.time.timezone}" if self.time is not None else ""
        return self.description.replace(told, f"{told} (column {column})", 1) if column else self.description

    @property
    def placeholder(self) -> str:
        """What stands for its keys in a message: ``A..B`` for time, ``KEY`` for segments.

        >>> stores = SegmentPartition("store", ("a", "b"))
        >>> Partitioning(TimePartition("day", "UTC"), (stores,)).placeholder, Partitioning(None, (stores,)).placeholder
        ('A..B,KEY', 'KEY')
        """
        found = ["KEY"] * len(self.segments)
        if self.time is not None:
            found.insert(self.time_at, "A..B")
        return ",".join(found)

    @property
    def segment_columns(self) -> tuple[str, ...]:
        """The columns of the dimensions of segments, in the order of a tuple."""
        return tuple(each.column for each in self.segments)

    def same_grid(self, other: Partitioning) -> bool:
        """Whether the partitions of both are the same, but for the keys that are known."""
        if not self._same_columns(other):
            return False
        if self.time is None or other.time is None:
            return self.time is other.time
        return self.time.same_grid(other.time)

    def same_slots(self, other: Partitioning) -> bool:
        """Whether the same rows make a partition of both, whichever of them are known, wanted or excluded."""
        if not self._same_columns(other) or (self.time is None) is not (other.time is None):
            return False
        return self.time is None or other.time is None or self.time.same_slots(other.time)

    def understands(self, other: Partitioning) -> bool:
        """Whether a set of the other's partitions means the same here: one by time alone is the same for all segments.

        >>> days, stores = TimePartition("day", "UTC"), SegmentPartition("store", ("a", "b"))
        >>> both = Partitioning(days, (stores,))
        >>> both.understands(Partitioning(days)), Partitioning(days).understands(both)
        (True, False)
        """
        if not self.segments and not other.segments:
            return True
        if (self.time is None) is not (other.time is None):
            return False
        return not other.segments or self._same_columns(other)

    def _same_columns(self, other: Partitioning) -> bool:
        if len(self.segments) != len(other.segments):
            return False
        return all(map(SegmentPartition.same_column, self.segments, other.segments))

    @property
    def known_partitions(self) -> PartitionSet:
        """All partitions of the tuples that are known."""
        return _same_time_for_all(self.segments, _ALWAYS) if self.segments else EVERYTHING

    @memoize_large
    def unknown_partitions(self, parts: PartitionSet) -> PartitionSet:
        """Those of ``parts`` whose segments are not known, or not any more.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b")),))
        >>> stores.labels(stores.unknown_partitions(PartitionSet.by_segment(dict.fromkeys([("b",), ("c",)], _ALWAYS))))
        ['c']
        """
        if not parts.apart:
            return NOTHING
        if not parts.time:
            return parts - self.known_partitions
        known = set(segment_tuples(self.segments))
        return PartitionSet.by_segment({segment: ranges for segment, ranges in parts.apart if segment not in known})

    def with_segments_of(self, parts: PartitionSet) -> Partitioning:
        """The same, that knows the segments of ``parts`` too: those of rows that were written when they were listed.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b")),))
        >>> stores.with_segments_of(PartitionSet.by_segment({("c",): _ALWAYS})).segments[0].keys
        ('a', 'b', 'c')
        """
        if not self.unknown_partitions(parts):
            return self
        keys = ({*each.keys, *(segment[i] for segment, _ in parts.apart)} for i, each in enumerate(self.segments))
        wider = zip(self.segments, keys, strict=True)
        return replace(self, segments=tuple(replace(each, keys=tuple(sorted(some))) for each, some in wider))

    # ----------------------------------------------------------------- segments that come to be known

    @property
    def is_open(self) -> bool:
        """Whether segments of a dimension come to be known as a project runs."""
        return any(each.is_open for each in self.segments)

    @property
    def open_columns(self) -> tuple[str, ...]:
        """The columns of the dimensions whose segments come to be known."""
        return tuple(each.column for each in self.segments if each.is_open)

    @property
    def without_open_segments(self) -> Partitioning:
        """What bounds partitions that may be: where a dimension is open the time alone, as any segment may come."""
        return Partitioning(self.time) if self.is_open else self

    @property
    def with_excluded_slots(self) -> Partitioning:
        """The same with the slots of its time that are excluded."""
        return replace(self, time=replace(self.time, exclude="")) if self.time is not None else self

    @property
    def as_declared(self) -> Partitioning:
        """The same, before any segment of an open dimension is known: as a project's files say it.

        >>> stores = SegmentPartition("store", ("a",), is_open=True)
        >>> Partitioning(None, (stores,)).as_declared.segments[0].keys
        ()
        """
        return self.with_keys({each.column: () for each in self.segments if each.is_open})

    def with_keys(self, keys: Mapping[str, tuple[str, ...]]) -> Partitioning:
        """The same, with these segments in the dimensions of these columns; itself where it has them.

        Args:
            keys: Column to segments, ascending.
        """
        known = tuple(
            each if keys.get(each.column, each.keys) == each.keys else replace(each, keys=keys[each.column])
            for each in self.segments
        )
        return self if known == self.segments else replace(self, segments=known)

    @property
    def has_whole(self) -> bool:
        """Whether no segment of some open dimension is known, so that all of it is one partition."""
        return any(each.keys == (WHOLE,) for each in self.segments)

    def open_segments(self, parts: PartitionSet) -> dict[str, set[str]]:
        """The segments that ``parts`` name, of each open dimension, by its column; `WHOLE` names none.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> stores.open_segments(stores.parse("b", recorded=True))
        {'store': {'b'}}
        """
        found = {i: {segment[i] for segment, _ in parts.apart} for i, each in enumerate(self.segments) if each.is_open}
        return {self.segments[i].column: keys - {WHOLE} for i, keys in found.items()}

    def without_whole_dimensions(self, parts: PartitionSet) -> tuple[Partitioning, PartitionSet]:
        """Without the dimensions of which ``parts`` are the whole: what rows of ``parts`` are told by.

        >>> stores = Partitioning(None, (SegmentPartition("store", (WHOLE,), is_open=True),))
        >>> stores.without_whole_dimensions(stores.known_partitions) == (UNPARTITIONED, EVERYTHING)
        True
        """
        wholes = {i for segment, _ in parts.apart for i, key in enumerate(segment) if key == WHOLE}
        if not wholes:
            return self, parts
        kept = [i for i in range(len(self.segments)) if i not in wholes]
        at = self.time_at - sum(i < self.time_at for i in wholes)
        less = Partitioning(self.time, tuple(self.segments[i] for i in kept), at if self.time else 0)
        times = union_by_segment((tuple(segment[i] for i in kept), ranges) for segment, ranges in parts.apart)
        return less, PartitionSet.by_segment(times) if kept else PartitionSet(times[()])

    def resolve_whole(self, parts: PartitionSet, keys: Mapping[str, Collection[str]]) -> PartitionSet:
        """``parts`` once the segments of the dimensions of which they are the whole are known.

        Args:
            parts: Tuples of which some are the whole of a dimension.
            keys: Column to the segments that are known now; where there is none the whole stays.

        >>> stores = Partitioning(None, (SegmentPartition("store", (WHOLE,), is_open=True),))
        >>> stores.labels(stores.resolve_whole(stores.known_partitions, {"store": ["b", "a"]}))
        ['a', 'b']
        """
        if all(WHOLE not in segment for segment, _ in parts.apart):
            return parts
        found = [tuple(sorted(keys.get(each.column, ()))) or (WHOLE,) for each in self.segments]
        times = union_by_segment(
            (each, ranges)
            for segment, ranges in parts.apart
            for each in product(*(found[i] if key == WHOLE else (key,) for i, key in enumerate(segment)))
        )
        return PartitionSet.by_segment(times, parts.time)

    def extend_with_segments(self, parts: PartitionSet, keys: Mapping[str, Collection[str]]) -> PartitionSet:
        """``parts`` with the segments of open dimensions among ``keys`` that are not known: all time of ``parts`` each.

        Args:
            parts: Partitions by tuple; the whole of a dimension holds all of its segments and is not extended.
            keys: Column to segments.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a",), is_open=True),))
        >>> stores.labels(stores.extend_with_segments(stores.known_partitions, {"store": ["a", "b"]}))
        ['a', 'b']
        """
        rows = list(self.by_tuple(parts))
        for i, each in enumerate(self.segments):
            fresh = {*keys.get(each.column, ())} - {*each.keys} if each.is_open and each.keys != (WHOLE,) else set()
            rows += [((*tup[:i], key, *tup[i + 1 :]), time) for tup, time in rows for key in fresh]
        return PartitionSet.by_segment(union_by_segment(rows)) if len(rows) > len(parts.apart) else parts

    def restrict_to_segments(self, parts: PartitionSet, keys: Mapping[str, Collection[str]]) -> PartitionSet:
        """Those of ``parts``, partitions by tuple, whose segments of open dimensions are among ``keys``, by column.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> parts = PartitionSet.by_segment(dict.fromkeys([("a",), ("b",)], EVERYTHING.time))
        >>> stores.labels(stores.restrict_to_segments(parts, {"store": ["b", "c"]}))
        ['b']
        """
        asked = [(i, frozenset(keys.get(each.column, ()))) for i, each in enumerate(self.segments) if each.is_open]
        kept = {segment: time for segment, time in parts.apart if all(segment[i] in some for i, some in asked)}
        return PartitionSet.by_segment(kept)

    def may_overlap(self, parts: PartitionSet, others: PartitionSet) -> bool:
        """Whether something may be in both: the whole of a dimension may hold each of its segments.

        >>> stores = Partitioning(None, (SegmentPartition("store", (WHOLE,), is_open=True),))
        >>> stores.may_overlap(stores.known_partitions, stores.parse("b", recorded=True))
        True
        """
        if parts.overlaps(others):
            return True
        mine, theirs = ([row for row in each.apart if WHOLE in row[0]] for each in (parts, others))
        return any(
            all(key == same or WHOLE in (key, same) for key, same in zip(one, other, strict=True))
            and time.overlaps(others_time)
            for (one, time), (other, others_time) in (*product(mine, others.apart), *product(parts.apart, theirs))
        )

    def resolve_known_whole(self, parts: PartitionSet) -> PartitionSet:
        """``parts``, of which the whole of a dimension is of those of its segments that are known by now.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b"), is_open=True),))
        >>> stores.labels(stores.resolve_known_whole(PartitionSet.by_segment({(WHOLE,): _ALWAYS})))
        ['a', 'b']
        """
        return self.resolve_whole(parts, {each.column: each.keys for each in self.segments}) if self.is_open else parts

    def admissible_partitions(self, parts: PartitionSet) -> PartitionSet:
        """What of ``parts`` may be of it: tuples whose segments are listed, in the dimensions that are not open.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> stores.labels(stores.admissible_partitions(stores.parse("b", recorded=True)))
        ['b']
        """
        if not self.is_open:
            return parts & self.known_partitions
        if all(each.is_open for each in self.segments):
            return parts
        lists = self.listed_segment_test()
        return PartitionSet.by_segment({segment: ranges for segment, ranges in parts.apart if lists(segment)})

    def listed_segment_test(self) -> Callable[[Segment], bool]:
        """Tells of a tuple whether its segments are listed, in the dimensions that are not open.

        >>> regions = SegmentPartition("region", ("de", "nl"))
        >>> lists = Partitioning(None, (regions, SegmentPartition("store", (), is_open=True))).listed_segment_test()
        >>> lists(("nl", "any")), lists(("fr", "any"))
        (True, False)
        """
        listed = [(i, frozenset(each.keys)) for i, each in enumerate(self.segments) if not each.is_open]
        return lambda segment: all(segment[i] in keys for i, keys in listed)

    # ----------------------------------------------------------------- sets of partitions

    @memoize_large
    def cover(self, parts: PartitionSet) -> PartitionSet:
        """Every partition that holds something of ``parts``.

        >>> UNPARTITIONED.cover(PartitionSet.span(0, 1)) == EVERYTHING
        True
        """
        if not self.is_partitioned:
            return EVERYTHING if parts else NOTHING
        time = self.time
        if time is None:
            return parts.lift(lambda ranges: _ALWAYS if ranges else ranges, question="cover")
        return parts.lift(lambda ranges: apply_open_ended(time.cover, ranges), question=("cover", time))

    def inside(self, parts: PartitionSet) -> PartitionSet:
        """Every partition that lies in ``parts`` wholly.

        >>> UNPARTITIONED.inside(PartitionSet.span(0, 1)) == NOTHING
        True
        """
        if self.time is None or parts.apart or not parts.time.is_bounded:
            return self._inside(parts)
        ranges = self.time.inside(parts.time)  # of time alone, as each look asks it of most assets
        return parts if ranges is parts.time else PartitionSet(ranges)

    @memoize_large
    def _inside(self, parts: PartitionSet) -> PartitionSet:
        """`inside` of anything."""
        if not self.is_partitioned:
            return EVERYTHING if parts.is_everything else NOTHING
        time = self.time
        if time is None:
            return parts.lift(lambda ranges: ranges if ranges == _ALWAYS else _NEVER, question="inside")
        return parts.lift(lambda ranges: apply_open_ended(time.inside, ranges), question=("inside", time))

    def exact(self, parts: PartitionSet) -> PartitionSet:
        """The time of ``parts`` without what is excluded; a side that is open is left as it is."""
        time = self.time
        if time is None or not time.exclude:
            return parts
        return parts.lift(lambda ranges: apply_open_ended(time.exact, ranges), question=("exact", time))

    def interval(self, parts: PartitionSet) -> tuple[int, int] | None:
        """From the start of the oldest partition of ``parts`` to the end of the newest, Unix seconds; None without.

        >>> days = Partitioning(TimePartition("day", "UTC", exclude="* * * * FRI,SAT"))
        >>> days.interval(days.parse("1969-12-31..1970-01-01"))
        (-86400, 86400)
        """
        extent, time = parts.extent, self.time
        if extent is None or time is None or not time.exclude:
            return extent
        return extent[0], time.stop(time.floor(extent[1] - 1))

    def can_list(self, parts: PartitionSet) -> bool:
        """Whether the partitions that lie in ``parts`` can be told one by one: they neither began nor end for ever.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.can_list(PartitionSet.span(0, 1)), days.can_list(EVERYTHING), UNPARTITIONED.can_list(EVERYTHING)
        (True, False, True)
        """
        return self.time is None or not parts or parts.extent is not None

    def count(self, parts: PartitionSet) -> int:
        """How many partitions lie in ``parts`` wholly; takes time by ranges and clock changes, not by partitions.

        Of time that is open at a side, which `can_list` tells, there is no such number.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.count(PartitionSet.span(0, 200_000)), UNPARTITIONED.count(EVERYTHING)
        (2, 1)
        """
        time, rows = self.time, self.by_tuple(parts)
        if time is None:
            return len(rows)
        times = {id(ranges): ranges for _, ranges in rows}  # many tuples have the same, which is counted once
        tuples_of = Counter(id(ranges) for _, ranges in rows)
        return sum(number * time.count(times[same]) for same, number in tuples_of.items())

    def has_at_least(self, parts: PartitionSet, number: int) -> bool:
        """Whether so many partitions lie in ``parts`` wholly, which may be open at a side.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.has_at_least(EVERYTHING, 3), days.has_at_least(PartitionSet.span(0, 200_000), 3)
        (True, False)
        """
        return not self.can_list(parts) or self.count(parts) >= number

    def each_partition(self, parts: PartitionSet) -> Iterator[PartitionSet]:
        """The partitions that lie in ``parts`` wholly, each as a set, oldest first."""
        if self.segments:
            for start, end, segment in self.slots(parts):
                yield PartitionSet.by_segment({segment: RangeSet.span(start, end)})
        elif self.time is not None:
            yield from (PartitionSet.span(start, end) for start, end in self.time.slots(parts.time))
        elif parts.is_everything:
            yield EVERYTHING

    def slots(self, parts: PartitionSet) -> Iterator[Slot]:
        """The partitions that lie in ``parts`` wholly, oldest first; all time is that of one without a time.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> list(stores.slots(PartitionSet.span(0, 86400)))
        [(0, 86400, ('a',)), (0, 86400, ('b',))]
        """
        return iterate_slots(self.by_tuple(parts), time=self.time)

    def stretches(self, parts: PartitionSet) -> Iterator[PartitionSet]:
        """The partitions that lie in ``parts`` wholly, neighbours together, oldest first; one for each label."""
        for start, end, segment in self._stretches(parts):
            if self.segments:
                yield PartitionSet.by_segment({segment: RangeSet.span(start, end)})
            else:
                yield EVERYTHING if (start, end) == _BOUNDS else PartitionSet.span(start, end)

    def split_into_chunks(self, parts: PartitionSet, most: int) -> list[PartitionSet]:
        """The partitions that lie in ``parts`` wholly, in consecutive chunks of at most ``most``, oldest first."""
        if self.segments:
            return list(chunks(self.by_tuple(parts), most, time=self.time))
        if self.time is None:
            return [EVERYTHING] if parts.is_everything else []
        return [PartitionSet(chunk) for chunk in self.time.split_into_chunks(parts.time, most)]

    def oldest(self, parts: PartitionSet, most: int) -> PartitionSet:
        """The oldest ``most`` of the partitions that lie in ``parts`` wholly; takes time by what it returns."""
        if self.segments:
            return next(chunks(self.by_tuple(parts), most, time=self.time), NOTHING)
        if self.time is None:
            return self.inside(parts)
        return PartitionSet(self.time.oldest(parts.time, most))

    # ----------------------------------------------------------------- keys

    def labels(self, parts: PartitionSet, *, most: int | None = None) -> list[str]:
        """The partitions that lie in ``parts`` wholly: ``A..B`` of keys, inclusive, or ``A`` for a single one.

        `EVERYTHING` needs no name and has none. At most ``most`` of them; `label_count` says how many there are.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.labels(PartitionSet.span(0, 200_000)), UNPARTITIONED.labels(EVERYTHING)
        (['1970-01-01..1970-01-02'], [])
        >>> stores = Partitioning(days.time, (SegmentPartition("store", ("a", "b")),))
        >>> stores.labels(PartitionSet.span(0, 200_000))
        ['1970-01-01..1970-01-02,a', '1970-01-01..1970-01-02,b']
        """
        if not self.is_partitioned or parts.is_everything:
            return []
        time = self.time
        texts: list[str] = []
        for start, end, segment in self._stretches(parts)[:most]:
            texts += [""] if time is None else time.labels(RangeSet.span(start, end))
            if self.segments:
                texts[-1] = self._join_keys(texts[-1], map(encode_segment, segment))
        return texts

    def label_count(self, parts: PartitionSet) -> int:
        """How many labels ``parts`` has."""
        if not self.is_partitioned or parts.is_everything:
            return 0
        return sum(len(ranges) for _, ranges in self.by_tuple(parts))

    def display_labels(self, parts: PartitionSet, *, most: int | None = None) -> list[str]:
        """The labels of ``parts`` for people: ``*`` in place of segments where all that are known have the same time.

        >>> stores = SegmentPartition("store", ("a", "b"))
        >>> Partitioning(TimePartition("day", "UTC"), (stores,)).display_labels(PartitionSet.span(0, 200_000))
        ['1970-01-01..1970-01-02,*']
        """
        common = self._common_time(parts)
        if common is None or self.time is None:
            return self.labels(parts, most=most)
        pieces = (RangeSet.span(start, end) for start, end in list(common.pairs())[:most])
        return [
            self._join_keys(text, [ALL] * len(self.segments)) for piece in pieces for text in self.time.labels(piece)
        ]

    def display_label_count(self, parts: PartitionSet) -> int:
        """How many labels `told` has in all."""
        common = self._common_time(parts)
        return self.label_count(parts) if common is None else len(common)

    def as_range(self, label: str) -> str:
        """A label whose time is ``A..B`` also where that is a single one, so that a reader needs one rule.

        >>> Partitioning(TimePartition("day", "UTC")).as_range("2013-01-05")
        '2013-01-05..2013-01-05'
        """
        keys = label.split(",")
        if self.time is None or ".." in keys[self.time_at]:
            return label
        keys[self.time_at] = f"{keys[self.time_at]}..{keys[self.time_at]}"
        return ",".join(keys)

    def keys(self, parts: PartitionSet) -> Iterator[str]:
        """The keys of the partitions that lie in ``parts`` wholly, oldest first; the whole of an asset has none."""
        if self.segments:
            for part in self.each_partition(parts):
                yield from self.labels(part)
        elif self.time is not None:
            for low, high in self.time.inside(parts.time).pairs():
                yield from self.time.keys(low, high)

    def parse(self, text: str, *, recorded: bool = False, learns: bool = False) -> PartitionSet:
        """The partitions of a key: the keys of all dimensions, joined by commas; that of time ``KEY`` or ``A..B``.

        ``*``, or nothing, in place of a key means all of that dimension.

        Args:
            text: The key.
            recorded: It was written down earlier, so that its segments need not be known any more.
            learns: Segments of open dimensions come to be known by it.

        Raises:
            PartitionError: A key is wrong, B lies before A, or there are no partitions to name.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> stores.parse("1970-01-01,b") == PartitionSet.by_segment({("b",): RangeSet.span(0, 86400)})
        True
        >>> day = stores.known_partitions & PartitionSet.span(0, 86400)
        >>> stores.parse("1970-01-01") == stores.parse("1970-01-01,*") == day
        True
        """
        if not self.is_partitioned:
            raise PartitionError(f"'{text}' names a partition of what has no partitions", hint="leave it out")
        given = text.split(",")
        expected = [each.column for each in self.segments]
        if self.time is not None:
            expected.insert(self.time_at, self.time.grain)
        if len(given) > len(expected):
            message = f"'{text}' has {len(given)} parts separated by commas; expected {','.join(expected)}"
            comma = "; a comma within a segment is written %2C" if self.segments else ""
            raise PartitionError(message, hint=f"name one key at a time{comma}")
        if not self.segments and self.time is not None:
            return PartitionSet.span(*self.time.parse_keys(text))
        given += [ALL] * (len(expected) - len(given))
        span = _ALWAYS
        if self.time is not None and (key := given.pop(self.time_at)) not in ("", ALL):
            span = RangeSet.span(*self.time.parse_keys(key))
        told = zip(self.segments, given, strict=True)
        meant = [*product(*(each.parse(key, recorded=recorded, learns=learns) for each, key in told))]
        if not meant and recorded:  # of a run of all, when none was known: it was of any
            return PartitionSet(span)
        if not meant:
            named = f"name it, as {','.join(expected)}"
            raise PartitionError(f"'{text}' names no partition: no segment is known yet", hint=named)
        return PartitionSet(*constant_on(span, meant, usual=_NEVER))

    def of_segments(self, texts: Iterable[str]) -> PartitionSet:
        """All partitions of the segments that are named, ``KEY`` or ``COLUMN=KEY``.

        Raises:
            PartitionError: One is no segment of a dimension.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> stores.of_segments(["b"]) == stores.parse("*,b")
        True
        """
        return PartitionSet(*constant_on(_ALWAYS, parse_segment_names(self.segments, texts), usual=_NEVER))

    # ----------------------------------------------------------------- time

    def finished_partitions(self, now: int) -> PartitionSet:
        """All known partitions that are over at an instant, Unix seconds; the whole of an asset always is.

        Where slots are wanted ahead, those that are not ahead by more count as over.
        """
        return self._of_known(
            _ALWAYS if self.time is None else RangeSet.span(_ALWAYS.first, self.time.last_counted_end(now))
        )

    def next_rollover(self, now: int) -> int | None:
        """When `over` changes next, Unix seconds; None for never."""
        time = self.time
        return None if time is None else time.counts_at(time.next(time.last_counted_end(now)))

    def newest_finished(self, now: int) -> PartitionSet:
        """The newest known partitions that are over at an instant, Unix seconds; not those that are ahead of it."""
        time = self.time
        if time is None:
            return self._of_known(_ALWAYS)
        end = time.last_finished_end(now)
        return self._of_known(RangeSet.span(time.floor(end - 1), end))

    @memoize_large
    def newest(self, parts: PartitionSet) -> PartitionSet:
        """Of every tuple the newest partition that lies in ``parts`` wholly; without time, or where it never ends, all.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.labels(days.newest(PartitionSet.span(0, 200_000)))
        ['1970-01-02']
        """
        time = self.time
        if time is None:
            return parts
        return self.inside(parts).lift(lambda ranges: _last_slot(time, ranges))

    def first_finish_time(self, parts: PartitionSet) -> int | None:
        """When the oldest partition that holds something of ``parts`` is over, Unix seconds; None for always.

        Of an empty set there is none (IndexError).
        """
        return None if self.time is None else self.time.counts_at(self.time.next(parts.first))

    def last_finish_time(self, parts: PartitionSet) -> int | None:
        """When all partitions that hold something of ``parts`` are over, Unix seconds; None for always.

        Of an empty set there are none (IndexError).
        """
        return None if self.time is None else self.time.counts_at(self.time.ceil(parts.last))

    def partitions_between(self, low: int | None, high: int | None) -> PartitionSet:
        """The known partitions that begin at ``low`` or after and before ``high``, Unix seconds; None is open.

        What has no time has no beginning that could lie outside.

        >>> Partitioning(TimePartition("day", "UTC")).partitions_between(1, 86401) == PartitionSet.span(86400,
        ...     2 * 86400)
        True
        """
        if self.time is None or (low is None and high is None):
            return self.known_partitions
        first = _ALWAYS.first if low is None else self.time.ceil(low)
        return self._of_known(RangeSet.span(first, _ALWAYS.last if high is None else self.time.ceil(high)))

    def partitions_before(self, parts: PartitionSet, length: Duration) -> PartitionSet:
        """The partitions that overlap so much time before each stretch of ``parts``; without time there are none.

        Calendar units are those of the wall clock.
        """
        time = self.time
        if time is None:
            return NOTHING
        back = -length

        def behind(ranges: RangeSet) -> RangeSet:
            return RangeSet.from_pairs((back.add_to(start, time.timezone), start) for start in ranges.starts)

        return self.cover(parts.lift(behind))

    # ----------------------------------------------------------------- tuples

    def _of_known(self, ranges: RangeSet) -> PartitionSet:
        """That time of all tuples that are known."""
        if not self.segments:
            return EVERYTHING if ranges == _ALWAYS else PartitionSet(ranges)
        return _same_time_for_all(self.segments, ranges)

    def by_tuple(self, parts: PartitionSet) -> Sequence[Row]:
        """The partitions that lie in ``parts`` wholly, by tuple, ascending; what all tuples have is of the known."""
        parts = self.inside(parts)
        if not self.segments:
            return [((), parts.time)] if parts.time else []
        if not parts.time:
            return parts.apart
        apart = dict(parts.apart)
        found = {segment: apart.get(segment, parts.time) for segment in {*segment_tuples(self.segments), *apart}}
        return [(segment, found[segment]) for segment in sorted(found) if found[segment]]

    def _stretches(self, parts: PartitionSet) -> list[tuple[int, int, Segment]]:
        """The partitions that lie in ``parts`` wholly, neighbours together, oldest first."""
        rows = self.by_tuple(parts)
        return sorted((start, end, segment) for segment, ranges in rows for start, end in ranges.pairs())

    def _common_time(self, parts: PartitionSet) -> RangeSet | None:
        """The time that all known tuples have, where there are several and no other has any; else None."""
        if self.time is None or not self.segments or parts.is_everything:
            return None
        rows = self.by_tuple(parts)
        alike = len(rows) > 1 and all(ranges == rows[0][1] for _, ranges in rows)
        return rows[0][1] if alike and tuple(segment for segment, _ in rows) == segment_tuples(self.segments) else None

    def _join_keys(self, time: str, segments: Iterable[str]) -> str:
        """The keys of all dimensions as one."""
        keys = list(segments)
        if self.time is not None:
            keys.insert(self.time_at, time)
        return ",".join(keys)


UNPARTITIONED = Partitioning()
"""Of an asset without partitions."""

_BOUNDS = (_ALWAYS.first, _ALWAYS.last)


@lru_cache(maxsize=64)
def _same_time_for_all(segments: tuple[SegmentPartition, ...], ranges: RangeSet) -> PartitionSet:
    """That time of all of their tuples, and of no other."""
    if len(segments) > 1 or len(segments[0].keys) < MANY or not ranges:
        return PartitionSet(*constant_on(ranges, segment_tuples(segments), usual=_NEVER))
    return PartitionSet(_NEVER, _SEGMENT_ITEMS.items_of(segments[0].keys, ranges))


class _SegmentItems:
    """Very many tuples of one segment each, with one time: those that were asked for before are the very same items."""

    def __init__(self) -> None:
        self._newest: dict[RangeSet, tuple[tuple[str, ...], tuple[tuple[Segment, RangeSet], ...]]] = {}

    def items_of(self, keys: tuple[str, ...], ranges: RangeSet) -> tuple[tuple[Segment, RangeSet], ...]:
        """They, ascending."""
        before, items = self._newest.get(ranges, ((), ()))
        start, end = count_common_ends(before, keys)
        own = next(iter(items), ((), ranges))[1]
        more = tuple([((key,), own) for key in keys[start : len(keys) - end]])
        made = items[:start] + more + items[len(items) - end :]
        self._newest = {**dict([*self._newest.items()][-7:]), ranges: (keys, made)}
        return made


_SEGMENT_ITEMS = _SegmentItems()


def _last_slot(time: TimePartition, ranges: RangeSet) -> RangeSet:
    """The last slot of ranges that are made of slots."""
    if not ranges or ranges.last == _ALWAYS.last:
        return ranges
    return RangeSet.span(time.floor(ranges.last - 1), ranges.last)
