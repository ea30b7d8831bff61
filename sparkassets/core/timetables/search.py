"""The neighbouring tick of a rule that only lists what lies between two instants."""

from __future__ import annotations

from collections.abc import Callable

from sparkassets.core.instants import DAY

Listing = Callable[[int, int], list[int]]
"""The ticks in ``[start, end)``, ascending; epoch seconds."""

_LOOK = 2 * DAY
_WIDEN = 4
_YEAR = 366 * DAY
HORIZON = 50 * _YEAR
"""How far a neighbour is looked for, in seconds: what is rarer counts as never."""


def tick_after(between: Listing, epoch: int) -> int | None:
    """The first tick later than ``epoch``; None where there is none within `HORIZON`.

    >>> tick_after(lambda start, end: [each for each in (100, 900_000) if start <= each < end], 100)
    900000
    """
    start, length = epoch + 1, _LOOK
    while start <= epoch + HORIZON:
        if found := between(start, start + length):
            return found[0]
        start, length = start + length, min(length * _WIDEN, _YEAR)
    return None


def tick_before(between: Listing, epoch: int) -> int | None:
    """The last tick earlier than ``epoch``; None where there is none within `HORIZON`."""
    end, length = epoch, _LOOK
    while end >= epoch - HORIZON:
        if found := between(end - length, end):
            return found[-1]
        end, length = end - length, min(length * _WIDEN, _YEAR)
    return None
