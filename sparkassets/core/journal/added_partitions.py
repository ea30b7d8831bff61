"""Partitions of segments that runs added without writing their rows (``segments: runtime``), not computed since."""

from __future__ import annotations

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.frozen import frozen


@frozen(array_like=True)
class AddedPartitions:
    """Partitions of the segments that scheduled runs added.

    Attributes:
        due: Partitions that are due at once, whatever the schedule says.
        further: Partitions that a run of ``due`` ones added. They wait for the next tick and another invocation;
            otherwise a function that adds a segment in every call would never come to an end.
        invocation: The invocation of the newest run that added any.
    """

    due: PartitionSet = NOTHING
    further: PartitionSet = NOTHING
    invocation: str = ""

    def __bool__(self) -> bool:
        return bool(self.due or self.further)

    def without_partitions(self, blocks: PartitionSet) -> AddedPartitions:
        """The rest after a run has computed ``blocks`` or had nothing to do for them."""
        return AddedPartitions(self.due - blocks, self.further - blocks, self.invocation) if self else self

    def with_added(self, fresh: PartitionSet, *, by: PartitionSet, invocation: str) -> AddedPartitions:
        """Adds the ``fresh`` partitions of a run that computed ``by``; those of earlier invocations are forgotten.

        >>> a, b, c = (PartitionSet.by_segment({(key,): PartitionSet.span(0, 1).time}) for key in "abc")
        >>> first = AddedPartitions().with_added(b, by=a, invocation="1")
        >>> first.due == b, first.with_added(c, by=b, invocation="1").further == c
        (True, True)
        """
        before = self if invocation == self.invocation else AddedPartitions()
        if by.overlaps(self.due):
            return AddedPartitions(before.due, before.further | fresh, invocation)
        return AddedPartitions(before.due | fresh, before.further, invocation)
