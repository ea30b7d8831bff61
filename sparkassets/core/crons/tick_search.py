"""The neighbour of an instant in a rule that only lists what lies between two instants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sparkassets.core.instants import DAY

T = TypeVar("T")
Listing = Callable[[int, int], list[T]]
"""What lies in ``[start, end)``, ascending; Unix seconds."""

_LOOK = 2 * DAY
_WIDEN = 4
_YEAR = 366 * DAY
HORIZON = 50 * _YEAR
"""How far a neighbour is looked for, in seconds: what is rarer counts as never."""


def tick_after(between: Listing[int], unix: int, *, known: tuple[int, int]) -> int | None:
    """The first tick later than ``unix``; None where there is none within `HORIZON`.

    Args:
        between: The rule.
        unix: Unix seconds.
        known: Outside ``[start, end)`` there are no ticks; Unix seconds.

    >>> tick_after(lambda start, end: [each for each in (100, 900_000) if start <= each < end], 100, known=(0, 10**9))
    900000
    """
    start = max(unix + 1, known[0])
    return first_from(between, start, min(start + HORIZON, known[1]))


def tick_before(between: Listing[int], unix: int, *, known: tuple[int, int]) -> int | None:
    """The last tick earlier than ``unix``; None where there is none within `HORIZON`. Else as `tick_after`."""
    end = min(unix, known[1])
    return last_until(between, max(end - HORIZON, known[0]), end)


def first_from(between: Listing[T], start: int, end: int, *, look: int = _LOOK) -> T | None:
    """The first from ``start`` on; None where there is none before ``end``.

    Args:
        between: The rule.
        start: Unix seconds.
        end: Unix seconds.
        look: How many seconds are looked through at first; then more and more.
    """
    while start < end:
        if found := between(start, start + look):
            return found[0]
        start, look = start + look, min(look * _WIDEN, _YEAR)
    return None


def last_until(between: Listing[T], start: int, end: int, *, look: int = _LOOK) -> T | None:
    """The last before ``end``; None where there is none from ``start`` on. Else as `first_from`."""
    while end > start:
        if found := between(end - look, end):
            return found[-1]
        end, look = end - look, min(look * _WIDEN, _YEAR)
    return None
