"""Functions of a tuple of segments that are the same for all but finitely many: the one way to change or join them.

Such a function is two values side by side: what it is as a rule, and what it is for the tuples that stand apart,
ascending, none of them equal to the rule; so that equal functions are equal values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from enum import Enum
from operator import itemgetter
from typing import Any, TypeVar, cast

Segment = tuple[str, ...]
"""One value for each dimension of segments."""

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

Apart = tuple[tuple[Segment, A], ...]
Lifted = tuple[A, Apart[A]]
"""A function: what it is as a rule, and for the tuples that stand apart."""


class Alone(Enum):
    """What becomes of the values of tuples that stand apart on one side only, by what the other is as a rule.

    The first two take no time by the number of such tuples but that of copying them, or none.
    """

    KEPT = "each stays as it is"
    LOST = "each becomes what the result is as a rule"
    ASKED = "each is combined"


def value_at(lifted: Lifted[A], segment: Segment) -> A:
    """What the function is for one tuple.

    >>> value_at((0, ((("nl",), 1),)), ("nl",)), value_at((0, ((("nl",), 1),)), ("de",))
    (1, 0)
    """
    usual, apart = lifted
    i = bisect_left(apart, segment, key=_segment)
    return apart[i][1] if i < len(apart) and apart[i][0] == segment else usual


def from_mapping(usual: A, values: Mapping[Segment, A]) -> Lifted[A]:
    """The function that is ``values`` where these say so, and else ``usual``.

    >>> from_mapping(0, {("nl",): 1, ("de",): 0, ("be",): 2})
    (0, ((('be',), 2), (('nl',), 1)))
    """
    return usual, tuple((segment, values[segment]) for segment in sorted(values) if values[segment] != usual)


def mapped(f: Callable[[A], C], lifted: Lifted[A]) -> Lifted[C]:
    """``f`` of the function's value, for every tuple.

    >>> mapped(bool, (0, ((("be",), 2), (("nl",), 1))))
    (False, ((('be',), True), (('nl',), True)))
    """
    before, apart = lifted
    usual = f(before)
    return usual, tuple((segment, value) for segment, old in apart if (value := f(old)) != usual)


def combined(
    f: Callable[[A, B], C],
    left: Lifted[A],
    right: Lifted[B],
    *,
    lefts: Alone = Alone.ASKED,
    rights: Alone = Alone.ASKED,
) -> Lifted[C]:
    """``f`` of both functions' values, for every tuple.

    Args:
        f: Of two values.
        left: Gives the first.
        right: Gives the second.
        lefts: What ``f`` makes of any first value and what ``right`` is as a rule.
        rights: What ``f`` makes of what ``left`` is as a rule and any second value.

    >>> combined(max, (0, ((("be",), 2), (("nl",), 1))), (1, ((("nl",), 3),)))
    (1, ((('be',), 2), (('nl',), 3)))
    """
    usual = f(left[0], right[0])
    made: list[tuple[Segment, C]] = []

    def add(segment: Segment, value: C) -> None:
        if value != usual:
            made.append((segment, value))

    def alone(apart: Apart[Any], fate: Alone, one: Callable[[Any], C]) -> None:
        if fate is Alone.KEPT:
            made.extend(cast("Apart[C]", apart))
        elif fate is Alone.ASKED:
            for segment, value in apart:
                add(segment, one(value))

    ours, theirs = left[1], right[1]
    i = j = 0
    while i < len(ours) and j < len(theirs):
        mine, other = ours[i][0], theirs[j][0]
        if mine == other:
            add(mine, f(ours[i][1], theirs[j][1]))
            i, j = i + 1, j + 1
        elif mine < other:
            low, i = i, bisect_left(ours, other, i + 1, key=_segment)
            alone(ours[low:i], lefts, lambda value: f(value, right[0]))
        else:
            low, j = j, bisect_left(theirs, mine, j + 1, key=_segment)
            alone(theirs[low:j], rights, lambda value: f(left[0], value))
    alone(ours[i:], lefts, lambda value: f(value, right[0]))
    alone(theirs[j:], rights, lambda value: f(left[0], value))
    return usual, tuple(made)


_segment: Callable[[tuple[Segment, Any]], Segment] = itemgetter(0)
