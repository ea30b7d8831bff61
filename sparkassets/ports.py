"""What the runtime needs from the outside, as Protocols; adapters implement them and do not know each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sparkassets.core.journal.codec.rows import JournalRow, SnapshotRow
from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry, ViewChanges
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.partitions.json_form import decode_partitions, encode_partitions
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.core.runs import BranchPromotion, ChangeAvailability, InletPin, InletVolume, TablePosition
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.validations import (
    PastRowCounts,
    RuleVerdict,
    RunJudgement,
    judgement_from,
    judgement_to,
    verdicts_from,
)
from sparkassets.core.writes import row_counts
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.processes import Process

if TYPE_CHECKING:
    from sparkassets.core.branches.difference import ColumnDifference, ComparedTable, RowComparison


class Clock(Protocol):
    """The time of this driver."""

    def now(self) -> datetime:
        """The current instant; aware, UTC."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""


class IdGenerator(Protocol):
    """Names that never repeat."""

    def invocation_id(self) -> str:
        """A unique name of one start of a driver."""

    def run_id(self, asset: str, at: datetime) -> str:
        """A readable, unique name of one run of ``asset``."""


# --------------------------------------------------------------------------- journal


@frozen
class JournalImage:
    """What a store holds: the snapshot and everything committed after it.

    Attributes:
        journal_id: The journal's Delta table id; stable for the life of the state.
        commit: Number of the last commit, 0 for an empty journal.
        snapshot: Rows of the newest snapshot, empty when there is none.
        snapshot_seq: The sequence number the snapshot stands for, 0 when there is none.
        tail: Rows with ``seq > snapshot_seq``, ascending by ``seq``.
    """

    journal_id: str
    commit: int
    snapshot: Sequence[SnapshotRow]
    snapshot_seq: int
    tail: Sequence[JournalRow]


@frozen
class StateDamage:
    """Something that is wrong with a state.

    Attributes:
        problem: A sentence without its stop.
        repair: What to do.
    """

    problem: str
    repair: str


@frozen
class FormatUpgrade:
    """What rows of an older format are in today's; rows of today's are as they were."""

    upgrade_entry: Callable[[JournalRow], JournalRow]
    upgrade_snapshot: Callable[[SnapshotRow], SnapshotRow]


