"""What an asset holds that a run took over from a branch, and no run has computed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import BranchPromotion
from sparkassets.frozen import frozen


@frozen(array_like=True)
class PromotedPartitions:
    """Blocks whose rows are those of a branch.

    Attributes:
        journal_id: Of the branch's journal.
        seq: Number there as of which they were taken.
        blocks: Everything for an asset without partitions.
    """

    journal_id: str
    seq: int
    blocks: PartitionSet


def promoted_after_run(
    taken: Iterable[PromotedPartitions], blocks: PartitionSet, promotes: BranchPromotion | None
) -> tuple[PromotedPartitions, ...]:
    """What is taken after a run left other rows of ``blocks``: those of a branch, or its own."""
    found = {(each.journal_id, each.seq): rest for each in taken if (rest := each.blocks - blocks)}
    if promotes is not None and blocks:
        key = promotes.journal_id, promotes.seq
        found[key] = found.get(key, NOTHING) | blocks
    return tuple(PromotedPartitions(*key, rest) for key, rest in found.items())


def promoted_from_branch(taken: Iterable[PromotedPartitions], journal_id: str) -> Iterator[PromotedPartitions]:
    """What was taken from the branch of that journal."""
    return (each for each in taken if each.journal_id == journal_id)
