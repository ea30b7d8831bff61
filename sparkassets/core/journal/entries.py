"""The kinds of journal entries: each records one fact; `core.journal.fold` derives the state from them.

A new field needs a default, because older entries are read without it (docs/design/journal.md#formats). One with text
that people write also needs a case in `redact_entry`; one that people query, a column in `codec.entries`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from sparkassets.core.iterations import RetiredEntry
from sparkassets.core.journal.digest_marks import DigestEntry
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.marks import MarkEntry
from sparkassets.core.journal.notified import LateEntry, PersonWaitEntry, SilenceEntry
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.runs import InletPin, RequestedRun
from sparkassets.core.validations import PartitionRowCount, RuleVerdict
from sparkassets.frozen import frozen


@frozen
class BackfillEntry:
    """A person asked for partitions to be computed again (``backfill --force``).

    Attributes:
        asked: The partitions as requested, maybe open in time; the same request again continues with the rest. Nothing
            means that the rest of ``partitions`` is given up.
        partitions: The partitions to compute; a later request takes them over from earlier ones.
        newest_first: Whether to compute the newest partitions first.
        limited: The number of runs was limited (``--max-runs``), so only the same request again continues it.
    """

    asset: str
    asked: PartitionSet
    partitions: PartitionSet
    newest_first: bool = False
    limited: bool = False


@frozen(array_like=True)
class RedoRequest:
    """The unfinished rest of a person's request to compute partitions again.

    Attributes:
        seq: Sequence number of its entry; runs that were claimed before do not answer it.
        at: When it was recorded, Unix seconds.
        asked, newest_first, limited: As in `BackfillEntry`.
        left: Partitions that no run has computed since.
    """

    seq: int
    at: int
    asked: PartitionSet
    left: PartitionSet
    newest_first: bool = False
    limited: bool = False


FailureCause = Literal["error", "timeout", "cancelled", "lost", "changed"]
"""``changed``: a source had changed since the run was planned, and its new content is recorded; ``lost``: the run only
settled an older one, which had written nothing, and had nothing to compute."""

NOT_TRIED: frozenset[FailureCause] = frozenset({"cancelled", "changed", "lost"})
"""Causes that say nothing about the partitions: these are planned as if the run had never been."""


@frozen
class SpecEntry:
    """The compiled schedule, partitioning and mappings of an asset, which the fold uses from this entry on."""

    asset: str
    spec: FoldSpec

    @property
    def uri(self) -> str:
        """The asset's dataset."""
        return self.spec.uri


@frozen
class EventEntry:
    """An announced update of a dataset, by an outside writer or by a run that wrote more than its own asset.

    Attributes:
        asset: The asset with this URI; None when several assets, or none, have it.
        parts: Updated partitions; everything for a dataset without partitions, or as a whole.
        id: The announcer's identifier, unique in the dataset; a known one is not recorded again.
        at: When it happened, Unix seconds; None for the time of the record.
        run, interval: The run that announced it, and its data interval, Unix seconds.
    """

    uri: str
    asset: str | None = None
    parts: PartitionSet = EVERYTHING
    extra: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    at: int | None = None
    run: str | None = None
    interval: tuple[int, int] | None = None


@frozen(array_like=True)
class ViewChanges:
    """Changes of a view: of the partitions that values in a source's rows make.

    Attributes:
        changed: Partitions that gained or lost rows and still hold some.
        removed: Partitions that hold no rows any more.
    """

    changed: PartitionSet = NOTHING
    removed: PartitionSet = NOTHING

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


@frozen
class ObservedEntry:
    """Changes that a look at a source found.

    Attributes:
        changed, removed: Partitions whose data is new or changed, and those whose data is gone.
        whole: The source as a whole was updated.
        cursor: Merged by key into the source's `position`; None deletes a key.
        views: Changes of views, by the identity of the view.
    """

    asset: str
    uri: str
    changed: PartitionSet = NOTHING
    removed: PartitionSet = NOTHING
    whole: bool = False
    table_id: str | None = None
    version: int | None = None
    cursor: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[str, ViewChanges] = field(default_factory=dict)

    @property
    def is_event(self) -> bool:
        """Whether anything was updated; an entry that only moves the position is no event."""
        return self.whole or bool(self.changed) or bool(self.removed)


