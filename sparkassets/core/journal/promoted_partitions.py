"""Partitions whose rows a run promoted from a branch, and that no run has computed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import BranchPromotion
from sparkassets.frozen import frozen


@frozen(array_like=True)
class PromotedPartitions:
    """Partitions that hold the rows of a branch.

    Attributes:
        journal_id: Id of the branch's journal.
        seq: Sequence number in that journal as of which they were promoted.
        blocks: Everything for an asset without partitions.
    """

    journal_id: str
    seq: int
    blocks: PartitionSet


def promoted_after_run(
    taken: Iterable[PromotedPartitions], blocks: PartitionSet, promotes: BranchPromotion | None
) -> tuple[PromotedPartitions, ...]:
    """The promoted partitions after a run wrote ``blocks``, by promotion or by computing them."""
    promoted = {(each.journal_id, each.seq): rest for each in taken if (rest := each.blocks - blocks)}
    if promotes is not None and blocks:
        key = promotes.journal_id, promotes.seq
        promoted[key] = promoted.get(key, NOTHING) | blocks
    return tuple(PromotedPartitions(*key, rest) for key, rest in promoted.items())


def promoted_from_branch(taken: Iterable[PromotedPartitions], journal_id: str) -> Iterator[PromotedPartitions]:
    """Yields the partitions promoted from the branch with that journal."""
    return (each for each in taken if each.journal_id == journal_id)
