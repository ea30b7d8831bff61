"""Calendars end, sets of time need not: what a map that knows bounded time only makes of what is open at a side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sparkassets.core.instants import DAY
from sparkassets.core.partitions.range_set import RangeSet

_ALWAYS: Final = RangeSet.always()
_FAR: Final = 20 * 366 * DAY
"""So much time behind an edge stands for all of it: where the image begins or ends follows from the edge alone."""


def apply_open_ended(f: Callable[[RangeSet], RangeSet], ranges: RangeSet) -> RangeSet:
    """``f`` of ranges that may be open at either side; of such a range all from where its image begins, or to where.

    Args:
        f: Ascends with the ranges, and maps no more of time to nothing than a few years at once.
        ranges: Any.

    >>> later = lambda ranges: RangeSet.from_pairs((start + 5, end + 5) for start, end in ranges.pairs())
    >>> apply_open_ended(later, RangeSet.always().clip(9, None)) == RangeSet.always().clip(14, None)
    True
    """
    past, future = ranges.starts[:1] == _ALWAYS.starts, ranges.ends[-1:] == _ALWAYS.ends
    if not past and not future:
        return f(ranges)
    if len(ranges) == 1 and past and future:
        return ranges
    image = f(ranges.clip(ranges.ends[0] - _FAR if past else None, ranges.starts[-1] + _FAR if future else None))
    before = RangeSet.span(_ALWAYS.first, image.first + 1 if past else _ALWAYS.first)
    after = RangeSet.span(image.last - 1 if future else _ALWAYS.last, _ALWAYS.last)
    return image | before | after
