"""One look at one Delta table: what its log and its files say since the last look."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import NOTHING, PartitionSet, SegmentPartition
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.features import FEED
from sparkassets.delta.file_parts import FileParts
from sparkassets.delta.live_files import flat_adds
from sparkassets.delta.log import DeltaLog, LogCommit
from sparkassets.delta.partition_columns import PartitionColumns, columns_of
from sparkassets.delta.tables import is_table, load_table, unreadable
from sparkassets.digests import blake2b
from sparkassets.errors import NoTableError, SourceError
from sparkassets.frozen import frozen, replace
from sparkassets.ports import LastLook, Observation
from sparkassets.sources.delta_changes import PartitionChanges, TableParts
from sparkassets.sources.problems import LeftOut, count_ignored, describe_ignored_values, explain_missing_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_DIGEST_SIZE = 8
_MOST_KEPT = 100
"""How many values that name no partition are kept for later observations."""


@frozen
class TableInspection:
    """One look at one table, from the position that the last look recorded.

    Attributes:
        until: The version to take as the newest; None for the actual newest.
    """

    asset: AssetSpec
    path: str
    last: LastLook
    until: int | None = None

    def observation(self) -> Observation | None:
        """The news since the position."""
        if self.last.version is not None:
            return self._observe_since(self.last.version)
        if not self._exists():
            note = explain_missing_table(self.asset.name, self.path)
            return Observation(asset=self.asset.name, changed=NOTHING, notes=(note,))
        return self._observe_everything(self._open(), reason=None)

    def _observe_since(self, seen_version: int) -> Observation | None:
        """News after version ``seen_version``.

        Only the new commits are read if the commit file of ``seen_version`` is the same: then the table is, too.
        """
        log = self._log()
        commits = [
            commit for commit in log.read_after(seen_version) if self.until is None or commit.version <= self.until
        ]
        is_same_table = self.last.cursor.get("log") is not None and self.last.cursor["log"] == log.token(seen_version)
        is_known = self.is_known()
        if is_same_table and is_known and (commits or log.checkpoint() <= seen_version):
            return (
                self._observe_commits(commits, self._known_columns(), log, seen_version)
                if commits
                else self.without_news()
            )
        self._exists()  # raises if the table has vanished
        return self._observe_opened(self._open(), log, seen_version)

    def _observe_opened(self, table: DeltaTable, log: DeltaLog, seen_version: int) -> Observation | None:
        """News after version ``seen_version``, with the table opened, as its log alone did not prove it to be the same.

        Everything in the table counts as changed if it is another one, went back, or lost commits from its log.
        """
        version = table.version()
        if _id(table) != self.last.table_id:
            return self._observe_everything(table, reason="the table was replaced by another")
        if version < seen_version:
            return self._observe_everything(
                table, reason=f"the table went back from version {seen_version} to {version}"
            )
        if "columns" in self.last.cursor and not self._same_columns():
            return self._observe_everything(table, reason="the partition's column changed")
        commits = [commit for commit in log.read_after(seen_version) if commit.version <= version]
        if len(commits) < version - seen_version:
            return self._observe_everything(table, reason=f"the log no longer has every version after {seen_version}")
        return self._observe_commits(commits, self._columns(table), log, seen_version)

    def _observe_everything(self, table: DeltaTable, *, reason: str | None) -> Observation:
        """Everything that the table holds, as changed.

        Without a ``reason`` it is the first look, at which nothing can be removed; with one, whatever is no longer held
        is.
        """
        columns = self._columns(table)
        parts = self._parts(columns)
        held = parts.find_partitions(table) if parts else NOTHING
        extra: dict[str, Any] = {} if reason is None else {"reason": reason}
        extra["files"] = flat_adds(table).num_rows
        ignored = _sort_ignored(parts.file_parts.ignored_values) if parts else {}
        return Observation(
            asset=self.asset.name,
            changed=held,
            removed=self._listed_coverage() - held if parts and reason is not None else NOTHING,
            whole=reason is not None or parts is None,
            table_id=_id(table),
            version=table.version(),
            cursor=self._cursor(DeltaLog(self.path, near=table.version()), table.version(), columns, ignored),
            extra=extra | _describe_reads(parts),
            notes=self._notes(ignored),
        )

    def _observe_commits(
        self, commits: Sequence[LogCommit], columns: PartitionColumns, log: DeltaLog, seen_version: int
    ) -> Observation | None:
        """News from the commits after version ``seen_version``; None if nothing changed.

        Everything in the table is reported instead if a commit replaced the table, or changed its partition columns. If
        the known segments changed, partitions of new ones are added and those of dropped ones removed.
        """
        version = commits[-1].version if commits else seen_version
        if any(commit.changes_protocol for commit in commits):
            self._open(version)  # it may need by now what deltalake does not know
        if (reason := self._replaced_reason(commits, columns)) is not None:
            return self._observe_everything(self._open(), reason=reason)
        ignored = self._ignored_before()
        cursor = self._cursor(log, version, columns, ignored)
        if not commits and cursor == {key: self.last.cursor.get(key) for key in cursor}:
            return self.without_news()
        has_files = any(commit.files for commit in commits)
        parts = self._parts(columns)
        changes = PartitionChanges()
        if parts and has_files:
            changes, ignored = self._find_file_changes(parts, commits, seen_version)
        if parts and not self._same_segments():
            changes = self._with_relisted(changes, parts.find_partitions(self._open(version)))
            ignored = _sort_ignored(parts.ignored_values(version))
        uncertainty = _describe_uncertainty(changes, columns)
        return Observation(
            asset=self.asset.name,
            changed=changes.changed,
            removed=changes.removed,
            whole=parts is None and has_files,
            table_id=self.last.table_id,
            version=version,
            cursor=self._cursor(log, version, columns, ignored),
            extra=_describe_commits(commits) | uncertainty | _describe_reads(parts),
            notes=(*self._notes(ignored), *([uncertainty["reason"]] if changes.is_imprecise else [])),
        )

    def _with_relisted(self, changes: PartitionChanges, held: PartitionSet) -> PartitionChanges:
        """The changes, with those of a changed list of segments, where the table holds ``held`` now."""
        relisted = self._relisted_partitions()
        added = (held - self.last.coverage) | (held & relisted)
        return replace(changes, changed=changes.changed | added, removed=changes.removed | (relisted - held))

    def _replaced_reason(self, commits: Sequence[LogCommit], columns: PartitionColumns) -> str | None:
        """Why the commits made everything in the table news: it is another one, or has other columns; else None."""
        metadata = [commit.metadata for commit in commits if commit.metadata is not None]
        if any(each["id"] != self.last.table_id for each in metadata):
            return "the table was replaced by another"
        if metadata and self._columns_of(metadata[-1]["schemaString"]) != columns:
            return "the type of the partition's column changed"
        return None

    def _find_file_changes(
        self, parts: TableParts, commits: Sequence[LogCommit], seen_version: int
    ) -> tuple[PartitionChanges, LeftOut]:
        """The changes by the files of these commits, and the values that name no partition after them, by column."""
        version = commits[-1].version
        only_adds = all(file.added for commit in commits for file in commit.files)
        covered = NOTHING if only_adds else self._listed_coverage()
        changes = parts.find_changes(commits, seen_version=seen_version, version=version, coverage=covered)
        return changes, self._find_ignored(parts, version, only_adds=only_adds)

    def without_news(self) -> Observation | None:
        """An observation without changes that repeats the notes about left-out values; None if there are none."""
        notes = self._notes(self._ignored_before())
        return Observation(asset=self.asset.name, changed=NOTHING, notes=notes).unless_empty()

    def _find_ignored(self, parts: TableParts, version: int, *, only_adds: bool) -> LeftOut:
        """The values in ``version`` whose rows are in no partition, by column.

        If rows were only added (``only_adds``), earlier values are still there; otherwise the whole table is asked.
        """
        ignored_now, ignored_before = parts.file_parts.ignored_values, self._ignored_before()
        all_ignored: Mapping[str, Iterable[str]] = {
            column: {*ignored_now.get(column, ()), *ignored_before.get(column, ())}
            for column in {*ignored_now, *ignored_before}
        }
        if all_ignored and not only_adds:
            with suppress(SourceError):  # a file is not there any more
                all_ignored = parts.ignored_values(version)
        return _sort_ignored(all_ignored)

    def _ignored_before(self) -> LeftOut:
        return dict(self.last.cursor.get("unnamed") or {})

    def _notes(self, ignored: LeftOut) -> tuple[str, ...]:
        return describe_ignored_values(ignored, self.asset.partitioning)

    def _exists(self) -> bool:
        """Whether there is a table; False while it may still come.

        Raises:
            NoTableError: It was there at the last look, or there is something else in its place.
        """
        from deltalake.exceptions import DeltaError

        try:
            if is_table(self.path):
                return True
        except DeltaError as error:
            raise unreadable(self.path, error) from error
        if self.last.version is not None:
            raise NoTableError(
                f"the source '{self.asset.name}' vanished: the Delta table at '{self.path}' no longer exists",
                hint="restore it, or remove the asset and its readers from the project",
            )
        local = Path(self.path)
        if "://" not in self.path and (local.is_file() or (local.is_dir() and any(local.iterdir()))):
            raise NoTableError(
                f"the source '{self.asset.name}' is not a Delta table: '{self.path}' has no _delta_log",
                hint="write 'source: csv', 'json' or 'parquet' for a folder of files",
            )
        return False

    def _log(self) -> DeltaLog:
        """The log of a table that was there at the last look.

        Raises:
            NoTableError: The table is gone.
        """
        from deltalake.exceptions import DeltaError

        try:
            return DeltaLog(self.path, near=self.last.version or 0)
        except DeltaError:  # a folder that is not there
            self._exists()
            raise

    def _open(self, version: int | None = None) -> DeltaTable:
        from deltalake.exceptions import DeltaError

        try:
            return load_table(self.path, version=self.until if version is None else version)
        except DeltaError as error:
            raise unreadable(self.path, error) from error

    def _columns(self, table: DeltaTable) -> PartitionColumns:
        return self._columns_of(table.schema().to_json())

    def _columns_of(self, schema: str) -> PartitionColumns:
        return columns_of(schema, self.asset.partitioning, source=self.asset.name)

    def _known_columns(self) -> PartitionColumns:
        return PartitionColumns.from_json(self.last.cursor.get("columns"))

    def is_known(self) -> bool:
        """Whether the last look used the same partition columns and the same known segments."""
        return self._same_columns() and self._same_segments()

    def _same_segments(self) -> bool:
        return bool(self.last.cursor.get("keys") == self._segments_digest())

    def _same_columns(self) -> bool:
        """Whether the asset's partitions use the columns that the position was found with."""
        known_columns, partitioning = self._known_columns(), self.asset.partitioning
        time = partitioning.time
        if (known_columns.time and known_columns.time.name) != (time and time.column):
            return False
        return [each.name for each in known_columns.segments] == [each.column for each in partitioning.segments]

    def _parts(self, columns: PartitionColumns) -> TableParts | None:
        partitioning = self.asset.partitioning
        if not partitioning.is_partitioned:
            return None
        return TableParts(self.asset.name, self.path, FileParts.from_columns(columns, partitioning), self._open)

    def _cursor(self, log: DeltaLog, version: int, columns: PartitionColumns, ignored: LeftOut) -> dict[str, Any]:
        """What the next look needs: proof of the table's identity, its columns, its known and unlisted segments."""
        remembered = {column: list(values[:_MOST_KEPT]) for column, values in ignored.items()}
        token, stored = log.token(version), columns.to_json()
        return {
            "log": token,
            "columns": stored,
            "keys": self._segments_digest(),
            "unlisted": self._unlisted_labels(),
            "unnamed": remembered or None,
        }

    def _segments_digest(self) -> str | None:
        """A digest of the known segments, which changes when they do; None without dimensions of segments."""
        segments = self.asset.partitioning.segments
        return _digest(segments) if segments else None

    def _unlisted_labels(self) -> list[str] | None:
        """The keys of held partitions whose segments have left the list, for the cursor; None without any.

        They are remembered because their rows are still there, and count again if the segments return.
        """
        if self._same_segments():
            return self.last.cursor.get("unlisted")
        partitioning = self.asset.partitioning
        return partitioning.labels(self.last.coverage - partitioning.admissible_partitions(self.last.coverage)) or None

    def _relisted_partitions(self) -> PartitionSet:
        """The held partitions whose segments had left the list at the last look and have returned since."""
        partitioning = self.asset.partitioning
        unlisted = (partitioning.parse(label, recorded=True) for label in self.last.cursor.get("unlisted") or ())
        return partitioning.admissible_partitions(PartitionSet.union(unlisted) & self.last.coverage)

    def _listed_coverage(self) -> PartitionSet:
        """The held partitions whose segments are in the list now."""
        return self.asset.partitioning.admissible_partitions(self.last.coverage)


