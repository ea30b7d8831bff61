"""Functions of a tuple of segments that are the same for all but finitely many: the one way to change or join them.

Such a function is two values side by side: what it is as a rule, and what it is for the tuples that stand apart,
ascending, none of them equal to the rule; so that equal functions are equal values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from operator import itemgetter
from typing import Any, ClassVar, Generic, TypeVar, cast

Segment = tuple[str, ...]
"""One value for each dimension of segments."""

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

ApartValues = tuple[tuple[Segment, A], ...]
SegmentFunction = tuple[A, ApartValues[A]]
"""A function: what it is as a rule, and for the tuples that stand apart."""


class LiftedValue(Generic[A]):
    """Such a function as a value; not `frozen`, as it is stored in a form of its own, which `plain` has.

    Attributes:
        time: What it is for every tuple that is not ``apart``.
        apart: Tuples with another value, and that; ascending, so that equal functions are equal values.
    """

    __slots__ = ("apart", "time")

    time: A
    apart: ApartValues[A]

    EMPTY: ClassVar[Any]
    """What it is for every tuple unless something else is said."""

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
    """What becomes of the values of tuples that stand apart on one side only, by what the other is as a rule.

    The first two take no time by the number of such tuples but that of copying them, or none.
    """

    KEPT = "each stays as it is"
    LOST = "each becomes what the result is as a rule"
    ASKED = "each is combined"


def value_at(lifted: SegmentFunction[A], segment: Segment) -> A:
    """What the function is for one tuple.

    >>> value_at((0, ((("nl",), 1),)), ("nl",)), value_at((0, ((("nl",), 1),)), ("de",))
    (1, 0)
    """
    usual, apart = lifted
    i = bisect_left(apart, segment, key=_segment)
    return apart[i][1] if i < len(apart) and apart[i][0] == segment else usual


def from_mapping(usual: A, values: Mapping[Segment, A]) -> SegmentFunction[A]:
    """The function that is ``values`` where these say so, and else ``usual``.

    >>> from_mapping(0, {("nl",): 1, ("de",): 0, ("be",): 2})
    (0, ((('be',), 2), (('nl',), 1)))
    """
    return usual, tuple((segment, values[segment]) for segment in sorted(values) if values[segment] != usual)


def constant_on(value: A, segments: Sequence[Segment], *, usual: A) -> SegmentFunction[A]:
    """The function that is one value for these tuples, ascending, and else ``usual``.

    >>> constant_on(1, [("be",), ("nl",)], usual=0)
    (0, ((('be',), 1), (('nl',), 1)))
    """
    return usual, () if value == usual else tuple([(segment, value) for segment in segments])


def map_values(f: Callable[[A], C], lifted: SegmentFunction[A]) -> SegmentFunction[C]:
    """``f`` of the function's value, for every tuple; asked once for each value.

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
    lefts: OneSidedRule = OneSidedRule.ASKED,
    rights: OneSidedRule = OneSidedRule.ASKED,
) -> SegmentFunction[C]:
    """``f`` of both functions' values, for every tuple; asked once for each pair of values.

    Args:
        f: Of two values.
        left: Gives the first.
        right: Gives the second.
        lefts: What ``f`` makes of any first value and what ``right`` is as a rule.
        rights: What ``f`` makes of what ``left`` is as a rule and any second value.

    >>> combine_values(max, (0, ((("be",), 2), (("nl",), 1))), (1, ((("nl",), 3),)))
    (1, ((('be',), 2), (('nl',), 3)))
    """
    usual = f(left[0], right[0])
    made: list[tuple[Segment, C]] = []

    def alone(apart: ApartValues[Any], low: int, high: int, fate: OneSidedRule, one: Callable[[Any], C]) -> None:
        if fate is OneSidedRule.KEPT:
            made.extend(cast("ApartValues[C]", apart[low:high]))
        elif fate is OneSidedRule.ASKED and low < high:
            made.extend(_map_apart(apart[low:high], one, usual))

    def mine_alone(low: int, high: int) -> None:
        alone(left[1], low, high, lefts, lambda value: f(value, right[0]))

    def others_alone(low: int, high: int) -> None:
        alone(right[1], low, high, rights, lambda value: f(left[0], value))

    ours, theirs = left[1], right[1]
    i = j = 0
    while i < len(ours) and j < len(theirs):
        mine, other = ours[i][0], theirs[j][0]
        if mine == other:
            count = _count_alike(ours, theirs, i, j)
            made.extend(_combine_apart(ours[i : i + count], theirs[j : j + count], f, usual))
            i, j = i + count, j + count
        elif mine < other:
            low, i = i, bisect_left(ours, other, i + 1, key=_segment)
            mine_alone(low, i)
        else:
            low, j = j, bisect_left(theirs, mine, j + 1, key=_segment)
            others_alone(low, j)
    mine_alone(i, len(ours))
    others_alone(j, len(theirs))
    return usual, tuple(made)


def _count_alike(ours: ApartValues[Any], theirs: ApartValues[Any], i: int, j: int) -> int:
    """How many of the tuples from there on are the same in both."""
    most = min(len(ours) - i, len(theirs) - j)
    mine, others = [*map(_segment, ours[i : i + most])], [*map(_segment, theirs[j : j + most])]
    if mine == others:
        return most
    return next(count for count, (one, other) in enumerate(zip(mine, others, strict=True)) if one != other)


def _map_apart(apart: ApartValues[A], f: Callable[[A], C], usual: C) -> Sequence[tuple[Segment, C]]:
    """``f`` of the values, where that is not the rule."""
    values = [*map(_value, apart)]
    keys = [*map(id, values)]
    known = dict(zip(keys, values, strict=True))
    return _apply_answers(apart, keys, {key: (value, f(value)) for key, value in known.items()}, usual)


def _combine_apart(
    ours: ApartValues[A], theirs: ApartValues[B], f: Callable[[A, B], C], usual: C
) -> Sequence[tuple[Segment, C]]:
    """``f`` of both values for each of the same tuples, where that is not the rule."""
    mine, others = [*map(_value, ours)], [*map(_value, theirs)]
    keys = [*zip(map(id, mine), map(id, others), strict=True)]
    known = dict(zip(keys, zip(mine, others, strict=True), strict=True))
    answers = {key: (one, f(one, other)) for key, (one, other) in known.items()}
    if all(answers[key][1] == other for key, (_, other) in known.items()) and usual not in others:
        return cast("ApartValues[C]", theirs)
    return _apply_answers(ours, keys, answers, usual)


def _apply_answers(
    apart: ApartValues[Any], keys: Sequence[Any], answers: Mapping[Any, tuple[Any, C]], usual: C
) -> Sequence[tuple[Segment, C]]:
    """The tuples with the answers to their keys, where these are not the rule.

    Args:
        apart: The tuples.
        keys: One for each of them.
        answers: What a tuple with that key has, and what it gets.
        usual: The rule.
    """
    lost = {key for key, (_, answer) in answers.items() if answer == usual}
    if len(lost) == len(answers):
        return ()
    stays = {key for key, (value, answer) in answers.items() if answer == value}
    if len(stays) == len(answers) and not lost:
        return apart
    return [
        pair if key in stays else (pair[0], answers[key][1])
        for pair, key in zip(apart, keys, strict=True)
        if key not in lost
    ]


_segment: Callable[[tuple[Segment, Any]], Segment] = itemgetter(0)
_value: Callable[[tuple[Segment, Any]], Any] = itemgetter(1)
