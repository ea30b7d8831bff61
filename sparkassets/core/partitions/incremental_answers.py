"""Remembers results of functions of very large sets, and recomputes only the tuples that changed since.

A new day for one of very many keys, or a new key, leaves all other tuples as they were. The functions map each tuple
on its own, so the earlier results for the others remain valid.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sparkassets.core.partitions.memoization import IdentityKey
from sparkassets.core.partitions.segment_functions import ApartValues, Segment
from sparkassets.frozen import frozen

_REMEMBERED = 64

Operands = Sequence[ApartValues[Any]]


@frozen
class _RememberedAnswer:
    """The answer to a question about some operands."""

    question: Hashable
    operands: tuple[ApartValues[Any], ...]
    answer: ApartValues[Any]


class IncrementalAnswers:
    """The newest answers about very large sets; safe for threads."""

    def __init__(self) -> None:
        self._known: tuple[_RememberedAnswer, ...] = ()

    def ask(
        self, question: Hashable, operands: tuple[ApartValues[Any], ...], answer: Callable[..., ApartValues[Any]]
    ) -> ApartValues[Any]:
        """Returns ``answer(*operands)``, computed only where the operands differ from remembered ones.

        Args:
            question: Identifies the function, with everything else that its answers depend on.
            operands: The ``apart`` items of sets.
            answer: The function; it must map each tuple on its own, and add no tuple that is in no operand.
        """
        for known in reversed(self._known):
            if known.question == question and all(map(_share_an_end, known.operands, operands)):
                found = _splice_answer(known, operands, answer)
                break
        else:
            found = tuple(answer(*operands))
        self._known = (*self._known[1 - _REMEMBERED :], _RememberedAnswer(question, operands, found))
        return found


def _share_an_end(one: ApartValues[Any], other: ApartValues[Any]) -> bool:
    """Whether both begin or end with the same object, so that they may have most items in common."""
    return one is other or (bool(one and other) and (one[0] is other[0] or one[-1] is other[-1]))


def _splice_answer(
    known: _RememberedAnswer, operands: tuple[ApartValues[Any], ...], answer: Callable[..., ApartValues[Any]]
) -> ApartValues[Any]:
    """The known answer, recomputed from the first to the last tuple in which the operands differ."""
    spans = [span for pair in zip(known.operands, operands, strict=True) if (span := differing_span(*pair)) is not None]
    if not spans:
        return known.answer
    low, high = min(first for first, _ in spans), max(last for _, last in spans)
    recomputed = tuple(answer(*(_between(each, low, high) for each in operands)))
    start = bisect_left(known.answer, low, key=_segment)
    end = bisect_right(known.answer, high, start, key=_segment)
    return known.answer[:start] + recomputed + known.answer[end:]


def differing_span(one: ApartValues[Any], other: ApartValues[Any]) -> tuple[Segment, Segment] | None:
    """The first and the last tuple for which both differ; None where they are the same.

    >>> differing_span(((("a",), 1), (("c",), 2)), ((("a",), 1), (("b",), 5), (("c",), 2)))
    (('b',), ('b',))
    """
    return None if one is other else _differing(IdentityKey(one), IdentityKey(other))


@lru_cache(maxsize=64)
def _differing(
    same: IdentityKey[ApartValues[Any]], as_before: IdentityKey[ApartValues[Any]]
) -> tuple[Segment, Segment] | None:
    one, other = same.value, as_before.value
    start, end = count_common_ends(one, other)
    if start == len(one) == len(other):
        return None
    rests = (one[start : len(one) - end], other[start : len(other) - end])
    return min(rest[0][0] for rest in rests if rest), max(rest[-1][0] for rest in rests if rest)


def count_common_ends(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[int, int]:
    """The number of common items at the beginning, and of further common ones at the end.

    >>> count_common_ends((1, 2, 9), (1, 3, 4, 9))
    (1, 1)
    """
    most, mine, others = min(len(one), len(other)), len(one), len(other)
    start = _count_same(most, lambda low, high: one[low:high] == other[low:high])
    end = _count_same(
        most - start, lambda low, high: one[mine - high : mine - low] == other[others - high : others - low]
    )
    return start, end


def _count_same(most: int, alike: Callable[[int, int], bool]) -> int:
    """How many of the first ``most`` items are alike, by bisection; ``alike`` compares a range of them."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if alike(low, middle) else (low, middle - 1)
    return low


def _between(apart: ApartValues[Any], low: Segment, high: Segment) -> ApartValues[Any]:
    start = bisect_left(apart, low, key=_segment)
    return apart[start : bisect_right(apart, high, start, key=_segment)]


class DistinctValues:
    """The distinct values of very large sets; counts of the newest sets are remembered and updated."""

    def __init__(self) -> None:
        self._known: tuple[tuple[ApartValues[Any], dict[int, tuple[Any, int]]], ...] = ()

    def values(self, apart: ApartValues[Any]) -> list[Any]:
        """The values that some tuple has; each object once."""
        for before, counts in reversed(self._known):
            if before is apart:
                return [value for value, _ in counts.values()]
            if _share_an_end(before, apart):
                found = self._update_counts(before, apart, dict(counts))
                break
        else:
            found = _count_values({}, apart, 1)
        self._known = (*self._known[-7:], (apart, found))
        return [value for value, _ in found.values()]

    def _update_counts(
        self, before: ApartValues[Any], apart: ApartValues[Any], counts: dict[int, tuple[Any, int]]
    ) -> dict[int, tuple[Any, int]]:
        span = differing_span(before, apart)
        if span is None:
            return counts
        return _count_values(_count_values(counts, _between(apart, *span), 1), _between(before, *span), -1)


def _count_values(counts: dict[int, tuple[Any, int]], apart: ApartValues[Any], by: int) -> dict[int, tuple[Any, int]]:
    """The values by identity, with the number of tuples that have each; adds ``by`` for each tuple of ``apart``."""
    values = [value for _, value in apart]
    times = dict(zip(map(id, values), values, strict=True))
    for key, number in Counter(map(id, values)).items():
        value, before = counts.get(key, (times[key], 0))
        counts[key] = value, before + by * number
    return {key: pair for key, pair in counts.items() if pair[1]}


_segment: Callable[[tuple[Segment, Any]], Segment] = itemgetter(0)
