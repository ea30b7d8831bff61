"""Observes changes of assets' own tables, by the ends of their logs and without a JVM.

A table is identified by one commit of its log: the newest accounted one. While that file is unchanged, the table
is the same one, and only later commits are read. Otherwise the table is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.core.journal.table_findings import FindingKind, TableFinding
from sparkassets.core.partitions import EVERYTHING, PartitionSet
from sparkassets.core.runs import asset_app
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.commit_inspection import MOST_COMMITS_CHECKED, CommitInspector, check_unrecorded
from sparkassets.delta.log import DeltaLog, LogCommit, parse_transactions
from sparkassets.delta.scratch_folders import REMEMBERED, is_memory_gone, scratch_folder
from sparkassets.delta.tables import find_table
from sparkassets.digests import blake2b
from sparkassets.errors import SessionNeededError, SourceError
from sparkassets.files.object_stores import local_path
from sparkassets.frozen import frozen
from sparkassets.ports import RecordedTable, UnrecordedChain

if TYPE_CHECKING:
    from deltalake import DeltaTable

_DIGEST_SIZE = 16


class DeltaTargetObserver:
    """Looks at Delta tables by path; implements `ports.TargetObserver`."""

    def missing_folder(self, asset: AssetSpec) -> str | None:
        """The folder on a disk for the asset's table if that is missing; else None."""
        local = None if asset.storage is None else local_path(asset.storage.path)
        if local is None:
            return None
        folder = Path(local).parent
        try:
            folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return str(folder)
        except OSError:  # which the look itself tells
            return None
        return None

    def spark_commit_reason(self, asset: AssetSpec) -> str | None:
        """Why Spark commits to the asset's table as it is now; None where a driver does.

        Raises:
            SourceError: The table cannot be read.
        """
        from sparkassets.delta.features import (
            FEED_MERGE_REASON,
            keeps_feed,
            spark_commit_reason,
            spark_creation_reason,
        )

        reason = spark_commit_reason(asset, None)
        if reason is not None or asset.storage is None:
            return reason
        table = find_table(asset.storage.path)
        if table is None:
            return spark_creation_reason(asset)
        if asset.write is not None and asset.write.by_keys and keeps_feed(table.metadata().configuration):
            reason = FEED_MERGE_REASON
        return spark_commit_reason(asset, table) or reason

    def session_needed_reason(self, asset: AssetSpec) -> str | None:
        """None: no session is needed."""
        del asset
        return None

    def check_writable(self, asset: AssetSpec) -> int | None:
        """As `ports.TargetObserver`: runs do not write to tables that a driver cannot read.

        Raises:
            SourceError: The table cannot be read.
        """
        if asset.storage is None:
            return None
        path = asset.storage.path
        local = local_path(path)
        if local is not None and not Path(local, "_delta_log").is_dir():
            return None
        try:
            table = find_table(path)
        except SessionNeededError as error:
            reason = f"{error.why}, which only Spark can read"
            message = f"no run can write to the Delta table at '{path}': {reason}"
            hint = "register it in a catalog, and write to it by its name"
            raise SourceError(message, hint=hint, topic="table-not-writable") from error
        return None if table is None else table.version()

    def check_unrecorded_commits(self, asset: AssetSpec, version: int, *, chain: UnrecordedChain) -> None:
        """As `ports.TargetObserver` has it; `SourceError` also if the table cannot be read."""
        if asset.storage is None:
            return
        path = asset.storage.path
        for info in islice(DeltaLog(path, near=version).iterate_commit_info(version), MOST_COMMITS_CHECKED):
            check_unrecorded(asset, info, chain=chain, place=f"at {path}")

    def read_position(self, asset: AssetSpec) -> TableFinding | None:
        """As `ports.TargetObserver` has it.

        Raises:
            SourceError: The table cannot be read.
        """
        if asset.storage is None:
            return None
        path = asset.storage.path
        table = find_table(path)
        if table is None:
            return None
        version = table.version()
        content = DeltaLog(path, near=version).read_content(version)
        mark = None if content is None else _digest(content)
        return TableFinding("moved", table_id=str(table.metadata().id), version=version, mark=mark)

    def detect_changes(self, asset: AssetSpec, known: RecordedTable) -> TableFinding | None:
        """Differences to the record; None where there are none.

        Raises:
            UnknownRunError: A run of the asset is there that is neither recorded nor claimed.
            SourceError: The table cannot be read.
        """
        if asset.storage is None:
            return None
        try:
            return _PathCommitInspector(
                asset, known, "", DeltaLog(asset.storage.path, near=known.accounted_version)
            ).detect_changes()
        except SourceError as error:
            raise _find_torn_log(asset.storage.path) or error from error
        except OSError as error:
            raise SourceError(f"cannot read the Delta table at '{asset.storage.path}': {error}") from error


def _find_torn_log(path: str) -> SourceError | None:
    """The error for a table whose log ends with a file that a power failure left incomplete; None for a whole log."""
    from sparkassets.delta.durability import LAST_CHECKPOINT, find_torn_files

    local = local_path(path)
    broken = [] if local is None else find_torn_files(Path(local))
    if not broken:
        return None
    if broken[0].name == LAST_CHECKPOINT:
        return SourceError(f"{broken[0]} names a missing checkpoint: move that file away")
    return SourceError(
        f"{broken[0]} is truncated, as after a power failure: move that file away; lost partitions are recomputed"
    )


