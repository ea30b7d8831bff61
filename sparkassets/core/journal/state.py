"""The state: all that the fold derives from the journal up to one entry, and that the planner reads.

Everything that a decision needs is here: nothing is looked up in old entries (docs/design/journal.md#fold).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from operator import is_not
from typing import Any, Literal

from sparkassets.core.instants import to_unix
from sparkassets.core.iterations import PublishedIteration
from sparkassets.core.journal.asset_records import (
    AddedPartitions,
    AlignedInstance,
    AssetSilence,
    DefinitionOutput,
    FailedPartitions,
    FormerPartitions,
    LastRun,
    LastSkip,
    LearnedKeys,
    PartlyUsed,
    PromotedPartitions,
    TableLoss,
)
from sparkassets.core.journal.digest_marks import DigestMark
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
from sparkassets.core.journal.marks import InstanceMark, MarkEntry, PartitionMark
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.recovery_questions import RecoveryQuestion
from sparkassets.core.journal.table_findings import ForeignCommit, TargetEntry
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet, StampedPartitions
from sparkassets.core.run_costs import RunCost
from sparkassets.frozen import frozen


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
        """The event that an entry records; None if it updates no data, such as a move of a source's position."""
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
            case MarkEntry() if entry.made_present:
                parts, interval = entry.made_present, entry.instance
            case _:
                return None
        extra = dict(sorted(entry.extra.items()))  # as the store has them
        return cls(numbered.seq, entry.uri, entry.asset, at, parts, extra, run, interval)