class JournalStore(Protocol):
    """The serialisable log (docs/design/journal.md#a-serialisable-log): numbered commits by compare-and-set.

    Every method raises `StateError` when the state is unreachable, read-only, damaged, newer or another project's.
    """

    def exists(self) -> bool:
        """Whether there is a journal; looks and creates nothing."""

    def create(self, *, project: str) -> None:
        """Creates an empty journal for ``project``; does nothing when it exists and is that project's."""

    def check(self, *, project: str) -> None:
        """Refuses a state that is not ``project``'s or cannot be used, without reading it."""

    def read_image(self, *, project: str) -> JournalImage:
        """The newest snapshot and the tail, of one consistent moment; refuses another project's state."""

    def read_after(self, seq: int) -> tuple[int, Sequence[JournalRow]]:
        """The last commit number and the rows with a greater ``seq``, ascending; cheap when nothing is new.

        They do not begin with ``seq + 1`` where entries between were let go of meanwhile.
        """

    def append(self, rows: Sequence[JournalRow], *, after: int) -> None:
        """Commits ``rows`` as commit ``after + 1``.

        Raises:
            JournalConflictError: The last commit is not ``after``; nothing was written.
        """

    def save_snapshot(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Replaces the snapshot if its ``seq`` is lower; losing a race is not an error."""

    def read_history(
        self,
        *,
        kinds: Sequence[str] | None = None,
        asset: str | None = None,
        uri: str | None = None,
        run: str | None = None,
        ids: Collection[str] | None = None,
        after_seq: int = 0,
        up_to_seq: int | None = None,
        last: int | None = None,
    ) -> Sequence[JournalRow]:
        """Rows of the whole journal that match, ascending by ``seq``; only the newest ``last`` of them.

        What is asked for is sought where the rows are: what does not match is not brought here.
        """

    def maintain(self, *, fully: bool = False) -> None:
        """Checkpoints, compacts and cleans up (docs/design/journal.md#growth); safe beside other drivers.

        Args:
            fully: Also what is not due yet.
        """

    def oldest_seq(self) -> int:
        """The number of the oldest entry that is kept; 1 while all of them are."""

    def read_base(self) -> tuple[Sequence[SnapshotRow], int]:
        """What was known before the oldest entry that is kept, and the entry's number that it stands for.

        Nothing and 0 while all entries are kept. With the entries after it, it makes whatever a snapshot holds.
        """

    def expire(self, rows: Sequence[SnapshotRow], *, seq: int) -> None:
        """Lets go of the entries up to ``seq``, after ``rows``, what was known by then, is kept as the base.

        Safe beside other drivers, and where it is killed: who does it again goes on. The newest entry always stays.
        """

    def find_damages(self) -> Sequence[StateDamage]:
        """Files and entries that should be there and are not, or are broken; reads only."""

    def migrate(self, upgrade: FormatUpgrade) -> int:
        """Stores everything as ``upgrade`` has it, and that it is of today's format; returns how many rows changed.

        What is there stays until the new is written and read again; killed at any moment it is done anew. Safe beside
        other drivers of this release.
        """


@frozen
class JournalCommit:
    """Entries that this process committed, and what they changed.

    Attributes:
        project: The project, whose assets name the partitions.
        entries: In the order of the journal; at least one.
        before, after: The states of the assets concerned, by name, before and after the entries.
    """

    project: ProjectSpec
    entries: Sequence[NumberedEntry]
    before: Mapping[str, AssetState]
    after: Mapping[str, AssetState]

    def claim(self, token: int) -> ClaimEntry | None:
        """The claim with that fence token, of a run that these entries begin or end; its pins say what is read."""
        chains = (link for known in (self.before, self.after) for state in known.values() for link in state.chain)
        return next((link.entry for link in chains if link.token == token), None)


class Sink(Protocol):
    """Receives what this process commits to the journal, once it stands: once, in order, on a thread of its own.

    Other drivers report their own commits. Whatever a sink raises, and however long it takes, no run is affected.
    It must not change its arguments.
    """

    def committed(self, commit: JournalCommit) -> None:
        """These entries are in the journal."""

    def ended(self) -> None:
        """The invocation is over: sends now what was held back to be sent together."""


# --------------------------------------------------------------------------- sources


@frozen
class Observation:
    """The news of one source since the last look at it.

    Attributes:
        asset: The source.
        changed: Partitions that are new or changed; empty for a source without partitions.
        removed: Partitions whose data is gone.
        whole: Everything may have changed (table re-created, history vacuumed, no partitions).
        table_id, version: The position in a Delta source after this observation.
        cursor: JSON object that is merged by key into the one handed in at the next look; a None value deletes its key.
        extra: Facts for people, such as counts of files and the operation.
        notes: Sentences on the source's present state, repeated by every look, with or without news.
        views: News of the source's views, by their identities.
        session_needed_reason: Why only a Spark session can look, as the end of a sentence; empty after a look.
    """

    asset: str
    changed: PartitionSet
    removed: PartitionSet = NOTHING
    whole: bool = False
    table_id: str | None = None
    version: int | None = None
    cursor: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    views: Mapping[str, ViewChanges] = field(default_factory=dict)
    session_needed_reason: str = ""

    @property
    def has_news(self) -> bool:
        """Whether there is anything to record: an update, or a move of the position."""
        return self.whole or self.version is not None or bool(self.changed or self.removed or self.cursor or self.views)


@frozen
class FileContent:
    """The partitions by value of one file of a source.

    Attributes:
        parts: The partitions of its rows.
        excluded_values: Some of the values in no partition, ascending, by column.
    """

    parts: PartitionSet
    excluded_values: Mapping[str, Sequence[str]] = field(default_factory=dict)


class TextFileReader(Protocol):
    """Reads the values of CSV and JSON files, which only Spark can."""

    def read_contents(
        self, asset: AssetSpec, view: Partitioning, paths: Sequence[str]
    ) -> Mapping[str, FileContent] | None:
        """The content of each file, by its path relative to the source's folder; None without a session.

        Raises:
            SourceError: A file cannot be read, or lacks a column.
        """


class SourceObserver(Protocol):
    """Observes what others write, without a JVM."""

    def observe(
        self,
        asset: AssetSpec,
        *,
        table_id: str | None,
        version: int | None,
        cursor: Mapping[str, Any],
        coverage: PartitionSet,
        viewed: Mapping[str, PartitionSet],
        now: datetime,
    ) -> Observation | None:
        """The news since that position; None when there is none and nothing to note.

        ``coverage`` has the partitions that the dataset held then: it reveals which are gone where the
        source itself does not say what changed; ``viewed`` is the same for the source's views.

        Raises:
            SourceError: It vanished or cannot be read; the message says what and where.
        """


@frozen
class RecordedTable:
    """An asset's own table as the journal knows it.

    Attributes:
        version: That of the newest recorded commit, or of a later look.
        accounted_version: Up to this version, everything in the log is accounted for.
        mark: Identifies that version's commit.
        app_id: The application id of the asset's commits; ids of other assets differ after the last ``/``.
        coverage: The computed partitions.
        settled_runs: Runs that never will be recorded, because a person has settled them.
        claimed_runs: Runs that are claimed but not recorded.
    """

    table_id: str
    version: int
    accounted_version: int
    mark: str
    app_id: str
    coverage: PartitionSet
    settled_runs: Collection[str] = ()
    claimed_runs: Collection[str] = ()


class TargetObserver(Protocol):
    """Observes the tables that assets write, without a JVM."""

    def missing_folder(self, asset: AssetSpec) -> str | None:
        """The folder on a disk for the asset's table if that is missing; else None."""

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        """Why Spark commits to the asset's table as it is now, as the end of a sentence; None where a driver does.

        Raises:
            SourceError: The table cannot be read; the message says what and where.
        """

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        """Why only a Spark session, which is not there, can look, as the end of a sentence; None if this can."""

    def check_writable(self, asset: AssetSpec) -> int | None:
        """Checks that runs may write to the asset's table as it is; a missing one is fine.

        Returns:
            The table's newest version; None without a table, or if only a session could look.

        Raises:
            SourceError: They may not; the message says why.
        """

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, app: str, claimed: Collection[str]) -> None:
        """Checks that the newest commits of an unrecorded table, up to a version, are of these runs.

        Args:
            asset: The table's asset.
            version: The table's newest.
            app: The application id of the asset's commits.
            claimed: Runs that are claimed but not recorded.

        Raises:
            UnknownRunError: One is of another run of the asset.
        """

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        """The position in the log of the asset's table, with its mark; None without a table.

        Raises:
            SourceError: It cannot be read; the message says what and where.
        """

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        """Differences to the record; None where there are none.

        Raises:
            UnknownRunError: A run of the asset is there that is neither recorded nor claimed.
            SourceError: It cannot be read; the message says what and where.
        """


# --------------------------------------------------------------------------- computing and targets


@frozen
class RunOrder:
    """Everything that a worker needs to compute one run; equal for every attempt.

    Attributes:
        app_id: ``<journal table id>/<asset>``, the txnAppId of the target's commits.
        token: Fence token, the journal's number of the run's claim.
        partitions: The partitions to compute; everything for an asset without partitions.
        inlets: The inlets' specs by name; ``pins`` has the same keys.
        interval: The data interval, both aware UTC, or None.
        schedule_date: The earliest time at which the run may start.
        events: The events that caused the run by asset name or URI, as in ``events list --json``, with source runs.
        previous_interval: The data interval of the asset's latest success that began before this run's.
        rebuilds: Its rows and columns replace the whole table.
        restores: The name of an iteration that it makes the newest again, instead of computing.
        keeps_newest_iteration: It publishes an earlier interval than the newest iteration, which stays the newest.
        known_position: The table's id, and the version up to which its log is recorded; None before that.
        outlets: For a multi-asset, the order of each outlet, with its own ``asset`` and ``known_position``.
        files: For each inlet that is a file source, the observed cursor of the pinned partitions; checked before
            and after the read.
        changed_file_inlets: File inlets whose files changed since the claim.
        past: Earlier row counts, for rules that compare with them.
        accepted_partitions: Partitions that a person accepts, whatever the rules say.
        promotes: The branch whose rows it takes over, instead of computing.
        discovered_partitions: The subset of ``partitions`` that nobody claimed: partitions of unknown segments that
            its function adds or its rows hold (``segments: runtime``).
        removed_segments: Removed segments by lower-case column: rows of them are left out.
        computed_partitions: The partitions that earlier runs of the asset have computed.
    """

    asset: AssetSpec
    run: str
    app_id: str
    token: int
    partitions: PartitionSet
    pins: Mapping[str, InletPin]
    inlets: Mapping[str, AssetSpec]
    interval: tuple[datetime, datetime] | None
    schedule_date: datetime
    events: Mapping[str, Sequence[Mapping[str, Any]]]
    previous_interval: tuple[datetime, datetime] | None = None
    rebuilds: bool = False
    restores: str = ""
    keeps_newest_iteration: bool = False
    known_position: tuple[str, int] | None = None
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changed_file_inlets: tuple[str, ...] = ()
    past: PastRowCounts = field(default_factory=dict)
    accepted_partitions: PartitionSet = NOTHING
    promotes: BranchPromotion | None = None
    discovered_partitions: PartitionSet = NOTHING
    removed_segments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed_partitions: PartitionSet = NOTHING
    outlets: tuple[RunOrder, ...] = ()

    @property
    def table_orders(self) -> tuple[RunOrder, ...]:
        """The orders of each table that the run writes: itself, or its outlets."""
        return self.outlets or (self,)

    @property
    def discovers_segments(self) -> bool:
        """Whether some open dimension has no known segment, so that the result defines them."""
        return any(WHOLE in segment for segment, _ in self.partitions.apart)

    @property
    def can_discover_segments(self) -> bool:
        """Whether unknown segments become part of the run; a run of a single partition leaves them to others."""
        return self.asset.partitioning.is_open and not isinstance(self.asset.strategy, EveryInstance)

    def with_new_segments(self, keys: Mapping[str, Collection[str]]) -> RunOrder:
        """The same run with partitions of the unknown segments among ``keys``, by column."""
        if not keys or not self.can_discover_segments:
            return self
        wanted = {column: {*some} - {*self.removed_segments.get(column.lower(), ())} for column, some in keys.items()}
        return self.with_discovered_partitions(
            self.asset.partitioning.extend_with_segments(self.partitions, wanted) - self.partitions
        )

    def with_discovered_partitions(self, found: PartitionSet) -> RunOrder:
        """The same run with these unclaimed partitions."""
        if not found:
            return self
        outlets = tuple(each.with_discovered_partitions(found) for each in self.outlets)
        return replace(
            self,
            partitions=self.partitions | found,
            discovered_partitions=self.discovered_partitions | found,
            outlets=outlets,
        )

    @property
    def has_rules(self) -> bool:
        """Whether rules judge its rows."""
        return not self.restores and any(each.asset.rules for each in self.table_orders)

    @property
    def is_atomic(self) -> bool:
        """Whether all of it is published or nothing: inputs are used up as a whole, or the table is rebuilt."""
        asset, one = (
            self.asset,
            self.rebuilds or self.keeps_newest_iteration or self.discovers_segments or self.partitions.is_everything,
        )
        appends = any(each.asset.write is not None and each.asset.write.only_adds for each in self.table_orders)
        return one or appends or isinstance(asset.strategy, LatestOnly)

    def is_fully_withheld(self, withheld: PartitionSet) -> bool:
        """Whether withholding these partitions leaves nothing of the run."""
        left, partitioning = self.partitions - withheld, self.asset.partitioning.with_segments_of(self.partitions)
        return not left or (bool(withheld) and partitioning.can_list(left) and not partitioning.count(left))

    def restrict_to(self, partitions: PartitionSet) -> RunOrder:
        """The same run with only these of its partitions."""
        return replace(
            self, partitions=partitions, outlets=tuple(each.restrict_to(partitions) for each in self.outlets)
        )


CommitKind = Literal["data", "fence", "layout"]
"""A ``layout`` commit changes no rows: it restores what a commit of rows could not keep, and has no transaction."""


@frozen
class CommitMarker:
    """The marker in a target's commit, by which it is recognised.

    Attributes:
        version: ``txnVersion``: 2·token for a fence, 2·token + 1 for data or one's own fence.
        measures: Facts of the run that must survive a crash, such as watermarks.
    """

    app_id: str
    version: int
    token: int
    run: str
    attempt: int
    kind: CommitKind
    partitions: tuple[str, ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)

    def with_unchanged(self, parts: PartitionSet, *, rows: int) -> CommitMarker:
        """The same for a run whose partitions ``parts`` came out unchanged; ``rows`` were not rewritten."""
        return replace(self, measures={**self.measures, "unchanged": encode_partitions(parts), "same_rows": rows})

    @property
    def judgement(self) -> RunJudgement | None:
        """The judgement of the run's partitions; None if nothing was judged."""
        return judgement_from(self.measures)

    @property
    def withheld(self) -> PartitionSet:
        """The run's partitions that are not published."""
        found = self.judgement
        return NOTHING if found is None else found.withheld

    def with_judgement(self, judgement: RunJudgement, order: RunOrder) -> CommitMarker:
        """The same with the judgement of the run; if it withholds something, watermarks do not move.

        A run that publishes nothing announces nothing, either.
        """
        told = {**self.measures, **judgement_to(judgement)}
        gone = {"watermarks"} if judgement.withheld else set[str]()
        if order.is_fully_withheld(judgement.withheld):
            told["published"] = "nothing"
            gone |= {"events", "keys", "found"}
        return replace(self, measures={key: value for key, value in told.items() if key not in gone})


@frozen
class DataCommit:
    """A data commit found in a target's history, or the end of a run that writes its target itself.

    Attributes:
        run, token, attempt: From its ``userMetadata``.
        version: The table's version; None for a target that is not a table.
        metrics: Delta's operation metrics (``numOutputRows`` and the like).
        operation: Delta's ``WRITE``, ``MERGE`` or ``DELETE``; it defines the meaning of the metrics.
        mark, besides: As in `SuccessEntry`.
    """

    run: str
    token: int
    attempt: int
    version: int | None
    table_id: str | None
    measures: Mapping[str, Any]
    metrics: Mapping[str, int]
    operation: str = "WRITE"
    mark: str = ""
    besides: PartitionSet = NOTHING

    @property
    def stamped_version(self) -> int:
        """The version of a commit found in a history."""
        if self.version is None:
            raise TypeError(f"{self.run} was not found in a history")
        return self.version

    @property
    def discovered_partitions(self) -> PartitionSet:
        """Partitions of unknown segments that it may hold although nobody claimed them."""
        return decode_partitions(self.measures["found"]) if "found" in self.measures else NOTHING

    @property
    def is_compared(self) -> bool:
        """Whether it says which partitions came out unchanged."""
        return "unchanged" in self.measures

    def with_unchanged(self, parts: PartitionSet) -> DataCommit:
        """The same with these partitions recorded as unchanged."""
        return replace(self, measures={**self.measures, "unchanged": encode_partitions(parts)})

    @property
    def unchanged_partitions(self) -> PartitionSet:
        """Partitions whose rows came out as they were in the table before it, by its ``measures``."""
        return decode_partitions(self.measures["unchanged"]) if self.is_compared else NOTHING

    @property
    def judgement(self) -> RunJudgement | None:
        """The judgement of its partitions; None if nothing was judged."""
        return judgement_from(self.measures)

    @property
    def withheld(self) -> PartitionSet:
        """Its partitions that were not published."""
        found = self.judgement
        return NOTHING if found is None else found.withheld

    @property
    def verdicts(self) -> tuple[RuleVerdict, ...]:
        """The verdicts of its inlets' rules, and of its own."""
        found, read = self.judgement, verdicts_from(self.measures.get("inlets", ()))
        return read if found is None else (*read, *found.verdicts)

    @property
    def rows(self) -> Mapping[str, int]:
        """Numbers of rows by what the run did to them; unchanged rows count, although their files stayed."""
        counts = row_counts(self.operation, self.metrics)
        same = self.measures.get("same_rows", 0)
        return {**counts, "rows": counts.get("rows", 0) + same} if same else counts


class FenceConflictError(RunError):
    """Another writer committed to the target while it was being fenced: look again."""

    retryable = True


class HistoryGoneError(RunError):
    """The history cannot say whether a run is in: too short, or the table was restored. A person must decide.

    Attributes:
        restored_commit: The commit that a restore undid; None where the log shows none.
    """

    def __init__(self, message: str, *, hint: str | None = None, found: DataCommit | None = None) -> None:
        super().__init__(message, hint=hint)
        self.restored_commit = found


class NewSegmentsError(RunError):
    """Rows are of unknown segments (``segments: runtime``): the run must be repeated with them.

    Attributes:
        keys: These segments, by column.
    """

    def __init__(self, message: str, *, hint: str | None = None, keys: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message, hint=hint)
        self.keys = keys


class TargetMissingError(RunError):
    """The target does not exist, and without a computation its schema is unknown."""


class EngineLostError(RunError):
    """The engine is gone with all its work; this process can compute nothing more."""


class RunComputation(Protocol):
    """The result of one attempt, not yet written, for each table that the run writes.

    Opaque to the runtime except for its measures.
    """

    @property
    def measures(self) -> Mapping[str, Any]:
        """``{"watermarks": {inlet: high as text}, "extra": {what the function told}, "events": [what it announced]}``.

        Besides ``"keys": {column: [segments that it added]}``, and ``"outlets": {name: {what was told of it}}``. Keys
        only where set; an event is as `sparkassets.core.journal.announcements.encode_announcement` writes it.
        """

    def release(self) -> None:
        """Releases what was held to write it; nothing more is written of it."""


class Engine(Protocol):
    """Computes rows: Spark, as the runtime sees it. Every method may be called from several threads."""

    def start(self) -> None:
        """Starts or finds the session; raises `SparkUnavailableError` with one clear line."""

    def processes(self) -> Sequence[Process]:
        """Other processes in which it may commit to a table."""

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Reads the pinned inlets and runs the asset's SQL or function; writes to no target."""

    def cancel(self, run: str) -> None:
        """Interrupts the work of one run, computing and writing alike; returns at once."""

    def close(self) -> None:
        """Stops the session if this engine created it."""


class Target(Protocol):
    """One outlet of an asset's runs, with the commits of the asset's application id in it.

    Whoever commits, and wherever the table is, every target follows the rule of
    docs/design/run-protocol.md#chains-and-tokens: each version lands at most once, and none below the
    newest. Every method may be called from several threads.
    """

    def transaction_version(self) -> int | None:
        """The newest committed version; None without a table or any commit of the asset."""

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The data commits of these runs, oldest first; none has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The history is too short, or the table was restored: ask a person.
        """

    def fence(self, computation: RunComputation | None, *, marker: CommitMarker) -> None:
        """Commits no rows, marked; creates a missing table with the computation's schema.

        Raises:
            FenceConflictError: Another writer committed under the same application id meanwhile: look again.
            TargetMissingError: There is no table, and no computation to take its schema from.
        """

    def prepare(self, computation: RunComputation, *, marker: CommitMarker) -> RunJudgement | None:
        """Computes, checks and judges what `write` will commit, as far as possible; publishes nothing yet.

        Called before the first commit of a run with rules, or with several tables: what fails here
        fails before any commit is in. If the marker has a judgement, nothing is judged again. Returns the
        judgement of the asset's rules; None without any.

        Raises:
            RunError: As `write` does.
        """

    def write(self, computation: RunComputation, *, marker: CommitMarker) -> None:
        """Makes exactly one marked commit of this outlet's rows; its return proves nothing: look.

        Partitions that the marker withholds are neither written nor removed. If these are all of the
        run's, it commits without rows.
        """

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """The segments of each open dimension, by column, in the rows that the run left in its partitions.

        Raises:
            RunError: They cannot be read.
        """

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """Adds to ``found``, a commit of the order's run, which partitions came out unchanged, if that is asked for.

        The answer is the same for every caller at any time, as long as the table keeps what the commit replaced.
        """

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Removes uncommitted files of these runs' attempts, except those of the commit ``keep``.

        Only of claims with fence tokens up to ``upto``, none of which can commit any more: a newer fence or the run
        itself was seen in the table. A newer claim may be about to complete one of the runs.
        """

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Removes the folders of iterations whose names are not among ``keep``.

        Only of claims with these ``tokens``, without those of ``unsettled`` claims, which may be writing.
        What cannot be removed is removed with the next ones.
        """


class TableComparer(Protocol):
    """Compares versions of assets' tables, row by row."""

    def compare(
        self, asset: AssetSpec, before: ComparedTable, after: ComparedTable, *, keys: Sequence[str], samples: int
    ) -> tuple[ColumnDifference, RowComparison]:
        """How columns and rows differ from ``before`` to ``after``, with at most so many ``samples`` of rows.

        Rows with equal ``keys`` are the same row; without keys, or where they are not unique, rows are compared as
        they are.

        Raises:
            RunError: One of the tables is gone, or cannot be read.
        """

    def close(self) -> None:
        """Lets go of what was started for it."""


class VolumeEstimator(Protocol):
    """Estimates how much data a run reads from an inlet, by the log of its table or the list of its files."""

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        """The data files that a run with that pin reads of ``asset``, whose state is ``known``; never raises."""


class ChangeFeeds(Protocol):
    """Says whether changes of an inlet's table can be read, by its log."""

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """For the changes after a position, up to and including a version; never raises."""


Enlist = Callable[[], None]
"""Has the journal record that the engine's processes may commit for a run, and returns when it does.

Raises:
    RunError: The run's claim was taken over; nothing may be committed for it.
"""


class TargetFactory(Protocol):
    """Opens the targets of assets."""

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> Target:
        """The target of the asset's runs; for an outlet, of its multi-asset's runs.

        Args:
            asset: The asset.
            app_id: The application id of their transactions.
            enlist: Called before a process other than this one may commit.
        """