@frozen
class _PathCommitInspector(CommitInspector):
    """Inspects the commits of a table at a path."""

    log: DeltaLog

    @property
    def path(self) -> str:
        """The table's path."""
        return self.log.path

    @property
    def table_named(self) -> str:
        """The table, as a phrase of a sentence."""
        return f"its table at {self.path}"

    @property
    def place_named(self) -> str:
        """Its place, as a phrase of a sentence."""
        return f"at {self.path}"

    def commits_after(self, version: int) -> Sequence[LogCommit]:
        """The commits after a version, as far as the log goes."""
        return self.log.read_after(version)

    def find_commit(self, version: int) -> LogCommit | None:
        """The commit of a version; None where the log lacks it."""
        content = self.log.read_content(version)
        return None if content is None else self.log.parse_commit(version, content)

    def detect_changes(self) -> TableFinding | None:
        """The finding about the commits since the seen version; None if there are none.

        If that version's commit file is still the seen one, only later commits are read; otherwise the table is opened.
        An asset that was renamed is looked at under the application id of the run that was seen.
        """
        seen_version = self.known.accounted_version
        content = self.log.read_content(seen_version)
        writer = None if content is None else self._find_writer(content)
        if writer is not None and writer not in ("", self.known.app_id, self.former_app_id):
            return replace(self, former_app_id=writer).detect_changes()
        is_known = writer is not None
        if is_known:
            commits = self.log.read_after(seen_version)
            if commits or self.log.checkpoint() <= seen_version:
                return self.judge_commits(commits)
        return self._inspect_opened(rewritten=content is not None and not is_known)

    def _inspect_opened(self, *, rewritten: bool) -> TableFinding | None:
        """The finding with the table opened; ``rewritten`` says that the seen version is another commit now.

        All partitions count as lost if the table is gone, is another one, went back, or was rewritten.
        """
        table = self._table()
        if table is None:
            return TableFinding("gone", f"its table at {self.path} was deleted", EVERYTHING)
        version, seen_version = table.version(), self.known.accounted_version
        if str(table.metadata().id) != self.known.table_id:
            return self._all_lost("replaced", f"its table at {self.path} was replaced by another", table)
        if version < self.known.version:
            reason = f"its table at {self.path} went back from version {self.known.version} to {version}"
            return self._all_lost("restored", reason, table)
        if rewritten:
            return self._all_lost("restored", f"the log of its table at {self.path} was rewritten", table)
        commits = self.log.read_after(seen_version)
        if len(commits) >= version - seen_version:
            return self.judge_commits(commits) if commits else None
        return self.judge_gap(version)

    def _all_lost(self, kind: FindingKind, reason: str, table: DeltaTable) -> TableFinding:
        """The finding that all partitions are lost, and that the table is accounted for as it is now."""
        version = table.version()
        return TableFinding(kind, reason, EVERYTHING, str(table.metadata().id), version, self.read_mark(version))

    def find_partitions(self, commit: LogCommit) -> PartitionSet | None:
        """The computed partitions that a commit's files may hold; None where the table or its columns are unknown.

        Files whose actions lack statistics are looked up in the version before.
        """
        from sparkassets.delta.file_parts import FileParts
        from sparkassets.delta.partition_columns import find_columns

        table = self._table(commit.version)
        columns = None if table is None else find_columns(table.schema().to_json(), self.asset.partitioning)
        if columns is None:
            return None
        file_parts = FileParts.from_columns(columns, self.asset.partitioning)
        parts_by_path = {file.path: file_parts.read_action(file.partition or {}, file.stats) for file in commit.files}
        if not all(part.is_known for part in parts_by_path.values()):
            previous = self._table(commit.version - 1)
            previous_parts = {} if previous is None else file_parts.read_live(previous.get_add_actions(flatten=True))
            parts_by_path = {
                path: part if part.is_known else previous_parts.get(path, part) for path, part in parts_by_path.items()
            }
        return PartitionSet.union([file_parts.within(part, self.known.coverage) for part in parts_by_path.values()])

    def _table(self, version: int | None = None) -> DeltaTable | None:
        """The table, at a version if one is given; None if there is none, or that version cannot be read any more."""
        try:
            return find_table(self.path, version=version)
        except SourceError:
            if version is None:
                raise
            return None

    def read_mark(self, version: int) -> str | None:
        """A digest that identifies the commit of a version; None where the log lacks it."""
        content = self.log.read_content(version)
        return None if content is None else _digest(content)

    def describe_lost_memory(self, version: int) -> str:
        """What an upsert remembered in a version of its memory, where that is gone, as a phrase; else empty."""
        is_gone = is_memory_gone(self.path, version)
        return f"version {version} of {scratch_folder(self.path)}/{REMEMBERED}, which is gone" if is_gone else ""

    def _find_writer(self, content: bytes) -> str | None:
        """The app id of the run whose recorded commit has this content; empty if the recorded commit was no run's.

        None if it is another commit. A record is ``epoch:`` with the token of a run, or ``content:`` with a digest of
        the commit. Tokens are numbers of the journal, so one finds its run under whatever name the asset had then.
        """
        mark = self.known.mark
        if mark.startswith("epoch:"):
            journal_prefix = self.known.app_id.rpartition("/")[0] + "/"
            versions_by_app = {
                app: version for app, version in parse_transactions(content).items() if app.startswith(journal_prefix)
            }
            return next(
                (asset_app(app) for app, version in versions_by_app.items() if mark == f"epoch:{version // 2}"), None
            )
        return "" if mark == _digest(content) else None


def _digest(content: bytes) -> str:
    return f"content:{blake2b(content, digest_size=_DIGEST_SIZE).hexdigest()}"
