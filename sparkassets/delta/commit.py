"""The driver's commits to a Delta table, under the transaction id of the asset's runs.

The rules are those of the journal's store (`sparkassets.state.numbered_table`), found by experiments and checked in the
protocol's model: the transaction version is compared on the snapshot that the commit builds on,
deltalake never retries, and whatever a commit returns, the log says whether it is in. If foreign commits were
quicker, the commit is repeated on top of those that touch nothing that it replaces or that the run read; others
make it fail.

On a disk, files are flushed before the commit names them, and the commit before it is reported: a power failure
cannot undo a recorded run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from sparkassets.delta import durability
from sparkassets.delta.live_files import LiveFile, live_paths, log_text
from sparkassets.delta.log import DeltaLog, FileAction, LogCommit
from sparkassets.delta.tables import is_table, load_table, reason
from sparkassets.errors import RunError
from sparkassets.files.object_stores import deltalake_options, local_path
from sparkassets.frozen import frozen

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.transaction import AddAction, RemoveAction

_CHECKPOINT_INTERVAL = 10
"""Delta's default; deltalake's is 100, so that Spark would read as many files before each of its commits."""


class CommitConflictError(RunError):
    """Another writer changed files that the commit replaces, rows that it was made from, or the table itself."""

    retryable = True
    topic = "conflicting-commit"


@frozen
class CommitRequest:
    """The content of one commit.

    Attributes:
        owner: The table's owner, for messages.
        app, version: The transaction's; without ``app`` there is none.
        user_metadata: ``userMetadata``.
        adds: Files to add.
        removes: Files to remove.
        changes_rows: False where the added files have just the rows of the removed ones.
        replaces_all: Removes all present files; the table's columns become those of ``schema``.
        reads_table: Whether rows were made from those in the table, so that even a commit without ``removes`` is no
            blind append to other writers.
        schema: The table's after the commit; None leaves it as it is.
        metrics: Delta's operation metrics.
        conflicts_with: Whether a file that another writer added or removed meanwhile is a conflict.
        is_parallel_run: Whether a transaction belongs to a parallel run, which by the protocol writes other rows;
            a file that it removed must still not be among ``removes``.
    """

    owner: str
    app: str
    version: int
    user_metadata: str
    adds: Sequence[AddAction] = ()
    removes: Sequence[LiveFile] = ()
    changes_rows: bool = True
    replaces_all: bool = False
    reads_table: bool = False
    schema: Schema | None = None
    metrics: Mapping[str, int] = field(default_factory=dict)
    conflicts_with: Callable[[FileAction], bool] = lambda _: False
    is_parallel_run: Callable[[str], bool] = lambda _: False

    def properties(self) -> CommitProperties:
        """What deltalake writes besides the files."""
        from deltalake import CommitProperties
        from deltalake.transaction import Transaction

        info = {
            "userMetadata": self.user_metadata,
            "operationMetrics": {name: str(number) for name, number in self.metrics.items()},
            "isBlindAppend": not (self.removes or self.replaces_all or self.reads_table),
        }
        transactions = [Transaction(self.app, self.version)] if self.app else []
        return CommitProperties(custom_metadata=info, max_commit_retries=0, app_transactions=transactions)


def commit(path: str, table: DeltaTable, change: CommitRequest, *, since: int | None = None) -> None:
    """Commits on top of the newest version, unless commits of others until then conflict.

    Does nothing if the same or a higher transaction version is in; so a return proves nothing.

    Args:
        path: Of the table.
        table: At the version whose files are replaced.
        change: The commit's content.
        since: The version that the rows were made from, if that is older.

    Raises:
        CommitConflictError: Others were quicker, and conflict.
        RunError: The table cannot be written, or its disk does not keep what is.
    """
    checked = base = table.version() if since is None else since
    _sync_files(path, change, (add.path for add in change.adds))
    while True:
        newest = load_newest(path, table, owner=change.owner)
        if is_committed(newest, app=change.app, version=change.version):
            _sync_files(path, change, map(durability.entry_path, range(base + 1, newest.version() + 1)))
            return
        refuse_conflicts(path, newest, change, since=checked)
        checked = newest.version()
        try:
            _write_commit(newest, change)
        except Exception as error:
            if load_newest(path, table, owner=change.owner).version() == checked:
                raise _make_write_error(change.owner, error) from error
            if not change.app and _is_stamped_after(path, checked, change.user_metadata):
                return  # only the answer was lost; what has a transaction finds it in the next turn
        else:
            _sync_files(path, change, [durability.entry_path(checked + 1)])
            _checkpoint_if_due(path, newest.metadata().configuration, version=checked + 1)
            return


def refuse_conflicts(path: str, table: DeltaTable, change: CommitRequest, *, since: int) -> None:
    """Refuses commits of others after ``since``, up to the loaded version, that conflict.

    Raises:
        CommitConflictError: One conflicts.
    """
    if table.version() == since:
        return
    commits = [other for other in DeltaLog(path).read_after(since) if other.version <= table.version()]
    if len(commits) != table.version() - since:
        raise make_conflict(change.owner, "made more commits than the log still has")
    removed = [file.path for file in change.removes]
    for other in commits:
        conflict = _find_conflict(other, change)
        if conflict is not None:
            raise make_conflict(change.owner, f"{conflict} in version {other.version}")
    if any(_may_move_rows(other, change) for other in commits) and not live_paths(table).issuperset(removed):
        raise make_conflict(change.owner, "moved rows that the run replaces to other files")


def _may_move_rows(commit: LogCommit, change: CommitRequest) -> bool:
    """Whether a commit that conflicts otherwise not may have moved rows that the change replaces to other files."""
    return bool(change.removes) and (commit.moves_rows or any(map(change.is_parallel_run, commit.transactions)))


def create(
    path: str, change: CommitRequest, *, layout: Sequence[str], properties: Mapping[str, str] | None = None
) -> None:
    """Creates a table whose first version has the request's schema and files, and these properties.

    Raises:
        CommitConflictError: Another writer created it first.
        RunError: The table cannot be written, or its disk does not keep what is.
    """
    from deltalake import PostCommitHookProperties
    from deltalake.transaction import create_table_with_add_actions

    if change.schema is None:
        raise TypeError("a new table needs a schema")
    _sync_files(path, change, (add.path for add in change.adds))
    try:
        create_table_with_add_actions(
            path,
            change.schema,
            list(change.adds),
            mode="error",
            partition_by=list(layout),
            configuration=dict(properties or {}),
            storage_options=deltalake_options(path),
            commit_properties=change.properties(),
            post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
        )
    except Exception as error:
        if not is_table(path):
            raise _make_write_error(change.owner, error) from error
        if not is_committed(load_table(path), app=change.app, version=change.version):
            raise make_conflict(change.owner, "created the table") from error
    _sync_files(path, change, [durability.entry_path(0)])


def comment_columns(path: str, comments: Mapping[str, str], *, owner: str, user_metadata: str) -> None:
    """Sets the comments of columns, each by a commit that changes no row and counts as no transaction.

    Raises:
        RunError: The table cannot be written, or its disk does not keep what is.
    """
    from deltalake import CommitProperties, PostCommitHookProperties

    change = CommitRequest(owner, "", 0, user_metadata)
    for column, text in comments.items():
        table = load_table(path)
        try:
            table.alter.set_column_metadata(
                column,
                {"comment": text},
                commit_properties=CommitProperties(
                    custom_metadata={"userMetadata": user_metadata}, max_commit_retries=0
                ),
                post_commithook_properties=PostCommitHookProperties(
                    create_checkpoint=False, cleanup_expired_logs=False
                ),
            )
        except Exception as error:
            raise _make_write_error(owner, error) from error
        _sync_files(path, change, [durability.entry_path(table.version())])


def is_committed(table: DeltaTable, *, app: str, version: int) -> bool:
    """Whether the snapshot holds that version of the application's transactions, or a higher one."""
    newest = table.transaction_version(app)
    return newest is not None and newest >= version


