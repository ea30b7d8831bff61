"""The state: all that the fold derives from the journal up to one entry, and that the planner reads.

Everything that a decision needs is here: nothing is looked up in old entries (docs/design/journal.md#fold).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import (
    ClaimEntry,
    EventEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    RedoRequest,
    SuccessEntry,
)
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.iterations import PublishedIteration
from sparkassets.core.journal.marks import InstanceMark, MarkEntry, PartitionMark, RecoveryQuestion
from sparkassets.core.journal.partition_records import AddedPartitions, PromotedPartitions
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.table_findings import ForeignCommit, TargetEntry
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, StampedPartitions
from sparkassets.core.runs import RunCost, RunDivision
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen

PartlyUsed = tuple[tuple[int, PartitionSet], ...]
"""Partly used events or ticks: (sequence number or instant, partitions that have still to answer it); ascending."""


@frozen
class EventRef:
    """An event that some consumer has not used yet.

    Attributes:
        seq: The event's sequence number in the journal.
        at: When it happened, Unix seconds; the time of its record where the announcer gave none.
        parts: Updated or removed partitions; everything for the whole dataset.
        interval: Data interval of the run that caused it.
    """

    seq: int
    uri: str
    asset: str | None
    at: int
    parts: PartitionSet
    extra: Mapping[str, Any]
    run: str | None
    interval: tuple[int, int] | None

    @classmethod
    def from_entry(cls, numbered: NumberedEntry) -> EventRef | None:
        """The event that an entry records; None for an entry without one, such as a move of a source's position."""
        entry, at, run, interval = numbered.entry, to_unix(numbered.at), None, None
        match entry:
            case EventEntry():
                parts, run, interval = entry.parts, entry.run, entry.interval
                at = entry.at if entry.at is not None else at
            case SuccessEntry() | OutletEntry() if entry.event_partitions:
                parts, run, interval = entry.event_partitions, entry.run, entry.interval
            case ObservedEntry() if entry.is_event:
                parts = entry.changed | entry.removed or EVERYTHING
            case TargetEntry() if entry.is_event:
                parts = entry.event_partitions
            case MarkEntry() if entry.came:
                parts, interval = entry.came, entry.instance
            case _:
                return None
        extra = dict(sorted(entry.extra.items()))  # as the store has them
        return cls(numbered.seq, entry.uri, entry.asset, at, parts, extra, run, interval)


@frozen
class DatasetState:
    """A dataset, whoever writes it.

    Attributes:
        coverage: Present partitions.
        gone: Partitions that were present and have been removed.
        confirmed: When a run last computed some of it again without a change, Unix seconds; 0 for never.
        seq: Sequence number of its newest event, 0 before the first.
        at: When that event was recorded, Unix seconds.
        recent: The newest event, and older ones that an asset which they trigger has not used; ascending.
        touched: When each partition was last updated, Unix seconds; kept no longer than the longest ``settle`` of a
            consumer.
    """

    uri: str
    coverage: PartitionSet = NOTHING
    seq: int = 0
    at: int = 0
    recent: RecentEvents[EventRef] = RecentEvents()
    touched: StampedPartitions = StampedPartitions()
    gone: PartitionSet = NOTHING
    confirmed: int = 0

    @property
    def last_fresh_at(self) -> int:
        """When it was last updated or confirmed as unchanged, Unix seconds."""
        return max(self.at, self.confirmed)

    @property
    def ever_present(self) -> PartitionSet:
        """Partitions that are present or were."""
        return self.coverage | self.gone if self.gone else self.coverage


@frozen
class ClaimState:
    """An unsettled claim of an asset's chain.

    Attributes:
        token: Fence token: the claim's sequence number.
        renewed: Sequence number of the newest entry that proves its driver alive: the claim itself or a renewal.
        at: When it was claimed, Unix seconds, by its driver's clock.
        status: ``unfenced`` after a failure that could not be fenced; the next claim has to fence it.
        asks: The question that a person has to answer about the claims before it; its run wrote nothing.
        proved: When it was last renewed, Unix seconds, by its driver's clock; 0 for never.
    """

    token: int
    entry: ClaimEntry
    driver: str
    at: int
    renewed: int
    status: Literal["open", "unfenced"] = "open"
    asks: RecoveryQuestion | None = None
    proved: int = 0

    @property
    def slot(self) -> int:
        """The run slot whose chain holds it."""
        return self.entry.slot


