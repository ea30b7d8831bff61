"""What a target's own log tells, read without a JVM: its schema, transactions, and which runs are in it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import AssetSpec
from sparkassets.errors import RunError
from sparkassets.ports import CommitMarker, Committed, HistoryGoneError
from sparkassets.spark.schemas import spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql.types import StructType

_CHECK = "delta.constraints."
_CLONED_FROM_NOWHERE = "integer `-1`"
"""The version that a clone's first commit says it was written after."""
_FIRST_LOOK = 8
_WIDER = 8
_MOST_FENCES = 64
"""A table with more commits than this is not asked whether they are all fences."""


@dataclass(frozen=True, slots=True)
class Target:
    """A table as it is now.

    Attributes:
        table_id: Survives everything but the table's deletion.
        layout: Columns that its folders are named by.
        constraints: Name to expression of its CHECK constraints.
        clustered: Whether it may be laid out by clustering columns.
        widens: Whether Delta may widen types of its columns.
        bare: Nothing but fences is in it: the run that made it failed, so its columns bind nobody.
    """

    table_id: str
    version: int
    schema: StructType
    layout: tuple[str, ...]
    constraints: Mapping[str, str] = field(default_factory=dict)
    clustered: bool = False
    widens: bool = False
    bare: bool = False


def path_of(asset: AssetSpec) -> str:
    """Where the asset is."""
    if asset.storage is None:
        raise RunError(f"{asset.name} has no path")
    return asset.storage.path


def table_id(asset: AssetSpec) -> str | None:
    """The id of the asset's table, None when there is none; its history, which a clone does not tell, is not asked."""
    table = _open(path_of(asset))
    return None if table is None else str(table.metadata().id)


def target_of(asset: AssetSpec) -> Target | None:
    """The asset's table, None when there is none."""
    table = _open(path_of(asset))
    if table is None:
        return None
    metadata = table.metadata()
    return Target(
        str(metadata.id),
        table.version(),
        schema=spark_schema(table.schema().to_json()),
        layout=tuple(metadata.partition_columns),
        constraints=_constraints(metadata.configuration),
        clustered="clustering" in (table.protocol().writer_features or ()),
        widens=metadata.configuration.get("delta.enableTypeWidening") == "true",
        bare=_is_bare(table),
    )


def _constraints(properties: Mapping[str, str | None]) -> dict[str, str]:
    found = properties.items()
    return {key.removeprefix(_CHECK): text for key, text in found if key.startswith(_CHECK) and text is not None}


def _is_bare(table: DeltaTable) -> bool:
    if table.version() >= _MOST_FENCES or not _is_fence(_newest(table, 1)[0]):
        return False
    commits = _newest(table, table.version() + 1)
    return len(commits) == table.version() + 1 and all(map(_is_fence, commits))


def _is_fence(commit: Mapping[str, Any]) -> bool:
    return '"kind":"fence"' in (commit.get("userMetadata") or "")


def transaction_version(asset: AssetSpec, app_id: str) -> int | None:
    """The newest transaction version of ``app_id``; None without a table or transaction."""
    table = _open(path_of(asset))
    return None if table is None else table.transaction_version(app_id)


def describe(marker: CommitMarker) -> str:
    """The ``userMetadata`` of a stamped commit."""
    told = {
        "app": marker.app_id,
        "version": marker.version,
        "epoch": marker.token,
        "run": marker.run,
        "attempt": marker.attempt,
        "kind": marker.kind,
        "blocks": list(marker.blocks),
        "measures": dict(marker.measures),
    }
    return json.dumps(told, separators=(",", ":"), sort_keys=True)


def committed(asset: AssetSpec, runs: Collection[str], *, app_id: str) -> Sequence[Committed]:
    """The data commits of these runs, oldest first.

    Looks from the newest commit back, and stops where nothing older can be theirs: at another run's data under the same
    app id (chains do not interleave), or when each of them is found, or fenced itself before it wrote anything.

    Raises:
        HistoryGoneError: The log is too short to tell, or the table was restored to before what was found.
    """
    table = _open(path_of(asset))
    if table is None or table.transaction_version(app_id) is None:
        return ()
    open_runs = set(runs)
    found: list[Committed] = []
    restored = False
    version = table.version() + 1
    for commit in _history(table):
        version = commit["version"]
        restored = restored or commit.get("operation") == "RESTORE"
        told = _told(commit, app_id)
        if told is None:
            continue
        if told["kind"] == "data":
            if told["run"] not in runs:
                return tuple(found[::-1])
            if restored:
                raise HistoryGoneError(
                    f"{asset.name}: its table was restored after version {version}, which holds run {told['run']}",
                    hint="look whether its rows are there, then mark the partitions as done or missing",
                )
            found.append(_committed(told, commit, table_id=str(table.metadata().id)))
        if told["kind"] == "data" or told["version"] == 2 * told["epoch"] + 1:
            open_runs.discard(told["run"])
        if not open_runs:
            return tuple(found[::-1])
    if version > 0:
        named = ", ".join(sorted(open_runs))
        raise HistoryGoneError(
            f"{asset.name}: its table's log begins at version {version}; whether run {named} is in it cannot be told",
            hint="look at the rows, then mark the partitions as done or missing",
        )
    return tuple(found[::-1])


def _open(path: str) -> DeltaTable | None:
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    if "%" in path:
        raise RunError(
            f"the path {path} holds a '%', which Delta's libraries take for an escape", hint="rename the folder"
        )
    try:
        return DeltaTable(path)
    except TableNotFoundError:
        return None


def _history(table: DeltaTable) -> Iterator[Mapping[str, Any]]:
    """Commits from the newest to the oldest that is still there; looks further back only when asked to."""
    limit, given = _FIRST_LOOK, 0
    while True:
        commits = _newest(table, limit)
        yield from commits[given:]
        if len(commits) < limit:
            return
        given, limit = len(commits), limit * _WIDER


def _newest(table: DeltaTable, limit: int) -> Sequence[Mapping[str, Any]]:
    """The newest commits; of a shallow clone the first one is that of the cloning, which deltalake cannot parse."""
    from deltalake.exceptions import DeltaError

    try:
        return table.history(limit)
    except DeltaError as error:
        if _CLONED_FROM_NOWHERE not in str(error):
            raise
    later = table.history(min(limit, table.version())) if table.version() else []
    return [*later, {"version": 0, "operation": "CLONE"}]


def _told(commit: Mapping[str, Any], app_id: str) -> dict[str, Any] | None:
    """What the commit says of itself, if it is one of this app id."""
    try:
        told = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return told if isinstance(told, dict) and told.get("app") == app_id else None


def _committed(told: Mapping[str, Any], commit: Mapping[str, Any], *, table_id: str) -> Committed:
    metrics = {key: int(value) for key, value in (commit.get("operationMetrics") or {}).items() if str(value).isdigit()}
    return Committed(
        run=told["run"],
        token=told["epoch"],
        attempt=told["attempt"],
        version=commit["version"],
        table_id=table_id,
        measures=told["measures"],
        metrics=metrics,
        operation=commit.get("operation") or "WRITE",
    )
