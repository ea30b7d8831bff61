"""The partitioning of an asset: the product of its dimensions; without any, the whole asset is one partition.

All other code works with sets of partitions and this interface, and needs no dimension by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from sparkassets.core.partitions.chunks import Row
from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.partition_algebra import PartitionAlgebra
from sparkassets.core.partitions.partition_set import (
    EVERYTHING,
    NOTHING,
    PartitionSet,
    union_by_dimensions,
    union_by_segment,
)
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
class Partitioning(PartitionAlgebra):
    """The product of at most one dimension of time and any number of dimensions of segments.

    A *tuple* is one value for each segment dimension; a set of partitions gives each tuple its time. An asset without
    dimensions is one partition, the set `EVERYTHING`, which has no key. Without a dimension of time all time of a tuple
    is one partition. Sets may be open at either side, except where their partitions are named, counted or listed.

    A set may hold time of tuples that are not among the known keys: their data stays in place, and is not wanted. Time
    that is the same for all tuples is named, counted and listed only for the known ones.
    """

    def with_segments_of(self, parts: PartitionSet) -> Partitioning:
        """The partitioning with the segments of ``parts`` added, such as those that were listed when rows were written.

        >>> stores = Partitioning(None, (SegmentPartition("store", ("a", "b")),))
        >>> stores.with_segments_of(PartitionSet.by_segment({("c",): _ALWAYS})).segments[0].keys
        ('a', 'b', 'c')
        """
        if not self.unknown_partitions(parts):
            return self
        keys = ({*each.keys, *(segment[i] for segment, _ in parts.apart)} for i, each in enumerate(self.segments))
        pairs = zip(self.segments, keys, strict=True)
        return replace(self, segments=tuple(replace(each, keys=tuple(sorted(some))) for each, some in pairs))

    def open_segments(self, parts: PartitionSet) -> dict[str, set[str]]:
        """The segments that ``parts`` name in each open dimension, by column; `WHOLE` names none.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> stores.open_segments(stores.parse("b", recorded=True))
        {'store': {'b'}}
        """
        named = {i: {segment[i] for segment, _ in parts.apart} for i, each in enumerate(self.segments) if each.is_open}
        return {self.segments[i].column: keys - {WHOLE} for i, keys in named.items()}

    def without_whole_dimensions(self, parts: PartitionSet) -> tuple[Partitioning, PartitionSet]:
        """Drops the dimensions in which ``parts`` have only `WHOLE`; returns the partitioning and the partitions left.

        What is left identifies the rows of ``parts``: a run of a whole open dimension writes any of its segments.

        >>> stores = Partitioning(None, (SegmentPartition("store", (WHOLE,), is_open=True),))
        >>> stores.without_whole_dimensions(stores.known_partitions) == (UNPARTITIONED, EVERYTHING)
        True
        """
        wholes = {i for segment, _ in parts.apart for i, key in enumerate(segment) if key == WHOLE}
        return self._without(wholes, parts.apart) if wholes else (self, parts)

    def without_segments(self, parts: PartitionSet, columns: Collection[str]) -> tuple[Partitioning, PartitionSet]:
        """Drops the dimensions of segments with these columns; returns the partitioning and the partitions left.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> days, first = stores.without_segments(stores.parse("1970-01-01"), ["store"])
        >>> days.labels(first)
        ['1970-01-01']
        """
        dropped = {i for i, each in enumerate(self.segments) if each.column in columns}
        return self._without(dropped, self.by_tuple(parts)) if dropped else (self, parts)

    def _without(self, dropped: Collection[int], rows: Sequence[Row]) -> tuple[Partitioning, PartitionSet]:
        """The partitioning and the partitions ``rows`` without the dimensions of segments at these indices."""
        kept = [i for i in range(len(self.segments)) if i not in dropped]
        time_at = sum(i < self.time_at for i in kept) if self.time else 0
        return Partitioning(self.time, tuple(self.segments[i] for i in kept), time_at), union_by_dimensions(rows, kept)

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
            unknown_keys = (
                {*keys.get(each.column, ())} - {*each.keys} if each.is_open and each.keys != (WHOLE,) else set()
            )
            rows += [((*segment[:i], key, *segment[i + 1 :]), time) for segment, time in rows for key in unknown_keys]
        return PartitionSet.by_segment(union_by_segment(rows)) if len(rows) > len(parts.apart) else parts

    def repeat_for_segments(self, parts: PartitionSet, keys: Mapping[str, Collection[str]]) -> PartitionSet:
        """The partitions that ``parts`` become with each segment in ``keys`` in the place of their own, by column.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> stores.labels(stores.repeat_for_segments(stores.parse("1970-01-01,a"), {"store": ["b", "c"]}))
        ['1970-01-01,b', '1970-01-01,c']
        """
        rows = list(self.by_tuple(parts))
        for i, each in enumerate(self.segments):
            if each.column in keys:
                # tuples that differ only in this dimension become one, before it gets each of the keys
                others = union_by_segment(((*tup[:i], "", *tup[i + 1 :]), time) for tup, time in rows)
                rows = [
                    ((*tup[:i], key, *tup[i + 1 :]), time) for tup, time in others.items() for key in keys[each.column]
                ]
        return PartitionSet.by_segment(dict(rows))

    def restrict_to_segments(self, parts: PartitionSet, keys: Mapping[str, Collection[str]]) -> PartitionSet:
        """The part of ``parts``, partitions by tuple, whose segments of open dimensions are in ``keys``, by column.

        >>> stores = Partitioning(None, (SegmentPartition("store", (), is_open=True),))
        >>> parts = PartitionSet.by_segment(dict.fromkeys([("a",), ("b",)], EVERYTHING.time))
        >>> stores.labels(stores.restrict_to_segments(parts, {"store": ["b", "c"]}))
        ['b']
        """
        # by position in a tuple, the segments to keep there
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
        whole_rows, other_whole_rows = ([row for row in each.apart if WHOLE in row[0]] for each in (parts, others))
        return any(
            all(
                key == other_key or WHOLE in (key, other_key)
                for key, other_key in zip(segment, other_segment, strict=True)
            )
            and time.overlaps(other_time)
            for (segment, time), (other_segment, other_time) in (
                *product(whole_rows, others.apart),
                *product(parts.apart, other_whole_rows),
            )
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
        is_listed = self.listed_segment_test()
        return PartitionSet.by_segment({segment: ranges for segment, ranges in parts.apart if is_listed(segment)})

    def listed_segment_test(self) -> Callable[[Segment], bool]:
        """A test whether a tuple's segments are listed, in the dimensions that are not open.

        >>> regions = SegmentPartition("region", ("de", "nl"))
        >>> lists = Partitioning(None, (regions, SegmentPartition("store", (), is_open=True))).listed_segment_test()
        >>> lists(("nl", "any")), lists(("fr", "any"))
        (True, False)
        """
        listed = [(i, frozenset(each.keys)) for i, each in enumerate(self.segments) if not each.is_open]
        return lambda segment: all(segment[i] in keys for i, keys in listed)

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
            # a stretch of time has one label, to which the segments are added
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
            raise PartitionError(f"'{text}' names a partition, but the asset has none", hint="leave it out")
        expected = self._expected_key
        keys = text.split(",")
        if len(keys) > len(self.names):
            message = f"'{text}' has {len(keys)} parts separated by commas; expected {expected}"
            comma_hint = "; a comma within a segment is written %2C" if self.segments else ""
            raise PartitionError(message, hint=f"name one key at a time{comma_hint}")
        if not self.segments and self.time is not None:
            return PartitionSet.span(*self.time.parse_keys(text))
        keys += [ALL] * (len(self.names) - len(keys))  # keys that are left out mean all of their dimensions
        span = _parse_time(self.time, keys.pop(self.time_at)) if self.time is not None else _ALWAYS
        tuples = _parse_tuples(self.segments, keys, recorded=recorded, learns=learns)
        if not tuples and recorded:  # recorded for a run of all segments when none was known, so it may hold any
            return PartitionSet(span)
        if not tuples:
            raise PartitionError(
                f"'{text}' names no partition: no segment is known yet", hint=f"name it, as {expected}"
            )
        return PartitionSet(*constant_on(span, tuples, usual=_NEVER))

    @property
    def _expected_key(self) -> str:
        """What a key consists of, in words."""
        names = [each.column for each in self.segments]
        if self.time is not None:
            names.insert(self.time_at, self.time.grain)
        return ",".join(names)

    def parse_segments(self, texts: Iterable[str]) -> PartitionSet:
        """All partitions of the segments in ``texts``, each ``KEY`` or ``COLUMN=KEY``.

        Raises:
            PartitionError: A text names no segment of a dimension.

        >>> stores = Partitioning(TimePartition("day", "UTC"), (SegmentPartition("store", ("a", "b")),))
        >>> stores.parse_segments(["b"]) == stores.parse("*,b")
        True
        """
        return PartitionSet(*constant_on(_ALWAYS, parse_segment_names(self.segments, texts), usual=_NEVER))

    def _common_time(self, parts: PartitionSet) -> RangeSet | None:
        """The time that all known tuples have, while no other tuple has any; None without such a common time.

        None also for a single tuple, or without a dimension of time: there ``*`` would make no label shorter.
        """
        if self.time is None or not self.segments or parts.is_everything:
            return None
        rows = self.by_tuple(parts)
        have_same_time = len(rows) > 1 and all(ranges == rows[0][1] for _, ranges in rows)
        return (
            rows[0][1]
            if have_same_time and tuple(segment for segment, _ in rows) == segment_tuples(self.segments)
            else None
        )


def _parse_time(time: TimePartition, key: str) -> RangeSet:
    return _ALWAYS if key in ("", ALL) else RangeSet.span(*time.parse_keys(key))


def _parse_tuples(
    segments: Sequence[SegmentPartition], keys: Sequence[str], *, recorded: bool, learns: bool
) -> list[Segment]:
    pairs = zip(segments, keys, strict=True)
    return [*product(*(each.parse(key, recorded=recorded, learns=learns) for each, key in pairs))]


UNPARTITIONED = Partitioning()
"""The partitioning of an asset without partitions."""