@frozen(array_like=True)
class FailedPartitions:
    """Partitions whose last run failed.

    Attributes:
        partitions: Everything for an asset without partitions.
        token: Fence token of the failed run; a newer cause makes the partitions due again.
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
    """The partitions of an asset that one of its definitions computed.

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
    """A run of a timetable's interval that succeeded or was skipped, for consumers that are aligned to it.

    Attributes:
        start, end: Its data interval, Unix seconds.
        seq: Sequence number of its event, or of the entry that records the skip.
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


@frozen
class AssetState:
    """The state of one asset.

    Attributes:
        spec: The asset as its files declare it, with the known segments of open dimensions.
        coverage: Computed partitions.
        done: Fence token of the newest recorded run, 0 before the first.
        stale: By inlet, partitions whose input changed, with the sequence number of the newest cause. A partition that
            is not computed yet can be here too; then it only has a new cause.
        kept: By inlet, partitions that keep their rows although their input was removed, with the sequence number of
            the newest removal.
        owed: Computed partitions before a filled gap that are still to be computed again (lookback).
        gaps: Partitions not computed yet of gaps that several runs fill; their lookback is done or owed.
        consumed: By dataset, the sequence number up to which its events are used.
        partly: By dataset, events that only some partitions have used: (sequence number, partitions that have still to
            answer it), ascending. By time leaf, its ticks likewise, by instant. For an asset without partitions, the
            events that it skipped.
        parted: Datasets that the condition named formerly, with the number of their newest event at that time; their
            unused events are kept in case the condition names them again.
        cursor: The newest interval of the timetable that ran, by its end; Unix seconds.
        ticks: By time leaf of the condition, the instant up to which its ticks are used; Unix seconds.
        instances: Newest successes and skipped runs by interval, ascending; kept only while a consumer is aligned.
        watermarks: By inlet, the high value of its column, as text.
        columns: By inlet, that column, as far as runs recorded it.
        position: For a source, its cursor.
        table_id, version: Position in a source, or of the newest recorded commit, or of a later look at the table.
        seen: Version up to which the log of its own table holds no unknown commit.
        mark: Identifies the commit of that version.
        loss: Partitions that its table lost.
        foreign: Changes of others in its table that no run has overwritten, ascending.
        chain: Unsettled claims, oldest first; the claims of each run slot are a chain of their own.
        withheld: Partitions that were computed and not published, in the order of their runs; none is in two records.
        paused: Stopped by `pause`; the asset's own ``paused`` key is not here.
        late: The missed deadline of which people were notified, Unix seconds; 0 where they were not.
        placed: Sequence number since which the asset has its place and partitioning; an older claim writes elsewhere,
            or by other partitions.
        former: Content of its table by another partitioning than ``spec`` has. None of it counts as covered, and the
            asset does not run until the table is rebuilt or a person marks it as done.
        costs: Costs of its newest successes, ascending.
        made: Partitions by the definition that computed them, in the order in which the definitions came.
        marks: Marks of partitions, ascending; no partition is in two.
        instance_marks: Marks of single instances, ascending; no instance is in two.
        keys: Learned segments of its open dimensions, by column; ``spec`` also has those of its inlets.
        redo: Unfinished requests to compute partitions again, ascending.
        iterations: Published iterations that still exist, in the order of their records.
        taken: Partitions whose rows were promoted from a branch; no partition is in two.
        skip: The newest run that ended as skipped; None where none did since the last success.
        additions: Partitions of segments that runs added and no run has computed.
    """

    name: str
    spec: FoldSpec
    coverage: PartitionSet = NOTHING
    done: int = 0
    stale: Mapping[str, StampedPartitions] = field(default_factory=dict)
    kept: Mapping[str, StampedPartitions] = field(default_factory=dict)
    owed: PartitionSet = NOTHING
    gaps: PartitionSet = NOTHING
    consumed: Mapping[str, int] = field(default_factory=dict)
    partly: Mapping[str, PartlyUsed] = field(default_factory=dict)
    parted: Mapping[str, int] = field(default_factory=dict)
    cursor: tuple[int, int] | None = None
    ticks: Mapping[str, int] = field(default_factory=dict)
    instances: tuple[AlignedInstance, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    position: Mapping[str, Any] = field(default_factory=dict)
    table_id: str | None = None
    version: int | None = None
    seen: int | None = None
    mark: str | None = None
    loss: TableLoss | None = None
    former: FormerPartitions | None = None
    foreign: tuple[ForeignCommit, ...] = ()
    chain: tuple[ClaimState, ...] = ()
    failed: tuple[FailedPartitions, ...] = ()
    withheld: tuple[WithheldPartitions, ...] = ()
    last: LastRun | None = None
    paused: bool = False
    placed: int = 0
    costs: tuple[RunCost, ...] = ()
    made: tuple[DefinitionOutput, ...] = ()
    redo: tuple[RedoRequest, ...] = ()
    marks: tuple[PartitionMark, ...] = ()
    instance_marks: tuple[InstanceMark, ...] = ()
    iterations: tuple[PublishedIteration, ...] = ()
    taken: tuple[PromotedPartitions, ...] = ()
    late: int = 0
    skip: LastSkip | None = None
    additions: AddedPartitions = AddedPartitions()

    @property
    def skip_marks(self) -> tuple[PartitionMark, ...]:
        """The marks of skipped partitions; each holds until it is taken back or a later run computes them."""
        return tuple(mark for mark in self.marks if mark.kind == "skip")

    @property
    def skipped_partitions(self) -> PartitionSet:
        """The partitions that a person marked as not wanted."""
        if not self.marks:  # the common case, and every plan asks several times for each asset
            return NOTHING
        return PartitionSet.union(mark.partitions for mark in self.skip_marks if not mark.partitions.is_everything)

    @property
    def skipped_instances(self) -> tuple[InstanceMark, ...]:
        """The instances that a person marked as not wanted."""
        return tuple(mark for mark in self.instance_marks if mark.kind == "skip")

    @property
    def marked_ticks(self) -> tuple[InstanceMark, ...]:
        """The marks of instances whose tick has not run yet and that need no run."""
        return tuple(mark for mark in self.instance_marks if mark.is_ahead(self.cursor))

    @property
    def redo_partitions(self) -> PartitionSet:
        """The partitions marked as missing; everything for an asset without partitions."""
        return self.redo_partitions_since(0)

    def redo_partitions_since(self, seq: int) -> PartitionSet:
        """The partitions marked as missing after the entry of that number."""
        return PartitionSet.union(mark.partitions for mark in self.marks if mark.kind == "missing" and mark.seq > seq)

    def settled_partitions_since(self, seq: int) -> PartitionSet:
        """The partitions marked as done or skipped after the entry; everything for an asset without partitions."""
        later = (mark for mark in self.marks if mark.kind in ("done", "skip") and mark.seq > seq)
        return PartitionSet.union(mark.partitions for mark in later)

    @property
    def accepted_partitions(self) -> PartitionSet:
        """The partitions to publish although validations fail; everything for an asset without partitions."""
        return PartitionSet.union(mark.partitions for mark in self.marks if mark.kind == "accept")

    @property
    def ever_computed(self) -> PartitionSet:
        """The partitions that were ever computed, including those lost since or marked as missing."""
        known = self.coverage | self.redo_partitions if self.marks else self.coverage
        return known if self.loss is None else known | self.loss.lost_partitions

    keys: Mapping[str, LearnedKeys] = field(default_factory=dict)

    @property
    def failed_partitions(self) -> PartitionSet:
        """The partitions whose last run failed."""
        return PartitionSet.union(item.partitions for item in self.failed if not item.partitions.is_everything)

    @property
    def claimed_partitions(self) -> PartitionSet:
        """The partitions that unsettled claims compute."""
        return PartitionSet.union(
            link.entry.partitions for link in self.chain if not link.entry.partitions.is_everything
        )

    @property
    def stuck_loss(self) -> TableLoss | None:
        """The loss that only a person can decide on, if there is one."""
        return self.loss if self.loss is not None and self.loss.stuck else None

    @property
    def triggers(self) -> set[str]:
        """The datasets whose events may trigger it, now or when its condition names them again."""
        return {*self.spec.named, *self.parted}

    @property
    def chains(self) -> dict[int, tuple[ClaimState, ...]]:
        """The unsettled claims by run slot, in the order of the slots' first claims."""
        chains: dict[int, tuple[ClaimState, ...]] = {}
        for link in self.chain:
            chains[link.slot] = (*chains.get(link.slot, ()), link)
        return chains

    @property
    def asking_claims(self) -> tuple[ClaimState, ...]:
        """The newest claim of each slot where a person has to say what became of the claims before it."""
        newest = (chain[-1] for chain in self.chains.values()) if self.chain else ()
        return tuple(link for link in newest if link.asks is not None)

    def claim_state(self, token: int) -> ClaimState | None:
        """The unsettled claim of that fence token, with its status."""
        return next((link for link in self.chain if link.token == token), None)

    def claim_entry(self, token: int) -> ClaimEntry | None:
        """The entry of the unsettled claim of that fence token."""
        link = self.claim_state(token)
        return link.entry if link is not None else None

    def chain_without_slot(self, token: int) -> tuple[ClaimState, ...]:
        """The chain once that claim is settled: a settled claim settles every claim of its slot.

        A claim that is not in the chain settles slot 0, where runs go one after another.
        """
        settled = self.claim_state(token)
        slot = settled.slot if settled is not None else 0
        return tuple(link for link in self.chain if link.slot != slot)

    def is_newest(self, token: int) -> bool:
        """Whether that claim is open and the newest of its slot."""
        link = self.claim_state(token)
        return link is not None and self.chains[link.slot][-1] is link and link.status == "open"

    def unanswered_partitions(self, key: str) -> PartitionSet:
        """The partitions that have still to answer events of a dataset, or ticks, that others have used."""
        return PartitionSet.union(parts for _, parts in self.partly.get(key, ()))


@frozen
class State:
    """The state of a whole project after one commit of the journal.

    Attributes:
        seq: Sequence number of the last folded entry.
        commit: Number of the last commit.
        consumers: Dataset to the (asset, inlet) pairs that read it, one for each inlet; an empty inlet name stands for
            a leaf of the asset's condition.
        keepers: Dataset to the assets that its events trigger, or triggered before their condition changed; their
            unused events are kept.
    """

    journal_id: str = ""
    seq: int = 0
    commit: int = 0
    assets: Mapping[str, AssetState] = field(default_factory=dict)
    datasets: Mapping[str, DatasetState] = field(default_factory=dict)
    consumers: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    keepers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def dataset(self, uri: str) -> DatasetState:
        """The dataset's state; an empty one for an unknown URI."""
        return self.datasets.get(uri) or DatasetState(uri)
