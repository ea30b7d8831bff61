"""Which runs are in a target, by its own log, read without a JVM; alike for every target that is a Delta table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import AssetSpec
from sparkassets.ports import Committed, HistoryGoneError
from sparkassets.spark.markers import told
from sparkassets.spark.table import newest_commits, open_table, path_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

_FIRST_LOOK = 8
_WIDER = 8


def transaction_version(asset: AssetSpec, app_id: str) -> int | None:
    """The newest transaction version of ``app_id``; None without a table or transaction."""
    table = open_table(path_of(asset))
    return None if table is None else table.transaction_version(app_id)


def committed(asset: AssetSpec, runs: Collection[str], *, app_id: str) -> Sequence[Committed]:
    """The data commits of these runs, oldest first.

    Looks from the newest commit back, and stops where nothing older can be theirs: at another run's data under the same
    app id (chains do not interleave), or when each of them is found, or fenced itself before it wrote anything.

    Raises:
        HistoryGoneError: The log is too short to tell, or the table was restored to before what was found.
    """
    table = open_table(path_of(asset))
    if table is None or table.transaction_version(app_id) is None:
        return ()
    open_runs = set(runs)
    found: list[Committed] = []
    restored = False
    version = table.version() + 1
    for commit in _history(table):
        version = commit["version"]
        restored = restored or commit.get("operation") == "RESTORE"
        said = told(commit, app_id)
        if said is None:
            continue
        if said["kind"] == "data":
            if said["run"] not in runs:
                return tuple(found[::-1])
            if restored:
                raise HistoryGoneError(
                    f"{asset.name}: its table was restored after version {version}, which holds run {said['run']}",
                    hint="look whether its rows are there, then mark the partitions as done or missing",
                )
            found.append(_committed(said, commit, table_id=str(table.metadata().id)))
        if said["kind"] == "data" or said["version"] == 2 * said["epoch"] + 1:
            open_runs.discard(said["run"])
        if not open_runs:
            return tuple(found[::-1])
    if version > 0:
        named = ", ".join(sorted(open_runs))
        raise HistoryGoneError(
            f"{asset.name}: its table's log begins at version {version}; whether run {named} is in it cannot be told",
            hint="look at the rows, then mark the partitions as done or missing",
        )
    return tuple(found[::-1])


def _history(table: DeltaTable) -> Iterator[Mapping[str, Any]]:
    """Commits from the newest to the oldest that is still there; looks further back only when asked to."""
    limit, given = _FIRST_LOOK, 0
    while True:
        commits = newest_commits(table, limit)
        yield from commits[given:]
        if len(commits) < limit:
            return
        given, limit = len(commits), limit * _WIDER


def _committed(said: Mapping[str, Any], commit: Mapping[str, Any], *, table_id: str) -> Committed:
    metrics = {key: int(value) for key, value in (commit.get("operationMetrics") or {}).items() if str(value).isdigit()}
    return Committed(
        run=said["run"],
        token=said["epoch"],
        attempt=said["attempt"],
        version=commit["version"],
        table_id=table_id,
        measures=said["measures"],
        metrics=metrics,
        operation=commit.get("operation") or "WRITE",
    )
