"""Algebra of partition sets over an asset's dimensions: what is known, covered, counted, listed and finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from sparkassets.core.instants import Duration
from sparkassets.core.partitions.chunks import Row, Slot, iterate_chunks, iterate_slots
from sparkassets.core.partitions.common_ends import count_common_ends
from sparkassets.core.partitions.dimensions import PartitionDimensions
from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet, union_by_dimensions
from sparkassets.core.partitions.range_set import RangeSet, apply_open_ended
from sparkassets.core.partitions.segment_functions import MANY, Segment, constant_on, memoize_large
from sparkassets.core.partitions.segments import SegmentPartition, segment_tuples
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_ALWAYS = EVERYTHING.time
_NEVER = NOTHING.time
_BOUNDS = (_ALWAYS.first, _ALWAYS.last)


@frozen
class PartitionAlgebra(PartitionDimensions):
    """Sets of partitions of some dimensions; a *tuple* is one value for each segment dimension.

    Without dimensions everything is one partition, the set `EVERYTHING`. Without a dimension of time all time of a
    tuple is one partition. Sets may be open at either side, except where their partitions are counted or listed.
    """

    @property
    def known_partitions(self) -> PartitionSet:
        """All partitions of the known tuples of segments."""
        return _same_time_for_all(self.segments, _ALWAYS) if self.segments else EVERYTHING

    @memoize_large
    def unknown_partitions(self, parts: PartitionSet) -> PartitionSet:
        """The part of ``parts`` whose segments are not known, or not any more.

        >>> from sparkassets.core.partitions import Partitioning
        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b")),))
        >>> stores.labels(stores.unknown_partitions(PartitionSet.by_segment(dict.fromkeys([("b",), ("c",)], _ALWAYS))))
        ['c']
        """
        if not parts.apart:
            return NOTHING  # time that all tuples have in common names no segment
        if not parts.time:
            return parts - self.known_partitions
        known = set(segment_tuples(self.segments))
        return PartitionSet.by_segment({segment: ranges for segment, ranges in parts.apart if segment not in known})

    def widen_to_rows(self, parts: PartitionSet) -> PartitionSet:
        """Widens ``parts`` to what rows can tell apart: of a dimension without a column, all partitions are included.

        >>> from sparkassets.core.partitions import Partitioning
        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.widen_to_rows(PartitionSet.span(0, 86400)) == EVERYTHING
        True
        """
        if self.has_columns:
            return parts
        if not parts:
            return NOTHING
        if self.by_columns.time is None:
            parts = parts.map_time(_all_time_if_any)
        kept_indexes = [i for i, each in enumerate(self.segments) if each.in_rows]
        if len(kept_indexes) == len(self.segments):
            return parts
        return union_by_dimensions(self.by_tuple(self.cover(parts)), kept_indexes)

    @memoize_large
    def cover(self, parts: PartitionSet) -> PartitionSet:
        """All partitions that overlap ``parts``: ``parts`` extended to whole partitions.

        >>> from sparkassets.core.partitions import UNPARTITIONED
        >>> UNPARTITIONED.cover(PartitionSet.span(0, 1)) == EVERYTHING
        True
        """
        if not self.is_partitioned:
            return EVERYTHING if parts else NOTHING
        time = self.time
        if time is None:
            return parts.map_time(_all_time_if_any, question="cover")
        return parts.map_time(lambda ranges: apply_open_ended(time.cover, ranges), question=("cover", time))

    def inside(self, parts: PartitionSet) -> PartitionSet:
        """All partitions that lie wholly in ``parts``.

        >>> from sparkassets.core.partitions import UNPARTITIONED
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
            return parts.map_time(lambda ranges: ranges if ranges == _ALWAYS else _NEVER, question="inside")
        return parts.map_time(lambda ranges: apply_open_ended(time.inside, ranges), question=("inside", time))

    def exact(self, parts: PartitionSet) -> PartitionSet:
        """The time of ``parts`` without excluded slots; an open side stays open."""
        time = self.time
        if time is None or not time.exclude:
            return parts
        return parts.map_time(lambda ranges: apply_open_ended(time.exact, ranges), question=("exact", time))

    def interval(self, parts: PartitionSet) -> tuple[int, int] | None:
        """The start of the oldest partition of ``parts`` and the end of the newest, Unix seconds; None without any.

        >>> from sparkassets.core.partitions import Partitioning
        >>> days = Partitioning(TimePartition("day", "UTC", exclude="* * * * FRI,SAT"))
        >>> days.interval(days.parse("1969-12-31..1970-01-01"))
        (-86400, 86400)
        """
        extent, time = parts.extent, self.time
        if extent is None or time is None or not time.exclude:
            return extent
        # a slot's range reaches over the excluded time after it, which is no part of the interval
        return extent[0], time.stop(time.floor(extent[1] - 1))

    def can_list(self, parts: PartitionSet) -> bool:
        """Whether the partitions in ``parts`` can be listed one by one: their time is bounded at both sides.

        >>> from sparkassets.core.partitions import UNPARTITIONED, Partitioning
        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.can_list(PartitionSet.span(0, 1)), days.can_list(EVERYTHING), UNPARTITIONED.can_list(EVERYTHING)
        (True, False, True)
        """
        return self.time is None or not parts or parts.extent is not None

    def count(self, parts: PartitionSet) -> int:
        """The number of partitions in ``parts``; takes time by ranges and clock changes, not by partitions.

        ``parts`` must be bounded (`can_list`).

        >>> from sparkassets.core.partitions import UNPARTITIONED, Partitioning
        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.count(PartitionSet.span(0, 200_000)), UNPARTITIONED.count(EVERYTHING)
        (2, 1)
        """
        time, rows = self.time, self.by_tuple(parts)
        if time is None:
            return len(rows)
        times = {id(ranges): ranges for _, ranges in rows}  # many tuples share a value, which is counted once
        tuples_of = Counter(id(ranges) for _, ranges in rows)
        return sum(number * time.count(times[identity]) for identity, number in tuples_of.items())

    def has_at_least(self, parts: PartitionSet, number: int) -> bool:
        """Whether at least ``number`` partitions lie in ``parts``, which may be open at a side.

        >>> from sparkassets.core.partitions import Partitioning
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

        >>> from sparkassets.core.partitions import Partitioning
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
            return list(iterate_chunks(self.by_tuple(parts), most, time=self.time))
        if self.time is None:
            return [EVERYTHING] if parts.is_everything else []
        return [PartitionSet(chunk) for chunk in self.time.split_into_chunks(parts.time, most)]

    def oldest(self, parts: PartitionSet, most: int) -> PartitionSet:
        """The oldest ``most`` partitions in ``parts``; takes time by what it returns."""
        if self.segments:
            return next(iterate_chunks(self.by_tuple(parts), most, time=self.time), NOTHING)
        if self.time is None:
            return self.inside(parts)
        return PartitionSet(self.time.oldest(parts.time, most))

    def finished_partitions(self, now: int) -> PartitionSet:
        """All known partitions that are over at an instant, Unix seconds; a whole asset always is.

        With ``ahead``, slots that end within that time count as over.
        """
        return self._same_time_for_known(
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
            return self._same_time_for_known(_ALWAYS)
        end = time.last_finished_end(now)
        return self._same_time_for_known(RangeSet.span(time.floor(end - 1), end))

    @memoize_large
    def newest(self, parts: PartitionSet) -> PartitionSet:
        """The newest partition of every tuple in ``parts``; all of them without a dimension of time.

        Where a tuple's time has no end there is no newest one, and all its partitions are returned.

        >>> from sparkassets.core.partitions import Partitioning
        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.labels(days.newest(PartitionSet.span(0, 200_000)))
        ['1970-01-02']
        """
        time = self.time
        if time is None:
            return parts
        return self.inside(parts).map_time(lambda ranges: _last_slot(time, ranges))

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

        >>> from sparkassets.core.partitions import Partitioning
        >>> Partitioning(TimePartition("day", "UTC")).partitions_between(1, 86401) == PartitionSet.span(86400,
        ...     2 * 86400)
        True
        """
        if self.time is None or (low is None and high is None):
            return self.known_partitions
        first = _ALWAYS.first if low is None else self.time.ceil(low)
        return self._same_time_for_known(RangeSet.span(first, _ALWAYS.last if high is None else self.time.ceil(high)))

    def partitions_before(self, parts: PartitionSet, length: Duration) -> PartitionSet:
        """The partitions that overlap ``length`` before the start of each range of ``parts``; none without time.

        Calendar units follow the wall clock.
        """
        time = self.time
        if time is None:
            return NOTHING
        backwards = -length

        def time_before(ranges: RangeSet) -> RangeSet:
            return RangeSet.from_pairs((backwards.add_to(start, time.timezone), start) for start in ranges.starts)

        return self.cover(parts.map_time(time_before))

    def _same_time_for_known(self, ranges: RangeSet) -> PartitionSet:
        """The set with the time ``ranges`` for each known tuple."""
        if not self.segments:
            return EVERYTHING if ranges == _ALWAYS else PartitionSet(ranges)
        return _same_time_for_all(self.segments, ranges)

    def by_tuple(self, parts: PartitionSet) -> Sequence[Row]:
        """(tuple, time) for each tuple with partitions wholly in ``parts``, ascending.

        Time that all tuples have in common is listed for the known ones.
        """
        parts = self.inside(parts)
        if not self.segments:
            return [((), parts.time)] if parts.time else []  # the empty tuple stands for no dimension of segments
        if not parts.time:
            return parts.apart  # all tuples with time are listed
        apart = dict(parts.apart)
        times = {segment: apart.get(segment, parts.time) for segment in {*segment_tuples(self.segments), *apart}}
        return [(segment, times[segment]) for segment in sorted(times) if times[segment]]

    def _stretches(self, parts: PartitionSet) -> list[tuple[int, int, Segment]]:
        """The partitions in ``parts`` with neighbours joined, as (start, end, tuple), oldest first."""
        rows = self.by_tuple(parts)
        return sorted((start, end, segment) for segment, ranges in rows for start, end in ranges.pairs())


