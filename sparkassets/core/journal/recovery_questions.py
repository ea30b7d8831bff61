"""Questions after a lost commit, which a person's mark answers: are the rows of a run in the table or not?

The claim that asks has fenced the runs that it asks about, so that none of them can land after the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet
from sparkassets.core.partitions.command_options import partition_options
from sparkassets.core.phrases import listing
from sparkassets.frozen import frozen, replace


@frozen(array_like=True)
class RecoveryQuestion:
    """The question whether one of some runs is in the target.

    Attributes:
        runs: Runs that may be in the target, oldest first; at most one of them is.
        partitions: Partitions without an answer yet; everything where one answer settles all of them.
        watermarks: The watermarks of the run by inlet, where its commit still has them.
    """

    runs: tuple[str, ...]
    partitions: PartitionSet = EVERYTHING
    watermarks: Mapping[str, str] = field(default_factory=dict)

    def without_answered(self, answered: PartitionSet, *, known: PartitionSet) -> RecoveryQuestion | None:
        """The rest of the question after an answer about ``answered``; None where nothing is left.

        Partitions that the asset no longer has (outside of ``known``) need no answer.
        """
        if self.partitions.is_everything or answered.is_everything:  # any answer is about all of it
            return None
        remaining = (self.partitions - answered) & known
        return replace(self, partitions=remaining) if remaining else None


def question_hint(asset: str, partitioning: Partitioning, question: RecoveryQuestion) -> str:
    """Hint with the commands that answer the question."""
    command, rows = _mark_command(asset, partitioning, question), f"the rows of {listing(question.runs)}"
    return (
        f"check whether {rows} are in the table; if so, `{command} --done --reason …`, else the same with `--missing`"
    )


def completion_hint(asset: str, partitioning: Partitioning, question: RecoveryQuestion, *, appends: bool) -> str:
    """Hint on a run that cannot be completed because what it read is gone, with the commands that give it up.

    The question is about this run alone. Where runs append, its rows would be there twice after a second run.
    """
    command, (run,) = _mark_command(asset, partitioning, question), question.runs
    delete_text = f"delete the rows of {run}, then " if appends else ""
    recompute_text = f"{delete_text}`{command} --missing --reason …` recomputes all of it"
    retry_text = "the next run tries again; if its inputs are gone for good"
    return f"{retry_text}, {recompute_text}, and `--done` keeps the table as it is"


def _mark_command(asset: str, partitioning: Partitioning, question: RecoveryQuestion) -> str:
    """The command that marks the question's partitions, without the kind of mark."""
    return " ".join(["sparkassets mark", asset, *partition_options(question.partitions, partitioning)])


def partitions_in_question(partitioning: Partitioning, claimed: PartitionSet) -> PartitionSet:
    """The partitions to ask a person about; everything where the asset has none of the ``claimed`` ones any more."""
    if claimed.is_everything or not partitioning.is_partitioned:
        return EVERYTHING
    return (partitioning.cover(partitioning.resolve_known_whole(claimed)) & partitioning.known_partitions) or EVERYTHING
