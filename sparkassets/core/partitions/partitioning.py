"""The partitioning of an asset: the product of its dimensions; without any, the whole asset is one partition.

All other code works with sets of partitions and this interface, and needs no dimension by name.
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
from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet, union_by_segment
from sparkassets.core.partitions.range_set import RangeSet, apply_open_ended
from sparkassets.core.partitions.segment_functions import MANY, Segment, constant_on, count_common_ends, memoize_large
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
    """The product of at most one dimension of time and any number of dimensions of segments.

    An asset without dimensions is one partition, the set `EVERYTHING`, which has no key. Without a dimension of time
    all time of a tuple of segments is one partition. Sets may be open at either side, except where their partitions
    are named, counted or listed.

    A set may hold time of tuples that are not among the known keys: their data stays in place, and is not wanted.
    Time that is the same for all tuples is named, counted and listed only for the known ones.

    Attributes:
        time: The dimension of time; None where there is none.
        segments: The dimensions of segments, in the order of a tuple.
        time_at: Index of the segment before which a key has the time.
    """

    time: TimePartition | None = None
    segments: tuple[SegmentPartition, ...] = ()
    time_at: int = 0

    @property
    def is_partitioned(self) -> bool:
        """Whether there is any dimension."""
        return self.time is not None or bool(self.segments)

    @property
    def is_product(self) -> bool:
        """Whether there are time and segments, so that partitions form a grid of rows and columns."""
        return self.time is not None and bool(self.segments)

    @property
    def is_ahead(self) -> bool:
        """Whether partitions count as finished before they are over (``ahead``)."""
        return self.time is not None and self.time.ahead is not None

    @property
    def timeless(self) -> Partitioning:
        """The partitioning without the dimension of time."""
        return Partitioning(None, self.segments)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the dimensions that have one in rows, in the order of a key."""
        columns: list[str | None] = [each.column if each.in_rows else None for each in self.segments]
        if self.time is not None:
            columns.insert(self.time_at, self.time.column)
        return tuple(column for column in columns if column is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions in the order of a key: their columns, or the grain of time without a column.

        >>> Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a",)),)).names
        ('day', 'store')
        """
        names = [each.column for each in self.segments]
        if self.time is not None:
            names.insert(self.time_at, self.time.column or self.time.name)
        return tuple(names)

    @property
    def has_columns(self) -> bool:
        """Whether a row identifies its partition, because each dimension has a column."""
        return len(self.columns) == len(self.names)

    @property
    def by_columns(self) -> Partitioning:
        """The partitioning of only those dimensions that have a column in rows.

        >>> Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a",)),)).by_columns.names
        ('store',)
        """
        if self.has_columns:
            return self
        time = self.time if self.time is not None and self.time.column is not None else None
        before = sum(each.in_rows for each in self.segments[: self.time_at])
        return Partitioning(time, tuple(each for each in self.segments if each.in_rows), before if time else 0)

    def in_rows(self, parts: PartitionSet) -> PartitionSet:
        """The partitions of `by_columns` that overlap ``parts``.

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
        phrases = [f"by {each.column}" for each in self.segments]
        if self.time is not None:
            phrases.insert(self.time_at, f"by {self.time.grain} in {self.time.timezone}")
        return ", ".join(phrases)

    @property
    def description_with_columns(self) -> str:
        """`description` with the column of time.

        >>> Partitioning(TimePartition("day", "UTC", "sold_on")).description_with_columns
        'by day in UTC (column sold_on)'
        """
        column = self.time.column if self.time is not None else None
        phrase = f"by {self.time.grain} in {self.time.timezone}" if self.time is not None else ""
        return self.description.replace(phrase, f"{phrase} (column {column})", 1) if column else self.description

    @property
    def placeholder(self) -> str:
        """The placeholder of a key in a message: ``A..B`` for time, ``KEY`` for segments.

        >>> stores = SegmentPartition("store", ("a", "b"))
        >>> Partitioning(TimePartition("day", "UTC"), (stores,)).placeholder, Partitioning(None, (stores,)).placeholder
        ('A..B,KEY', 'KEY')
        """
        words = ["KEY"] * len(self.segments)
        if self.time is not None:
            words.insert(self.time_at, "A..B")
        return ",".join(words)

    @property
    def segment_columns(self) -> tuple[str, ...]:
        """The columns of the dimensions of segments, in the order of a tuple."""
        return tuple(each.column for each in self.segments)

    def same_grid(self, other: Partitioning) -> bool:
        """Whether both have the same partitions, whichever keys are known."""
        if not self._same_columns(other):
            return False
        if self.time is None or other.time is None:
            return self.time is other.time
        return self.time.same_grid(other.time)

    def same_slots(self, other: Partitioning) -> bool:
        """Whether a partition of both has the same rows, whichever partitions are known, wanted or excluded."""
        if not self._same_columns(other) or (self.time is None) is not (other.time is None):
            return False
        return self.time is None or other.time is None or self.time.same_slots(other.time)

    def understands(self, other: Partitioning) -> bool:
        """Whether a set of the other's partitions has the same meaning here; a set by time alone fits all segments.

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
        """All partitions of the known tuples of segments."""
        return _same_time_for_all(self.segments, _ALWAYS) if self.segments else EVERYTHING

    @memoize_large
    def unknown_partitions(self, parts: PartitionSet) -> PartitionSet:
        """The part of ``parts`` whose segments are not known, or not any more.

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
        """The partitioning with the segments of ``parts`` added, such as those that were listed when rows were written.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b")),))
        >>> stores.with_segments_of(PartitionSet.by_segment({("c",): _ALWAYS})).segments[0].keys
        ('a', 'b', 'c')
        """
        if not self.unknown_partitions(parts):
            return self
        keys = ({*each.keys, *(segment[i] for segment, _ in parts.apart)} for i, each in enumerate(self.segments))
        wider = zip(self.segments, keys, strict=True)
        return replace(self, segments=tuple(replace(each, keys=tuple(sorted(some))) for each, some in wider))

    # ----------------------------------------------------------------- segments that are learned at runtime

    @property
    def is_open(self) -> bool:
        """Whether a dimension is open: its segments are learned at runtime."""
        return any(each.is_open for each in self.segments)

    @property
    def open_columns(self) -> tuple[str, ...]:
        """The columns of the open dimensions."""
        return tuple(each.column for each in self.segments if each.is_open)

    @property
    def without_open_segments(self) -> Partitioning:
        """The partitioning that bounds possible partitions: by time alone where a dimension is open."""
        return Partitioning(self.time) if self.is_open else self

    @property
    def with_excluded_slots(self) -> Partitioning:
        """The partitioning without exclusions in its time."""
        return replace(self, time=replace(self.time, exclude="")) if self.time is not None else self

    @property
    def as_declared(self) -> Partitioning:
        """The partitioning as a project's files declare it: without known segments of open dimensions.

        >>> stores = SegmentPartition("store", ("a",), is_open=True)
        >>> Partitioning(None, (stores,)).as_declared.segments[0].keys
        ()
        """
        return self.with_keys({each.column: () for each in self.segments if each.is_open})

    def with_keys(self, keys: Mapping[str, tuple[str, ...]]) -> Partitioning:
        """The partitioning with these segments in the dimensions of these columns; itself where nothing changes.

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
        """Whether no segment of some open dimension is known, so that the whole dimension is one partition."""
        return any(each.keys == (WHOLE,) for each in self.segments)

    def open_segments(self, parts: PartitionSet) -> dict[str, set[str]]:
        """The segments that ``parts`` name in each open dimension, by column; `WHOLE` names none.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> stores.open_segments(stores.parse("b", recorded=True))
        {'store': {'b'}}
        """
        named = {i: {segment[i] for segment, _ in parts.apart} for i, each in enumerate(self.segments) if each.is_open}
        return {self.segments[i].column: keys - {WHOLE} for i, keys in named.items()}

    def without_whole_dimensions(self, parts: PartitionSet) -> tuple[Partitioning, PartitionSet]:
        """Drops the dimensions of which ``parts`` are the whole; the others identify the rows of ``parts``.

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
        """Replaces the whole of a dimension in ``parts`` by its segments.

        Args:
            parts: Tuples, some of which are the whole of a dimension.
            keys: Column to the known segments; the whole stays where there is none.

        >>> stores = Partitioning(None, (SegmentPartition("store", (WHOLE,), is_open=True),))
        >>> stores.labels(stores.resolve_whole(stores.known_partitions, {"store": ["b", "a"]}))
        ['a', 'b']
        """
        if all(WHOLE not in segment for segment, _ in parts.apart):
            return parts
        replacements = [tuple(sorted(keys.get(each.column, ()))) or (WHOLE,) for each in self.segments]
        times = union_by_segment(
            (each, ranges)
            for segment, ranges in parts.apart
            for each in product(*(replacements[i] if key == WHOLE else (key,) for i, key in enumerate(segment)))
        )
        return PartitionSet.by_segment(times, parts.time)

    def extend_with_segments(self, parts: PartitionSet, keys: Mapping[str, Collection[str]]) -> PartitionSet:
        """Adds unknown segments of open dimensions from ``keys`` to ``parts``, each with all time of ``parts``.

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
        """The part of ``parts``, partitions by tuple, whose segments of open dimensions are in ``keys``, by column.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> parts = PartitionSet.by_segment(dict.fromkeys([("a",), ("b",)], EVERYTHING.time))
        >>> stores.labels(stores.restrict_to_segments(parts, {"store": ["b", "c"]}))
        ['b']
        """
        wanted = [(i, frozenset(keys.get(each.column, ()))) for i, each in enumerate(self.segments) if each.is_open]
        kept = {segment: time for segment, time in parts.apart if all(segment[i] in some for i, some in wanted)}
        return PartitionSet.by_segment(kept)

    def may_overlap(self, parts: PartitionSet, others: PartitionSet) -> bool:
        """Whether both may have a partition in common; the whole of a dimension may hold any of its segments.

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
        """Replaces the whole of a dimension in ``parts`` by the segments that are known by now.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b"), is_open=True),))
        >>> stores.labels(stores.resolve_known_whole(PartitionSet.by_segment({(WHOLE,): _ALWAYS})))
        ['a', 'b']
        """
        return self.resolve_whole(parts, {each.column: each.keys for each in self.segments}) if self.is_open else parts

    def admissible_partitions(self, parts: PartitionSet) -> PartitionSet:
        """The part of ``parts`` that this partitioning may have: listed segments in dimensions that are not open.

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
        """A test whether a tuple's segments are listed, in the dimensions that are not open.

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
        """All partitions that overlap ``parts``.

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
        """All partitions that lie wholly in ``parts``.

        >>> UNPARTITIONED.inside(PartitionSet.span(0, 1)) == NOTHING
        True
        """
        if self.time is None or parts.apart or not parts.time.is_bounded:
            return self._inside(parts)
        ranges = self.time.inside(parts.time)  # a fast path for time alone: every plan asks it for most assets
        return parts if ranges is parts.time else PartitionSet(ranges)

    @memoize_large
    def _inside(self, parts: PartitionSet) -> PartitionSet:
        """`inside` for all other sets."""
        if not self.is_partitioned:
            return EVERYTHING if parts.is_everything else NOTHING
        time = self.time
        if time is None:
            return parts.lift(lambda ranges: ranges if ranges == _ALWAYS else _NEVER, question="inside")
        return parts.lift(lambda ranges: apply_open_ended(time.inside, ranges), question=("inside", time))

    def exact(self, parts: PartitionSet) -> PartitionSet:
        """The time of ``parts`` without excluded slots; an open side stays open."""
        time = self.time
        if time is None or not time.exclude:
            return parts
        return parts.lift(lambda ranges: apply_open_ended(time.exact, ranges), question=("exact", time))

    def interval(self, parts: PartitionSet) -> tuple[int, int] | None:
        """The start of the oldest partition of ``parts`` and the end of the newest, Unix seconds; None without any.

        >>> days = Partitioning(TimePartition("day", "UTC", exclude="* * * * FRI,SAT"))
        >>> days.interval(days.parse("1969-12-31..1970-01-01"))
        (-86400, 86400)
        """
        extent, time = parts.extent, self.time
        if extent is None or time is None or not time.exclude:
            return extent
        return extent[0], time.stop(time.floor(extent[1] - 1))

    def can_list(self, parts: PartitionSet) -> bool:
        """Whether the partitions in ``parts`` can be listed one by one: their time is bounded at both sides.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.can_list(PartitionSet.span(0, 1)), days.can_list(EVERYTHING), UNPARTITIONED.can_list(EVERYTHING)
        (True, False, True)
        """
        return self.time is None or not parts or parts.extent is not None

    def count(self, parts: PartitionSet) -> int:
        """The number of partitions in ``parts``; takes time by ranges and clock changes, not by partitions.

        ``parts`` must be bounded (`can_list`).

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.count(PartitionSet.span(0, 200_000)), UNPARTITIONED.count(EVERYTHING)
        (2, 1)
        """
        time, rows = self.time, self.by_tuple(parts)
        if time is None:
            return len(rows)
        times = {id(ranges): ranges for _, ranges in rows}  # many tuples share a value, which is counted once
        tuples_of = Counter(id(ranges) for _, ranges in rows)
        return sum(number * time.count(times[same]) for same, number in tuples_of.items())

    def has_at_least(self, parts: PartitionSet, number: int) -> bool:
        """Whether at least ``number`` partitions lie in ``parts``, which may be open at a side.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.has_at_least(EVERYTHING, 3), days.has_at_least(PartitionSet.span(0, 200_000), 3)
        (True, False)
        """
        return not self.can_list(parts) or self.count(parts) >= number

    def each_partition(self, parts: PartitionSet) -> Iterator[PartitionSet]:
        """Yields the partitions in ``parts``, each as a set, oldest first."""
        if self.segments:
            for start, end, segment in self.slots(parts):
                yield PartitionSet.by_segment({segment: RangeSet.span(start, end)})
        elif self.time is not None:
            yield from (PartitionSet.span(start, end) for start, end in self.time.slots(parts.time))
        elif parts.is_everything:
            yield EVERYTHING

    def slots(self, parts: PartitionSet) -> Iterator[Slot]:
        """Yields the partitions in ``parts``, oldest first; without a dimension of time, a slot is all time.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> list(stores.slots(PartitionSet.span(0, 86400)))
        [(0, 86400, ('a',)), (0, 86400, ('b',))]
        """
        return iterate_slots(self.by_tuple(parts), time=self.time)

    def stretches(self, parts: PartitionSet) -> Iterator[PartitionSet]:
        """Yields the partitions in ``parts`` with neighbours joined, oldest first; one set for each label."""
        for start, end, segment in self._stretches(parts):
            if self.segments:
                yield PartitionSet.by_segment({segment: RangeSet.span(start, end)})
            else:
                yield EVERYTHING if (start, end) == _BOUNDS else PartitionSet.span(start, end)

    def split_into_chunks(self, parts: PartitionSet, most: int) -> list[PartitionSet]:
        """The partitions in ``parts``, in consecutive chunks of at most ``most``, oldest first."""
        if self.segments:
            return list(chunks(self.by_tuple(parts), most, time=self.time))
        if self.time is None:
            return [EVERYTHING] if parts.is_everything else []
        return [PartitionSet(chunk) for chunk in self.time.split_into_chunks(parts.time, most)]

    def oldest(self, parts: PartitionSet, most: int) -> PartitionSet:
        """The oldest ``most`` partitions in ``parts``; takes time by what it returns."""
        if self.segments:
            return next(chunks(self.by_tuple(parts), most, time=self.time), NOTHING)
        if self.time is None:
            return self.inside(parts)
        return PartitionSet(self.time.oldest(parts.time, most))

    # ----------------------------------------------------------------- keys

    def labels(self, parts: PartitionSet, *, most: int | None = None) -> list[str]:
        """The partitions in ``parts`` as ``A..B`` of keys, inclusive, or ``A`` for a single one.

        `EVERYTHING` has no label. At most ``most`` are returned; `label_count` has their total number.

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
        """The number of labels of ``parts``."""
        if not self.is_partitioned or parts.is_everything:
            return 0
        return sum(len(ranges) for _, ranges in self.by_tuple(parts))

    def display_labels(self, parts: PartitionSet, *, most: int | None = None) -> list[str]:
        """The labels of ``parts`` for people: ``*`` in place of segments where all known ones have the same time.

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
        """The number of labels that `display_labels` has without a limit."""
        common = self._common_time(parts)
        return self.label_count(parts) if common is None else len(common)

    def as_range(self, label: str) -> str:
        """The label with its time as ``A..B`` even for a single partition, so that a reader needs only one rule.

        >>> Partitioning(TimePartition("day", "UTC")).as_range("2013-01-05")
        '2013-01-05..2013-01-05'
        """
        keys = label.split(",")
        if self.time is None or ".." in keys[self.time_at]:
            return label
        keys[self.time_at] = f"{keys[self.time_at]}..{keys[self.time_at]}"
        return ",".join(keys)

    def keys(self, parts: PartitionSet) -> Iterator[str]:
        """Yields the keys of the partitions in ``parts``, oldest first; a whole asset has none."""
        if self.segments:
            for part in self.each_partition(parts):
                yield from self.labels(part)
        elif self.time is not None:
            for low, high in self.time.inside(parts.time).pairs():
                yield from self.time.keys(low, high)

    def parse(self, text: str, *, recorded: bool = False, learns: bool = False) -> PartitionSet:
        """Parses a key: the keys of all dimensions, joined by commas; that of time is ``KEY`` or ``A..B``.

        ``*``, or nothing, in place of a key means all of that dimension.

        Args:
            text: The key.
            recorded: The key was recorded earlier, so its segments need not be known any more.
            learns: The key may name new segments of open dimensions.

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
        keys = text.split(",")
        expected = [each.column for each in self.segments]
        if self.time is not None:
            expected.insert(self.time_at, self.time.grain)
        if len(keys) > len(expected):
            message = f"'{text}' has {len(keys)} parts separated by commas; expected {','.join(expected)}"
            comma = "; a comma within a segment is written %2C" if self.segments else ""
            raise PartitionError(message, hint=f"name one key at a time{comma}")
        if not self.segments and self.time is not None:
            return PartitionSet.span(*self.time.parse_keys(text))
        keys += [ALL] * (len(expected) - len(keys))
        span = _ALWAYS
        if self.time is not None and (key := keys.pop(self.time_at)) not in ("", ALL):
            span = RangeSet.span(*self.time.parse_keys(key))
        pairs = zip(self.segments, keys, strict=True)
        tuples = [*product(*(each.parse(key, recorded=recorded, learns=learns) for each, key in pairs))]
        if not tuples and recorded:  # a run of all segments when none was known: it stood for any
            return PartitionSet(span)
        if not tuples:
            hint = f"name it, as {','.join(expected)}"
            raise PartitionError(f"'{text}' names no partition: no segment is known yet", hint=hint)
        return PartitionSet(*constant_on(span, tuples, usual=_NEVER))

    def of_segments(self, texts: Iterable[str]) -> PartitionSet:
        """All partitions of the segments in ``texts``, each ``KEY`` or ``COLUMN=KEY``.

        Raises:
            PartitionError: A text names no segment of a dimension.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> stores.of_segments(["b"]) == stores.parse("*,b")
        True
        """
        return PartitionSet(*constant_on(_ALWAYS, parse_segment_names(self.segments, texts), usual=_NEVER))

    # ----------------------------------------------------------------- time

    def finished_partitions(self, now: int) -> PartitionSet:
        """All known partitions that are over at an instant, Unix seconds; a whole asset always is.

        With ``ahead``, slots that end within that time count as over.
        """
        return self._of_known(
            _ALWAYS if self.time is None else RangeSet.span(_ALWAYS.first, self.time.last_counted_end(now))
        )

    def next_rollover(self, now: int) -> int | None:
        """When `finished_partitions` changes next, Unix seconds; None for never."""
        time = self.time
        return None if time is None else time.counts_at(time.next(time.last_counted_end(now)))

    def newest_finished(self, now: int) -> PartitionSet:
        """The newest known partitions that are really over at an instant, Unix seconds, whatever ``ahead`` is."""
        time = self.time
        if time is None:
            return self._of_known(_ALWAYS)
        end = time.last_finished_end(now)
        return self._of_known(RangeSet.span(time.floor(end - 1), end))

    @memoize_large
    def newest(self, parts: PartitionSet) -> PartitionSet:
        """The newest partition of every tuple in ``parts``; all of them without time, or where time never ends.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.labels(days.newest(PartitionSet.span(0, 200_000)))
        ['1970-01-02']
        """
        time = self.time
        if time is None:
            return parts
        return self.inside(parts).lift(lambda ranges: _last_slot(time, ranges))

    def first_finish_time(self, parts: PartitionSet) -> int | None:
        """When the oldest partition that overlaps ``parts`` counts as over, Unix seconds; None for always.

        ``parts`` must not be empty (IndexError).
        """
        return None if self.time is None else self.time.counts_at(self.time.next(parts.first))

    def last_finish_time(self, parts: PartitionSet) -> int | None:
        """When all partitions that overlap ``parts`` count as over, Unix seconds; None for always.

        ``parts`` must not be empty (IndexError).
        """
        return None if self.time is None else self.time.counts_at(self.time.ceil(parts.last))

    def partitions_between(self, low: int | None, high: int | None) -> PartitionSet:
        """The known partitions that begin in ``[low, high)``, Unix seconds; None is open.

        Without a dimension of time, these are all known partitions.

        >>> Partitioning(TimePartition("day", "UTC")).partitions_between(1, 86401) == PartitionSet.span(86400,
        ...     2 * 86400)
        True
        """
        if self.time is None or (low is None and high is None):
            return self.known_partitions
        first = _ALWAYS.first if low is None else self.time.ceil(low)
        return self._of_known(RangeSet.span(first, _ALWAYS.last if high is None else self.time.ceil(high)))

    def partitions_before(self, parts: PartitionSet, length: Duration) -> PartitionSet:
        """The partitions that overlap ``length`` before the start of each range of ``parts``; none without time.

        Calendar units follow the wall clock.
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
        """This time for all known tuples."""
        if not self.segments:
            return EVERYTHING if ranges == _ALWAYS else PartitionSet(ranges)
        return _same_time_for_all(self.segments, ranges)

    def by_tuple(self, parts: PartitionSet) -> Sequence[Row]:
        """The partitions in ``parts`` by tuple, ascending; time that all tuples have is listed for the known ones."""
        parts = self.inside(parts)
        if not self.segments:
            return [((), parts.time)] if parts.time else []
        if not parts.time:
            return parts.apart
        apart = dict(parts.apart)
        times = {segment: apart.get(segment, parts.time) for segment in {*segment_tuples(self.segments), *apart}}
        return [(segment, times[segment]) for segment in sorted(times) if times[segment]]

    def _stretches(self, parts: PartitionSet) -> list[tuple[int, int, Segment]]:
        """The partitions in ``parts`` with neighbours joined, as (start, end, tuple), oldest first."""
        rows = self.by_tuple(parts)
        return sorted((start, end, segment) for segment, ranges in rows for start, end in ranges.pairs())

    def _common_time(self, parts: PartitionSet) -> RangeSet | None:
        """The time that all of several known tuples have, while no other tuple has any; else None."""
        if self.time is None or not self.segments or parts.is_everything:
            return None
        rows = self.by_tuple(parts)
        alike = len(rows) > 1 and all(ranges == rows[0][1] for _, ranges in rows)
        return rows[0][1] if alike and tuple(segment for segment, _ in rows) == segment_tuples(self.segments) else None

    def _join_keys(self, time: str, segments: Iterable[str]) -> str:
        """Joins the keys of all dimensions into one."""
        keys = list(segments)
        if self.time is not None:
            keys.insert(self.time_at, time)
        return ",".join(keys)


UNPARTITIONED = Partitioning()
"""The partitioning of an asset without partitions."""

_BOUNDS = (_ALWAYS.first, _ALWAYS.last)


@lru_cache(maxsize=64)
def _same_time_for_all(segments: tuple[SegmentPartition, ...], ranges: RangeSet) -> PartitionSet:
    """This time for all tuples of these dimensions, and for no other."""
    if len(segments) > 1 or len(segments[0].keys) < MANY or not ranges:
        return PartitionSet(*constant_on(ranges, segment_tuples(segments), usual=_NEVER))
    return PartitionSet(_NEVER, _SEGMENT_ITEMS.items_of(segments[0].keys, ranges))


class _SegmentItems:
    """The ``apart`` items of very many tuples of one segment with one time.

    Items of earlier calls are returned as the same objects, which makes comparing and combining large sets fast.
    """

    def __init__(self) -> None:
        self._newest: dict[RangeSet, tuple[tuple[str, ...], tuple[tuple[Segment, RangeSet], ...]]] = {}

    def items_of(self, keys: tuple[str, ...], ranges: RangeSet) -> tuple[tuple[Segment, RangeSet], ...]:
        """The items of these keys with this time, ascending."""
        before, items = self._newest.get(ranges, ((), ()))
        start, end = count_common_ends(before, keys)
        own = next(iter(items), ((), ranges))[1]
        more = tuple([((key,), own) for key in keys[start : len(keys) - end]])
        joined = items[:start] + more + items[len(items) - end :]
        self._newest = {**dict([*self._newest.items()][-7:]), ranges: (keys, joined)}
        return joined


_SEGMENT_ITEMS = _SegmentItems()


def _last_slot(time: TimePartition, ranges: RangeSet) -> RangeSet:
    """The last slot of ranges that consist of whole slots; all of them where they never end."""
    if not ranges or ranges.last == _ALWAYS.last:
        return ranges
    return RangeSet.span(time.floor(ranges.last - 1), ranges.last)
