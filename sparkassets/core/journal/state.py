"""What is known at one moment of the journal: the value that `fold` makes and the planner reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.added_partitions import AddedPartitions
from sparkassets.core.journal.backfill_requests import RedoRequest
from sparkassets.core.journal.entries import (
    ClaimEntry,
    EventEntry,
    NumberedEntry,
    ObservedEntry,
    OutletEntry,
    SuccessEntry,
)
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.iterations import PublishedIteration
from sparkassets.core.journal.marks import InstanceMark, MarkEntry, PartitionMark
from sparkassets.core.journal.promoted_partitions import PromotedPartitions
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.recovery_questions import RecoveryQuestion
from sparkassets.core.journal.table_findings import ForeignCommit, TargetEntry
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, StampedPartitions
from sparkassets.core.runs import RunCost, RunDivision
from sparkassets.core.validations import RuleVerdict
from sparkassets.frozen import frozen

PartlyUsed = tuple[tuple[int, PartitionSet], ...]
"""Numbers of events, or instants of ticks, with the time that has still to answer each; ascending."""


@frozen
class EventRef:
    """An event that some consumer has not used yet.

    Attributes:
        seq: The journal's number of the event.
        at: When it happened, Unix seconds; by the clock of whoever recorded it, if nobody said.
        parts: What was updated or removed; everything for the whole dataset.
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
        """The event that an entry tells of; None where it tells of none, such as of a mere move of a position."""
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
        coverage: Time that is there.
        gone: Time that was there and is not any more, since it was removed.
        confirmed: When some of it was last computed again and came out as it was, Unix seconds; 0 for never.
        seq: Number of its newest event, 0 before the first.
        at: When that was recorded, Unix seconds.
        recent: The newest event, and those before it that some asset which they trigger has not used; ascending.
        touched: When its time was last updated, Unix seconds; kept only for as long as a consumer's ``settle``.
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
        """When it was last known to be as new as can be: updated, or found unchanged; Unix seconds."""
        return max(self.at, self.confirmed)

    @property
    def ever_present(self) -> PartitionSet:
        """Time that is or was there."""
        return self.coverage | self.gone if self.gone else self.coverage


@frozen
class ClaimState:
    """An unsettled claim of an asset's chain.

    Attributes:
        token: Fence token, the number of the claim.
        renewed: Number of the newest entry that shows its driver alive: the claim itself or a renewal.
        at: When it was claimed, Unix seconds, by its driver's clock.
        status: ``unfenced`` after a failure that could not be fenced: the next claim has to.
        asks: What a person has to tell of the claims before it; it wrote nothing itself.
        proved: When it was renewed, Unix seconds, by its driver's clock; 0 where it never was.
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
        """Whose chain it is in."""
        return self.entry.slot


@frozen(array_like=True)
class FailedBlocks:
    """Blocks whose last run failed.

    Attributes:
        blocks: Everything for an asset without partitions.
        token: Of the run that failed; a newer cause makes the block due again.
        invocation: Which invocation failed; another one tries once more.
        planned: The planner's time when the run was claimed, Unix seconds; a newer tick is a new cause.
        events: Numbers of the events that triggered it.
        division: How these blocks are tried in parts; None where they did not fail of their data.
    """

    blocks: PartitionSet
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
        interval: The latest data interval that any success of it had, Unix seconds; a backfill of an earlier one
            changes nothing.
        invocation: Of the driver that claimed it.
        planned: The planner's time when it was claimed, Unix seconds.
        unchanged: How many of its blocks came out as they were, of how many; None where none did.
        verdicts: What rules found and did not withhold, without rows.
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
        at: When that was recorded, Unix seconds.
        reason: What its code said.
        invocation: Of the driver that claimed it.
    """

    run: str
    seq: int
    at: int
    reason: str
    invocation: str = ""


@frozen(array_like=True)
class DefinitionOutput:
    """What one definition of an asset has made of it.

    Attributes:
        since: Number of the entry that told of it first; one that comes back keeps its place.
        blocks: What it computed last, be it lost since; everything for an asset without partitions.
        run: Its newest run that is known, empty before the first.
        at: When that was recorded, Unix seconds.
    """

    definition: AssetDefinition
    since: int
    blocks: PartitionSet = NOTHING
    run: str = ""
    at: int = 0


@frozen(array_like=True)
class AlignedInstance:
    """A run of a timetable's interval that succeeded or was skipped, for consumers that are aligned to it.

    Attributes:
        start, end: Its data interval, Unix seconds.
        seq: Number of its event, or of the entry that says that it was skipped.
        skipped: Whether it published nothing, so that the run before it counts.
    """

    start: int
    end: int
    seq: int
    table_id: str | None
    version: int | None
    skipped: bool = False


