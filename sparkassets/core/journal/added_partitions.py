"""Segments that runs added without rows of them (``segments: runtime``), and that no run has computed since."""

from __future__ import annotations

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import frozen


@frozen(array_like=True)
class AddedPartitions:
    """Partitions of the segments that scheduled runs added.

    Attributes:
        due: Those that are due at once, whatever the schedule says.
        further: Those that a run of such partitions added in its turn: they wait for the next tick, and for another
            invocation in any case, so that a function which adds a segment whenever it is called comes to an end.
        invocation: Of the newest run that added any.
    """

    due: PartitionSet = NOTHING
    further: PartitionSet = NOTHING
    invocation: str = ""

    def __bool__(self) -> bool:
        return bool(self.due or self.further)

    def without_partitions(self, blocks: PartitionSet) -> AddedPartitions:
        """Those that are left once a run has computed ``blocks``, or had nothing to do for them."""
        return AddedPartitions(self.due - blocks, self.further - blocks, self.invocation) if self else self

    def with_added(self, fresh: PartitionSet, *, by: PartitionSet, invocation: str) -> AddedPartitions:
        """With what a run of the partitions ``by`` has added; what an earlier invocation added is as any other.

        >>> a, b, c = (PartitionSet.by_segment({(key,): PartitionSet.span(0, 1).time}) for key in "abc")
        >>> first = AddedPartitions().with_added(b, by=a, invocation="1")
        >>> first.due == b, first.with_added(c, by=b, invocation="1").further == c
        (True, True)
        """
        before = self if invocation == self.invocation else AddedPartitions()
        if by.overlaps(self.due):
            return AddedPartitions(before.due, before.further | fresh, invocation)
        return AddedPartitions(before.due | fresh, before.further, invocation)
