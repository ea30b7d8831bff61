"""Functions from tuples of segments to values, and remembered answers about very large ones.

A function is two things: ``usual``, its value for almost all tuples, and ``apart``, the (tuple, value) pairs of the
finitely many others. ``apart`` is ascending and no value in it equals ``usual``, so that equal functions are equal
values. A new day for one of very many keys leaves all other tuples as they were: functions map each tuple on its own,
so earlier answers for the others remain valid.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from functools import lru_cache, wraps
from operator import itemgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from sparkassets.core.partitions.common_ends import count_common_ends
from sparkassets.frozen import frozen

Segment = tuple[str, ...]
"""One value for each dimension of segments."""

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

ApartValues = tuple[tuple[Segment, A], ...]
"""(tuple, value) pairs of the tuples with another value than the usual one; ascending."""
SegmentFunction = tuple[A, ApartValues[A]]
"""A function: its usual value, and the pairs of the tuples with another value."""


class LiftedValue(Generic[A]):
    """A function from tuples of segments to values, as a value that can be compared and hashed.

    It is not `frozen`, as it is stored in a form of its own (`json_form`).

    Attributes:
        time: The usual value, of every tuple that is not in ``apart``; in all subclasses it is some kind of time.
        apart: (tuple, value) for tuples with another value; ascending, so that equal functions are equal values.
    """

    __slots__ = ("apart", "time")

    time: A
    apart: ApartValues[A]

    EMPTY: ClassVar[Any]
    """The usual value by default."""

    def __init__(self, time: A | None = None, apart: ApartValues[A] = ()) -> None:
        _assign_time(self, self.EMPTY if time is None else time)
        _assign_apart(self, apart)

    def __setattr__(self, name: str, _: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.time, self.apart)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LiftedValue) or other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self.time == other.time) and self.apart == other.apart

    def __hash__(self) -> int:
        return hash((self.time, self.apart))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(time={self.time!r}, apart={self.apart!r})"


_assign_time = LiftedValue.__dict__["time"].__set__
_assign_apart = LiftedValue.__dict__["apart"].__set__


class OneSidedRule(Enum):
    """How to combine the tuples that stand apart on one side only, while the other side has its usual value there.

    The first two rules save the work of combining each tuple: they only copy, or drop, all of them.
    """

    KEPT = "each stays as it is"
    LOST = "each becomes what the result is as a rule"
    ASKED = "each is combined"


def value_at(lifted: SegmentFunction[A], segment: Segment) -> A:
    """The function's value for one tuple.

    >>> value_at((0, ((("nl",), 1),)), ("nl",)), value_at((0, ((("nl",), 1),)), ("de",))
    (1, 0)
    """
    usual, apart = lifted
    i = bisect_left(apart, segment, key=_segment)
    return apart[i][1] if i < len(apart) and apart[i][0] == segment else usual


def from_mapping(usual: A, values: Mapping[Segment, A]) -> SegmentFunction[A]:
    """The function with these ``values`` by tuple, and ``usual`` for all other tuples.

    >>> from_mapping(0, {("nl",): 1, ("de",): 0, ("be",): 2})
    (0, ((('be',), 2), (('nl',), 1)))
    """
    return usual, tuple((segment, values[segment]) for segment in sorted(values) if values[segment] != usual)


def constant_on(value: A, segments: Sequence[Segment], *, usual: A) -> SegmentFunction[A]:
    """The function with one value for ``segments``, which are ascending, and ``usual`` for all other tuples.

    >>> constant_on(1, [("be",), ("nl",)], usual=0)
    (0, ((('be',), 1), (('nl',), 1)))
    """
    return usual, () if value == usual else tuple([(segment, value) for segment in segments])


def map_values(f: Callable[[A], C], lifted: SegmentFunction[A]) -> SegmentFunction[C]:
    """Applies ``f`` to the function's value for every tuple; calls it once for each distinct value.

    >>> map_values(str, (0, ((("be",), 2), (("nl",), 1))))
    ('0', ((('be',), '2'), (('nl',), '1')))
    """
    usual = f(lifted[0])
    return usual, tuple(_map_apart(lifted[1], f, usual))


def combine_values(
    f: Callable[[A, B], C],
    left: SegmentFunction[A],
    right: SegmentFunction[B],
    *,
    left_rule: OneSidedRule = OneSidedRule.ASKED,
    right_rule: OneSidedRule = OneSidedRule.ASKED,
) -> SegmentFunction[C]:
    """Applies ``f`` to both functions' values for every tuple; calls it once for each pair of values.

    Args:
        f: Combines a value of ``left`` with one of ``right``.
        left: Gives the first argument.
        right: Gives the second argument.
        left_rule: Rule for tuples that only ``left`` has apart: what ``f(value, usual of right)`` is known to be.
        right_rule: Rule for tuples that only ``right`` has apart: what ``f(usual of left, value)`` is known to be.

    >>> combine_values(max, (0, ((("be",), 2), (("nl",), 1))), (1, ((("nl",), 3),)))
    (1, ((('be',), 2), (('nl',), 3)))
    """
    usual = f(left[0], right[0])
    combined: list[tuple[Segment, C]] = []

    # adds the pairs at low to high, exclusive, which only one side has apart; `combine_one` combines such a value
    def add_one_sided(
        apart: ApartValues[Any], low: int, high: int, rule: OneSidedRule, combine_one: Callable[[Any], C]
    ) -> None:
        if rule is OneSidedRule.KEPT:
            combined.extend(cast("ApartValues[C]", apart[low:high]))
        elif rule is OneSidedRule.ASKED and low < high:
            combined.extend(_map_apart(apart[low:high], combine_one, usual))

    def add_left_only(low: int, high: int) -> None:
        add_one_sided(left[1], low, high, left_rule, lambda value: f(value, right[0]))

    def add_right_only(low: int, high: int) -> None:
        add_one_sided(right[1], low, high, right_rule, lambda value: f(left[0], value))

    left_apart, right_apart = left[1], right[1]
    i = j = 0
    while i < len(left_apart) and j < len(right_apart):
        left_segment, right_segment = left_apart[i][0], right_apart[j][0]
        if left_segment == right_segment:
            count = _count_same_segments(left_apart, right_apart, i, j)
            combined.extend(_combine_apart(left_apart[i : i + count], right_apart[j : j + count], f, usual))
            i, j = i + count, j + count
        elif left_segment < right_segment:
            low, i = i, bisect_left(left_apart, right_segment, i + 1, key=_segment)
            add_left_only(low, i)
        else:
            low, j = j, bisect_left(right_apart, left_segment, j + 1, key=_segment)
            add_right_only(low, j)
    add_left_only(i, len(left_apart))
    add_right_only(j, len(right_apart))
    return usual, tuple(combined)


def _count_same_segments(left: ApartValues[Any], right: ApartValues[Any], i: int, j: int) -> int:
    """Number of pairs, from positions ``i`` and ``j`` on, that have the same tuples in both."""
    most = min(len(left) - i, len(right) - j)
    left_segments, right_segments = [*map(_segment, left[i : i + most])], [*map(_segment, right[j : j + most])]
    if left_segments == right_segments:
        return most
    return next(
        count for count, (one, other) in enumerate(zip(left_segments, right_segments, strict=True)) if one != other
    )


def _map_apart(apart: ApartValues[A], f: Callable[[A], C], usual: C) -> Sequence[tuple[Segment, C]]:
    """The pairs with ``f`` applied to their values, without those that become ``usual``.

    Values are told apart by identity: many tuples share one object, and comparing values would cost more.
    """
    values = [*map(_value, apart)]
    keys = [*map(id, values)]
    value_by_key = dict(zip(keys, values, strict=True))
    return _apply_answers(apart, keys, {key: (value, f(value)) for key, value in value_by_key.items()}, usual)


def _combine_apart(
    left: ApartValues[A], right: ApartValues[B], f: Callable[[A, B], C], usual: C
) -> Sequence[tuple[Segment, C]]:
    """The pairs of the same tuples in both, with ``f`` of both values, without those that become ``usual``.

    ``left`` and ``right`` have the same tuples, in the same order. Values are told apart by identity, as in
    `_map_apart`; where the result equals an operand, that object is returned.
    """
    left_values, right_values = [*map(_value, left)], [*map(_value, right)]
    keys = [*zip(map(id, left_values), map(id, right_values), strict=True)]
    values_by_key = dict(zip(keys, zip(left_values, right_values, strict=True), strict=True))
    answers = {key: (one, f(one, other)) for key, (one, other) in values_by_key.items()}
    if all(answers[key][1] == other for key, (_, other) in values_by_key.items()) and usual not in right_values:
        return cast("ApartValues[C]", right)
    return _apply_answers(left, keys, answers, usual)


def _apply_answers(
    apart: ApartValues[Any], keys: Sequence[Any], answers: Mapping[Any, tuple[Any, C]], usual: C
) -> Sequence[tuple[Segment, C]]:
    """The pairs of ``apart`` with their new values, without those that become ``usual``.

    There is a key for each pair, and (value, new value) for each key. The same object is returned where nothing
    changes, because identical sets are quick to compare.
    """
    becoming_usual = {key for key, (_, answer) in answers.items() if answer == usual}
    if len(becoming_usual) == len(answers):
        return ()
    unchanged = {key for key, (value, answer) in answers.items() if answer == value}
    if len(unchanged) == len(answers) and not becoming_usual:
        return apart
    return [
        pair if key in unchanged else (pair[0], answers[key][1])
        for pair, key in zip(apart, keys, strict=True)
        if key not in becoming_usual
    ]


_segment: Callable[[tuple[Segment, Any]], Segment] = itemgetter(0)
_value: Callable[[tuple[Segment, Any]], Any] = itemgetter(1)


MANY = 1_000
"""Number of tuples in ``apart`` from which on a set is very large."""
_REMEMBERED = 16
"""Number of results that each decorated method keeps, and with them large sets."""

T = TypeVar("T")


class _HasApart(Protocol):
    @property
    def apart(self) -> tuple[Any, ...]: ...


P = TypeVar("P", bound=_HasApart)
R = TypeVar("R")
Asker = TypeVar("Asker")


@frozen
class IdentityKey(Generic[T]):
    """An immutable value as a cache key by identity, because comparing it would cost more than the cache saves."""

    value: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def memoize_large(answer: Callable[[Asker, P], R]) -> Callable[[Asker, P], R]:
    """Decorates a method to keep its newest results for very large sets.

    Args:
        answer: A pure function of a value that is quick to compare, and a set.
    """

    @lru_cache(maxsize=_REMEMBERED)
    def cached_answer(asker: Asker, parts: IdentityKey[P]) -> R:
        return answer(asker, parts.value)

    @wraps(answer)
    def memoized_answer(asker: Asker, parts: P) -> R:
        return cached_answer(asker, IdentityKey(parts)) if len(parts.apart) >= MANY else answer(asker, parts)

    return memoized_answer


_REMEMBERED_ANSWERS = 64
"""Number of answers that `IncrementalAnswers` keeps."""


@frozen
class _RememberedAnswer:
    """The answer to a question about some operands, which `IncrementalAnswers` reuses."""

    question: Hashable
    operands: tuple[ApartValues[Any], ...]
    answer: ApartValues[Any]


class IncrementalAnswers:
    """The newest answers about very large sets; safe for threads."""

    def __init__(self) -> None:
        self._remembered: tuple[_RememberedAnswer, ...] = ()

    def ask(
        self, question: Hashable, operands: tuple[ApartValues[Any], ...], answer: Callable[..., ApartValues[Any]]
    ) -> ApartValues[Any]:
        """Returns ``answer(*operands)``, computed only where the operands differ from remembered ones.

        Args:
            question: Identifies the function, with everything else that its answers depend on.
            operands: The ``apart`` items of sets.
            answer: The function; it must map each tuple on its own, and add no tuple that is in no operand.
        """
        # the newest first: a set mostly differs least from the one before it
        for remembered in reversed(self._remembered):
            if remembered.question == question and all(map(_share_an_end, remembered.operands, operands)):
                answered = _splice_answer(remembered, operands, answer)
                break
        else:
            answered = tuple(answer(*operands))
        self._remembered = (
            *self._remembered[1 - _REMEMBERED_ANSWERS :],
            _RememberedAnswer(question, operands, answered),
        )
        return answered


def _share_an_end(one: ApartValues[Any], other: ApartValues[Any]) -> bool:
    """Whether both begin or end with the same object, so that they may have most items in common."""
    return one is other or (bool(one and other) and (one[0] is other[0] or one[-1] is other[-1]))


def _splice_answer(
    remembered: _RememberedAnswer, operands: tuple[ApartValues[Any], ...], answer: Callable[..., ApartValues[Any]]
) -> ApartValues[Any]:
    """The known answer, recomputed only from the first tuple in which the operands differ to the last.

    That is right because ``answer`` maps each tuple on its own.
    """
    spans = [
        span for pair in zip(remembered.operands, operands, strict=True) if (span := differing_span(*pair)) is not None
    ]
    if not spans:
        return remembered.answer
    low, high = min(first for first, _ in spans), max(last for _, last in spans)
    recomputed = tuple(answer(*(_pairs_between(each, low, high) for each in operands)))
    start = bisect_left(remembered.answer, low, key=_segment)
    end = bisect_right(remembered.answer, high, start, key=_segment)
    return remembered.answer[:start] + recomputed + remembered.answer[end:]


def differing_span(one: ApartValues[Any], other: ApartValues[Any]) -> tuple[Segment, Segment] | None:
    """The first and the last tuple for which both differ; None where they are equal.

    >>> differing_span(((("a",), 1), (("c",), 2)), ((("a",), 1), (("b",), 5), (("c",), 2)))
    (('b',), ('b',))
    """
    return None if one is other else _cached_differing_span(IdentityKey(one), IdentityKey(other))


@lru_cache(maxsize=64)
def _cached_differing_span(
    one_key: IdentityKey[ApartValues[Any]], other_key: IdentityKey[ApartValues[Any]]
) -> tuple[Segment, Segment] | None:
    """`differing_span` of two that are not the same object; remembered by identity."""
    one, other = one_key.value, other_key.value
    start, end = count_common_ends(one, other)
    if start == len(one) == len(other):
        return None
    differing = (one[start : len(one) - end], other[start : len(other) - end])
    return min(rest[0][0] for rest in differing if rest), max(rest[-1][0] for rest in differing if rest)


def _pairs_between(apart: ApartValues[Any], low: Segment, high: Segment) -> ApartValues[Any]:
    """The pairs from tuple ``low`` to tuple ``high``, inclusive."""
    start = bisect_left(apart, low, key=_segment)
    return apart[start : bisect_right(apart, high, start, key=_segment)]


class DistinctValues:
    """The distinct values of very large sets; counts of the newest sets are remembered and updated."""

    def __init__(self) -> None:
        # (items, id of each distinct value to (value, number of tuples with it)) of the newest sets
        self._remembered: tuple[tuple[ApartValues[Any], dict[int, tuple[Any, int]]], ...] = ()

    def values(self, apart: ApartValues[Any]) -> list[Any]:
        """The distinct values, by identity, of the tuples in ``apart``; in no particular order."""
        for known_apart, counts in reversed(self._remembered):
            if known_apart is apart:  # nothing changed
                return [value for value, _ in counts.values()]
            if _share_an_end(known_apart, apart):
                counted = self._update_counts(known_apart, apart, dict(counts))
                break
        else:
            counted = _count_values({}, apart, 1)
        self._remembered = (*self._remembered[-7:], (apart, counted))
        return [value for value, _ in counted.values()]

    def _update_counts(
        self, known_apart: ApartValues[Any], apart: ApartValues[Any], counts: dict[int, tuple[Any, int]]
    ) -> dict[int, tuple[Any, int]]:
        """The counts of ``known_apart`` adjusted to ``apart``: only the span in which both differ is counted again."""
        span = differing_span(known_apart, apart)
        if span is None:
            return counts
        counts = _count_values(counts, _pairs_between(apart, *span), 1)
        return _count_values(counts, _pairs_between(known_apart, *span), -1)


def _count_values(
    counts: dict[int, tuple[Any, int]], apart: ApartValues[Any], change: int
) -> dict[int, tuple[Any, int]]:
    """The values by identity, with the number of tuples that have each; adds ``change`` for each tuple of ``apart``."""
    values = [value for _, value in apart]
    value_by_key = dict(zip(map(id, values), values, strict=True))
    for key, occurrences in Counter(map(id, values)).items():
        value, known_count = counts.get(key, (value_by_key[key], 0))
        counts[key] = value, known_count + change * occurrences
    return {key: pair for key, pair in counts.items() if pair[1]}
