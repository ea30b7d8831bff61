"""Finds the commits of runs in a table, and says what other commits did to its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.log import FileAction, LogCommit
from sparkassets.frozen import frozen
from sparkassets.ports import DataCommit, HistoryGoneError
from sparkassets.spark.commit_stamps import read_own_stamp, read_stamp
from sparkassets.spark.open_tables import CatalogTable, OpenedTable, parameter

_RECOVERY_HINT = "the next `sparkassets run` fences the unfinished run, and then asks for its outcome"


@frozen
class TransactionState:
    """A version of a table, with the newest transaction version of one application id in it.

    Attributes:
        newest: The transaction version; None if the id had committed nothing.
    """

    table_id: str
    version: int
    newest: int | None

    def excludes(self, above: int) -> bool:
        """Whether no transaction of version ``above`` or a higher one was committed at this moment."""
        return self.newest is None or self.newest < above


def read_transaction_state(table: OpenedTable | None, app_id: str) -> TransactionState | None:
    """The table's version and the newest transaction version of ``app_id``; None without a table."""
    return None if table is None else TransactionState(table.table_id, table.version, table.transaction_version(app_id))


def find_commits(
    asset: AssetSpec,
    table: OpenedTable | None,
    runs: Collection[str],
    *,
    app_id: str,
    above: int = 0,
    before: TransactionState | None = None,
) -> Sequence[DataCommit]:
    """The data commits of these runs, oldest first; empty if the table has none.

    Searches from the newest commit back until nothing older can belong to the runs:

    - at a transaction version below ``above``, which none of the runs has; - without ``above``, at another run's data
    under the same application id, because chains do not interleave; - once every run was found, or found to have fenced
    itself before it wrote anything; - at the moment ``before``, if no commit of the runs was in the table then.

    A driver that was suspended and taken over may find data of newer claims before its own.

    Raises:
        HistoryGoneError: The log is too short, or the table was restored to before a commit that was found.
    """
    newest = None if table is None else table.transaction_version(app_id)
    if table is None or newest is None or newest < above:
        return ()
    open_runs = set(runs)
    found: list[DataCommit] = []
    stop = _find_search_end(table, before, above=above)
    for commit, own_stamp, restored in _iterate_own_commits(
        asset, table, open_runs, app_id=app_id, above=above, stop=stop
    ):
        run = own_stamp["run"]
        if own_stamp["kind"] == "data" and run in runs:
            data_commit = _make_data_commit(own_stamp, commit, table_id=table.table_id)
            if restored:
                raise HistoryGoneError(
                    f"{asset.name}: its table was restored after version {commit['version']} of run {run}",
                    hint=_RECOVERY_HINT,
                    found=data_commit,
                )
            found.append(data_commit)
            open_runs.discard(run)
        elif own_stamp["kind"] == "data":
            if not above:
                break
        elif own_stamp["version"] == 2 * own_stamp["epoch"] + 1:
            open_runs.discard(run)
        if not open_runs:
            break
    return tuple(found[::-1])


def _iterate_own_commits(
    asset: AssetSpec, table: OpenedTable, missing_runs: Collection[str], *, app_id: str, above: int, stop: int
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], bool]]:
    """The commits of ``app_id``, newest first: each with its stamp, and whether a RESTORE came after it.

    Ends at version ``stop`` of the table, or at a transaction version below ``above``.

    Raises:
        HistoryGoneError: The log begins before either, while some runs are still ``missing_runs``.
    """
    restored, version = False, table.version + 1
    for commit in table.iterate_commits():
        version = commit["version"]
        if version <= stop:
            return
        restored = restored or commit.get("operation") == "RESTORE"
        own_stamp = read_own_stamp(commit, app_id)
        if own_stamp is None or own_stamp["kind"] == "layout":  # which has no transaction
            continue
        if own_stamp["version"] < above:
            return
        yield commit, own_stamp, restored
    if version > 0:
        named = ", ".join(sorted(missing_runs))
        raise HistoryGoneError(
            f"{asset.name}: whether run {named} committed cannot be determined: its table's log begins at version "
            f"{version}",
            hint=_RECOVERY_HINT,
        )