@frozen
class ClaimEntry(RequestedRun):
    """A driver's right to write an asset until its lease is over; the entry's `seq` is the run's fence token.

    Attributes:
        planned: The planner's time, Unix seconds.
        processes: Processes that may commit, as `sparkassets.processes` identifies them; the driver first, then the
            enlisted ones.
    """

    run: str
    lease_seconds: int
    invocation: str
    host: str
    planned: int = 0
    processes: tuple[tuple[int, float], ...] = ()


@frozen
class RenewEntry:
    """A driver's renewal of the claims that it still holds: (asset, fence token).

    Attributes:
        enlisted: Further processes that may commit for these claims from now on.
    """

    claims: tuple[tuple[str, int], ...] = ()
    enlisted: tuple[tuple[int, float], ...] = ()


@frozen(stored_names={"is_hidden_iteration": "beside", "commit_mark": "mark", "other_changed_partitions": "besides"})
class SuccessEntry:
    """A run is committed in its target: the asset's event, coverage and watermarks in one entry.

    The success of a multi-asset is no event; its outlets' entries are (`OutletEntry`).

    Attributes:
        run, token: The run that is in the target, and its claim's fence token.
        recorder: Fence token of the claim that recorded it; differs from ``token`` after a recovery.
        partitions: Computed partitions; everything for an asset without partitions.
        unchanged: Partitions of ``partitions`` whose rows stayed the same: current, and no event for consumers.
        withheld: Partitions of ``partitions`` that are not published because validations failed.
        verdicts: Results of the validations, of all outlets.
        counts: Published rows by partition, by the name of each rule that compares with the past.
        watermarks: By inlet, how far it is read: the highest value of a column, or a `TablePosition`, as text.
        seconds: From the start of its work to its record, by the recorder's clock.
        definition: Id of the definition that computed it; empty where none was recorded.
        keys: Segments of open dimensions that the run made known, by column: it added them, or found them when it
            computed all segments.
        outlets: Assets that the run of a multi-asset wrote.
        iteration: Name of the published iteration, where the asset keeps iterations.
        is_hidden_iteration: Whether readers keep seeing an iteration of a later interval than this one's.
        restores: The run whose iteration this run made the newest again; it computed nothing.
        commit_mark: For a run that wrote its target itself, identifies the commit of ``version``. All commits up to
            that version belong to the run.
        other_changed_partitions: Present partitions that the run changed besides ``partitions``.
    """

    asset: str
    uri: str
    run: str
    token: int
    recorder: int
    partitions: PartitionSet
    table_id: str | None = None
    version: int | None = None
    interval: tuple[int, int] | None = None
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    events: tuple[int, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1
    seconds: float = 0.0
    definition: str = ""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unchanged: PartitionSet = NOTHING
    outlets: tuple[str, ...] = ()
    iteration: str = ""
    is_hidden_iteration: bool = False
    restores: str = ""
    withheld: PartitionSet = NOTHING
    verdicts: tuple[RuleVerdict, ...] = ()
    counts: Mapping[str, tuple[PartitionRowCount, ...]] = field(default_factory=dict)
    commit_mark: str = ""
    other_changed_partitions: PartitionSet = NOTHING

    @property
    def published_partitions(self) -> PartitionSet:
        """The partitions whose rows are in the target now."""
        return self.partitions - self.withheld if self.withheld else self.partitions

    @property
    def publishes_nothing(self) -> bool:
        """Whether validations withheld all of its partitions."""
        return bool(self.withheld) and not self.published_partitions

    @property
    def event_partitions(self) -> PartitionSet:
        """The partitions that its event announces to consumers; nothing where the success is no event."""
        if self.outlets or self.is_hidden_iteration:
            return NOTHING
        return (
            self.published_partitions - self.unchanged if self.unchanged else self.published_partitions
        ) | self.other_changed_partitions


@frozen(
    stored_names={
        "written_by": "maker",
        "is_hidden_iteration": "beside",
        "commit_mark": "mark",
        "other_changed_partitions": "besides",
    }
)
class OutletEntry:
    """The result of a multi-asset's run in one of its outlets; an event of its own.

    It stands before the run's success in the same commit of the journal, so no outlet has a run that another lacks.

    Attributes:
        asset, uri: The outlet.
        written_by: The multi-asset.
        run, token, recorder, partitions, table_id, version, interval, pins, extra, definition, unchanged, withheld,
            iteration, is_hidden_iteration, restores, commit_mark, other_changed_partitions: As in `SuccessEntry`, for
            this outlet.
        epoch: Fence token of a later claim that committed this outlet, to complete a run that other outlets already
            had; 0 where the run's own claim committed it.
    """

    asset: str
    uri: str
    written_by: str
    run: str
    token: int
    recorder: int
    partitions: PartitionSet
    table_id: str | None = None
    version: int | None = None
    interval: tuple[int, int] | None = None
    pins: Mapping[str, InletPin] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    definition: str = ""
    unchanged: PartitionSet = NOTHING
    withheld: PartitionSet = NOTHING
    iteration: str = ""
    is_hidden_iteration: bool = False
    restores: str = ""
    epoch: int = 0
    commit_mark: str = ""
    other_changed_partitions: PartitionSet = NOTHING

    @property
    def published_partitions(self) -> PartitionSet:
        """The partitions whose rows are in the outlet now."""
        return self.partitions - self.withheld if self.withheld else self.partitions

    @property
    def event_partitions(self) -> PartitionSet:
        """The partitions that its event announces to consumers; nothing where there is nothing new."""
        return (
            self.published_partitions - self.unchanged if self.unchanged else self.published_partitions
        ) | self.other_changed_partitions


PublishedEntry = SuccessEntry | OutletEntry
"""What a run published in one table."""


@frozen(stored_names={"bad_partitions": "bad", "asked_runs": "asks"})
class FailureEntry:
    """A run failed.

    Attributes:
        fenced: Whether none of its commits can land any more; if not, its claim stays in the chain.
        error: First line, for people.
        details: Where the full report is, such as a log file's name.
        hint: What to do about it.
        divisions: How many more runs may search for the bad partitions; None where the data was not the cause.
        bad_partitions: Partitions of ``partitions`` that read a file which the error names; they need no search.
        asked_runs: Older runs of the chain that a person has to look for in the target. This run fenced them and wrote
            nothing itself.
        watermarks: As in `sparkassets.core.journal.recovery_questions.RecoveryQuestion`.
    """

    asset: str
    run: str
    token: int
    partitions: PartitionSet
    cause: FailureCause
    error: str
    invocation: str
    fenced: bool = True
    attempts: int = 0
    details: str = ""
    hint: str = ""
    seconds: float = 0.0
    divisions: int | None = None
    bad_partitions: PartitionSet = NOTHING
    asked_runs: tuple[str, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)


@frozen
class SkippedEntry:
    """A run wrote nothing because its code had nothing to do; the events and ticks that it was claimed for are used up.

    Attributes:
        partitions: Everything for an asset without partitions.
        reason: The reason that the code gave.
        seconds: From the start of its work to its record, by the driver's clock.
    """

    asset: str
    run: str
    token: int
    partitions: PartitionSet
    reason: str
    invocation: str = ""
    attempts: int = 1
    seconds: float = 0.0


@frozen
class SegmentEntry:
    """A person added segments to an open dimension, or removed some.

    Attributes:
        column: The dimension's column.
    """

    asset: str
    column: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@frozen
class PauseEntry:
    """An asset stops running (``paused``) or goes on; events that arrive while it is paused are kept.

    Attributes:
        reason: Who asked for it and why, as ``ann: a bad load``; empty where no reason was given.
    """

    asset: str
    paused: bool
    reason: str = ""


@frozen
class TickPassedEntry:
    """A tick passed while nothing of the asset was out of date; later updates wait for the next tick.

    Attributes:
        cursor: The data interval of that tick, Unix seconds.
    """

    asset: str
    cursor: tuple[int, int]


Entry = (
    SpecEntry
    | EventEntry
    | ObservedEntry
    | ClaimEntry
    | RenewEntry
    | SuccessEntry
    | OutletEntry
    | FailureEntry
    | SkippedEntry
    | PauseEntry
    | MarkEntry
    | SegmentEntry
    | BackfillEntry
    | TargetEntry
    | RetiredEntry
    | LateEntry
    | PersonWaitEntry
    | SilenceEntry
    | DigestEntry
    | TickPassedEntry
)


@frozen
class NumberedEntry:
    """An entry at its place in the journal.

    Attributes:
        entry: The recorded fact.
        seq: Sequence number, ascending by one through the whole journal.
        at: When it was decided, by its driver's clock; for people, never for order. Aware, UTC.
        driver: The driver that recorded it.
    """

    entry: Entry
    seq: int
    at: datetime
    driver: str
