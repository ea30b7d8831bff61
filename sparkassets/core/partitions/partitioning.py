"""The partitioning of an asset: the product of its dimensions; of no dimension, the whole asset is the one partition.

Everybody else asks it in terms of sets of partitions, and knows no dimension by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.instants import Duration
from sparkassets.core.partitions.definition import TimePartition
from sparkassets.core.partitions.grains import PartitionError
from sparkassets.core.partitions.open_ended import open_ended
from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.sets import EVERYTHING, NOTHING, PartitionSet
from sparkassets.frozen import frozen

_ALWAYS = EVERYTHING.time


@frozen
class Partitioning:
    """The product of at most one dimension of time and, to come, dimensions of segments.

    The whole of an asset without dimensions is one partition, the set `EVERYTHING`; it has no key. Sets may be open at
    either side, but where their partitions are named, counted or listed.

    Attributes:
        time: The dimension of time; None where there is none.
    """

    time: TimePartition | None = None

    @property
    def is_partitioned(self) -> bool:
        """Whether there is a dimension."""
        return self.time is not None

    def same_grid(self, other: Partitioning) -> bool:
        """Whether the partitions of both are the same."""
        if self.time is None or other.time is None:
            return self.time is other.time
        return self.time.same_grid(other.time)

    # ----------------------------------------------------------------- sets of partitions

    def cover(self, parts: PartitionSet) -> PartitionSet:
        """Every partition that holds something of ``parts``.

        >>> UNPARTITIONED.cover(PartitionSet.span(0, 1)) == EVERYTHING
        True
        """
        time = self.time
        if time is None:
            return EVERYTHING if parts else NOTHING
        return parts.lift(lambda ranges: open_ended(time.cover, ranges))

    def inside(self, parts: PartitionSet) -> PartitionSet:
        """Every partition that lies in ``parts`` wholly.

        >>> UNPARTITIONED.inside(PartitionSet.span(0, 1)) == NOTHING
        True
        """
        time = self.time
        if time is None:
            return EVERYTHING if parts.is_everything else NOTHING
        return parts.lift(lambda ranges: open_ended(time.inside, ranges))

    def count(self, parts: PartitionSet) -> int:
        """How many partitions lie in ``parts`` wholly; takes time by ranges and clock changes, not by partitions.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.count(PartitionSet.span(0, 200_000)), UNPARTITIONED.count(EVERYTHING)
        (2, 1)
        """
        if self.time is None:
            return int(parts.is_everything)
        return self.time.count(_of(parts))

    def each(self, parts: PartitionSet) -> Iterator[PartitionSet]:
        """The partitions that lie in ``parts`` wholly, each as a set, oldest first."""
        if self.time is not None:
            yield from (PartitionSet.span(start, end) for start, end in self.time.slots(_of(parts)))
        elif parts.is_everything:
            yield EVERYTHING

    def stretches(self, parts: PartitionSet) -> Iterator[PartitionSet]:
        """The partitions that lie in ``parts`` wholly, neighbours together, oldest first; one for each label."""
        for start, end in self.inside(parts).at(()).pairs():
            yield EVERYTHING if (start, end) == _BOUNDS else PartitionSet.span(start, end)

    def split(self, parts: PartitionSet, most: int) -> list[PartitionSet]:
        """The partitions that lie in ``parts`` wholly, in consecutive chunks of at most ``most``, oldest first."""
        if self.time is None:
            return [EVERYTHING] if parts.is_everything else []
        return [PartitionSet(chunk) for chunk in self.time.split(_of(parts), most)]

    def oldest(self, parts: PartitionSet, most: int) -> PartitionSet:
        """The oldest ``most`` of the partitions that lie in ``parts`` wholly; takes time by what it returns."""
        if self.time is None:
            return self.inside(parts)
        return PartitionSet(self.time.oldest(_of(parts), most))

    # ----------------------------------------------------------------- keys

    def labels(self, parts: PartitionSet, *, most: int | None = None) -> list[str]:
        """The partitions that lie in ``parts`` wholly: ``A..B`` of keys, inclusive, or ``A`` for a single one.

        `EVERYTHING` needs no name and has none. At most ``most`` of them; `label_count` says how many there are.

        >>> days = Partitioning(TimePartition("day", "UTC"))
        >>> days.labels(PartitionSet.span(0, 200_000)), UNPARTITIONED.labels(EVERYTHING)
        (['1970-01-01..1970-01-02'], [])
        """
        if self.time is None or parts.is_everything:
            return []
        inside = self.time.inside(_of(parts))
        return self.time.labels(RangeSet(inside.starts[:most], inside.ends[:most]))

    def label_count(self, parts: PartitionSet) -> int:
        """How many labels ``parts`` has."""
        return 0 if self.time is None or parts.is_everything else len(self.time.inside(_of(parts)))

    def keys(self, parts: PartitionSet) -> Iterator[str]:
        """The keys of the partitions that lie in ``parts`` wholly, oldest first; the whole of an asset has none."""
        if self.time is not None:
            for low, high in self.time.inside(_of(parts)).pairs():
                yield from self.time.keys(low, high)

    def parse(self, text: str) -> PartitionSet:
        """The partitions of ``KEY`` or ``A..B``, inclusive.

        Raises:
            PartitionError: A key is wrong, B lies before A, or there are no partitions to name.
        """
        if self.time is None:
            raise PartitionError(f"'{text}' names a partition of what has no partitions", hint="leave it out")
        return PartitionSet.span(*self.time.parse_keys(text))

    # ----------------------------------------------------------------- time

    def over(self, now: int) -> PartitionSet:
        """All partitions that are over at an instant, Unix seconds; the whole of an asset always is."""
        return EVERYTHING if self.time is None else PartitionSet.span(_ALWAYS.first, self.time.floor(now))

    def rollover(self, now: int) -> int | None:
        """When `over` changes next, Unix seconds; None for never."""
        return None if self.time is None else self.time.next(now)

    def last_over(self, now: int) -> PartitionSet:
        """The newest partitions that are over at an instant, Unix seconds."""
        return EVERYTHING if self.time is None else PartitionSet.span(self.time.previous(now), self.time.floor(now))

    def first_over(self, parts: PartitionSet) -> int | None:
        """When the oldest partition that holds something of ``parts`` is over, Unix seconds; None for always.

        Of an empty set there is none (IndexError).
        """
        return None if self.time is None else self.time.next(parts.first)

    def all_over(self, parts: PartitionSet) -> int | None:
        """When all partitions that hold something of ``parts`` are over, Unix seconds; None for always.

        Of an empty set there are none (IndexError).
        """
        return None if self.time is None else self.time.ceil(parts.last)

    def between(self, low: int | None, high: int | None) -> PartitionSet:
        """The partitions that begin at ``low`` or after and before ``high``, Unix seconds; None is open.

        The whole of an asset has no beginning that could lie outside.

        >>> Partitioning(TimePartition("day", "UTC")).between(1, 86401) == PartitionSet.span(86400, 2 * 86400)
        True
        """
        if self.time is None or (low is None and high is None):
            return EVERYTHING
        first = _ALWAYS.first if low is None else self.time.ceil(low)
        return PartitionSet.span(first, _ALWAYS.last if high is None else self.time.ceil(high))

    def before(self, parts: PartitionSet, length: Duration) -> PartitionSet:
        """The partitions that overlap so much time before each stretch of ``parts``; without time there are none.

        Calendar units are those of the wall clock.
        """
        time = self.time
        if time is None:
            return NOTHING
        back = -length

        def behind(ranges: RangeSet) -> RangeSet:
            return RangeSet.of((back.add_to(start, time.timezone), start) for start in ranges.starts)

        return self.cover(parts.lift(behind))


UNPARTITIONED = Partitioning()
"""Of an asset without partitions."""

_BOUNDS = (_ALWAYS.first, _ALWAYS.last)


def _of(parts: PartitionSet) -> RangeSet:
    """The time of the one tuple of segments that there is without dimensions of segments: the empty one."""
    return parts.at(())
