"""Chooses the partitions of the next run: those that failed because of their data run apart from the rest.

One run takes all partitions that did not fail. Failures of an earlier invocation then run as they failed, and failures
of this invocation in the parts of their division (`sparkassets.core.runs.division`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.state import FailedBlocks
from sparkassets.core.partitions import Partitioning, PartitionSet
from sparkassets.core.planner.wording import plural
from sparkassets.frozen import frozen


@frozen
class SuspectPartitions:
    """Partitions that failed together and may fail again.

    Attributes:
        failure: The recorded failure.
        blocks: Its partitions that have no new cause since.
        is_retried_whole: Whether the schedule or another invocation asks for all of them once more.
    """

    failure: FailedBlocks
    blocks: PartitionSet
    is_retried_whole: bool

    def is_tried(self, partitioning: Partitioning) -> bool:
        """Whether a run of their own is due: they failed because of their data and have tries left."""
        if self.failure.division is None or not self.blocks:
            return False
        return self.is_retried_whole or self.failure.division.next_count(partitioning.count(self.blocks)) > 0

    def next_partitions(self, partitioning: Partitioning, ready: PartitionSet) -> PartitionSet:
        """The ``ready`` partitions that its next run computes."""
        own = self.blocks & ready
        if self.is_retried_whole or self.failure.division is None or not own:
            return own
        return partitioning.oldest(own, self.failure.division.next_count(partitioning.count(self.blocks)))


@frozen
class NextPartitions:
    """The partitions of the next run.

    Attributes:
        note: Remark for the run's reason.
    """

    blocks: PartitionSet
    note: str = ""


def choose_next_partitions(
    partitioning: Partitioning, ready: PartitionSet, suspects: Sequence[SuspectPartitions]
) -> NextPartitions:
    """Chooses from the ``ready`` partitions: all that are not suspects, else partitions of one suspect."""
    sound = ready - PartitionSet.union(each.blocks for each in suspects)
    if sound or not suspects:
        return NextPartitions(sound)
    for each in sorted(suspects, key=_first_known):
        if some := each.next_partitions(partitioning, ready):
            return NextPartitions(some, _note(partitioning, each, some))
    return NextPartitions(sound)


def _first_known(suspect: SuspectPartitions) -> bool:
    """Sort key that puts parts first of which nothing is known: they are probably good."""
    return suspect.failure.division is None or suspect.failure.division.known != "unknown"


def _note(partitioning: Partitioning, suspect: SuspectPartitions, some: PartitionSet) -> str:
    if suspect.is_retried_whole or some == suspect.blocks:
        return ""
    return f"looking for what failed among {plural(partitioning.count(suspect.blocks), 'partition')}"