@frozen(array_like=True)
class TableLoss:
    """What was in the asset's table, is not any more, and was not computed again since.

    Attributes:
        blocks: Everything for an asset without partitions.
        reason: A clause for people.
        seq: Number of the entry that tells it.
        stuck: It cannot be computed again, so the asset runs no more until a person decides.
    """

    blocks: PartitionSet
    reason: str
    seq: int
    stuck: bool = False

    @property
    def lost_partitions(self) -> PartitionSet:
        """Which partitions; none where it is the whole asset, or was before it had partitions."""
        return NOTHING if self.blocks.is_everything else self.blocks


@frozen(array_like=True)
class FormerPartitions:
    """What a table holds by partitions that the asset does not have any more.

    Attributes:
        partitioning: The partitions by which it was computed, without the segments that came to be known.
        coverage: What was computed of them; everything where there were none.
        seq: Number of the entry up to which it is known what of them is stale.
    """

    partitioning: Partitioning
    coverage: PartitionSet
    seq: int = 0


@frozen(array_like=True)
class LearnedKeys:
    """Segments of one open dimension that an asset came to know by itself, or was told.

    Attributes:
        known: Those that somebody added, that its events named, or that came out of a run of all; ascending.
        removed: Those that somebody removed, and did not add again: not wanted, whoever names them; ascending.
    """

    known: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@frozen
