"""What the runtime needs from the outside, as Protocols; adapters implement them and know nothing of each other."""

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
from sparkassets.core.writes import AppendWrite, row_counts
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
        project: Whose assets name the partitions of what is told.
        entries: In the order of the journal; at least one.
        before, after: The assets that they are about, as known before and after them, by name.
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
    """Is told what this process commits to the journal, after it stands: once, in order, on a thread of its own.

    What others commit is told by them. Whatever a sink raises, and however long it takes, no run is touched by it.
    It is to change nothing of what it is given.
    """

    def committed(self, commit: JournalCommit) -> None:
        """These entries are in the journal."""

    def ended(self) -> None:
        """The invocation that committed them is over; what was kept back, to be sent as one, is to be sent now."""


# --------------------------------------------------------------------------- sources


@frozen
class Observation:
    """What is new in one source since it was last looked at.

    Attributes:
        asset: The source.
        changed: Time that is new or changed; empty for a source without partitions.
        removed: Time whose data is gone.
        whole: Everything may have changed (table re-created, history vacuumed, no partitions).
        table_id, version: Position in a Delta source after this observation.
        cursor: JSON object that is merged by key into the one handed in at the next look; a None value deletes its key.
        extra: What people may want to know: counts of files, operation.
        notes: Sentences on how the source is now, which every look tells again, with or without news.
        views: What is new of the source's views, by their identities.
        session_needed_reason: Why a Spark session alone can look, as the end of a sentence; empty where somebody did.
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
    """What of a source's partitions by value one file holds.

    Attributes:
        parts: The partitions of its rows.
        excluded_values: By column some of the values that are in none, ascending.
    """

    parts: PartitionSet
    excluded_values: Mapping[str, Sequence[str]] = field(default_factory=dict)


class TextFileReader(Protocol):
    """Looks into CSV and JSON files, which Spark alone reads."""

    def read_contents(
        self, asset: AssetSpec, view: Partitioning, paths: Sequence[str]
    ) -> Mapping[str, FileContent] | None:
        """What each file holds, by its path relative to the source's folder; None as long as there is no session.

        Raises:
            SourceError: A file cannot be read, or lacks a column.
        """


class SourceObserver(Protocol):
    """Looks at what others write, without a JVM."""

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
        """What changed since that position; None when nothing did and there is nothing to note.

        ``coverage`` is the time that the dataset held by then: what of it is gone can only be told by it where the
        source itself does not say what changed; ``viewed`` is the same of the source's views.

        Raises:
            SourceError: It vanished or cannot be read; the message says what and where.
        """


@frozen
class RecordedTable:
    """An asset's own table as the journal knows it.

    Attributes:
        version: Of the newest recorded commit, or of what was looked at since.
        accounted_version: Up to which version everything in the log is accounted for.
        mark: What tells that version's commit from any other.
        app_id: The application id of the asset's commits; ids of the other assets differ after the last ``/``.
        coverage: Time that was computed.
        settled_runs: Runs that are not recorded and never will be, as a person tells what became of them.
        claimed_runs: Runs that are claimed and not recorded.
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
    """Looks at what assets wrote, without a JVM."""

    def missing_folder(self, asset: AssetSpec) -> str | None:
        """The folder on a disk that the asset's table is or would be in, where that is not there; else None."""

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        """Why Spark commits to the asset's table as it is now, as the end of a sentence; None where a driver does.

        Raises:
            SourceError: The table cannot be read; the message says what and where.
        """

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        """Why a Spark session alone can look, which is not there, as the end of a sentence; None where this can."""

    def check_writable(self, asset: AssetSpec) -> int | None:
        """Looks whether runs may write to the asset's table as it is; one that is not there is fine.

        Returns:
            The table's newest version; None where there is none, or nobody can look.

        Raises:
            SourceError: None may; the message says what of the table is against it.
        """

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, app: str, claimed: Collection[str]) -> None:
        """Looks whether the newest commits of a table of which nothing is recorded, up to a version, are of these runs.

        Args:
            asset: Whose table it is.
            version: The table's newest.
            app: The application id of the asset's commits.
            claimed: Runs that are claimed and not recorded.

        Raises:
            UnknownRunError: One is of another run of the asset.
        """

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        """Where the log of the asset's table stands, with its mark; None where there is no table.

        Raises:
            SourceError: It cannot be read; the message says what and where.
        """

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        """What is not as it was recorded; None where everything is.

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
        partitions: Time that is computed; None for an asset without partitions.
        inlets: The inlets' specs by name; ``pins`` has the same keys.
        interval: Data interval, both aware UTC, or None.
        schedule_date: The earliest time the run might start.
        events: Asset name or URI to the events that caused the run, as in ``events list --json`` and their source run.
        previous_interval: The latest data interval of the asset's earlier successes, if it began before this run's.
        rebuilds: Its rows take the place of the whole table, and its columns of the table's.
        restores: The name of the iteration that it makes the newest again, instead of computing any.
        keeps_newest_iteration: What it publishes is of an earlier interval than the newest iteration, which stays that.
        known_position: The table's id and the version up to which its log is recorded; None before that.
        outlets: Of a multi-asset, the same for each of its outlets, in their order: ``asset`` and ``told`` are theirs.
        files: For each inlet that is a file source, its cursor's keys for the pinned time, as observed; checked before
            and after the read.
        changed_file_inlets: Those of these whose files are not the ones that were there when it was claimed.
        past: What was published before, for the asset's rules that compare with it.
        accepted_partitions: Partitions that are published whatever the rules say, as a person has said.
        promotes: The rows of a branch that it takes over, instead of computing any.
        discovered_partitions: Partitions of ``partitions`` that it may compute without a claim, of unknown segments
            that its function adds or its rows hold (``segments: runtime``).
        removed_segments: Column, in lower case, to the segments that somebody removed: rows of them are left out.
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
        """Of each table that the run writes: itself, or its outlets."""
        return self.outlets or (self,)

    @property
    def discovers_segments(self) -> bool:
        """Whether no segment of some open dimension was known, so that what comes out tells them."""
        return any(WHOLE in segment for segment, _ in self.partitions.apart)

    @property
    def can_discover_segments(self) -> bool:
        """Whether segments that nobody knew become part of the run; one of a single partition leaves them to theirs."""
        return self.asset.partitioning.is_open and not isinstance(self.asset.strategy, EveryInstance)

    def with_new_segments(self, keys: Mapping[str, Collection[str]]) -> RunOrder:
        """The same run of the segments among ``keys`` that nobody knew, too; column to segments."""
        if not keys or not self.can_discover_segments:
            return self
        wanted = {column: {*some} - {*self.removed_segments.get(column.lower(), ())} for column, some in keys.items()}
        return self.with_discovered_partitions(
            self.asset.partitioning.extend_with_segments(self.partitions, wanted) - self.partitions
        )

    def with_discovered_partitions(self, found: PartitionSet) -> RunOrder:
        """The same run with these partitions, which nobody claimed."""
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
        """Whether rules say what of it is published."""
        return not self.restores and any(each.asset.rules for each in self.table_orders)

    @property
    def is_atomic(self) -> bool:
        """Whether all of it is published or nothing: what it read is used up as a whole, or it makes its table anew."""
        asset, one = (
            self.asset,
            self.rebuilds or self.keeps_newest_iteration or self.discovers_segments or self.partitions.is_everything,
        )
        appends = any(isinstance(each.asset.write, AppendWrite) for each in self.table_orders)
        return one or appends or isinstance(asset.strategy, LatestOnly)

    def is_fully_withheld(self, withheld: PartitionSet) -> bool:
        """Whether nothing of the run is left where these partitions are withheld."""
        left, partitioning = self.partitions - withheld, self.asset.partitioning.with_segments_of(self.partitions)
        return not left or (bool(withheld) and partitioning.can_list(left) and not partitioning.count(left))

    def restrict_to(self, partitions: PartitionSet) -> RunOrder:
        """The same run of these of its partitions alone."""
        return replace(
            self, partitions=partitions, outlets=tuple(each.restrict_to(partitions) for each in self.outlets)
        )


CommitKind = Literal["data", "fence", "layout"]
"""A ``layout`` commit changes no rows: it puts back what a commit of rows could not keep, and has no transaction."""


@frozen
class CommitMarker:
    """What a target's commit carries so that it can be recognised.

    Attributes:
        version: ``txnVersion``: 2·token for a fence, 2·token + 1 for data or one's own fence.
        measures: Numbers of the run that must survive a crash, such as watermarks.
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
        """The same for a run of which these partitions came out unchanged; so many rows were not written again."""
        return replace(self, measures={**self.measures, "unchanged": encode_partitions(parts), "same_rows": rows})

    @property
    def judgement(self) -> RunJudgement | None:
        """What was decided of the run's partitions; None where nothing was judged."""
        return judgement_from(self.measures)

    @property
    def withheld(self) -> PartitionSet:
        """The run's partitions that are not published."""
        found = self.judgement
        return NOTHING if found is None else found.withheld

    def with_judgement(self, judgement: RunJudgement, order: RunOrder) -> CommitMarker:
        """The same of a run of which that was decided; what withholds something moves no watermark.

        Of one that publishes nothing, nothing is announced either.
        """
        told = {**self.measures, **judgement_to(judgement)}
        gone = {"watermarks"} if judgement.withheld else set[str]()
        if order.is_fully_withheld(judgement.withheld):
            told["published"] = "nothing"
            gone |= {"events", "keys", "found"}
        return replace(self, measures={key: value for key, value in told.items() if key not in gone})


