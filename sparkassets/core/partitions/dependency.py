"""Maps a consumer's partitions to the inlet partitions that they require, and back: exact adjoints.

The rules are in docs/design/partitions.md#mappings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from sparkassets.core.partitions.mappings import (
    NamedMapping,
    NewestMapping,
    OverlapMapping,
    PartitionMapping,
    TimeMapping,
    WindowMapping,
)
from sparkassets.core.partitions.memoization import IdentityKey, memoize_large
from sparkassets.core.partitions.open_ended import apply_open_ended
from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.partitioning import UNPARTITIONED, Partitioning
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.segment_matching import SegmentLink, SegmentMatch, match_by_column, segment_links
from sparkassets.core.partitions.segment_transfer import transfer_segments
from sparkassets.core.partitions.segments import SegmentPartition
from sparkassets.core.partitions.time_partition import TimePartition
from sparkassets.frozen import frozen

_ALWAYS = RangeSet.always()


@frozen
class Dependency:
    """How the partitions of a consumer (blocks) depend on the partitions of an inlet.

    Dimensions of segments match by column, or as declared; time is mapped. A dimension that only the inlet has is read
    whole, with all known keys; one that only the consumer has gets the same for every key. Without a mapping, or where
    no dimension of one side matches one of the other, every block needs all of the inlet.

    Attributes:
        mapping: The inlet time that a block needs; None for all of the inlet, whatever its dimensions.
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
        """Whether a block needs some of the inlet's partitions rather than all of it."""
        if self.mapping is None:
            return False
        if not isinstance(self.mapping, _OF_TIME):
            return True
        return self._time_mapping() is not None or self.matches is not None or bool(self._matches())

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
        plain = [each for each in self._matches() if each.keys is None] if self.mapping is not None else []
        ours = {each.column.lower(): each for each in self.consumer.segments}
        theirs = {each.column.lower(): each for each in self.inlet.segments}
        return [(ours[each.column.lower()], theirs[each.inlet.lower()]) for each in plain]

    @property
    def tells_segments(self) -> bool:
        """Whether a change of the inlet determines the affected segments of the consumer."""
        return self.mapping is not None and bool(self._matches())

    @property
    def is_open(self) -> bool:
        """Whether a block needs all time of the inlet, which has no end: as much as is present."""
        named = isinstance(self.mapping, NamedMapping)
        return self.is_mapped and not named and self.inlet.time is not None and self._time_mapping() is None

    @property
    def tells_time(self) -> bool:
        """Whether the inlet's partitions determine the consumer's time, if the consumer has a dimension of time."""
        if self.consumer.time is None:
            return self.is_mapped
        return self.inlet.time is not None and isinstance(self.mapping, _OF_TIME)

    @property
    def goes_by_newest(self) -> bool:
        """Whether a block's requirement depends on the present inlet partitions."""
        return isinstance(self.mapping, NewestMapping)

    def with_available(self, available: PartitionSet) -> Dependency:
        """The dependency with these present inlet partitions; itself where its mapping does not depend on them."""
        return replace(self, available=IdentityKey(available)) if self.goes_by_newest else self

    @memoize_large
    def required_partitions(self, blocks: PartitionSet) -> PartitionSet:
        """The inlet partitions that ``blocks`` need; a part of a block counts as the whole block.

        For blocks without an end this is all time from the first needed partition on, even if windows leave gaps.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> days, hours = Partitioning(TimePartition("day", "UTC")), Partitioning(TimePartition("hour", "UTC"))
        >>> Dependency(OverlapMapping(), days, hours).required_partitions(PartitionSet.span(0,
        ...     3600)) == PartitionSet.span(0, 86400)
        True
        >>> Dependency(None, days, Partitioning()).required_partitions(PartitionSet.span(0, 3600)) == EVERYTHING
        True
        """
        found = self._time_mapping()
        if found is None and not self.is_mapped:
            return EVERYTHING if blocks else NOTHING
        if found is None:
            return self._selectable(self._transfer(blocks.lift(_all_time_if_any, question="whole"), up=True))
        mapping, down, up = found
        needed = blocks.lift(
            lambda time: apply_open_ended(lambda some: mapping.required_ranges(some, down=down, up=up), time),
            question=("up", found),
        )
        return self._transfer(needed, up=True)

    def affected_partitions(self, changed: PartitionSet) -> PartitionSet:
        """The blocks that need an inlet partition which overlaps ``changed``.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> days, hours = Partitioning(TimePartition("day", "UTC")), Partitioning(TimePartition("hour", "UTC"))
        >>> Dependency(OverlapMapping(), days, hours).affected_partitions(PartitionSet.span(3600,
        ...     7200)) == PartitionSet.span(0, 86400)
        True
        """
        time, down, up = changed.time, self.consumer.time, self.inlet.time
        if changed.apart or self.consumer.segments or self.inlet.segments or down is None or up is None:
            return self._affected_partitions(changed)
        if not isinstance(self.mapping, _OF_TIME) or not time.is_bounded:
            return self._affected_partitions(changed)
        # a fast path for time alone: every plan asks it for most inlets
        affected = self.mapping.affected_ranges(time, down=down, up=up)
        return changed if affected is time else PartitionSet(affected)

    @memoize_large
    def _affected_partitions(self, changed: PartitionSet) -> PartitionSet:
        """`affected_partitions` for all other sets."""
        found = self._time_mapping()
        if found is None and not self.is_mapped:
            return EVERYTHING if changed else NOTHING
        if found is None:
            return self._transfer(self._selectable(changed).lift(_all_time_if_any, question="whole"), up=False)
        mapping, down, up = found
        affected = changed.lift(
            lambda time: apply_open_ended(lambda some: mapping.affected_ranges(some, down=down, up=up), time),
            question=("down", found),
        )
        return self._transfer(affected, up=False)

    def lacking_all_inputs(self, blocks: PartitionSet, there: PartitionSet, possible: PartitionSet) -> PartitionSet:
        """The ``blocks`` without any present input: no inlet partition in their window.

        Where a block needs all or the newest of each inlet segment, one segment without any present time suffices.

        Args:
            blocks: Partitions of the consumer.
            there: Present partitions of the inlet.
            possible: Partitions that the inlet can ever have.
        """
        ever = replace(self, available=None)
        if isinstance(self.mapping, OverlapMapping | WindowMapping):
            return self.needing_inlet(blocks) - ever.affected_partitions(there)
        return blocks & ever.affected_partitions(
            (ever.required_partitions(blocks) & possible & self.inlet.known_partitions) - there.lift(_all_time_if_any)
        )

    def needing_inlet(self, blocks: PartitionSet) -> PartitionSet:
        """The ``blocks`` that need any partition of the inlet, present or not."""
        return blocks & replace(self, available=None).affected_partitions(self.inlet.known_partitions)

    def hull(self, blocks: PartitionSet) -> PartitionSet:
        """All blocks of each tuple from the first of ``blocks`` to the last that need any partition of the inlet.

        Only blocks in excluded time of the inlet need none.
        """
        whole, time = blocks.hull(), self.inlet.time
        return (
            whole
            if time is None or not time.exclude
            else whole & self.affected_partitions(self.required_partitions(whole))
        )

    def having_enough(self, blocks: PartitionSet, there: PartitionSet, least: int) -> PartitionSet:
        """The ``blocks`` (whole partitions) that need at least ``least`` inlet partitions which are in ``there``.

        Blocks are examined one by one only where some input is present. A partly present inlet partition does not
        count. Without a mapping, all blocks have enough once anything is present.

        Args:
            blocks: Partitions of the consumer; bounded.
            there: Present partitions of the inlet.
            least: At least 1.
        """
        if not self.is_mapped:
            return blocks if there else NOTHING
        whole = self.inlet.inside(there & self.required_partitions(blocks))
        some = self.affected_partitions(whole) & blocks
        if least == 1 or not some:
            return some
        found = self._time_mapping()
        if found is None or self.consumer.segments or self.inlet.segments:
            each = self.consumer.each_partition(some)
            return PartitionSet.union(
                [one for one in each if self.inlet.has_at_least(self.required_partitions(one) & whole, least)]
            )
        mapping, down, up = found
        starts = [start for start, _ in up.slots(whole.time)]
        ends = [up.stop(start) for start in starts]
        windows = ((block, mapping.window(*block, down=down)) for block in down.slots(some.time))
        return PartitionSet.from_time_pairs(
            block for block, (low, high) in windows if bisect_left(starts, high) - bisect_right(ends, low) >= least
        )

    def max_required(self, time: RangeSet, blocks: int) -> int | None:
        """The greatest number of inlet partitions that one of the first ``blocks`` in a stretch of time needs.

        None where the number has no limit, or there is no mapping.

        >>> from sparkassets.core.partitions import OverlapMapping
        >>> weeks, days = Partitioning(TimePartition("week", "UTC")), Partitioning(TimePartition("day", "UTC"))
        >>> Dependency(OverlapMapping(), weeks, days).max_required(RangeSet.span(0, 1), 1)
        7
        """
        if not self.is_mapped or self.is_open or not all(each.keys for each in self.consumer.segments):
            return None
        first = self._widest_segment()
        some = PartitionSet(time) if not first else PartitionSet.by_segment({first: time})
        found = islice(self.consumer.each_partition(self.consumer.cover(some)), blocks)
        return max(self.inlet.count(self.required_partitions(block)) for block in found)

    def _time_mapping(self) -> tuple[TimeMapping, TimePartition, TimePartition] | None:
        """The mapping of time, with both dimensions of time; None where time is not mapped to time."""
        down, up, mapping = self.consumer.time, self.inlet.time, self.mapping
        if down is None or up is None or not isinstance(mapping, _OF_TIME):
            return None
        return mapping, down, up

    def _selectable(self, parts: PartitionSet) -> PartitionSet:
        """The inlet partitions of ``parts`` that any block may need: the newest, or the named ones."""
        if isinstance(self.mapping, NamedMapping):
            return parts & self.mapping.parts
        return parts if self.available is None else parts & self.inlet.newest(self.available.value)

    def _matches(self) -> tuple[SegmentMatch, ...]:
        return match_by_column(self.consumer, self.inlet) if self.matches is None else self.matches

    def _transfer(self, parts: PartitionSet, *, up: bool) -> PartitionSet:
        """Carries sets from the segments of one side to those of the other; their time is mapped already."""
        if not self.consumer.segments and not self.inlet.segments:
            return parts
        have, want = (self.consumer, self.inlet) if up else (self.inlet, self.consumer)
        return transfer_segments(parts, have, want, self._links(up=up))

    def _links(self, *, up: bool) -> Sequence[SegmentLink]:
        if not self.consumer.segments or not self.inlet.segments:
            return ()
        return segment_links(self._matches(), self.consumer, self.inlet, up=up)

    def _widest_segment(self) -> Segment:
        """The tuple of the consumer's segments that needs the most inlet segments."""
        maps = {match.column.lower(): dict(match.keys) for match in self._matches() if match.keys is not None}
        return tuple(
            max(each.keys, key=lambda key: len(maps.get(each.column.lower(), {}).get(key, ())))
            for each in self.consumer.segments
        )


_OF_TIME = (OverlapMapping, WindowMapping)
"""The kinds of `TimeMapping`; `isinstance` is faster with a tuple, and every plan asks it for each inlet."""


def _all_time_if_any(time: RangeSet) -> RangeSet:
    """All time, where there is any: for partitions without a mapping of time."""
    return _ALWAYS if time else time