def _sync_files(path: str, change: CommitRequest, names: Iterable[str]) -> None:
    """Flushes these files of a table on a disk."""
    folder = local_path(path)
    if folder is None:
        return
    try:
        durability.sync_files(Path(folder), names)
    except OSError as error:
        failure = RunError(f"{change.owner}: the disk lost writes to its table: {error}")
        failure.retryable = True
        raise failure from error


def _write_commit(table: DeltaTable, change: CommitRequest) -> None:
    """Writes one commit through deltalake.

    A checkpoint or cleaning that fails would make the commit look failed, so `commit` does both afterwards.
    """
    from deltalake import PostCommitHookProperties

    removes = () if change.replaces_all else change.removes
    table.create_write_transaction(
        [*change.adds, *(_make_remove(file, changes_rows=change.changes_rows) for file in removes)],
        "overwrite" if change.replaces_all else "append",
        change.schema or table.schema(),
        table.metadata().partition_columns,
        commit_properties=change.properties(),
        post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
    )


def _make_remove(file: LiveFile, *, changes_rows: bool) -> RemoveAction:
    from deltalake.transaction import RemoveAction

    now = time.time_ns() // 1_000_000
    values = {column: log_text(value) for column, value in file.partition.items()}
    return RemoveAction(file.place, changes_rows, now, file.size, values)


