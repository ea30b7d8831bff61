"""Sets of partitions: the time of every tuple of segments (docs/design/partitions.md#sets-of-partitions)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, reduce
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
        others = RangeSet.from_pairs(pairs.pop((), ()))
        to_time = cache(lambda some: others | RangeSet.from_pairs(some))
        return cls.by_segment({segment: to_time(tuple(some)) for segment, some in pairs.items()}, others)

    @classmethod
    def union(cls, sets: Iterable[PartitionSet]) -> PartitionSet:
        """The union of the sets; the same object where only one is not empty."""
        some = [each for each in sets if each.time.starts or each.apart]
        if len(some) <= _FEW:
            return reduce(or_, some) if some else NOTHING
        constant = [each for each in some if not each.apart]
        left = [each for each in some if each.apart]
        if constant:
            time = RangeSet.union([each.time for each in constant])
            left.append(next((each for each in constant if each.time is time), None) or cls(time))
        while len(left) > 1:  # in pairs, so that an item is copied only as often as the logarithm of their number
            pairs = zip(left[::2], left[1::2], strict=False)
            left = [a | b for a, b in pairs] + (left[-1:] if len(left) % 2 else [])
        return left[0] if left else NOTHING

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
    def sole(self) -> tuple[Segment, RangeSet]:
        """The tuple and the time of a set of one partition; the empty tuple for a set by time alone.

        >>> PartitionSet.by_segment({("nl",): RangeSet.span(0, 9)}).sole
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
        if not self.apart and not other.apart:
            time = self.time | other.time
            return self if time is self.time else other if time is other.time else PartitionSet(time)
        if not self or not other:
            return self or other
        lefts = _one_sided_rule(other.time, never=OneSidedRule.KEPT, always=OneSidedRule.LOST)
        rights = _one_sided_rule(self.time, never=OneSidedRule.KEPT, always=OneSidedRule.LOST)
        return self._combine(or_, other, lefts, rights)

    def __and__(self, other: PartitionSet) -> PartitionSet:
        if self is other or other is EVERYTHING:
            return self
        if not self.apart and not other.apart:
            time = self.time & other.time
            return self if time is self.time else other if time is other.time else PartitionSet(time)
        if self.is_everything or other.is_everything:
            return other if self.is_everything else self
        lefts = _one_sided_rule(other.time, never=OneSidedRule.LOST, always=OneSidedRule.KEPT)
        rights = _one_sided_rule(self.time, never=OneSidedRule.LOST, always=OneSidedRule.KEPT)
        return self._combine(and_, other, lefts, rights)

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
        lefts = _one_sided_rule(other.time, never=OneSidedRule.KEPT, always=OneSidedRule.LOST)
        rights = _one_sided_rule(self.time, never=OneSidedRule.LOST, always=OneSidedRule.ASKED)
        return self._combine(sub, other, lefts, rights)

    def _combine(
        self,
        f: Callable[[RangeSet, RangeSet], RangeSet],
        other: PartitionSet,
        lefts: OneSidedRule,
        rights: OneSidedRule,
    ) -> PartitionSet:
        """Combines the time of every tuple by ``f``; the two rules are for tuples apart on one side only."""
        if min(len(self.apart), len(other.apart)) >= MANY:
            return _combine_large_sets(f, IdentityKey(self), IdentityKey(other), lefts, rights)
        return _combine_sets(f, self, other, lefts, rights)

    # ----------------------------------------------------------------- time

    def lift(self, f: Callable[[RangeSet], RangeSet], *, question: Hashable = None) -> PartitionSet:
        """Applies ``f`` to the time of every tuple, once for each distinct time.

        Args:
            f: Maps the time of one tuple.
            question: Identifies ``f``, so that its results for very large sets are remembered.
        """
        if question is not None and len(self.apart) >= MANY:
            time = f(self.time)
            lifted = (question, self.time)
            return self._self_if_equal(
                (time, _NEARBY.ask(lifted, (self.apart,), lambda some: map_values(f, (self.time, some))[1]))
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
        return self.lift(lambda time: time.clip(start, end))

    def hull(self) -> PartitionSet:
        """All time from the first instant of each tuple to its last.

        >>> PartitionSet.from_time_pairs([(0, 1), (5, 6)]).hull() == PartitionSet.span(0, 6)
        True
        """
        return self if self.is_one_stretch else self.lift(_hull, question="hull")

    def heads(self) -> PartitionSet:
        """The first second of every range of every tuple.

        >>> PartitionSet.from_time_pairs([(0, 9), (20, 29)]).heads() == PartitionSet.from_time_pairs([(0, 1), (20, 21)])
        True
        """
        return self.lift(lambda time: RangeSet(time.starts, tuple(start + 1 for start in time.starts)))

    def from_first_on(self) -> PartitionSet:
        """All time from the first instant of each tuple on."""
        return self.lift(lambda time: RangeSet.span(time.first, _FUTURE) if time else time)

    def before_first(self) -> PartitionSet:
        """All time before the first instant of each tuple; none for a tuple without time."""
        return self.lift(lambda time: RangeSet.span(_ALWAYS.first, time.first) if time else time)

    @property
    def first(self) -> int:
        """The first instant of any tuple; an empty set has none (IndexError)."""
        return min(time.first for time in self._times()) if self.apart else self.time.first

    @property
    def last(self) -> int:
        """The end of the last instant of any tuple; an empty set has none (IndexError)."""
        return max(time.last for time in self._times()) if self.apart else self.time.last

    @property
    def extent(self) -> tuple[int, int] | None:
        """From the first instant of any tuple to the end of the last; None where it is empty or open at a side.

        >>> PartitionSet.from_time_pairs([(0, 1), (5, 6)]).extent, EVERYTHING.extent, NOTHING.extent
        ((0, 6), None, None)
        """
        if not self:
            return None
        first, last = _ends(self) if len(self.apart) >= MANY else (self.first, self.last)
        return (first, last) if _ALWAYS.first < first and last < _FUTURE else None

    def first_instant_from(self, instant: int) -> int | None:
        """The first instant of any tuple at ``instant`` or later, Unix seconds; None where there is none."""
        candidates = (time.first_instant_from(instant) for time in self._times())
        return min((each for each in candidates if each is not None), default=None)

    def any_time(self) -> RangeSet:
        """The time that any tuple has.

        >>> PartitionSet.by_segment({("de",): RangeSet.span(0, 5), ("nl",): RangeSet.span(5, 9)}).any_time()
        RangeSet(starts=(0,), ends=(9,))
        """
        return RangeSet.union(self._times()) if self.apart else self.time

    def _self_if_equal(self, result: SegmentFunction[RangeSet]) -> PartitionSet:
        """The result as a set; this object where they are equal, because identical sets are quick to compare."""
        return self if result == (self.time, self.apart) else PartitionSet(*result)

    def _times(self) -> Iterator[RangeSet]:
        """Yields the time of each tuple in ``apart`` that has any, and once that of all others."""
        if self.time:
            yield self.time
        yield from (time for _, time in self.apart if time)


def _combine_sets(
    f: Callable[[RangeSet, RangeSet], RangeSet],
    left: PartitionSet,
    right: PartitionSet,
    lefts: OneSidedRule,
    rights: OneSidedRule,
) -> PartitionSet:
    """Combines both sets by ``f`` for every tuple; returns the same object where the result equals one of them."""
    result = combine_values(f, (left.time, left.apart), (right.time, right.apart), lefts=lefts, rights=rights)
    found = left._self_if_equal(result)  # noqa: SLF001  of this file
    return found if found is left else right._self_if_equal(result)  # noqa: SLF001  as above


@lru_cache(maxsize=32)
def _combine_large_sets(
    f: Callable[[RangeSet, RangeSet], RangeSet],
    left: IdentityKey[PartitionSet],
    right: IdentityKey[PartitionSet],
    lefts: OneSidedRule,
    rights: OneSidedRule,
) -> PartitionSet:
    """`_combine_sets` for very large sets: repeated calls, or nearly repeated ones, reuse earlier results."""
    one, other, whole = left.value, right.value, False

    def combine_changed(ours: ApartValues[RangeSet], theirs: ApartValues[RangeSet]) -> ApartValues[RangeSet]:
        nonlocal whole
        whole = ours is one.apart and theirs is other.apart
        return combine_values(f, (one.time, ours), (other.time, theirs), lefts=lefts, rights=rights)[1]

    question = (f, one.time, other.time, lefts, rights)
    result = PartitionSet(f(one.time, other.time), _NEARBY.ask(question, (one.apart, other.apart), combine_changed))
    return next((each for each in (one, other) if (whole or _share_ends(each, result)) and each == result), result)


def _share_ends(one: PartitionSet, result: PartitionSet) -> bool:
    """Whether both begin and end with the same objects, so that comparing all of them is likely to be fast."""
    mine, theirs = one.apart, result.apart
    return bool(mine and theirs) and mine[0] is theirs[0] and mine[-1] is theirs[-1]


@lru_cache(maxsize=8)
def _ends_of(same: IdentityKey[PartitionSet]) -> tuple[int, int]:
    """From the first instant of any tuple to the end of the last; examines each distinct time once."""
    parts = same.value
    times = [each for each in (parts.time, *_DISTINCT.values(parts.apart)) if each]
    return min(each.first for each in times), max(each.last for each in times)


def _ends(parts: PartitionSet) -> tuple[int, int]:
    """From the first instant of any tuple to the end of the last, remembered by the identity of ``parts``."""
    return _ends_of(IdentityKey(parts))


# shared by all sets: a new set mostly differs from an earlier one in a few tuples only
_NEARBY = IncrementalAnswers()
_DISTINCT = DistinctValues()


def union_by_segment(times: Iterable[tuple[Segment, RangeSet]]) -> dict[Segment, RangeSet]:
    """The united time of each tuple, which may occur several times.

    >>> union_by_segment([(("nl",), RangeSet.span(5, 7)), (("nl",), RangeSet.span(7, 9))])
    {('nl',): RangeSet(starts=(5,), ends=(9,))}
    """
    grouped: defaultdict[Segment, list[RangeSet]] = defaultdict(list)
    for segment, time in times:
        grouped[segment].append(time)
    return {segment: RangeSet.union(some) for segment, some in grouped.items()}


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
