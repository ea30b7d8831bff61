"""What the state keeps of an asset besides its partitions: failures, last runs, losses, and what runs added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.runs import BranchPromotion, RunDivision
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen

PartlyUsed = tuple[tuple[int, PartitionSet], ...]
"""Partly used events or ticks: (sequence number or instant, partitions that have still to answer it); ascending."""


@frozen(array_like=True)
class FailedPartitions:
    """Partitions that failed together in their last run.

    Attributes:
        partitions: Everything for an asset without partitions.
        token: Fence token of the failed run; a newer cause makes the partitions due again.
        run: The failed run.
        error: First line of its error, for people.
        invocation: The invocation that failed; another one tries once more.
        planned: The planner's time when the run was claimed, Unix seconds; a newer tick is a new cause.
        events: Sequence numbers of the events that triggered it.
        division: How these partitions are tried in parts; None where their data was not the cause.
    """

    partitions: PartitionSet
    token: int
    run: str
    error: str
    invocation: str
    planned: int = 0
    events: tuple[int, ...] = ()
    division: RunDivision | None = None


@frozen
class AssetSilence:
    """Nobody is notified of an asset for a while, because a person said so.

    Attributes:
        since, until: Unix seconds, half-open.
        by: The person.
    """

    since: int
    until: int
    reason: str
    by: str

    def covers(self, at: int) -> bool:
        """Whether an instant, Unix seconds, falls into it."""
        return self.since <= at < self.until


@frozen(array_like=True)
class LastRun:
    """The newest success of an asset.

    Attributes:
        interval: The latest data interval of any success of the asset, Unix seconds; a backfill of an earlier one does
            not move it back.
        invocation: The driver that claimed it.
        planned: The planner's time when it was claimed, Unix seconds.
        unchanged: (unchanged partitions, computed partitions); None where none stayed unchanged.
        verdicts: Findings of rules that did not withhold anything, without sample rows.
    """

    run: str
    seq: int
    at: int
    rows: int | None = None
    interval: tuple[int, int] | None = None
    invocation: str = ""
    planned: int = 0
    unchanged: tuple[int, int] | None = None
    verdicts: tuple[RuleVerdict, ...] = ()


@frozen(array_like=True)
class LastSkip:
    """The newest run of an asset that ended as skipped.

    Attributes:
        at: When it was recorded, Unix seconds.
        reason: The reason that its code gave.
        invocation: The driver that claimed it.
    """

    run: str
    seq: int
    at: int
    reason: str
    invocation: str = ""


@frozen(array_like=True)
class DefinitionOutput:
    """The partitions of an asset that one of its definitions (code, parameters, options) computed.

    Attributes:
        since: Sequence number of the entry that first recorded it; a definition that comes back keeps its place.
        partitions: Partitions that it was the last to compute, even if lost since; everything for an asset without
            partitions.
        run: Its newest known run, empty before the first.
        at: When that run was recorded, Unix seconds.
    """

    definition: AssetDefinition
    since: int
    partitions: PartitionSet = NOTHING
    run: str = ""
    at: int = 0


@frozen(array_like=True)
class AlignedInstance:
    """A run of one interval that succeeded or was skipped; kept for consumers with ``partitions: aligned``.

    Attributes:
        start, end: Its data interval, Unix seconds.
        seq: Sequence number of its event, or of the entry that records the skip.
        table_id, version: Where its output stands; None for a skip.
        skipped: Whether it published nothing, so that consumers read the run before it.
    """

    start: int
    end: int
    seq: int
    table_id: str | None
    version: int | None
    skipped: bool = False


@frozen(array_like=True)
class TableLoss:
    """Partitions that the asset's table lost and that were not computed again since.

    Attributes:
        partitions: Everything for an asset without partitions.
        reason: A clause for people.
        seq: Sequence number of the entry that records it.
        stuck: They cannot be computed again, so the asset does not run until a person decides.
    """

    partitions: PartitionSet
    reason: str
    seq: int
    stuck: bool = False

    @property
    def lost_partitions(self) -> PartitionSet:
        """The lost partitions; none where the whole asset is lost, or it was lost before the asset had partitions."""
        return NOTHING if self.partitions.is_everything else self.partitions


@frozen(array_like=True)
class FormerPartitions:
    """Content of a table that was computed with a partitioning which the asset no longer has.

    Attributes:
        partitioning: The former partitioning, as declared: without segments learned at runtime.
        coverage: Its computed partitions; everything where the asset had no partitions.
        seq: Sequence number up to which the stale partitions of ``coverage`` are known.
    """

    partitioning: Partitioning
    coverage: PartitionSet
    seq: int = 0


@frozen(array_like=True)
class LearnedKeys:
    """Segments of one open dimension that an asset learned, or that a person added or removed.

    Attributes:
        known: Segments that a person added, that events named, or that a run of all segments found; ascending.
        removed: Segments that a person removed and did not add again: not wanted, whoever names them; ascending.
    """

    known: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@frozen(array_like=True)
class AddedPartitions:
    """Partitions of segments that scheduled runs discovered and did not compute.

    Attributes:
        due: Partitions that are due at once, whatever the schedule says.
        added_in_turn: Partitions that a run of ``due`` ones added. They wait for the next tick and another invocation;
            otherwise a function that adds a segment in every call would never come to an end.
        invocation: The invocation of the newest run that added any.
    """

    due: PartitionSet = NOTHING
    added_in_turn: PartitionSet = NOTHING
    invocation: str = ""

    def __bool__(self) -> bool:
        return bool(self.due or self.added_in_turn)

    def without_partitions(self, partitions: PartitionSet) -> AddedPartitions:
        """The rest after a run computed ``partitions`` or was skipped for them."""
        return (
            AddedPartitions(self.due - partitions, self.added_in_turn - partitions, self.invocation) if self else self
        )

    def with_added(self, new: PartitionSet, *, by: PartitionSet, invocation: str) -> AddedPartitions:
        """Adds the ``new`` partitions that a run of ``by`` discovered; forgets those of earlier invocations.

        They are added in turn, and not due at once, where the run itself computed partitions that were due because
        they had been discovered.

        >>> a, b, c = (PartitionSet.by_segment({(key,): PartitionSet.span(0, 1).time}) for key in "abc")
        >>> first = AddedPartitions().with_added(b, by=a, invocation="1")
        >>> first.due == b, first.with_added(c, by=b, invocation="1").added_in_turn == c
        (True, True)
        """
        current = self if invocation == self.invocation else AddedPartitions()
        if by.overlaps(self.due):
            return AddedPartitions(current.due, current.added_in_turn | new, invocation)
        return AddedPartitions(current.due | new, current.added_in_turn, invocation)


@frozen(array_like=True)
class PromotedPartitions:
    """Partitions whose rows a run of the base took over from a branch instead of computing them.

    Attributes:
        journal_id: Id of the branch's journal.
        seq: Sequence number in that journal as of which they were promoted.
        partitions: Everything for an asset without partitions.
    """

    journal_id: str
    seq: int
    partitions: PartitionSet


def promoted_after_run(
    records: Iterable[PromotedPartitions], partitions: PartitionSet, promotion: BranchPromotion | None
) -> tuple[PromotedPartitions, ...]:
    """The promoted partitions after a run wrote ``partitions``.

    ``promotion`` is the branch that the run took them over from; None where it computed them, so that they count as the
    base's own again.
    """
    promoted = {
        (each.journal_id, each.seq): remaining for each in records if (remaining := each.partitions - partitions)
    }
    if promotion is not None and partitions:
        key = promotion.journal_id, promotion.seq
        promoted[key] = promoted.get(key, NOTHING) | partitions
    return tuple(PromotedPartitions(*key, remaining) for key, remaining in promoted.items())


def promoted_from_branch(records: Iterable[PromotedPartitions], journal_id: str) -> Iterator[PromotedPartitions]:
    """Yields the records of partitions that were promoted from the branch with that journal."""
    return (each for each in records if each.journal_id == journal_id)