@frozen
class DatasetState:
    """The events and the present partitions of a dataset, whoever writes it.

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


@frozen(stored_names={"renewed_seq": "renewed", "question": "asks", "alive_at": "proved"})
class ClaimState:
    """A claim in an asset's chain whose run is not settled yet.

    Attributes:
        token: Fence token: the claim's sequence number.
        renewed_seq: Sequence number of the newest entry that proves its driver alive: the claim itself or a renewal.
        at: When it was claimed, Unix seconds, by its driver's clock.
        status: ``unfenced`` after a failure that could not be fenced; the next claim has to fence it.
        question: The question that a person has to answer about the claims before it; None without one. A run that asks
            wrote nothing itself.
        alive_at: When it was last renewed, Unix seconds, by its driver's clock; 0 for never.
    """

    token: int
    entry: ClaimEntry
    driver: str
    at: int
    renewed_seq: int
    status: Literal["open", "unfenced"] = "open"
    question: RecoveryQuestion | None = None
    alive_at: int = 0

    @property
    def run_slot(self) -> int:
        """The run slot whose chain holds it."""
        return self.entry.run_slot


@frozen(
    stored_names={
        "newest_token": "done",
        "owed_lookback": "owed",
        "partly_used": "partly",
        "former_triggers": "parted",
        "seen_version": "seen",
        "commit_mark": "mark",
        "foreign_commits": "foreign",
        "placed_since": "placed",
        "definition_outputs": "made",
        "redo_requests": "redo",
        "promotions": "taken",
        "last_skip": "skip",
    }
)
class AssetState:
    """The state of one asset.

    Attributes:
        spec: The asset as its files declare it, with the known segments of open dimensions.
        coverage: Computed partitions.
        newest_token: Fence token of the newest recorded run, 0 before the first.
        stale: By inlet, partitions whose input changed, with the sequence number of the newest cause. A partition that
            is not computed yet can be here too; then it only has a new cause.
        kept: By inlet, partitions that keep their rows although their input was removed, with the sequence number of
            the newest removal.
        owed_lookback: Computed partitions before a filled gap that are still to be computed again (lookback).
        gaps: Partitions not computed yet of gaps that several runs fill; their lookback is done or owed.
        consumed: By dataset, the sequence number up to which its events are used.
        partly_used: By dataset, events that only some partitions have used: (sequence number, partitions that have
            still to answer it), ascending. By time leaf, its ticks likewise, by instant. For an asset without
            partitions, the events that it skipped.
        former_triggers: Datasets that the condition no longer names, with the number of their newest event at that
            time; their unused events are kept in case the condition names them again.
        cursor: The newest interval of the timetable that ran or was marked, by its end; Unix seconds. None before it.
        ticks: By time leaf of the condition, the instant up to which its ticks are used; Unix seconds.
        instances: Newest successes and skipped runs by interval, ascending; kept only while a consumer is aligned.
        watermarks: By inlet, how far it is read: the highest value of a column, or a `TablePosition`, as text.
        columns: By inlet, that column, as far as runs recorded it.
        position: For a source, how far looks have read it, by keys of its kind of source.
        table_id, version: Position in a source, or of the newest recorded commit, or of a later look at the table.
        seen_version: Version up to which the log of its own table holds no unknown commit.
        commit_mark: Text in the log that identifies the commit of that version; no mark of a person.
        loss: Partitions that its table lost.
        foreign_commits: Changes by other writers in its table that no run has overwritten, ascending.
        chain: Unsettled claims, oldest first; the claims of each run slot are a chain of their own.
        withheld: Partitions that were computed and not published, in the order of their runs; none is in two records.
        paused: Stopped by `pause`; the ``paused`` key in the asset's file is not in the state.
        pause_reason: Who paused it and why; empty where no reason was given, and while it is not paused.
        late: The missed deadline of which people were notified, Unix seconds; 0 where they were not.
        person_wait: Why it waits for a person, as people were notified; empty where they were not.
        silence: Until when nobody is notified; kept once it is over, as what fell into it was told nobody.
        placed_since: Sequence number since which the asset has its place and partitioning; an older claim writes
            elsewhere, or by other partitions.
        former: Content of its table by another partitioning than ``spec`` has. None of it counts as covered, and the
            asset does not run until the table is rebuilt or a person marks it as done.
        costs: Costs of its newest successes, ascending.
        definition_outputs: Partitions by the definition that computed them, in the order in which the definitions came.
        marks: Marks of partitions, ascending; no partition is in two.
        instance_marks: Marks of single instances, ascending; no instance is in two.
        keys: Learned segments of its open dimensions, by column; ``spec`` also has those of its inlets.
        redo_requests: Unfinished requests to compute partitions again, ascending.
        iterations: Published iterations that still exist, in the order of their records.
        promotions: Partitions whose rows were promoted from a branch; no partition is in two.
        last_skip: The newest run that ended as skipped; None where none did since the last success.
        additions: Partitions of segments that runs added and no run has computed.
    """

    name: str
    spec: FoldSpec
    coverage: PartitionSet = NOTHING
    newest_token: int = 0
    stale: Mapping[str, StampedPartitions] = field(default_factory=dict)
    kept: Mapping[str, StampedPartitions] = field(default_factory=dict)
    owed_lookback: PartitionSet = NOTHING
    gaps: PartitionSet = NOTHING
    consumed: Mapping[str, int] = field(default_factory=dict)
    partly_used: Mapping[str, PartlyUsed] = field(default_factory=dict)
    former_triggers: Mapping[str, int] = field(default_factory=dict)
    cursor: tuple[int, int] | None = None
    ticks: Mapping[str, int] = field(default_factory=dict)
    instances: tuple[AlignedInstance, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    position: Mapping[str, Any] = field(default_factory=dict)
    table_id: str | None = None
    version: int | None = None
    seen_version: int | None = None
    commit_mark: str | None = None
    loss: TableLoss | None = None
    former: FormerPartitions | None = None
    foreign_commits: tuple[ForeignCommit, ...] = ()
    chain: tuple[ClaimState, ...] = ()
    failed: tuple[FailedPartitions, ...] = ()
    withheld: tuple[WithheldPartitions, ...] = ()
    last: LastRun | None = None
    paused: bool = False
    pause_reason: str = ""
    placed_since: int = 0
    costs: tuple[RunCost, ...] = ()
    definition_outputs: tuple[DefinitionOutput, ...] = ()
    redo_requests: tuple[RedoRequest, ...] = ()
    marks: tuple[PartitionMark, ...] = ()
    instance_marks: tuple[InstanceMark, ...] = ()
    iterations: tuple[PublishedIteration, ...] = ()
    promotions: tuple[PromotedPartitions, ...] = ()
    late: int = 0
    person_wait: str = ""
    silence: AssetSilence | None = None
    last_skip: LastSkip | None = None
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
        """The marks of instances whose tick is still ahead of the cursor; each keeps its instance from running."""
        return tuple(mark for mark in self.instance_marks if mark.is_ahead(self.cursor))

    @property
    def redo_partitions(self) -> PartitionSet:
        """The partitions marked as missing; everything for an asset without partitions."""
        return self.redo_partitions_since(0)

    def redo_partitions_since(self, seq: int) -> PartitionSet:
        """The partitions marked as missing after the entry of that number."""
        return PartitionSet.union(mark.partitions for mark in self.marks if mark.kind == "missing" and mark.seq > seq)

    def settled_partitions_since(self, seq: int) -> PartitionSet:
        """The partitions marked as done or skipped after the entry ``seq``; everything for a whole asset so marked."""
        later = (mark for mark in self.marks if mark.kind in ("done", "skip") and mark.seq > seq)
        return PartitionSet.union(mark.partitions for mark in later)

    @property
    def accepted_partitions(self) -> PartitionSet:
        """The partitions to publish although validations fail; everything for an asset without partitions."""
        return PartitionSet.union(mark.partitions for mark in self.marks if mark.kind == "accept")

    @property
    def ever_computed(self) -> PartitionSet:
        """The partitions that were ever computed, including those lost since or marked as missing."""
        computed = self.coverage | self.redo_partitions if self.marks else self.coverage
        return computed if self.loss is None else computed | self.loss.lost_partitions

    keys: Mapping[str, LearnedKeys] = field(default_factory=dict)

    @property
    def failed_partitions(self) -> PartitionSet:
        """The partitions whose last run failed."""
        return PartitionSet.union(item.partitions for item in self.failed if not item.partitions.is_everything)

    @property
    def claimed_partitions(self) -> PartitionSet:
        """The partitions that unsettled claims compute."""
        return PartitionSet.union(
            claim.entry.partitions for claim in self.chain if not claim.entry.partitions.is_everything
        )

    @property
    def stuck_loss(self) -> TableLoss | None:
        """The loss that only a person can decide on; None without one."""
        return self.loss if self.loss is not None and self.loss.stuck else None

    @property
    def triggers(self) -> set[str]:
        """The datasets whose events may trigger it, now or when its condition names them again."""
        return {*self.spec.named, *self.former_triggers}

    @property
    def chains(self) -> dict[int, tuple[ClaimState, ...]]:
        """The unsettled claims by run slot, in the order of the slots' first claims."""
        chains: dict[int, tuple[ClaimState, ...]] = {}
        for claim in self.chain:
            chains[claim.run_slot] = (*chains.get(claim.run_slot, ()), claim)
        return chains

    @property
    def asking_claims(self) -> tuple[ClaimState, ...]:
        """The newest claim of each slot where a person has to say what became of the claims before it."""
        newest = (chain[-1] for chain in self.chains.values()) if self.chain else ()
        return tuple(claim for claim in newest if claim.question is not None)

    def is_silenced(self, at: int) -> bool:
        """Whether nobody is notified of what happens to the asset at an instant, in Unix seconds."""
        return self.silence is not None and self.silence.covers(at)

    def claim_state(self, token: int) -> ClaimState | None:
        """The unsettled claim with that fence token, and its status; None where it is settled or unknown."""
        return next((claim for claim in self.chain if claim.token == token), None)

    def claim_entry(self, token: int) -> ClaimEntry | None:
        """The entry of the unsettled claim with that fence token; None where it is settled or unknown."""
        claim = self.claim_state(token)
        return claim.entry if claim is not None else None

    def chain_without_slot(self, token: int) -> tuple[ClaimState, ...]:
        """The chain once the claim with that fence token is settled, which settles every claim of its run slot.

        A claim that is not in the chain settles slot 0, where runs go one after another.
        """
        settled = self.claim_state(token)
        slot = settled.run_slot if settled is not None else 0
        return tuple(claim for claim in self.chain if claim.run_slot != slot)

    def is_newest(self, token: int) -> bool:
        """Whether that claim is open and the newest of its slot."""
        claim = self.claim_state(token)
        return claim is not None and self.chains[claim.run_slot][-1] is claim and claim.status == "open"

    def unanswered_partitions(self, key: str) -> PartitionSet:
        """The partitions that have still to answer events or ticks which a run has used for others only.

        ``key`` is a dataset's URI, a time leaf of the condition, or the timetable.
        """
        return PartitionSet.union(parts for _, parts in self.partly_used.get(key, ()))