def _id(table: DeltaTable) -> str:
    return str(table.metadata().id)


@lru_cache(maxsize=64)
def _digest(segments: Sequence[SegmentPartition]) -> str:
    text = json.dumps([each.keys for each in segments])
    return blake2b(text.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def _sort_ignored(ignored: Mapping[str, Iterable[str]]) -> LeftOut:
    return {column: sorted(ignored[column]) for column in sorted(ignored)}


def _describe_commits(commits: Sequence[LogCommit]) -> dict[str, Any]:
    """The commits' operations, and how many versions and files they have."""
    added = [file.added for commit in commits for file in commit.files]
    return {
        "operations": list(dict.fromkeys(commit.operation for commit in commits if commit.operation)),
        "versions": len(commits),
        "files_added": sum(added),
        "files_removed": len(added) - sum(added),
    }


def _describe_uncertainty(changes: PartitionChanges, columns: PartitionColumns) -> dict[str, Any]:
    """Why more partitions count as changed than did, and how to avoid it; usually empty."""
    exact = f"in a table partitioned by {columns.quoted_names}"
    if changes.unknown_files:
        return {
            "reason": f"the rows of removed files are unknown; not so {exact}",
            "untold": changes.unknown_files,
        }
    if not changes.is_imprecise:
        return {}
    files = changes.rewritten_files
    subject = "a rewritten file spans" if files == 1 else f"{files:,} rewritten files span"
    reason = (
        f"{subject} several partitions, which all count as changed; not so {exact}, or with a change feed ({FEED} "
        "= true)"
    )
    return {"reason": reason, "rewritten": files}


def _describe_reads(parts: TableParts | None) -> dict[str, Any]:
    """How many files were read, what is unknown, and which values name no partition."""
    if parts is None:
        return {}
    read: dict[str, Any] = {"files_read": parts.files_read} if parts.files_read else {}
    if parts.uncertainty_reason:
        read["deletion_vectors"] = parts.uncertainty_reason
    return read | count_ignored(set().union(*parts.file_parts.ignored_values.values()))
