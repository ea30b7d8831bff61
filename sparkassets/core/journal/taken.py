"""What an asset holds that a run took over from a branch, and no run has computed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.runs import Promotion
from sparkassets.frozen import frozen


@frozen(array_like=True)
class Taken:
    """Blocks whose rows are those of a branch.

    Attributes:
        journal_id: Of the branch's journal.
        seq: Number there as of which they were taken.
        blocks: Everything for an asset without partitions.
    """

    journal_id: str
    seq: int
    blocks: PartitionSet


def after_run(taken: Iterable[Taken], blocks: PartitionSet, promotes: Promotion | None) -> tuple[Taken, ...]:
    """What is taken after a run left other rows of ``blocks``: those of a branch, or its own."""
    found = {(each.journal_id, each.seq): rest for each in taken if (rest := each.blocks - blocks)}
    if promotes is not None and blocks:
        key = promotes.journal_id, promotes.seq
        found[key] = found.get(key, NOTHING) | blocks
    return tuple(Taken(*key, rest) for key, rest in found.items())


def taken_from(taken: Iterable[Taken], journal_id: str) -> Iterator[Taken]:
    """What was taken from the branch of that journal."""
    return (each for each in taken if each.journal_id == journal_id)
