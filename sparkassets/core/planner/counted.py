"""Which blocks have enough of the inlet partitions that they need: by ranges, one by one only where some are there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sparkassets.core.partitions import PartitionMapping, RangeSet, TimePartition


def having(
    blocks: RangeSet, there: RangeSet, *, least: int, mapping: PartitionMapping, down: TimePartition, up: TimePartition
) -> RangeSet:
    """Those of ``blocks`` (whole partitions) that need at least ``least`` inlet partitions which lie in ``there``.

    Args:
        blocks: Of ``down``.
        there: Inlet time; a partition of which only a part is there does not count.
        least: At least 1.
        mapping: Which inlet partitions a block needs.
        down: The grid of the blocks.
        up: The grid of the inlet.
    """
    mapped = mapping.up(blocks, down=down, up=up)
    whole = up.inside(there & mapped)
    some = mapping.down(whole, down=down, up=up) & blocks
    if least == 1 or not some:
        return some
    starts, ends = zip(*up.slots(whole), strict=True)
    found = []
    for block in down.slots(some):
        low, high = mapping.window(*block, down=down)
        if bisect_left(starts, high) - bisect_right(ends, low) >= least:
            found.append(block)
    return RangeSet.of(found)
