"""Whose turn it is: what failed of its data is computed apart from the rest, so that it holds back nothing else.

A run takes what has not failed, all together; then, a run each, what failed in an earlier invocation as it failed then,
and what failed in this one in the parts of its division (`sparkassets.core.runs.division`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.state import FailedBlocks
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.planner.wording import plural
from sparkassets.frozen import frozen


@frozen
class Suspect:
    """Blocks that failed.

    Attributes:
        blocks: Those that have no new cause.
        again: The schedule or another invocation asks for all of them once more.
    """

    item: FailedBlocks
    blocks: PartitionSet
    again: bool

    def is_tried(self, partitioning: Partitioning) -> bool:
        """Whether a run of their own is due: they failed of their data, and do not stand as failed."""
        if self.item.division is None or not self.blocks:
            return False
        return self.again or self.item.division.part(partitioning.count(self.blocks)) > 0

    def part(self, partitioning: Partitioning, ready: PartitionSet) -> PartitionSet:
        """Those that its next run computes, of what is ready."""
        mine = self.blocks & ready
        if self.again or self.item.division is None or not mine:
            return mine
        return partitioning.oldest(mine, self.item.division.part(partitioning.count(self.blocks)))


@frozen
class Turn:
    """What the next run computes.

    Attributes:
        note: What is said of it.
    """

    blocks: PartitionSet
    note: str = ""


def turn(partitioning: Partitioning, ready: PartitionSet, suspects: Sequence[Suspect]) -> Turn:
    """Those of the ``ready`` blocks whose turn it is: what is not suspected, else of one suspect."""
    sound = ready - PartitionSet.union(each.blocks for each in suspects)
    if sound or not suspects:
        return Turn(sound)
    for each in sorted(suspects, key=_first_known):
        if some := each.part(partitioning, ready):
            return Turn(some, _note(partitioning, each, some))
    return Turn(sound)


def _first_known(suspect: Suspect) -> bool:
    """Parts of which nothing is known come first: they are probably good."""
    return suspect.item.division is None or suspect.item.division.known != "unknown"


def _note(partitioning: Partitioning, suspect: Suspect, some: PartitionSet) -> str:
    if suspect.again or some == suspect.blocks:
        return ""
    return f"looking for what failed among {plural(partitioning.count(suspect.blocks), 'partition')}"
