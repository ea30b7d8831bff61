"""Partitions that an asset's state keeps apart: added without rows, or promoted from a branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import BranchPromotion
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

    def without_partitions(self, partitions: PartitionSet) -> AddedPartitions:
        """The rest after a run has computed ``partitions`` or had nothing to do for them."""
        return AddedPartitions(self.due - partitions, self.further - partitions, self.invocation) if self else self

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


@frozen(array_like=True)
class PromotedPartitions:
    """Partitions that hold the rows of a branch.

    Attributes:
        journal_id: Id of the branch's journal.
        seq: Sequence number in that journal as of which they were promoted.
        partitions: Everything for an asset without partitions.
    """

    journal_id: str
    seq: int
    partitions: PartitionSet


def promoted_after_run(
    taken: Iterable[PromotedPartitions], partitions: PartitionSet, promotes: BranchPromotion | None
) -> tuple[PromotedPartitions, ...]:
    """The promoted partitions after a run wrote ``partitions``, by promotion or by computing them."""
    promoted = {(each.journal_id, each.seq): rest for each in taken if (rest := each.partitions - partitions)}
    if promotes is not None and partitions:
        key = promotes.journal_id, promotes.seq
        promoted[key] = promoted.get(key, NOTHING) | partitions
    return tuple(PromotedPartitions(*key, rest) for key, rest in promoted.items())


def promoted_from_branch(taken: Iterable[PromotedPartitions], journal_id: str) -> Iterator[PromotedPartitions]:
    """Yields the partitions promoted from the branch with that journal."""
    return (each for each in taken if each.journal_id == journal_id)
