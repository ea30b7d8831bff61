"""Applies maps of bounded time to ranges that are open at a side: calendars end, sets of time need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sparkassets.core.instants import DAY
from sparkassets.core.partitions.range_set import RangeSet

_ALWAYS: Final = RangeSet.always()
_FAR: Final = 20 * 366 * DAY
"""This much time behind an edge stands for all time: the edge alone determines where the image begins or ends."""


def apply_open_ended(f: Callable[[RangeSet], RangeSet], ranges: RangeSet) -> RangeSet:
    """Applies ``f`` to ranges that may be open at either side; the image is then open at that side, too.

    Args:
        f: Monotonic; it must not map more than a few years at once to nothing.
        ranges: Any ranges.

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