@frozen
class DataCommit:
    """A data commit that was found in a target's history, or what a run left that writes its target itself.

    Attributes:
        run, token, attempt: From its ``userMetadata``.
        version: The table's version that holds it; None where the target is no table that is looked at.
        metrics: Delta's operation metrics (``numOutputRows`` and the like).
        operation: As Delta calls it: ``WRITE``, ``MERGE`` or ``DELETE``; the metrics mean what it says.
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
        """The version of a commit that was found in a history."""
        if self.version is None:
            raise TypeError(f"{self.run} was not found in a history")
        return self.version

    @property
    def discovered_partitions(self) -> PartitionSet:
        """The partitions that it may hold although nobody claimed them: of segments that nobody knew."""
        return decode_partitions(self.measures["found"]) if "found" in self.measures else NOTHING

    @property
    def is_compared(self) -> bool:
        """Whether it is told which partitions came out as they were."""
        return "unchanged" in self.measures

    def with_unchanged(self, parts: PartitionSet) -> DataCommit:
        """The same with these partitions told to have come out as they were."""
        return replace(self, measures={**self.measures, "unchanged": encode_partitions(parts)})

    @property
    def unchanged_partitions(self) -> PartitionSet:
        """Those of its partitions whose rows came out as they were in the table before it, as its ``measures`` tell."""
        return decode_partitions(self.measures["unchanged"]) if self.is_compared else NOTHING

    @property
    def judgement(self) -> RunJudgement | None:
        """What was decided of its partitions; None where nothing was judged."""
        return judgement_from(self.measures)

    @property
    def withheld(self) -> PartitionSet:
        """Those of its partitions that were not published."""
        found = self.judgement
        return NOTHING if found is None else found.withheld

    @property
    def verdicts(self) -> tuple[RuleVerdict, ...]:
        """What the rules found: those of its inlets in what it read, the others in its partitions."""
        found, read = self.judgement, verdicts_from(self.measures.get("inlets", ()))
        return read if found is None else (*read, *found.verdicts)

    @property
    def rows(self) -> Mapping[str, int]:
        """What the run did to rows; those that came out as they were count, although their files stayed."""
        counts = row_counts(self.operation, self.metrics)
        same = self.measures.get("same_rows", 0)
        return {**counts, "rows": counts.get("rows", 0) + same} if same else counts


class FenceConflictError(RunError):
    """Somebody committed to the target while it was being fenced: look again."""

    retryable = True


class HistoryGoneError(RunError):
    """The target's history cannot tell whether a run is in: too short, or the table was restored. Ask a person.

    Attributes:
        restored_commit: The commit that the table was restored to before; None where the log does not tell of any.
    """

    def __init__(self, message: str, *, hint: str | None = None, found: DataCommit | None = None) -> None:
        super().__init__(message, hint=hint)
        self.restored_commit = found


class NewSegmentsError(RunError):
    """Rows are of segments that nobody knew (``segments: runtime``): the run is to be done with them.

    Attributes:
        keys: Column to these segments.
    """

    def __init__(self, message: str, *, hint: str | None = None, keys: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message, hint=hint)
        self.keys = keys


class TargetMissingError(RunError):
    """The target does not exist, and without a computation its schema is unknown."""


class EngineLostError(RunError):
    """What computes is gone, and with it all that it was doing; this process can compute nothing more."""


class RunComputation(Protocol):
    """One attempt's result, not yet written, for each table that the run writes.

    Opaque to the runtime except for what it measured.
    """

    @property
    def measures(self) -> Mapping[str, Any]:
        """``{"watermarks": {inlet: high as text}, "extra": {what the function told}, "events": [what it announced]}``.

        Besides ``"keys": {column: [segments that it added]}``, and ``"outlets": {name: {what was told of it}}``. Keys
        only where set; an event is as `sparkassets.core.journal.announcements.encode_announcement` writes it.
        """

    def release(self) -> None:
        """Lets go of what was held to write it; nothing is written of it any more."""


class Engine(Protocol):
    """What computes rows: Spark, as the runtime sees it. Every method may be called from several threads."""

    def start(self) -> None:
        """Starts or finds the session; raises `SparkUnavailableError` with one clear line."""

    def processes(self) -> Sequence[Process]:
        """Those besides this one in which it may commit to a table by itself."""

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Reads the pinned inlets and runs the asset's SQL or function; writes to no target."""

    def cancel(self, run: str) -> None:
        """Interrupts the work of one run, computing and writing alike; returns at once."""

    def close(self) -> None:
        """Stops the session if this engine created it."""


