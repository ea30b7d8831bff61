"""A table as it is now, opened at its path or by its name in a catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.file_split import NewerRows
from sparkassets.delta.tables import unreadable
from sparkassets.errors import NoTableError, SessionNeededError, SourceError
from sparkassets.frozen import frozen
from sparkassets.spark.failures import error_condition, first_line
from sparkassets.spark.target_table import (
    MOST_FENCES,
    TableAtPath,
    TableRelation,
    TargetTable,
    constraints_in,
    find_table_at,
    has_no_rows,
    read_marker,
    relation_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MISSING: Final = ("TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE")
NO_SCHEMA: Final = ("SCHEMA_NOT_FOUND", "NO_SUCH_CATALOG", "CATALOG_NOT_FOUND")
_A_VIEW: Final = ("EXPECT_TABLE_NOT_VIEW", "DELTA_CANNOT_DESCRIBE_VIEW_HISTORY")
_UNTOLD: Final = {"identityColumns": "identity columns", "generatedColumns": "generated columns"}
"""Self-filling columns that a table may have, by the feature of its protocol."""
_PAGES: Final = (16, 256, 2**31 - 1)
"""How many of the newest commits are asked for, until what is sought is among them."""
_DETAILS: Final[WeakKeyDictionary[SparkSession, dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]]] = (
    WeakKeyDictionary()
)
"""For each session and table: its newest commit, and the table's details as of it."""


@frozen
class NamedTable:
    """A table in a catalog as it is now; older commits are fetched when they are needed.

    Attributes:
        layout: Columns that its folders are named by.
        clustering: Columns that it is clustered by.
        features: Of its protocol.
        newest: Its newest commits, the first page of its history.
    """

    session: SparkSession
    relation: TableRelation
    table_id: str
    version: int
    layout: tuple[str, ...]
    clustering: tuple[str, ...]
    properties: Mapping[str, str]
    features: tuple[str, ...]
    newest: Sequence[Mapping[str, Any]]

    def iterate_commits(self) -> Iterator[Mapping[str, Any]]:
        """Its commits, newest first, as far back as its history goes."""
        seen = self.version + 1
        for page in _PAGES:
            found = self.newest if page == _PAGES[0] else _history(self.session, self.relation, page)
            for commit in found:
                if commit["version"] < seen:
                    seen = commit["version"]
                    yield commit
            if len(found) < page or not seen:
                return

    def transaction_version(self, app_id: str) -> int | None:
        """The newest transaction of an application id, as far back as the history goes."""
        for commit in self.iterate_commits():
            marker = read_marker(commit)
            if marker is not None and marker["app"] == app_id and marker["kind"] != "layout":
                return int(marker["version"])
        return None

    def check(self) -> None:
        """Refuses tables that no run may write to.

        Raises:
            SourceError: It has self-filling columns, and its catalog does not say which.
        """
        if untold := next((what for feature, what in _UNTOLD.items() if feature in self.features), None):
            raise SourceError(
                f"{self.relation.storage.display_text} has {untold}, "
                "and a session does not tell which columns these are",
                hint="write to a table without, or to this one by its 'path'",
            )

    def describe_target(self) -> TargetTable:
        """The table as a target.

        Raises:
            SourceError: As of `check`.
        """
        self.check()
        return TargetTable(
            self.table_id,
            self.version,
            schema=self.relation.read_rows(self.session, self.version).schema,
            layout=self.layout,
            constraints=constraints_in(self.properties),
            is_clustered="clustering" in self.features,
            allows_widening=self.properties.get("delta.enableTypeWidening") == "true",
            has_no_rows=self._is_bare(),
        )

    def read_rows(
        self,
        session: SparkSession,
        version: int,
        *,
        parts: PartitionSet = EVERYTHING,
        partitioning: Partitioning = UNPARTITIONED,
        newer: NewerRows | None = None,
    ) -> tuple[DataFrame, bool]:
        """The rows of a version, of all partitions: Spark itself skips files."""
        del parts, partitioning, newer
        return self.relation.read_rows(session, version), False

    def _is_bare(self) -> bool:
        if self.version >= MOST_FENCES:
            return False
        last = 0
        for commit in self.iterate_commits():
            if not has_no_rows(commit):
                return False
            last = commit["version"] + 1
        return last == 1


