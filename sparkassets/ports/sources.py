"""What is new in sources, and in assets' own tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol

from sparkassets.core.journal.entries import ViewChanges
from sparkassets.core.journal.table_findings import TableFinding
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import frozen


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

    def unless_empty(self) -> Observation | None:
        """The observation; None if it has neither news nor notes."""
        return self if self.has_news or self.notes else None


@frozen
class LastLook:
    """What the last look at a source left; all empty before the first.

    Attributes:
        table_id, version: The position in a Delta source.
        cursor: The merged cursors of all observations.
        coverage: The partitions that the dataset held then. They reveal which are gone where the source itself does
            not say what changed.
        view_coverage: The same for each view of the source, by its identity.
    """

    table_id: str | None = None
    version: int | None = None
    cursor: Mapping[str, Any] = field(default_factory=dict)
    coverage: PartitionSet = NOTHING
    view_coverage: Mapping[str, PartitionSet] = field(default_factory=dict)


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

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """The news since the last look; None when there is none and nothing to note.

        Args:
            asset: The source.
            last: What that look left.
            now: The real time, for files that are too young to be read.

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
        settled_runs: Runs that never will be recorded: a person was asked what became of them.
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


@frozen
class UnrecordedChain:
    """What the journal has of an asset whose table it does not record.

    Attributes:
        app: The application id of the asset's commits.
        claimed: Runs that are claimed but not recorded.
        is_marked: Whether a person has marked what the table holds.
    """

    app: str
    claimed: Collection[str]
    is_marked: bool


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

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, chain: UnrecordedChain) -> None:
        """Checks that the newest commits of an unrecorded table, up to a version, do not forbid a run.

        Raises:
            UnknownRunError: One is of a run of the asset that is not claimed.
            SourceError: One is of the asset by another journal, and a run would append the same rows again.
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