class Target(Protocol):
    """One outlet of an asset's runs, with the commits of the asset's application id in it.

    Whoever commits, and wherever the table is, every target keeps the rule of
    docs/design/run-protocol.md#chains-and-tokens: of a version only one commit lands, and none below the
    newest. Every method may be called from several threads.
    """

    def transaction_version(self) -> int | None:
        """The newest version that was committed; None without a table or any commit of the asset's."""

    def find_commits(self, runs: Sequence[str], *, above: int = 0) -> Sequence[DataCommit]:
        """The data commits of these runs, oldest first; none of theirs has a transaction version below ``above``.

        Raises:
            HistoryGoneError: The history is too short to tell, or the table was restored: ask a person.
        """

    def fence(self, computation: RunComputation | None, *, marker: CommitMarker) -> None:
        """A commit without rows, stamped; creates a missing table with the computation's schema.

        Raises:
            FenceConflictError: Someone committed under the same application id meanwhile: look again.
            TargetMissingError: There is no table, and no computation to take its schema from.
        """

    def prepare(self, computation: RunComputation, *, marker: CommitMarker) -> RunJudgement | None:
        """Computes, checks and judges what `write` is to commit, as far as that can be done before; nothing shows yet.

        Asked for before the first commit of a run that rules judge, or that writes several tables: what fails there
        fails before any is in. Where the marker tells what was decided, nothing is judged anew. Returns what the
        asset's rules say; None where there are none.

        Raises:
            RunError: As `write` does.
        """

    def write(self, computation: RunComputation, *, marker: CommitMarker) -> None:
        """Exactly one commit of what this outlet gets of the computation, stamped; its return proves nothing: look.

        Of partitions that the marker withholds nothing is written, and nothing is taken away. Where these are all of
        the run's there is the commit all the same, without rows.
        """

    def read_segments(self, order: RunOrder, committed: DataCommit) -> Mapping[str, Sequence[str]]:
        """The segments of each open dimension that the run's partitions hold after it, by column.

        Raises:
            RunError: They cannot be read.
        """

    def detect_unchanged(self, order: RunOrder, found: DataCommit) -> DataCommit:
        """``found``, a commit of the order's run, with which of its partitions came out unchanged, if asked for.

        Told alike by whoever asks, and whenever, for as long as the table keeps what the commit replaced.
        """

    def remove_staged(self, runs: Sequence[str], *, upto: int, keep: DataCommit | None) -> None:
        """Removes what attempts of these runs have written and never committed, but for the commit that was found.

        Of claims with fence tokens up to ``upto`` alone, none of which can commit any more: a newer fence or the run
        itself was seen in the table. A newer claim than these may be about to complete one of the runs.
        """

    def remove_iterations(self, *, keep: Collection[str], unsettled: Collection[int], tokens: range) -> None:
        """Removes the folders of iterations that are not among those to ``keep``, by their names.

        Only of claims with these ``tokens``, and not what claims that are not settled may be writing, by their tokens.
        What cannot be removed stays, and is removed with the next ones.
        """


