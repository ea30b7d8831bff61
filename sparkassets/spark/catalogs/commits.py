"""Commits of a table in a catalog, by its history: which of them changed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sparkassets.delta.log import FileAction, LogCommit
from sparkassets.spark.catalogs.named_table import NamedTable, parameter
from sparkassets.spark.markers import read_marker

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
_ADDED: Final = ("numFiles", "numAddedFiles", "numTargetFilesAdded", "numOutputRows")
_REMOVED: Final = ("numRemovedFiles", "numTargetFilesRemoved", "numDeletedRows", "numDeletionVectorsAdded")
_SOME: Final = FileAction(added=True, path="", key="", has_deletion_vector=False, partition=None, stats={})
"""Stands for the files of a commit, which a history does not list."""


def changes_rows(commit: Mapping[str, Any]) -> bool:
    """Whether the commit may have changed rows."""
    if commit["operation"] in _SAME_ROWS:
        return False
    metrics: Mapping[str, str] = commit.get("operationMetrics") or {}
    told = [metrics[name] for name in (*_ADDED, *_REMOVED) if name in metrics]
    wrote = commit["operation"] in ("WRITE", "MERGE", "DELETE", "UPDATE")
    return not (wrote and told and all(each == "0" for each in told))


def only_appends(commit: Mapping[str, Any]) -> bool:
    """Whether the commit only added rows."""
    metrics: Mapping[str, str] = commit.get("operationMetrics") or {}
    if commit["operation"] == "STREAMING UPDATE":
        return bool(parameter(commit, "outputMode") == "Append")
    mode = parameter(commit, "mode")
    appends = commit["operation"] == "WRITE" and mode == "Append"
    return appends and all(metrics.get(name, "0") == "0" for name in _REMOVED)


def commits_since(table: NamedTable, version: int) -> Sequence[Mapping[str, Any]] | None:
    """The commits after a version, oldest first; None where the history lacks one of them."""
    found: list[Mapping[str, Any]] = []
    for commit in table.iterate_commits():
        if commit["version"] <= version:
            break
        found.append(commit)
    complete = len(found) == table.version - version
    return found[::-1] if complete else None


def to_log_commit(row: Mapping[str, Any]) -> LogCommit:
    """The commit as `CommitInspector` judges it, with a placeholder file where it may have changed rows."""
    said = read_marker(row)
    at = row["timestamp"]
    return LogCommit(
        version=row["version"],
        operation=str(row["operation"] or ""),
        files=(_SOME,) if changes_rows(row) else (),
        moves_rows=False,
        changes_protocol=False,
        metadata=None,
        transactions={said["app"]: int(said["version"])} if said is not None and said["kind"] != "layout" else {},
        user_metadata=str(row.get("userMetadata") or ""),
        parameters={"version": parameter(row, "version")},
        timestamp=None if at is None else int(at.timestamp() * 1000),
    )