class AssetState:
    """What is known of one asset.

    Attributes:
        spec: As its files say it, with the segments of open dimensions that are known.
        coverage: Time that was computed.
        done: Fence token of the newest recorded run, 0 before the first.
        stale: Per inlet, time whose input changed, with the number of its newest cause; kept for time that is
            not computed yet as well, where it only says that there is a new cause.
        kept: Per inlet, time that was computed from what was removed since and keeps its rows, with the number of the
            newest removal.
        owed: Computed time before a gap that is still to be computed again, since the gap was filled (lookback).
        gaps: Time that is not computed yet, of gaps that are filled run by run: their lookback is done or owed.
        consumed: Per dataset, the number up to which its events are used.
        partly: Per dataset, those of them that are used for some time only: (number, time that is still to answer
            it), ascending; per time leaf likewise its ticks, by their instants. Of an asset without partitions: those
            that were skipped.
        parted: Datasets that the condition named once, to the number of their newest event then: what was not used is
            kept for when it names them again.
        cursor: The newest interval of the timetable that ran, by its end; Unix seconds.
        ticks: Per time leaf of the condition, the instant up to which its ticks are used; Unix seconds.
        instances: Its newest successes and skipped runs by interval, ascending; kept only where a consumer is aligned.
        watermarks: Per inlet, its column's high value as text.
        columns: Per inlet, which column that is, as far as its runs said.
        position: Of a source: its cursor.
        table_id, version: Of a source, or of the newest recorded commit, or of what a look at the table found since.
        seen: The version up to which the log of its own table holds nothing unknown.
        mark: What tells that version's commit from any other.
        loss: What its table lost.
        foreign: What others changed in its table and no run has written anew, ascending.
        chain: Claims that are not settled, oldest first; those of each slot are a chain of their own.
        withheld: What was computed and is not published, in the order of the runs; no block is in two.
        paused: Stopped by `pause`; what its YAML says of pausing is not here.
        late: The deadline that people were told it missed, Unix seconds; 0 where it is not late, as far as they know.
        placed: Number of the entry since which it is at its place, in its partitions; what was claimed before then
            writes elsewhere, or by others.
        former: What its table holds by other partitions than those of ``spec``. It counts as none of these, and keeps
            the asset from running, until the table is rebuilt or a person marks it as done.
        costs: What its newest successes took, ascending.
        made: By what it was computed, by the order in which the definitions came.
        marks: What people said of its blocks, ascending; no block is in two.
        instance_marks: What people said of single instances, ascending; no instance is in two.
        keys: Segments of its open dimensions, by column; ``spec`` has those that count, with what its inlets tell.
        redo: Requests to compute blocks again that are not answered wholly, ascending.
        iterations: What it published and still has, in the order in which it was recorded.
        taken: What of it is as a branch has it; no block is in two.
        skip: The newest run that ended as skipped; None where none did since the last success.
        additions: What its runs added and did not compute.
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
    failed: tuple[FailedBlocks, ...] = ()
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
        """The marks of what is skipped; they hold until they are taken back, or a later run computes it."""
        return tuple(mark for mark in self.marks if mark.kind == "skip")

    @property
    def skipped_partitions(self) -> PartitionSet:
        """The partitions that are not wanted, because somebody said so."""
        if not self.marks:  # as a rule; each look at a project asks several times
            return NOTHING
        return PartitionSet.union(mark.blocks for mark in self.skip_marks if not mark.blocks.is_everything)

    @property
    def skipped_instances(self) -> tuple[InstanceMark, ...]:
        """The instances that are not wanted, because somebody said so."""
        return tuple(mark for mark in self.instance_marks if mark.kind == "skip")

    @property
    def marked_ticks(self) -> tuple[InstanceMark, ...]:
        """The marks of instances that a tick brings, or will bring, and that need no run."""
        return tuple(mark for mark in self.instance_marks if mark.is_ahead(self.cursor))

    @property
    def redo_partitions(self) -> PartitionSet:
        """What somebody wants computed again; everything of an asset without partitions."""
        return self.redo_partitions_since(0)

    def redo_partitions_since(self, seq: int) -> PartitionSet:
        """What somebody wants computed again, and said so after that entry."""
        return PartitionSet.union(mark.blocks for mark in self.marks if mark.kind == "missing" and mark.seq > seq)

    def settled_partitions_since(self, seq: int) -> PartitionSet:
        """What somebody said needs no run, after that entry; everything of an asset without partitions."""
        later = (mark for mark in self.marks if mark.kind in ("done", "skip") and mark.seq > seq)
        return PartitionSet.union(mark.blocks for mark in later)

    @property
    def accepted_partitions(self) -> PartitionSet:
        """What somebody wants published although its validations fail; everything of an asset without partitions."""
        return PartitionSet.union(mark.blocks for mark in self.marks if mark.kind == "accept")

    @property
    def ever_computed(self) -> PartitionSet:
        """Time that was computed, whether it is lost since or to be computed again."""
        known = self.coverage | self.redo_partitions if self.marks else self.coverage
        return known if self.loss is None else known | self.loss.lost_partitions

    keys: Mapping[str, LearnedKeys] = field(default_factory=dict)

    @property
    def failed_blocks(self) -> PartitionSet:
        """All whose last run failed, of an asset with partitions."""
        return PartitionSet.union(item.blocks for item in self.failed if not item.blocks.is_everything)

    @property
    def claimed_partitions(self) -> PartitionSet:
        """The partitions that unsettled claims compute."""
        return PartitionSet.union(link.entry.blocks for link in self.chain if not link.entry.blocks.is_everything)

    @property
    def stuck_loss(self) -> TableLoss | None:
        """A loss that only a person can decide on."""
        return self.loss if self.loss is not None and self.loss.stuck else None

    @property
    def triggers(self) -> set[str]:
        """The datasets whose events may run it."""
        return {*self.spec.named, *self.parted}

    @property
    def chains(self) -> dict[int, tuple[ClaimState, ...]]:
        """The chain of each slot that has unsettled claims, by slot, in the order of their first claims."""
        found: dict[int, tuple[ClaimState, ...]] = {}
        for link in self.chain:
            found[link.slot] = (*found.get(link.slot, ()), link)
        return found

    @property
    def asking_claims(self) -> tuple[ClaimState, ...]:
        """The newest claims of slots that ask what became of the ones before them."""
        newest = (chain[-1] for chain in self.chains.values()) if self.chain else ()
        return tuple(link for link in newest if link.asks is not None)

    def claim_state(self, token: int) -> ClaimState | None:
        """The unsettled claim of that fence token, and what became of it."""
        return next((link for link in self.chain if link.token == token), None)

    def claim_entry(self, token: int) -> ClaimEntry | None:
        """The unsettled claim of that fence token."""
        found = self.claim_state(token)
        return found.entry if found is not None else None

    def chain_without_slot(self, token: int) -> tuple[ClaimState, ...]:
        """The unsettled claims but for those of the slot of that claim, which are settled with it."""
        found = self.claim_state(token)
        return tuple(link for link in self.chain if link.slot != (found.slot if found is not None else 0))

    def is_newest(self, token: int) -> bool:
        """Whether that claim is the newest of its slot, and open."""
        found = self.claim_state(token)
        return found is not None and self.chains[found.slot][-1] is found and found.status == "open"

    def unanswered_partitions(self, key: str) -> PartitionSet:
        """The time for which events of a dataset, or ticks, are kept, although they are used for other time."""
        return PartitionSet.union(parts for _, parts in self.partly.get(key, ()))


@frozen
class State:
    """All that is known.

    Attributes:
        seq: Number of the last folded entry.
        commit: Number of the last commit.
        consumers: Dataset to the (asset, inlet) pairs that read it, one for each inlet; an empty inlet name is a
            condition's leaf.
        keepers: Dataset to the assets that its events trigger, or triggered before their condition changed.
    """

    journal_id: str = ""
    seq: int = 0
    commit: int = 0
    assets: Mapping[str, AssetState] = field(default_factory=dict)
    datasets: Mapping[str, DatasetState] = field(default_factory=dict)
    consumers: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    keepers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def dataset(self, uri: str) -> DatasetState:
        """The dataset, also when nothing is known of it."""
        return self.datasets.get(uri) or DatasetState(uri)
