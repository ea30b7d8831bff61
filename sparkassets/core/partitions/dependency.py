"""What an asset's blocks need of an inlet, and which blocks need something of it: exact adjoints, for all assets."""

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
    """How the blocks of a consumer depend on the partitions of an inlet.

    Dimensions of segments match by column, or as it is said; time by the mapping. A dimension that only the inlet has
    is read whole, all its known keys; one that only the consumer has gets the same for every key. Where no dimension
    meets another, and nothing is said, or nothing maps them, all blocks need all of the inlet.

    Attributes:
        mapping: Which time of the inlet a block needs; None for all of the inlet, whatever its dimensions.
        consumer: Of the blocks.
        inlet: Of what they need.
        matches: What is said of dimensions of segments; None where they match by column.
        available: What of the inlet is there, for the mapping by the newest; without, any partition may be that.
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
        """The consumer's dimensions of segments that the inlet has too, so that it tells which there are; and its own.

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
        """Whether a change of the inlet says which of the consumer's segments it is about."""
        return self.mapping is not None and bool(self._matches())

    @property
    def is_open(self) -> bool:
        """Whether a block needs all time of the inlet's partitions, which has no end: as much as there is."""
        named = isinstance(self.mapping, NamedMapping)
        return self.is_mapped and not named and self.inlet.time is not None and self._time_mapping() is None

    @property
    def tells_time(self) -> bool:
        """Whether what the inlet has says which time of the consumer is meant, if the consumer has any."""
        if self.consumer.time is None:
            return self.is_mapped
        return self.inlet.time is not None and isinstance(self.mapping, _OF_TIME)

    @property
    def goes_by_newest(self) -> bool:
        """Whether what a block needs follows from what is there."""
        return isinstance(self.mapping, NewestMapping)

    def with_available(self, there: PartitionSet) -> Dependency:
        """The same where this is what the inlet has."""
        return replace(self, available=IdentityKey(there)) if self.goes_by_newest else self

    @memoize_large
    def required_partitions(self, blocks: PartitionSet) -> PartitionSet:
        """The inlet partitions that ``blocks`` need; a cut block counts as a whole.

        Of blocks that go on for ever it is all from the first that they need, also where their windows leave gaps.

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
        touched = self.mapping.affected_ranges(
            time, down=down, up=up
        )  # of time alone, as each look asks it of most inlets
        return changed if touched is time else PartitionSet(touched)

    @memoize_large
    def _affected_partitions(self, changed: PartitionSet) -> PartitionSet:
        """`down` of anything."""
        found = self._time_mapping()
        if found is None and not self.is_mapped:
            return EVERYTHING if changed else NOTHING
        if found is None:
            return self._transfer(self._selectable(changed).lift(_all_time_if_any, question="whole"), up=False)
        mapping, down, up = found
        touched = changed.lift(
            lambda time: apply_open_ended(lambda some: mapping.affected_ranges(some, down=down, up=up), time),
            question=("down", found),
        )
        return self._transfer(touched, up=False)

    def lacking_all_inputs(self, blocks: PartitionSet, there: PartitionSet, possible: PartitionSet) -> PartitionSet:
        """Those of ``blocks`` that need all time of what has none there: of each, where all or the newest is asked for.

        Args:
            blocks: Of the consumer.
            there: Of the inlet.
            possible: What it can ever have.
        """
        ever = replace(self, available=None)
        if isinstance(self.mapping, OverlapMapping | WindowMapping):
            return self.needing_inlet(blocks) - ever.affected_partitions(there)
        return blocks & ever.affected_partitions(
            (ever.required_partitions(blocks) & possible & self.inlet.known_partitions) - there.lift(_all_time_if_any)
        )

    def needing_inlet(self, blocks: PartitionSet) -> PartitionSet:
        """Those of ``blocks`` that need anything of the inlet, whether it is there or not."""
        return blocks & replace(self, available=None).affected_partitions(self.inlet.known_partitions)

    def hull(self, blocks: PartitionSet) -> PartitionSet:
        """All from the first of ``blocks`` to the last, of each tuple, but for those that need nothing of the inlet.

        Only what falls into excluded time of the inlet needs nothing.
        """
        whole, time = blocks.hull(), self.inlet.time
        return (
            whole
            if time is None or not time.exclude
            else whole & self.affected_partitions(self.required_partitions(whole))
        )

    def having_enough(self, blocks: PartitionSet, there: PartitionSet, least: int) -> PartitionSet:
        """Those of ``blocks`` (whole partitions) that need at least ``least`` inlet partitions which lie in ``there``.

        By ranges, one by one only where some are there. An inlet partition of which only a part is there does not
        count. Where nothing maps them, all blocks have enough once anything is there.

        Args:
            blocks: Of the consumer; bounded.
            there: Of the inlet.
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
        """The most inlet partitions that one block needs, as the first ``blocks`` of a stretch of time tell.

        None where there is no end to them, or nothing maps them.

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
        """What maps their time, and their dimensions of time; None where nothing does."""
        down, up, mapping = self.consumer.time, self.inlet.time, self.mapping
        if down is None or up is None or not isinstance(mapping, _OF_TIME):
            return None
        return mapping, down, up

    def _selectable(self, parts: PartitionSet) -> PartitionSet:
        """Those of the inlet's partitions that any block may need: the newest, or those that are named."""
        if isinstance(self.mapping, NamedMapping):
            return parts & self.mapping.parts
        return parts if self.available is None else parts & self.inlet.newest(self.available.value)

    def _matches(self) -> tuple[SegmentMatch, ...]:
        return match_by_column(self.consumer, self.inlet) if self.matches is None else self.matches

    def _transfer(self, parts: PartitionSet, *, up: bool) -> PartitionSet:
        """Parts of the one side as those of the other, whose time they have already."""
        if not self.consumer.segments and not self.inlet.segments:
            return parts
        have, want = (self.consumer, self.inlet) if up else (self.inlet, self.consumer)
        return transfer_segments(parts, have, want, self._links(up=up))

    def _links(self, *, up: bool) -> Sequence[SegmentLink]:
        if not self.consumer.segments or not self.inlet.segments:
            return ()
        return segment_links(self._matches(), self.consumer, self.inlet, up=up)

    def _widest_segment(self) -> Segment:
        """A tuple of the consumer's segments that needs the most."""
        maps = {match.column.lower(): dict(match.keys) for match in self._matches() if match.keys is not None}
        return tuple(
            max(each.keys, key=lambda key: len(maps.get(each.column.lower(), {}).get(key, ())))
            for each in self.consumer.segments
        )


_OF_TIME = (OverlapMapping, WindowMapping)
"""The kinds of `TimeMapping`: asking of these is quicker, and each look at a project asks it of every inlet."""


def _all_time_if_any(time: RangeSet) -> RangeSet:
    """All time, where there is any: of what has none, or is not mapped by it."""
    return _ALWAYS if time else time
