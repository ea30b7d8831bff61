"""Sets of partitions: the time of every tuple of segments (docs/design/partitions.md#sets-of-partitions)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import zip_longest
from operator import and_, or_, sub

from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import (
    MANY,
    ApartValues,
    DistinctValues,
    IdentityKey,
    IncrementalAnswers,
    LiftedValue,
    OneSidedRule,
    Segment,
    SegmentFunction,
    combine_values,
    from_mapping,
    map_values,
    value_at,
)

_ALWAYS = RangeSet.always()
_FUTURE = _ALWAYS.last  # the end of a set that is open towards the future
_FEW = 3
"""Up to this number, sets are united one by one: they are mostly the same, or one covers the others."""


class PartitionSet(LiftedValue[RangeSet]):
    """A set of partitions: a function from a tuple of segments to time, the same for all but finitely many tuples.

    A set by time alone has the same time for all tuples; a whole asset is `EVERYTHING`, all time for all tuples. Sets
    are closed under ``|``, ``&`` and ``-``; the complement of a set is ``EVERYTHING - some``. A set by time alone is as
    fast as a `RangeSet`.

    Attributes:
        time: The time of every tuple that is not in ``apart``.
        apart: (tuple, time) for tuples with another time; ascending, so that equal sets are equal values.
    """

    __slots__ = ()

    EMPTY = RangeSet()

    @classmethod
    def span(cls, start: int, end: int) -> PartitionSet:
        """The time ``[start, end)``, for all tuples; empty unless ``start < end``."""
        return cls(RangeSet.span(start, end))

    @classmethod
    def from_time_pairs(cls, pairs: Iterable[tuple[int, int]]) -> PartitionSet:
        """The union of ``[start, end)`` pairs in any order, for all tuples.

        >>> PartitionSet.from_time_pairs([(5, 7), (1, 3), (3, 4)]).time
        RangeSet(starts=(1, 5), ends=(4, 7))
        """
        return cls(RangeSet.from_pairs(pairs))

    @classmethod
    def by_segment(cls, times: Mapping[Segment, RangeSet], others: RangeSet | None = None) -> PartitionSet:
        """The set with these times by tuple, and the time of all ``others``, by default never.

        >>> PartitionSet.by_segment({("nl",): RangeSet.span(0, 9), ("de",): RangeSet()}).apart
        ((('nl',), RangeSet(starts=(0,), ends=(9,))),)
        """
        return cls(*from_mapping(RangeSet() if others is None else others, times))

    @classmethod
    def from_slots(cls, slots: Iterable[tuple[Segment, tuple[int, int]]]) -> PartitionSet:
        """The union of (tuple, ``[start, end)``) in any order; the empty tuple stands for all tuples.

        >>> PartitionSet.from_slots([(("nl",), (5, 7)), (("nl",), (7, 9))]).time_of(("nl",))
        RangeSet(starts=(5,), ends=(9,))
        """
        pairs: defaultdict[Segment, list[tuple[int, int]]] = defaultdict(list)
        for segment, pair in slots:
            pairs[segment].append(pair)
        others = RangeSet.from_pairs(pairs.pop((), ()))  # the time of all tuples, listed or not
        to_time = cache(lambda segment_pairs: others | RangeSet.from_pairs(segment_pairs))
        return cls.by_segment(
            {segment: to_time(tuple(segment_pairs)) for segment, segment_pairs in pairs.items()}, others
        )

    @classmethod
    def union(cls, sets: Iterable[PartitionSet]) -> PartitionSet:
        """The union of the sets; the same object where only one is not empty."""
        nonempty = [each for each in sets if each.time.starts or each.apart]
        if len(nonempty) <= _FEW:
            return reduce(or_, nonempty) if nonempty else NOTHING
        by_time_alone = [each for each in nonempty if not each.apart]
        remaining = [each for each in nonempty if each.apart]
        if by_time_alone:
            remaining.append(cls._union_of_times(by_time_alone))
        while len(remaining) > 1:  # in pairs, so that an item is copied only as often as the logarithm of their number
            remaining = [a | b for a, b in zip_longest(remaining[::2], remaining[1::2], fillvalue=NOTHING)]
        return remaining[0]

    @classmethod
    def _union_of_times(cls, sets: Sequence[PartitionSet]) -> PartitionSet:
        time = RangeSet.union([each.time for each in sets])
        return next((each for each in sets if each.time is time), None) or cls(time)

    # ----------------------------------------------------------------- questions

    @property
    def is_everything(self) -> bool:
        """Whether it holds all time of all tuples."""
        return not self.apart and self.time == _ALWAYS

    @property
    def is_one_stretch(self) -> bool:
        """Whether it is one range without gaps, the same for all tuples."""
        return not self.apart and len(self.time.starts) <= 1

    @property
    def sole_partition(self) -> tuple[Segment, RangeSet]:
        """The tuple and the time of a set of one partition; the empty tuple for a set by time alone.

        >>> PartitionSet.by_segment({("nl",): RangeSet.span(0, 9)}).sole_partition
        (('nl',), RangeSet(starts=(0,), ends=(9,)))
        """
        return self.apart[0] if self.apart else ((), self.time)

    def time_of(self, segment: Segment) -> RangeSet:
        """The time of one tuple; assets partitioned by time alone have the empty tuple."""
        return value_at((self.time, self.apart), segment) if self.apart else self.time

    def by_time(self) -> dict[RangeSet, list[Segment]]:
        """The tuples of ``apart`` by their time, each list ascending.

        >>> day = RangeSet.span(0, 9)
        >>> PartitionSet.by_segment({("nl",): day, ("de",): day}).by_time() == {day: [("de",), ("nl",)]}
        True
        """
        tuples: defaultdict[RangeSet, list[Segment]] = defaultdict(list)
        for segment, time in self.apart:
            tuples[time].append(segment)
        return tuples

    def overlaps(self, other: PartitionSet) -> bool:
        """Whether any partition is in both."""
        return self.time.overlaps(other.time) or (bool(self.apart or other.apart) and bool(self & other))

    def covers(self, other: PartitionSet) -> bool:
        """Whether all of ``other`` is in this set."""
        if not self.apart and not other.apart:
            return self.time.covers(other.time)
        return not other - self

    def __bool__(self) -> bool:
        return bool(self.time.starts or self.apart)

    # ----------------------------------------------------------------- algebra

    def __or__(self, other: PartitionSet) -> PartitionSet:
        if self is other or other is NOTHING:
            return self
        # an operand that is the result is returned itself: identical sets are quick to compare; so in `&` and `-`
        if not self.apart and not other.apart:
            time = self.time | other.time
            return self if time is self.time else other if time is other.time else PartitionSet(time)
        if not self or not other:
            return self or other
        # a tuple that only one side lists meets the other's time for all tuples, which often decides at once
        left_rule = _one_sided_rule(other.time, never=OneSidedRule.KEPT, always=OneSidedRule.LOST)
        right_rule = _one_sided_rule(self.time, never=OneSidedRule.KEPT, always=OneSidedRule.LOST)
        return self._combine(or_, other, left_rule, right_rule)

    def __and__(self, other: PartitionSet) -> PartitionSet:
        if self is other or other is EVERYTHING:
            return self
        if not self.apart and not other.apart:
            time = self.time & other.time
            return self if time is self.time else other if time is other.time else PartitionSet(time)
        if self.is_everything or other.is_everything:
            return other if self.is_everything else self
        left_rule = _one_sided_rule(other.time, never=OneSidedRule.LOST, always=OneSidedRule.KEPT)
        right_rule = _one_sided_rule(self.time, never=OneSidedRule.LOST, always=OneSidedRule.KEPT)
        return self._combine(and_, other, left_rule, right_rule)

    def __sub__(self, other: PartitionSet) -> PartitionSet:
        if other is NOTHING:
            return self
        if not self.apart and not other.apart:
            time = self.time - other.time
            if not time.starts:
                return NOTHING
            return self if time is self.time else PartitionSet(time)
        if not self or not other:
            return self
        left_rule = _one_sided_rule(other.time, never=OneSidedRule.KEPT, always=OneSidedRule.LOST)
        right_rule = _one_sided_rule(self.time, never=OneSidedRule.LOST, always=OneSidedRule.ASKED)
        return self._combine(sub, other, left_rule, right_rule)

    def _combine(
        self,
        f: Callable[[RangeSet, RangeSet], RangeSet],
        other: PartitionSet,
        left_rule: OneSidedRule,
        right_rule: OneSidedRule,
    ) -> PartitionSet:
        """Combines the time of every tuple by ``f``; the two rules are for tuples apart on one side only."""
        if min(len(self.apart), len(other.apart)) >= MANY:
            return _combine_large_sets(f, IdentityKey(self), IdentityKey(other), left_rule, right_rule)
        return _combine_sets(f, self, other, left_rule, right_rule)

    # ----------------------------------------------------------------- time

    def map_time(self, f: Callable[[RangeSet], RangeSet], *, question: Hashable = None) -> PartitionSet:
        """Applies ``f`` to the time of every tuple, once for each distinct time.

        Args:
            f: Maps the time of one tuple.
            question: Identifies ``f``, so that its results for very large sets are remembered.
        """
        if question is not None and len(self.apart) >= MANY:
            time = f(self.time)
            large_question = (question, self.time)
            return self._self_if_equal(
                (
                    time,
                    _LARGE_ANSWERS.ask(large_question, (self.apart,), lambda some: map_values(f, (self.time, some))[1]),
                )
            )
        if self.apart:
            return self._self_if_equal(map_values(f, (self.time, self.apart)))
        time = f(self.time)
        return self if time is self.time else PartitionSet(time)

    def clip(self, start: int | None, end: int | None) -> PartitionSet:
        """The part in ``[start, end)`` of every tuple's time; None is open.

        >>> PartitionSet.span(0, 9).clip(None, 5) == PartitionSet.span(0, 5)
        True
        """
        return self.map_time(lambda time: time.clip(start, end))

    def hull(self) -> PartitionSet:
        """All time from the first instant of each tuple to its last.

        >>> PartitionSet.from_time_pairs([(0, 1), (5, 6)]).hull() == PartitionSet.span(0, 6)
        True
        """
        return self if self.is_one_stretch else self.map_time(_hull, question="hull")

    def range_heads(self) -> PartitionSet:
        """The first second of every range of every tuple.

        >>> PartitionSet.from_time_pairs([(0, 9), (20, 29)]).range_heads().time
        RangeSet(starts=(0, 20), ends=(1, 21))
        """
        return self.map_time(lambda time: RangeSet(time.starts, tuple(start + 1 for start in time.starts)))

    def from_first_on(self) -> PartitionSet:
        """All time from the first instant of each tuple on."""
        return self.map_time(lambda time: RangeSet.span(time.first, _FUTURE) if time else time)

    def before_first(self) -> PartitionSet:
        """All time before the first instant of each tuple; none for a tuple without time."""
        return self.map_time(lambda time: RangeSet.span(_ALWAYS.first, time.first) if time else time)

    @property
    def first(self) -> int:
        """The first instant of any tuple; an empty set has none (IndexError)."""
        return min(time.first for time in self._distinct_times()) if self.apart else self.time.first

    @property
    def last(self) -> int:
        """The end of the last instant of any tuple; an empty set has none (IndexError)."""
        return max(time.last for time in self._distinct_times()) if self.apart else self.time.last

    @property
    def extent(self) -> tuple[int, int] | None:
        """From the first instant of any tuple to the end of the last; None where it is empty or open at a side.

        >>> PartitionSet.from_time_pairs([(0, 1), (5, 6)]).extent, EVERYTHING.extent, NOTHING.extent
        ((0, 6), None, None)
        """
        if not self:
            return None
        first, last = _cached_extent(IdentityKey(self)) if len(self.apart) >= MANY else (self.first, self.last)
        return (first, last) if _ALWAYS.first < first and last < _FUTURE else None

    def first_instant_from(self, instant: int) -> int | None:
        """The first instant of any tuple at ``instant`` or later, Unix seconds; None where there is none."""
        candidates = (time.first_instant_from(instant) for time in self._distinct_times())
        return min((each for each in candidates if each is not None), default=None)

    def any_time(self) -> RangeSet:
        """The time that any tuple has.

        >>> PartitionSet.by_segment({("de",): RangeSet.span(0, 5), ("nl",): RangeSet.span(5, 9)}).any_time()
        RangeSet(starts=(0,), ends=(9,))
        """
        return RangeSet.union(self._distinct_times()) if self.apart else self.time

    def _self_if_equal(self, result: SegmentFunction[RangeSet]) -> PartitionSet:
        """The result as a set; this object where they are equal, because identical sets are quick to compare."""
        return self if result == (self.time, self.apart) else PartitionSet(*result)

    def _distinct_times(self) -> Iterator[RangeSet]:
        """Yields the time of each tuple in ``apart`` that has any, and once that of all others."""
        if self.time:
            yield self.time
        yield from (time for _, time in self.apart if time)


def _combine_sets(
    f: Callable[[RangeSet, RangeSet], RangeSet],
    left: PartitionSet,
    right: PartitionSet,
    left_rule: OneSidedRule,
    right_rule: OneSidedRule,
) -> PartitionSet:
    """Combines both sets by ``f`` for every tuple; returns the same object where the result equals one of them."""
    result = combine_values(
        f, (left.time, left.apart), (right.time, right.apart), left_rule=left_rule, right_rule=right_rule
    )
    result_set = left._self_if_equal(result)  # noqa: SLF001  of this file
    return result_set if result_set is left else right._self_if_equal(result)  # noqa: SLF001  as above


@lru_cache(maxsize=32)
def _combine_large_sets(
    f: Callable[[RangeSet, RangeSet], RangeSet],
    left: IdentityKey[PartitionSet],
    right: IdentityKey[PartitionSet],
    left_rule: OneSidedRule,
    right_rule: OneSidedRule,
) -> PartitionSet:
    """`_combine_sets` for very large sets: repeated calls, or nearly repeated ones, reuse earlier results."""
    left_set, right_set, is_complete = left.value, right.value, False

    def combine_changed(left_apart: ApartValues[RangeSet], right_apart: ApartValues[RangeSet]) -> ApartValues[RangeSet]:
        nonlocal is_complete
        is_complete = left_apart is left_set.apart and right_apart is right_set.apart
        return combine_values(
            f, (left_set.time, left_apart), (right_set.time, right_apart), left_rule=left_rule, right_rule=right_rule
        )[1]

    question = (f, left_set.time, right_set.time, left_rule, right_rule)
    # `apart` items depend on both times for all tuples and on the rules, so these belong to the question
    result = PartitionSet(
        f(left_set.time, right_set.time),
        _LARGE_ANSWERS.ask(question, (left_set.apart, right_set.apart), combine_changed),
    )
    return next(
        (each for each in (left_set, right_set) if (is_complete or _share_ends(each, result)) and each == result),
        result,
    )


def _share_ends(operand: PartitionSet, result: PartitionSet) -> bool:
    """Whether both begin and end with the same objects, so that comparing all of them is likely to be fast."""
    operand_apart, result_apart = operand.apart, result.apart
    return (
        bool(operand_apart and result_apart)
        and operand_apart[0] is result_apart[0]
        and operand_apart[-1] is result_apart[-1]
    )


@lru_cache(maxsize=8)
def _cached_extent(key: IdentityKey[PartitionSet]) -> tuple[int, int]:
    """From the first instant of any tuple to the end of the last; examines each distinct time once."""
    parts = key.value
    times = [each for each in (parts.time, *_DISTINCT_TIMES.values(parts.apart)) if each]
    return min(each.first for each in times), max(each.last for each in times)


# shared by all sets: a new set mostly differs from an earlier one in a few tuples only
_LARGE_ANSWERS = IncrementalAnswers()
_DISTINCT_TIMES = DistinctValues()


def union_by_segment(times: Iterable[tuple[Segment, RangeSet]]) -> dict[Segment, RangeSet]:
    """The united time of each tuple, which may occur several times.

    >>> union_by_segment([(("nl",), RangeSet.span(5, 7)), (("nl",), RangeSet.span(7, 9))])
    {('nl',): RangeSet(starts=(5,), ends=(9,))}
    """
    grouped: defaultdict[Segment, list[RangeSet]] = defaultdict(list)
    for segment, time in times:
        grouped[segment].append(time)
    return {segment: RangeSet.union(some) for segment, some in grouped.items()}


def union_by_dimensions(rows: Iterable[tuple[Segment, RangeSet]], positions: Sequence[int]) -> PartitionSet:
    """The rows as a set of partitions by the dimensions at ``positions`` alone; without positions, by time alone.

    >>> rows = [(("de", "a"), RangeSet.span(0, 5)), (("de", "b"), RangeSet.span(5, 9))]
    >>> union_by_dimensions(rows, [0]).apart, union_by_dimensions(rows, []).time
    (((('de',), RangeSet(starts=(0,), ends=(9,))),), RangeSet(starts=(0,), ends=(9,)))
    """
    times = union_by_segment((tuple(segment[i] for i in positions), time) for segment, time in rows)
    return PartitionSet.by_segment(times) if positions else PartitionSet(times.get((), RangeSet()))


def _hull(time: RangeSet) -> RangeSet:
    """All time from the first instant of ``time`` to its last."""
    return RangeSet.span(time.first, time.last) if len(time) > 1 else time


def _one_sided_rule(time: RangeSet, *, never: OneSidedRule, always: OneSidedRule) -> OneSidedRule:
    """The rule for tuples whose other side is ``time``: ``never`` if that is empty, ``always`` if it is all time.

    For any other time each tuple is combined on its own.
    """
    if not time:
        return never
    return always if time == _ALWAYS else OneSidedRule.ASKED


NOTHING = PartitionSet()
"""No partition."""

EVERYTHING = PartitionSet(_ALWAYS)
"""All partitions; also the single partition of an asset without dimensions."""
