"""Which partitions of a consumer depend on which of its inlet, by mappings of time and segments.

Requirements and effects are exact adjoints; the rules are in docs/design/partitions.md#mappings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.partitioning import UNPARTITIONED, Partitioning
from sparkassets.core.partitions.range_set import RangeSet, apply_open_ended
from sparkassets.core.partitions.segment_functions import IdentityKey, Segment, memoize_large
from sparkassets.core.partitions.segment_matching import (
    SegmentLink,
    SegmentMatch,
    match_by_column,
    segment_links,
    transfer_segments,
)
from sparkassets.core.partitions.segments import SegmentPartition
from sparkassets.core.partitions.time_mappings import (
    NamedMapping,
    NewestMapping,
    OverlapMapping,
    PartitionMapping,
    TimeMapping,
    WindowMapping,
)
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_ALWAYS = RangeSet.always()


@frozen
class Dependency:
    """How the partitions of a consumer depend on the partitions of an inlet.

    Dimensions of segments match by column, or as declared; time is mapped. A dimension that only the inlet has is read
    whole, with all known keys; one that only the consumer has gets the same for every key. Without a mapping, or where
    no dimension of one side matches one of the other, every partition needs all of the inlet.

    Attributes:
        mapping: The inlet time that a partition needs; None for all of the inlet, whatever its dimensions.
        consumer: The consumer's partitioning.
        inlet: The inlet's partitioning.
        matches: Declared matches of dimensions of segments; None where they match by column.
        available: Present inlet partitions, for `NewestMapping`; without them, any partition may be the newest.
    """

    mapping: PartitionMapping | None
    consumer: Partitioning = UNPARTITIONED
    inlet: Partitioning = UNPARTITIONED
    matches: tuple[SegmentMatch, ...] | None = None
    available: IdentityKey[PartitionSet] | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether a partition needs some of the inlet's partitions rather than all of it."""
        if self.mapping is None:
            return False
        if not isinstance(self.mapping, _TIME_MAPPINGS):
            return True
        return self._time_mapping() is not None or self.matches is not None or bool(self._segment_matches())

    @property
    def shared_segment_dimensions(self) -> Sequence[tuple[SegmentPartition, SegmentPartition]]:
        """The (consumer, inlet) dimensions of segments with the same keys, so the consumer takes the inlet's segments.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> ours = Partitioning(None, (SegmentPartition("region", (), is_open=True),))
        >>> theirs = Partitioning(None, (SegmentPartition("sales_region", ("de",)),))
        >>> renamed = (SegmentMatch("region", "sales_region"),)
        >>> [each.column for _, each in Dependency(OverlapMapping(), ours, theirs, renamed).shared_segment_dimensions]
        ['sales_region']
        """
        unmapped = [each for each in self._segment_matches() if each.keys is None] if self.mapping is not None else []
        consumer_segments = {each.column.lower(): each for each in self.consumer.segments}
        inlet_segments = {each.column.lower(): each for each in self.inlet.segments}
        return [(consumer_segments[each.column.lower()], inlet_segments[each.inlet.lower()]) for each in unmapped]

    @property
    def tells_segments(self) -> bool:
        """Whether a change of the inlet determines the affected segments of the consumer."""
        return self.mapping is not None and bool(self._segment_matches())

    @property
    def is_open(self) -> bool:
        """Whether a partition needs all time of the inlet, which has no end: as much as is present."""
        is_named = isinstance(self.mapping, NamedMapping)
        return self.is_mapped and not is_named and self.inlet.time is not None and self._time_mapping() is None

    @property
    def tells_time(self) -> bool:
        """Whether the inlet's partitions determine the consumer's time, if the consumer has a dimension of time."""
        if self.consumer.time is None:
            return self.is_mapped
        return self.inlet.time is not None and isinstance(self.mapping, _TIME_MAPPINGS)

    @property
    def goes_by_newest(self) -> bool:
        """Whether a partition's requirement depends on the present inlet partitions."""
        return isinstance(self.mapping, NewestMapping)

    def with_available(self, available: PartitionSet) -> Dependency:
        """The dependency with these present inlet partitions; itself where its mapping does not depend on them."""
        return replace(self, available=IdentityKey(available)) if self.goes_by_newest else self

    @memoize_large
    def required_partitions(self, partitions: PartitionSet) -> PartitionSet:
        """The inlet partitions that ``partitions`` need; a part of a partition counts as the whole partition.

        For partitions without an end this is all time from the first needed partition on, even if windows leave gaps.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> days, hours = Partitioning(TimePartition("day", "UTC")), Partitioning(TimePartition("hour", "UTC"))
        >>> Dependency(OverlapMapping(), days, hours).required_partitions(PartitionSet.span(0,
        ...     3600)) == PartitionSet.span(0, 86400)
        True
        >>> Dependency(None, days, Partitioning()).required_partitions(PartitionSet.span(0, 3600)) == EVERYTHING
        True
        """
        time_mapping = self._time_mapping()
        if time_mapping is None and not self.is_mapped:
            return EVERYTHING if partitions else NOTHING
        if time_mapping is None:
            return self._selectable(
                self._transfer_to_side(partitions.map_time(_all_time_if_any, question="whole"), to_inlet=True)
            )
        mapping, consumer_time, inlet_time = time_mapping
        required = partitions.map_time(
            lambda time: apply_open_ended(
                lambda some: mapping.required_ranges(some, consumer_time=consumer_time, inlet_time=inlet_time), time
            ),
            question=("up", time_mapping),
        )
        return self._transfer_to_side(required, to_inlet=True)

    def affected_partitions(self, changed: PartitionSet) -> PartitionSet:
        """The partitions that need an inlet partition which overlaps ``changed``.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> days, hours = Partitioning(TimePartition("day", "UTC")), Partitioning(TimePartition("hour", "UTC"))
        >>> Dependency(OverlapMapping(), days, hours).affected_partitions(PartitionSet.span(3600,
        ...     7200)) == PartitionSet.span(0, 86400)
        True
        """
        time, consumer_time, inlet_time = changed.time, self.consumer.time, self.inlet.time
        if (
            changed.apart
            or self.consumer.segments
            or self.inlet.segments
            or consumer_time is None
            or inlet_time is None
        ):
            return self._affected_partitions(changed)
        if not isinstance(self.mapping, _TIME_MAPPINGS) or not time.is_bounded:
            return self._affected_partitions(changed)
        # a fast path for time alone: every plan asks it for most inlets
        affected = self.mapping.affected_ranges(time, consumer_time=consumer_time, inlet_time=inlet_time)
        return changed if affected is time else PartitionSet(affected)

    @memoize_large
    def _affected_partitions(self, changed: PartitionSet) -> PartitionSet:
        """`affected_partitions` without its fast path.

        Without a mapping of time, a change at any time affects all time of the matching segments.
        """
        time_mapping = self._time_mapping()
        if time_mapping is None and not self.is_mapped:
            return EVERYTHING if changed else NOTHING
        if time_mapping is None:
            return self._transfer_to_side(
                self._selectable(changed).map_time(_all_time_if_any, question="whole"), to_inlet=False
            )
        mapping, consumer_time, inlet_time = time_mapping
        affected = changed.map_time(
            lambda time: apply_open_ended(
                lambda some: mapping.affected_ranges(some, consumer_time=consumer_time, inlet_time=inlet_time), time
            ),
            question=("down", time_mapping),
        )
        return self._transfer_to_side(affected, to_inlet=False)

    def lacking_all_inputs(
        self, partitions: PartitionSet, present: PartitionSet, possible: PartitionSet
    ) -> PartitionSet:
        """The ``partitions`` that lack all of their inputs: no inlet partition in their window is present.

        Where a partition needs all time or the newest of each inlet segment, it also lacks its inputs if one such
        segment has no present time.

        Args:
            partitions: Partitions of the consumer.
            present: Present partitions of the inlet.
            possible: Partitions that the inlet can ever have.
        """
        ignoring_presence = replace(self, available=None)
        # with a window, one present inlet partition in it is enough
        if isinstance(self.mapping, OverlapMapping | WindowMapping):
            return self.needing_inlet(partitions) - ignoring_presence.affected_partitions(present)
        # else each needed inlet segment must have some time
        return partitions & ignoring_presence.affected_partitions(
            (ignoring_presence.required_partitions(partitions) & possible & self.inlet.known_partitions)
            - present.map_time(_all_time_if_any)
        )

    def needing_inlet(self, partitions: PartitionSet) -> PartitionSet:
        """The ``partitions`` that need any partition of the inlet, present or not."""
        return partitions & replace(self, available=None).affected_partitions(self.inlet.known_partitions)

    def hull(self, partitions: PartitionSet) -> PartitionSet:
        """From the first of ``partitions`` to the last, for each tuple, without those that need no inlet partition.

        Only partitions in excluded time of the inlet need none.
        """
        full_hull, time = partitions.hull(), self.inlet.time
        return (
            full_hull
            if time is None or not time.exclude
            else full_hull & self.affected_partitions(self.required_partitions(full_hull))
        )

    def having_enough(self, partitions: PartitionSet, there: PartitionSet, least: int) -> PartitionSet:
        """The ``partitions`` (whole ones) that need at least ``least`` inlet partitions which are in ``there``.

        Partitions are examined one by one only where some input is present. A partly present inlet partition does not
        count. Without a mapping, all partitions have enough once anything is present.

        Args:
            partitions: Partitions of the consumer; bounded.
            there: Present partitions of the inlet.
            least: At least 1.
        """
        if not self.is_mapped:
            return partitions if there else NOTHING
        whole = self.inlet.inside(there & self.required_partitions(partitions))
        some = self.affected_partitions(whole) & partitions
        if least == 1 or not some:
            return some  # each of these needs a present inlet partition
        if self.consumer.segments or self.inlet.segments or (by_time := self._time_mapping()) is None:
            each = self.consumer.each_partition(some)
            return PartitionSet.union(
                [one for one in each if self.inlet.has_at_least(self.required_partitions(one) & whole, least)]
            )
        return PartitionSet.from_time_pairs(_slots_having_enough(*by_time, some.time, whole.time, least))

    def max_required(self, time: RangeSet, partitions: int) -> int | None:
        """The greatest number of inlet partitions that one of the first ``partitions`` in a stretch of time needs.

        None where the number has no limit, or there is no mapping.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> weeks, days = Partitioning(TimePartition("week", "UTC")), Partitioning(TimePartition("day", "UTC"))
        >>> Dependency(OverlapMapping(), weeks, days).max_required(RangeSet.span(0, 1), 1)
        7
        """
        # without known segments there is no partition to examine
        if not self.is_mapped or self.is_open or not all(each.keys for each in self.consumer.segments):
            return None
        first = self._widest_segment()
        some = PartitionSet(time) if not first else PartitionSet.by_segment({first: time})
        found = islice(self.consumer.each_partition(self.consumer.cover(some)), partitions)
        return max(self.inlet.count(self.required_partitions(partition)) for partition in found)

    def _time_mapping(self) -> tuple[TimeMapping, TimePartition, TimePartition] | None:
        """The mapping of time, with both dimensions of time; None where time is not mapped to time."""
        down, up, mapping = self.consumer.time, self.inlet.time, self.mapping
        if down is None or up is None or not isinstance(mapping, _TIME_MAPPINGS):
            return None
        return mapping, down, up

    def _selectable(self, parts: PartitionSet) -> PartitionSet:
        """The inlet partitions of ``parts`` that any partition may need: the newest, or the named ones."""
        if isinstance(self.mapping, NamedMapping):
            return parts & self.mapping.parts
        return parts if self.available is None else parts & self.inlet.newest(self.available.value)

    def _segment_matches(self) -> tuple[SegmentMatch, ...]:
        """The matches of segment dimensions: the declared ones, or else those of the same column."""
        return match_by_column(self.consumer, self.inlet) if self.matches is None else self.matches

    def _transfer_to_side(self, parts: PartitionSet, *, to_inlet: bool) -> PartitionSet:
        """Carries a set from the segments of one side to the other's; its time must be mapped already.

        ``to_inlet`` leads from the consumer to the inlet.
        """
        if not self.consumer.segments and not self.inlet.segments:
            return parts
        given, resulting = (self.consumer, self.inlet) if to_inlet else (self.inlet, self.consumer)
        return transfer_segments(parts, given, resulting, self._links_to_side(to_inlet=to_inlet))

    def _links_to_side(self, *, to_inlet: bool) -> Sequence[SegmentLink]:
        """The positions and keys by which `_transfer_to_side` carries tuples; empty where one side has no segments."""
        if not self.consumer.segments or not self.inlet.segments:
            return ()
        return segment_links(self._segment_matches(), self.consumer, self.inlet, to_inlet=to_inlet)

    def _widest_segment(self) -> Segment:
        """The tuple of the consumer's known segments that needs the most inlet segments."""
        maps = {match.column.lower(): dict(match.keys) for match in self._segment_matches() if match.keys is not None}
        return tuple(
            max(each.keys, key=lambda key: len(maps.get(each.column.lower(), {}).get(key, ())))
            for each in self.consumer.segments
        )


_TIME_MAPPINGS = (OverlapMapping, WindowMapping)
"""The kinds of `TimeMapping`; `isinstance` is faster with a tuple, and every plan asks it for each inlet."""


def _all_time_if_any(time: RangeSet) -> RangeSet:
    """All time if there is any, else none; for mappings that do not map time to time."""
    return _ALWAYS if time else time


def _slots_having_enough(
    mapping: TimeMapping,
    consumer_time: TimePartition,
    inlet_time: TimePartition,
    partitions: RangeSet,
    present: RangeSet,
    least: int,
) -> Iterator[tuple[int, int]]:
    """The slots of ``partitions`` whose window has at least ``least`` slots of the inlet that are in ``present``."""
    starts = [start for start, _ in inlet_time.slots(present)]
    ends = [inlet_time.stop(start) for start in starts]
    for partition in consumer_time.slots(partitions):
        low, high = mapping.window(*partition, consumer_time=consumer_time)
        # present slots that start before the window's end, less those that end before it begins
        if bisect_left(starts, high) - bisect_right(ends, low) >= least:
            yield partition
