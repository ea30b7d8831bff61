"""What is asked of a very large set that is nearly one that was asked before: only where both differ is it computed.

A day that comes for one of very many keys, and a key that is new among them, leave all others as they were. What a
function makes of the one tuple says nothing of the others, so what it made of these stands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sparkassets.core.partitions.lifting import Apart, Segment
from sparkassets.core.partitions.remembered import Same
from sparkassets.frozen import frozen

_REMEMBERED = 64

Operands = Sequence[Apart[Any]]


@frozen
class _Asked:
    """A question, what it was asked of, and the answer."""

    question: Hashable
    operands: tuple[Apart[Any], ...]
    answer: Apart[Any]


class Nearby:
    """The newest answers about very large sets; may be asked by several threads."""

    def __init__(self) -> None:
        self._known: tuple[_Asked, ...] = ()

    def ask(
        self, question: Hashable, operands: tuple[Apart[Any], ...], answer: Callable[..., Apart[Any]]
    ) -> Apart[Any]:
        """What ``answer`` makes of the operands.

        Args:
            question: Tells which function it is, with all that its answers depend on besides.
            operands: Tuples of segments that stand apart, with their values.
            answer: Of each tuple by itself, and of a tuple that stands apart in no operand nothing.
        """
        for known in reversed(self._known):
            if known.question == question and all(map(_alike, known.operands, operands)):
                found = _spliced(known, operands, answer)
                break
        else:
            found = tuple(answer(*operands))
        self._known = (*self._known[1 - _REMEMBERED :], _Asked(question, operands, found))
        return found


def _alike(one: Apart[Any], other: Apart[Any]) -> bool:
    """Whether both may have most in common: they begin or end with the very same."""
    return one is other or (bool(one and other) and (one[0] is other[0] or one[-1] is other[-1]))


def _spliced(known: _Asked, operands: tuple[Apart[Any], ...], answer: Callable[..., Apart[Any]]) -> Apart[Any]:
    """The answer that is known, and what is computed anew between the first and the last tuple that differ."""
    spans = [span for pair in zip(known.operands, operands, strict=True) if (span := differing(*pair)) is not None]
    if not spans:
        return known.answer
    low, high = min(first for first, _ in spans), max(last for _, last in spans)
    anew = tuple(answer(*(_between(each, low, high) for each in operands)))
    start = bisect_left(known.answer, low, key=_segment)
    end = bisect_right(known.answer, high, start, key=_segment)
    return known.answer[:start] + anew + known.answer[end:]


def differing(one: Apart[Any], other: Apart[Any]) -> tuple[Segment, Segment] | None:
    """The first and the last tuple of which both say other things; None where they are the same.

    >>> differing(((("a",), 1), (("c",), 2)), ((("a",), 1), (("b",), 5), (("c",), 2)))
    (('b',), ('b',))
    """
    return None if one is other else _differing(Same(one), Same(other))


@lru_cache(maxsize=64)
def _differing(same: Same[Apart[Any]], as_before: Same[Apart[Any]]) -> tuple[Segment, Segment] | None:
    one, other = same.value, as_before.value
    start, end = alike(one, other)
    if start == len(one) == len(other):
        return None
    rests = (one[start : len(one) - end], other[start : len(other) - end])
    return min(rest[0][0] for rest in rests if rest), max(rest[-1][0] for rest in rests if rest)


def alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[int, int]:
    """How many items both have in common at the beginning, and how many of the others at the end.

    >>> alike((1, 2, 9), (1, 3, 4, 9))
    (1, 1)
    """
    most, mine, others = min(len(one), len(other)), len(one), len(other)
    start = _same(most, lambda low, high: one[low:high] == other[low:high])
    end = _same(most - start, lambda low, high: one[mine - high : mine - low] == other[others - high : others - low])
    return start, end


def _same(most: int, alike: Callable[[int, int], bool]) -> int:
    """How many of the first ``most`` are alike; ``alike`` looks at some of them at once."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if alike(low, middle) else (low, middle - 1)
    return low


def _between(apart: Apart[Any], low: Segment, high: Segment) -> Apart[Any]:
    start = bisect_left(apart, low, key=_segment)
    return apart[start : bisect_right(apart, high, start, key=_segment)]


class Distinct:
    """The different values of very large sets, of which the newest are remembered."""

    def __init__(self) -> None:
        self._known: tuple[tuple[Apart[Any], dict[int, tuple[Any, int]]], ...] = ()

    def values(self, apart: Apart[Any]) -> list[Any]:
        """Those that some tuple has; the same object once."""
        for before, counts in reversed(self._known):
            if before is apart:
                return [value for value, _ in counts.values()]
            if _alike(before, apart):
                found = self._moved(before, apart, dict(counts))
                break
        else:
            found = _counted({}, apart, 1)
        self._known = (*self._known[-7:], (apart, found))
        return [value for value, _ in found.values()]

    def _moved(
        self, before: Apart[Any], apart: Apart[Any], counts: dict[int, tuple[Any, int]]
    ) -> dict[int, tuple[Any, int]]:
        span = differing(before, apart)
        if span is None:
            return counts
        return _counted(_counted(counts, _between(apart, *span), 1), _between(before, *span), -1)


def _counted(counts: dict[int, tuple[Any, int]], apart: Apart[Any], by: int) -> dict[int, tuple[Any, int]]:
    """The values by their identity, each with how many tuples have it."""
    values = [value for _, value in apart]
    times = dict(zip(map(id, values), values, strict=True))
    for key, number in Counter(map(id, values)).items():
        value, before = counts.get(key, (times[key], 0))
        counts[key] = value, before + by * number
    return {key: pair for key, pair in counts.items() if pair[1]}


_segment: Callable[[tuple[Segment, Any]], Segment] = itemgetter(0)
