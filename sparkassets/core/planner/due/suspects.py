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
class SuspectPartitions:
    """Blocks that failed.

    Attributes:
        blocks: Those that have no new cause.
        again: The schedule or another invocation asks for all of them once more.
    """

    failure: FailedBlocks
    blocks: PartitionSet
    is_retried_whole: bool

    def is_tried(self, partitioning: Partitioning) -> bool:
        """Whether a run of their own is due: they failed of their data, and do not stand as failed."""
        if self.failure.division is None or not self.blocks:
            return False
        return self.is_retried_whole or self.failure.division.next_count(partitioning.count(self.blocks)) > 0

    def next_partitions(self, partitioning: Partitioning, ready: PartitionSet) -> PartitionSet:
        """Those that its next run computes, of what is ready."""
        mine = self.blocks & ready
        if self.is_retried_whole or self.failure.division is None or not mine:
            return mine
        return partitioning.oldest(mine, self.failure.division.next_count(partitioning.count(self.blocks)))


@frozen
class NextPartitions:
    """What the next run computes.

    Attributes:
        note: What is said of it.
    """

    blocks: PartitionSet
    note: str = ""


def choose_next_partitions(
    partitioning: Partitioning, ready: PartitionSet, suspects: Sequence[SuspectPartitions]
) -> NextPartitions:
    """Those of the ``ready`` blocks whose turn it is: what is not suspected, else of one suspect."""
    sound = ready - PartitionSet.union(each.blocks for each in suspects)
    if sound or not suspects:
        return NextPartitions(sound)
    for each in sorted(suspects, key=_first_known):
        if some := each.next_partitions(partitioning, ready):
            return NextPartitions(some, _note(partitioning, each, some))
    return NextPartitions(sound)


def _first_known(suspect: SuspectPartitions) -> bool:
    """Parts of which nothing is known come first: they are probably good."""
    return suspect.failure.division is None or suspect.failure.division.known != "unknown"


def _note(partitioning: Partitioning, suspect: SuspectPartitions, some: PartitionSet) -> str:
    if suspect.is_retried_whole or some == suspect.blocks:
        return ""
    return f"looking for what failed among {plural(partitioning.count(suspect.blocks), 'partition')}"
