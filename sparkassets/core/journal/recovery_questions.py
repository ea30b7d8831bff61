"""Questions to a person about runs whose commits can no longer be found: are their rows in the table or not?

The claim that asks has fenced these runs, so that none of them can land after the answer, which is a mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from shlex import quote

from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet
from sparkassets.core.phrases import FEW, listing
from sparkassets.frozen import frozen


@frozen(array_like=True)
class RecoveryQuestion:
    """The question whether one of some runs is in the target.

    Attributes:
        runs: Runs that may be in the target, oldest first; at most one of them is.
        blocks: Partitions without an answer yet; everything where one answer settles all of them.
        watermarks: The watermarks of the run by inlet, where its commit still has them.
    """

    runs: tuple[str, ...]
    blocks: PartitionSet = EVERYTHING
    watermarks: Mapping[str, str] = field(default_factory=dict)

    def without_answered(self, answered: PartitionSet, *, known: PartitionSet) -> RecoveryQuestion | None:
        """The rest of the question after an answer for ``answered``, within the ``known`` partitions; None if done."""
        if self.blocks.is_everything or answered.is_everything:
            return None
        rest = (self.blocks - answered) & known
        return replace(self, blocks=rest) if rest else None


def question_hint(asset: str, partitioning: Partitioning, question: RecoveryQuestion) -> str:
    """The hint that says how to answer a question."""
    command, rows = _mark_command(asset, partitioning, question), f"the rows of {listing(question.runs)}"
    return f"look whether {rows} are there; if so `{command} --done --reason …`, else the same with `--missing`"


def completion_hint(asset: str, partitioning: Partitioning, question: RecoveryQuestion, *, appends: bool) -> str:
    """The hint that says what to do about a run that cannot be completed."""
    command, (run,) = _mark_command(asset, partitioning, question), question.runs
    first = f"delete the rows of {run}, then " if appends else ""
    anew = f"{first}`{command} --missing --reason …` computes all of it anew"
    return f"the next run tries it again; if what it read is gone for good, {anew}, with `--done` it stays as it is"


def _mark_command(asset: str, partitioning: Partitioning, question: RecoveryQuestion) -> str:
    return " ".join(["sparkassets mark", asset, *partition_options(question.blocks, partitioning)])


def partition_options(blocks: PartitionSet, partitioning: Partitioning) -> list[str]:
    """The command-line options that name partitions, the first few; none for an asset without partitions.

    >>> from sparkassets.core.partitions import TimePartition
    >>> days = Partitioning(TimePartition("day", "UTC"))
    >>> partition_options(days.parse("2025-01-02..2025-01-03"), days)
    ['--partition 2025-01-02..2025-01-03']
    """
    labels = partitioning.labels(blocks, most=FEW + 1)
    if not labels and partitioning.is_partitioned:
        return ["--partition …"]
    return [f"--partition {quote(label)}" for label in labels[:FEW]] + ["--partition …"] * (len(labels) > FEW)


def asked_partitions(partitioning: Partitioning, claimed: PartitionSet) -> PartitionSet:
    """The partitions to ask about for ``claimed`` ones; everything where the asset's partitions have changed since."""
    if claimed.is_everything or not partitioning.is_partitioned:
        return EVERYTHING
    return (partitioning.cover(partitioning.resolve_known_whole(claimed)) & partitioning.known_partitions) or EVERYTHING