def _find_search_end(table: OpenedTable, before: TransactionState | None, *, above: int) -> int:
    """The version at which the search can stop; -1 where it must go back to the log's beginning."""
    is_same_table = before is not None and before.table_id == table.table_id
    return before.version if before is not None and is_same_table and before.excludes(above) else -1


def _make_data_commit(own_stamp: Mapping[str, Any], commit: Mapping[str, Any], *, table_id: str) -> DataCommit:
    """The commit as the run protocol knows it; metrics that are no numbers are left out."""
    metrics = {key: int(value) for key, value in (commit.get("operationMetrics") or {}).items() if str(value).isdigit()}
    return DataCommit(
        run=own_stamp["run"],
        token=own_stamp["epoch"],
        attempt=own_stamp["attempt"],
        version=commit["version"],
        table_id=table_id,
        measures=own_stamp["measures"],
        metrics=metrics,
        operation=commit.get("operation") or "WRITE",
    )


_SAME_ROWS: Final = frozenset(
    {
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "ANALYZE",
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
        "CLUSTER BY",
        "COMPUTE STATS",
        "DROP CONSTRAINT",
        "DROP FEATURE",
        "DROP TABLE FEATURE",
        "OPTIMIZE",
        "RENAME COLUMN",
        "REORG",
        "ROW TRACKING BACKFILL",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    }
)
"""Operations that change no row. An unknown operation counts as one that does."""
_ADDED_METRICS: Final = ("numFiles", "numAddedFiles", "numTargetFilesAdded", "numOutputRows")
_REMOVED_METRICS: Final = ("numRemovedFiles", "numTargetFilesRemoved", "numDeletedRows", "numDeletionVectorsAdded")
_UNLISTED_FILES: Final = FileAction(added=True, path="", key="", has_deletion_vector=False, partition=None, stats={})
"""Stands for the files of a commit, which a history does not list."""


def changes_rows(commit: Mapping[str, Any]) -> bool:
    """Whether the commit may have changed rows: its operation can, and its metrics do not prove the opposite."""
    if commit["operation"] in _SAME_ROWS:
        return False
    metrics: Mapping[str, str] = commit.get("operationMetrics") or {}
    counts = [metrics[name] for name in (*_ADDED_METRICS, *_REMOVED_METRICS) if name in metrics]
    has_counts = commit["operation"] in ("WRITE", "MERGE", "DELETE", "UPDATE")
    return not (has_counts and counts and all(each == "0" for each in counts))


def only_appends(commit: Mapping[str, Any]) -> bool:
    """Whether the commit certainly only added rows."""
    metrics: Mapping[str, str] = commit.get("operationMetrics") or {}
    if commit["operation"] == "STREAMING UPDATE":
        return bool(parameter(commit, "outputMode") == "Append")
    mode = parameter(commit, "mode")
    is_append = commit["operation"] == "WRITE" and mode == "Append"
    return is_append and all(metrics.get(name, "0") == "0" for name in _REMOVED_METRICS)


def commits_since(table: CatalogTable, version: int) -> Sequence[Mapping[str, Any]] | None:
    """The commits after a version, oldest first; None where the history lacks one of them."""
    found: list[Mapping[str, Any]] = []
    for commit in table.iterate_commits():
        if commit["version"] <= version:
            break
        found.append(commit)
    is_complete = len(found) == table.version - version
    return found[::-1] if is_complete else None


def to_log_commit(row: Mapping[str, Any]) -> LogCommit:
    """A row of a table's history as a `LogCommit`, for `CommitInspector`.

    A history lists no files: a placeholder stands for them if the commit may have changed rows.
    """
    stamp = read_stamp(row)
    at = row["timestamp"]
    return LogCommit(
        version=row["version"],
        operation=str(row["operation"] or ""),
        files=(_UNLISTED_FILES,) if changes_rows(row) else (),
        moves_rows=False,
        changes_protocol=False,
        metadata=None,
        transactions={stamp["app"]: int(stamp["version"])} if stamp is not None and stamp["kind"] != "layout" else {},
        user_metadata=str(row.get("userMetadata") or ""),
        parameters={"version": parameter(row, "version")},
        timestamp=None if at is None else int(at.timestamp() * 1000),
    )