class TableComparer(Protocol):
    """Compares versions of assets' tables, row by row."""

    def compare(
        self, asset: AssetSpec, before: ComparedTable, after: ComparedTable, *, keys: Sequence[str], samples: int
    ) -> tuple[ColumnDifference, RowComparison]:
        """How columns and rows differ from ``before`` to ``after``, with at most so many ``samples`` of rows that do.

        Rows of the same ``keys`` are the same row; without any, or where they are not unique, rows are compared as
        they are.

        Raises:
            RunError: One of the tables is gone, or cannot be read.
        """

    def close(self) -> None:
        """Lets go of what was started for it."""


class VolumeEstimator(Protocol):
    """Tells how much reading an inlet takes, by the log of its table or the list of its files."""

    def estimate_volume(self, asset: AssetSpec, pin: InletPin, known: AssetState) -> InletVolume:
        """The data files that a run with that pin reads of ``asset``, of which this is ``known``; never raises."""


class ChangeFeeds(Protocol):
    """Tells whether what changed in an inlet's table is told, by its log."""

    def check_availability(self, asset: AssetSpec, position: TablePosition, version: int) -> ChangeAvailability:
        """Of what came after a position, up to and with a version; never raises."""


Enlist = Callable[[], None]
"""Has the journal say that the engine's processes may commit for a run, and returns when it does.

Raises:
    RunError: The run's claim was taken over; nothing may be committed for it.
"""


class TargetFactory(Protocol):
    """Where assets are written, each to one table."""

    def open_target(self, asset: AssetSpec, *, app_id: str, enlist: Enlist) -> Target:
        """The target of the asset's runs; of an outlet, of those of its maker.

        Args:
            asset: Whose.
            app_id: Of their transactions.
            enlist: To be called before another process than this one may commit.
        """