def find_named_table(session: SparkSession, relation: TableRelation) -> NamedTable | None:
    """The table of that name; None where there is none.

    Raises:
        SourceError: What has the name is no Delta table, or the catalog says something else.
    """
    name = relation.storage.display_text
    try:
        newest = _history(session, relation, _PAGES[0])
        detail = _detail(session, relation, newest)
    except Exception as error:  # noqa: BLE001  what is not just missing is raised
        _unless_missing(error, session, relation)
        return None
    if detail["format"] != "delta" or not newest:
        raise NoTableError(f"{name} is a table of {detail['format']}, not of Delta")
    return NamedTable(
        session,
        relation,
        str(detail["id"]),
        newest[0]["version"],
        tuple(detail["partitionColumns"] or ()),
        tuple(map(str, detail["clusteringColumns"] or ())),
        dict(detail["properties"] or {}),
        tuple(detail["tableFeatures"] or ()),
        newest,
    )


def _unless_missing(error: Exception, session: SparkSession, relation: TableRelation) -> None:
    """Returns where there is no such table.

    Raises:
        SourceError: Otherwise.
    """
    name, found = relation.storage.display_text, error_condition(error)
    if found in _MISSING:
        return
    if found in NO_SCHEMA:
        hint = f"CREATE SCHEMA {'.'.join(relation.storage.table[:-1])}, or correct the name"
        raise SourceError(f"{name} has no schema to be in: {first_line(error)}", hint=hint) from error
    if found.startswith(_A_VIEW):
        raise NoTableError(f"{name} is a view, not a table of Delta") from error
    kind = _kind(session, relation)
    if kind not in ("", "delta"):
        raise NoTableError(f"{name} is a {'view' if kind == 'view' else f'table of {kind}'}, not of Delta") from error
    raise SourceError(f"{name} cannot be looked at: {first_line(error)}") from error


def _kind(session: SparkSession, relation: TableRelation) -> str:
    """The provider that a catalog has for a name, or ``view``; empty where it does not say."""
    from pyspark.errors import PySparkException

    try:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {relation.sql}").collect()
    except PySparkException:
        return ""
    details = {row["col_name"]: str(row["data_type"]).lower() for row in rows}
    return "view" if details.get("Type") == "view" else details.get("Provider", "")


def _history(session: SparkSession, relation: TableRelation, most: int) -> Sequence[Mapping[str, Any]]:
    """The newest commits, the newest first."""
    return [row.asDict() for row in session.sql(f"DESCRIBE HISTORY {relation.sql} LIMIT {most:d}").collect()]


def _detail(session: SparkSession, relation: TableRelation, newest: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The result of ``DESCRIBE DETAIL``, cached by the newest commit: a run looks at its table many times."""
    known = _DETAILS.setdefault(session, {})
    commit, detail = known.get(relation.sql, ({}, {}))
    if not newest or commit != newest[0]:
        (row,) = session.sql(f"DESCRIBE DETAIL {relation.sql}").collect()
        detail = row.asDict()
        if newest:
            known[relation.sql] = (newest[0], detail)
    return detail


def parameter(commit: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401  JSON
    """A parameter of a commit's operation; None without it."""
    text = (commit.get("operationParameters") or {}).get(name)
    try:
        return json.loads(text) if text is not None else None
    except ValueError:
        return text


OpenedTable = TableAtPath | NamedTable


def open_relation(session: SparkSession, relation: TableRelation) -> OpenedTable | None:
    """The table; None where there is none. One at a path is opened without Spark wherever possible.

    Raises:
        RunError: deltalake would open another path.
        SourceError: The name is not that of a Delta table.
    """
    if relation.storage.table:
        return find_named_table(session, relation)
    from deltalake.exceptions import DeltaError

    try:
        return find_table_at(relation.storage.path)
    except DeltaError as error:
        if isinstance(unreadable(relation.storage.path, error), SessionNeededError):
            return find_named_table(session, relation)
        raise


def table_of(session: SparkSession, asset: AssetSpec) -> TargetTable | None:
    """The asset's table as a target; None when there is none."""
    table = open_relation(session, relation_of(asset))
    return None if table is None else table.describe_target()
