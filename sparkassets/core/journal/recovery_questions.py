"""What a person has to tell of runs that nobody can look for any more: is what they wrote in the table, or is it not?

It is asked by the claim that has fenced them, so that nothing of them can land after the answer, which is a mark.
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
    """What is asked.

    Attributes:
        runs: Those that may be in, oldest first; one of them is, or none.
        blocks: Of which it is to be told still; everything where any answer is one for all of them.
        watermarks: What the run had reached, where its commit still tells; by inlet.
    """

    runs: tuple[str, ...]
    blocks: PartitionSet = EVERYTHING
    watermarks: Mapping[str, str] = field(default_factory=dict)

    def without_answered(self, answered: PartitionSet, *, known: PartitionSet) -> RecoveryQuestion | None:
        """What is left once these blocks are told of, of those that the asset has still; None where nothing is."""
        if self.blocks.is_everything or answered.is_everything:
            return None
        rest = (self.blocks - answered) & known
        return replace(self, blocks=rest) if rest else None


def question_hint(asset: str, partitioning: Partitioning, question: RecoveryQuestion) -> str:
    """What a person is to do about a question, as a hint."""
    said, rows = _mark_command(asset, partitioning, question), f"the rows of {listing(question.runs)}"
    return f"look whether {rows} are there; if so `{said} --done --reason …`, else the same with `--missing`"


def completion_hint(asset: str, partitioning: Partitioning, question: RecoveryQuestion, *, appends: bool) -> str:
    """What a person can do about a run that cannot be completed, as a hint."""
    said, (run,) = _mark_command(asset, partitioning, question), question.runs
    first = f"delete the rows of {run}, then " if appends else ""
    anew = f"{first}`{said} --missing --reason …` computes all of it anew"
    return f"the next run tries it again; if what it read is gone for good, {anew}, with `--done` it stays as it is"


def _mark_command(asset: str, partitioning: Partitioning, question: RecoveryQuestion) -> str:
    return " ".join(["sparkassets mark", asset, *partition_options(question.blocks, partitioning)])


def partition_options(blocks: PartitionSet, partitioning: Partitioning) -> list[str]:
    """What names blocks on a command line, the first few of them; nothing for an asset without partitions.

    >>> from sparkassets.core.partitions import TimePartition
    >>> days = Partitioning(TimePartition("day", "UTC"))
    >>> partition_options(days.parse("2025-01-02..2025-01-03"), days)
    ['--partition 2025-01-02..2025-01-03']
    """
    named = partitioning.labels(blocks, most=FEW + 1)
    if not named and partitioning.is_partitioned:
        return ["--partition …"]
    return [f"--partition {quote(label)}" for label in named[:FEW]] + ["--partition …"] * (len(named) > FEW)


def asked_partitions(partitioning: Partitioning, claimed: PartitionSet) -> PartitionSet:
    """Of which blocks is asked where these were claimed; everything where the asset's partitions are others by now."""
    if claimed.is_everything or not partitioning.is_partitioned:
        return EVERYTHING
    return (partitioning.cover(partitioning.resolve_known_whole(claimed)) & partitioning.known_partitions) or EVERYTHING
