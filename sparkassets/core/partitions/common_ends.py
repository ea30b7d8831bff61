"""How much two long tuples have in common at both ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_STRETCH: Final = 4096
"""Number of items that are compared at once."""


def count_common_ends(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[int, int]:
    """The number of common items at the beginning, and of further common ones at the end.

    >>> count_common_ends((1, 2, 9), (1, 3, 4, 9))
    (1, 1)
    """
    most, one_length, other_length = min(len(one), len(other)), len(one), len(other)
    start = _count_leading_same(most, lambda low, high: one[low:high] == other[low:high])
    end = _count_leading_same(
        most - start,
        lambda low, high: one[one_length - high : one_length - low] == other[other_length - high : other_length - low],
    )
    return start, end


def _count_leading_same(most: int, are_same: Callable[[int, int], bool]) -> int:
    """How many of the first ``most`` items are alike; ``are_same`` compares a range of them.

    Stretch by stretch, as slices of them stay in the processor's cache; by bisection in the first that differs.
    """
    low, high = 0, min(_STRETCH, most)
    while low < high and are_same(low, high):
        low, high = high, min(high + _STRETCH, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if are_same(low, middle) else (low, middle - 1)
    return low