@frozen
class State:
    """The state of a whole project after one commit of the journal.

    Attributes:
        seq: Sequence number of the last folded entry.
        commit: Number of the last commit.
        consumers: Dataset to the (asset, inlet) pairs that read it, one for each inlet; an empty inlet name stands for
            a leaf of the asset's condition.
        triggered: Dataset to the assets that its events trigger, or triggered before their condition changed; their
            unused events are kept.
        digests: How far each digest of notifications was sent, by its name.
    """

    journal_id: str = ""
    seq: int = 0
    commit: int = 0
    assets: Mapping[str, AssetState] = field(default_factory=dict)
    datasets: Mapping[str, DatasetState] = field(default_factory=dict)
    consumers: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    triggered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    digests: Mapping[str, DigestMark] = field(default_factory=dict)

    def dataset(self, uri: str) -> DatasetState:
        """The dataset's state; an empty one for an unknown URI."""
        return self.datasets.get(uri) or DatasetState(uri)


class StateSearch:
    """Finds the assets whose state matches a condition, looking only at states that changed since the last search.

    Safe for threads, which at worst look at a state twice.
    """

    def __init__(self, matches: Callable[[AssetState], bool]) -> None:
        self._matches = matches
        self._last: tuple[Mapping[str, AssetState], Mapping[str, AssetState]] = ({}, {})

    def find(self, state: State) -> Collection[AssetState]:
        """The states of these assets, in no order."""
        (before, found), after = self._last, state.assets
        if after is not before:
            unchanged = {name: each for name, each in found.items() if after.get(name) is each}
            changed = map(after.__getitem__, changed_keys(before, after))
            found = unchanged | {each.name: each for each in changed if self._matches(each)}
            self._last = after, found
        return found.values()


def changed_keys(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    """Yields the keys of ``after`` whose value is another object than in ``before``.

    It compares by position, at the speed of C: the fold keeps the order of keys and adds new ones at the end. In
    another order it would yield too many keys, never too few, as no two keys share a value.
    """
    earlier = itertools.chain(before.values(), itertools.repeat(None))
    return itertools.compress(after, map(is_not, after.values(), earlier))