def _is_stamped_after(path: str, version: int, user_metadata: str) -> bool:
    """Whether a commit after that version has this ``userMetadata``, which is not empty."""
    return bool(user_metadata) and any(
        each.user_metadata == user_metadata for each in DeltaLog(path).read_after(version)
    )


def load_newest(path: str, known: DeltaTable, *, owner: str) -> DeltaTable:
    """The table ``known`` as it is now; ``owner`` names it in messages.

    Raises:
        CommitConflictError: It is gone, or another one stands in its place.
    """
    from deltalake.exceptions import TableNotFoundError

    try:
        newest = load_table(path)
    except TableNotFoundError as error:
        raise make_conflict(owner, "removed the table") from error
    if newest.metadata().id != known.metadata().id or newest.version() < known.version():
        raise make_conflict(owner, "re-created the table")
    return newest


def _find_conflict(commit: LogCommit, change: CommitRequest) -> str | None:
    """The conflict with another commit; None without one."""
    if commit.changes_protocol or commit.metadata is not None:
        return "changed the table itself"
    if change.app in commit.transactions:
        return "committed for the same asset"
    if not any(map(change.is_parallel_run, commit.transactions)) and any(map(change.conflicts_with, commit.files)):
        return "changed rows that the run replaces or read"
    return None


def _checkpoint_if_due(path: str, properties: Mapping[str, str | None], *, version: int) -> None:
    """Writes a checkpoint if one is due, and removes the log before it as the table's properties say.

    The commit stands even if this fails.
    """
    with contextlib.suppress(Exception):
        if version % int(properties.get("delta.checkpointInterval") or _CHECKPOINT_INTERVAL):
            return
        table = load_table(path)
        table.create_checkpoint()
        if (properties.get("delta.enableExpiredLogCleanup") or "true").lower() == "true":
            table.cleanup_metadata()


def make_conflict(owner: str, what: str) -> CommitConflictError:
    """The error that another writer did ``what`` to the owner's table."""
    return CommitConflictError(f"{owner}: another writer {what} during the run")


def _make_write_error(owner: str, error: Exception) -> RunError:
    failure = RunError(f"{owner}: cannot commit to its table: {reason(error)}")
    failure.retryable = True
    return failure