@lru_cache(maxsize=64)
def _same_time_for_all(segments: tuple[SegmentPartition, ...], ranges: RangeSet) -> PartitionSet:
    """The set with the time ``ranges`` for each tuple of these dimensions' keys, and none for other tuples."""
    if len(segments) > 1 or len(segments[0].keys) < MANY or not ranges:
        return PartitionSet(*constant_on(ranges, segment_tuples(segments), usual=_NEVER))
    return PartitionSet(_NEVER, _SEGMENT_ITEMS.items_of(segments[0].keys, ranges))


def _all_time_if_any(time: RangeSet) -> RangeSet:
    """All time if there is any, else none: without a dimension of time all time of a tuple is one partition."""
    return _ALWAYS if time else time


class _SegmentItems:
    """The ``apart`` items of very many tuples of one segment that all have the same time.

    Items of earlier calls are returned as the same objects, which makes comparing and combining large sets fast.
    """

    def __init__(self) -> None:
        # time to the newest (keys, items) with it
        self._newest: dict[RangeSet, tuple[tuple[str, ...], tuple[tuple[Segment, RangeSet], ...]]] = {}

    def items_of(self, keys: tuple[str, ...], ranges: RangeSet) -> tuple[tuple[Segment, RangeSet], ...]:
        """The items for these keys, ascending, each with the time ``ranges``."""
        known_keys, items = self._newest.get(ranges, ((), ()))
        # only the keys between the common ones at both ends need new items
        start, end = count_common_ends(known_keys, keys)
        shared_ranges = next(iter(items), ((), ranges))[1]  # one object for all, as values are compared by identity
        new_items = tuple([((key,), shared_ranges) for key in keys[start : len(keys) - end]])
        joined = items[:start] + new_items + items[len(items) - end :]
        self._newest = {**dict([*self._newest.items()][-7:]), ranges: (keys, joined)}
        return joined


_SEGMENT_ITEMS = _SegmentItems()


def _last_slot(time: TimePartition, ranges: RangeSet) -> RangeSet:
    """The last slot of ``ranges``, which consist of whole slots; all of them where they never end."""
    if not ranges or ranges.last == _ALWAYS.last:
        return ranges
    return RangeSet.span(time.floor(ranges.last - 1), ranges.last)
