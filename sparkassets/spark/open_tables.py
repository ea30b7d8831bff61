"""A Delta table as it is now, opened at its path or by its name in a catalog, and its description for a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.delta.file_split import NewerRows
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.tables import find_damage, load_table, unreadable
from sparkassets.errors import NoTableError, RunError, SessionNeededError, SourceError
from sparkassets.frozen import frozen
from sparkassets.spark.commit_stamps import has_no_rows, read_stamp
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.failures import error_condition, first_line
from sparkassets.spark.schemas import spark_schema
from sparkassets.spark.table_locations import location_of, read_rows, table_sql

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_CONSTRAINT_PREFIX = "delta.constraints."
_MISREAD_CHARACTERS = {
    "%": "an escape",
    "\\": "the end of a folder",
    "#": "the end of a path",
    "?": "the end of a path",
}
MOST_FENCES = 64
"""A table with more commits than this is assumed to hold more than fences."""
MISSING_TABLE: Final = ("TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE")
NO_SCHEMA: Final = ("SCHEMA_NOT_FOUND", "NO_SUCH_CATALOG", "CATALOG_NOT_FOUND")
_NO_SUCH_CATALOG: Final = "REQUIRES_SINGLE_PART_NAMESPACE"
"""What Spark's own catalog says of a name whose first part is that of no catalog."""
_VIEW_CONDITIONS: Final = ("EXPECT_TABLE_NOT_VIEW", "DELTA_CANNOT_DESCRIBE_VIEW_HISTORY")
_SELF_FILLING: Final = {"identityColumns": "identity columns", "generatedColumns": "generated columns"}
"""Self-filling columns that a table may have, by the feature of its protocol."""
_PAGE_SIZES: Final = (16, 256, 2**31 - 1)
"""How many of the newest commits are asked for, until what is sought is among them."""
_DETAILS: Final[WeakKeyDictionary[SparkSession, dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]]] = (
    WeakKeyDictionary()
)
"""For each session and table: its newest commit, and the table's details as of it."""


@frozen
class TableDescription:
    """An asset's own table as it is now.

    Attributes:
        table_id: Changes only when the table is re-created.
        layout: Columns that its folders are named by.
        constraints: Name to expression of its CHECK constraints.
        is_clustered: Whether it may be laid out by clustering columns.
        allows_widening: Whether Delta may widen types of its columns.
        has_no_rows: No run has published anything yet, so its columns do not bind later runs.
    """

    table_id: str
    version: int
    schema: StructType
    layout: tuple[str, ...]
    constraints: Mapping[str, str] = field(default_factory=dict)
    is_clustered: bool = False
    allows_widening: bool = False
    has_no_rows: bool = False


@frozen
class PathTable:
    """A table at a path as it is now, with its commits read without a JVM."""

    path: str
    opened: DeltaTable

    @property
    def table_id(self) -> str:
        """Survives everything but the table's deletion."""
        return str(self.opened.metadata().id)

    @property
    def version(self) -> int:
        """The newest version."""
        return self.opened.version()

    def transaction_version(self, app_id: str) -> int | None:
        """The newest version of a transaction of that application id; None without any."""
        return self.opened.transaction_version(app_id)

    def iterate_commits(self) -> Iterator[Mapping[str, Any]]:
        """What its commits say of themselves, each with its ``version``, newest first while they are there."""
        return DeltaLog(self.path).iterate_commit_info(self.version)

    def describe(self) -> TableDescription:
        """The table as a target."""
        return describe_table(self.path, self.opened)

    def read_rows(
        self,
        session: SparkSession,
        version: int,
        *,
        parts: PartitionSet = EVERYTHING,
        partitioning: Partitioning = UNPARTITIONED,
        newer: NewerRows | None = None,
    ) -> tuple[DataFrame, bool]:
        """The rows of ``parts``, and maybe others, of a version; and whether there are no others."""
        return read_version(
            session, self.opened, version, path=self.path, parts=parts, partitioning=partitioning, newer=newer
        )


@frozen
class CatalogTable:
    """A table in a catalog as it is now; older commits are fetched when they are needed.

    Attributes:
        layout: Columns that its folders are named by.
        clustering: Columns that it is clustered by.
        features: Of its protocol.
        newest: Its newest commits, the first page of its history.
    """

    session: SparkSession
    location: StorageLocation
    table_id: str
    version: int
    layout: tuple[str, ...]
    clustering: tuple[str, ...]
    properties: Mapping[str, str]
    features: tuple[str, ...]
    newest: Sequence[Mapping[str, Any]]

    def iterate_commits(self) -> Iterator[Mapping[str, Any]]:
        """Its commits, newest first, as far back as its history goes."""
        oldest = self.version + 1
        for page in _PAGE_SIZES:
            commits = self.newest if page == _PAGE_SIZES[0] else _read_history(self.session, self.location, page)
            for commit in commits:
                if commit["version"] < oldest:
                    oldest = commit["version"]
                    yield commit
            if len(commits) < page or not oldest:
                return

    def transaction_version(self, app_id: str) -> int | None:
        """The newest transaction of an application id, as far back as the history goes."""
        for commit in self.iterate_commits():
            stamp = read_stamp(commit)
            if stamp is not None and stamp["app"] == app_id and stamp["kind"] != "layout":
                return int(stamp["version"])
        return None

    def check(self) -> None:
        """Refuses tables that no run may write to.

        Raises:
            SourceError: It has self-filling columns, and its catalog does not say which.
        """
        if self_filling := next((what for feature, what in _SELF_FILLING.items() if feature in self.features), None):
            raise SourceError(
                (
                    f"{self.location.display_text} has {self_filling}, but the session does not say which columns "
                    "these are"
                ),
                hint="write to a table without such columns, or to this one by its 'path'",
            )

    def describe(self) -> TableDescription:
        """The table as a target.

        Raises:
            SourceError: As of `check`.
        """
        self.check()
        return TableDescription(
            self.table_id,
            self.version,
            schema=read_rows(self.location, self.session, self.version).schema,
            layout=self.layout,
            constraints=constraints_in(self.properties),
            is_clustered="clustering" in self.features,
            allows_widening=self.properties.get("delta.enableTypeWidening") == "true",
            has_no_rows=_has_only_empty_commits(self.version, self.iterate_commits()),
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
        return read_rows(self.location, session, version), False


def find_path_table(path: str) -> PathTable | None:
    """The table at the path, None when there is none.

    Raises:
        RunError: deltalake would look elsewhere.
    """
    opened = open_table(path)
    return None if opened is None else PathTable(path, opened)


def describe_table(path: str, table: DeltaTable) -> TableDescription:
    """The table at the loaded version."""
    metadata = table.metadata()
    return TableDescription(
        str(metadata.id),
        table.version(),
        schema=spark_schema(table.schema().to_json()),
        layout=tuple(metadata.partition_columns),
        constraints=constraints_in(metadata.configuration),
        is_clustered="clustering" in (table.protocol().writer_features or ()),
        allows_widening=metadata.configuration.get("delta.enableTypeWidening") == "true",
        has_no_rows=_has_only_empty_commits(table.version(), DeltaLog(path).iterate_commit_info(table.version())),
    )


def open_table(path: str) -> DeltaTable | None:
    """The table at the path, None when there is none.

    Raises:
        RunError: deltalake would look elsewhere.
        SourceError: A file of its log is missing or broken.
    """
    from deltalake.exceptions import DeltaError, TableNotFoundError

    misread = next((character for character in path if character in _MISREAD_CHARACTERS), None)
    if misread is not None:
        raise RunError(
            f"the path {path} contains '{misread}', which Delta's libraries read as {_MISREAD_CHARACTERS[misread]}",
            hint="rename the folder",
        )
    try:
        return load_table(path)
    except TableNotFoundError:
        return None
    except DeltaError as error:
        if (damage := find_damage(path)) is not None:
            raise damage from error
        raise


def constraints_in(properties: Mapping[str, str | None]) -> dict[str, str]:
    """Name to expression of the CHECK constraints among a table's properties."""
    items = properties.items()
    return {
        key.removeprefix(_CONSTRAINT_PREFIX): text
        for key, text in items
        if key.startswith(_CONSTRAINT_PREFIX) and text is not None
    }


def _has_only_empty_commits(version: int, commits: Iterator[Mapping[str, Any]]) -> bool:
    """Whether all commits up to a version, the newest first, are there and have no rows."""
    if version >= MOST_FENCES:
        return False
    oldest = None
    for commit in commits:
        if not has_no_rows(commit):
            return False
        oldest = commit["version"]
    return oldest == 0


def find_catalog_table(session: SparkSession, location: StorageLocation) -> CatalogTable | None:
    """The table of that name; None where there is none.

    Raises:
        SourceError: What has the name is no Delta table, or the catalog says something else.
    """
    name = location.display_text
    try:
        newest = _read_history(session, location, _PAGE_SIZES[0])
        detail = _read_detail(session, location, newest)
    except Exception as error:  # noqa: BLE001  what is not just missing is raised
        _raise_unless_missing(error, session, location)
        return None
    if detail["format"] != "delta" or not newest:
        raise NoTableError(f"{name} is a {detail['format']} table, not a Delta table")
    return CatalogTable(
        session,
        location,
        str(detail["id"]),
        newest[0]["version"],
        tuple(detail["partitionColumns"] or ()),
        tuple(map(str, detail["clusteringColumns"] or ())),
        dict(detail["properties"] or {}),
        tuple(detail["tableFeatures"] or ()),
        newest,
    )


def _raise_unless_missing(error: Exception, session: SparkSession, location: StorageLocation) -> None:
    """Returns where there is no such table.

    Raises:
        SourceError: Otherwise.
    """
    name, condition = location.display_text, error_condition(error)
    if condition in MISSING_TABLE:
        return
    if condition in NO_SCHEMA:
        hint = f"CREATE SCHEMA {'.'.join(location.table[:-1])}, or correct the name"
        raise SourceError(f"the schema of {name} does not exist: {first_line(error)}", hint=hint) from error
    if condition == _NO_SUCH_CATALOG:
        catalog = location.table[0]
        hint = f"set spark.sql.catalog.{catalog} and what it needs under `spark`, or correct the name"
        raise SourceError(f"the session has no catalog '{catalog}', where {name} should be", hint=hint) from error
    if condition.startswith(_VIEW_CONDITIONS):
        raise NoTableError(f"{name} is a view, not a Delta table") from error
    kind = _find_provider(session, location)
    if kind not in ("", "delta"):
        raise NoTableError(f"{name} is a {'view' if kind == 'view' else f'{kind} table'}, not a Delta table") from error
    raise SourceError(f"{name} cannot be read: {first_line(error)}") from error


def _find_provider(session: SparkSession, location: StorageLocation) -> str:
    """The provider that a catalog has for a name, or ``view``; empty where it does not say."""
    from pyspark.errors import PySparkException

    try:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {table_sql(location)}").collect()
    except PySparkException:
        return ""
    details = {row["col_name"]: str(row["data_type"]).lower() for row in rows}
    return "view" if details.get("Type") == "view" else details.get("Provider", "")


def _read_history(session: SparkSession, location: StorageLocation, most: int) -> Sequence[Mapping[str, Any]]:
    """The newest commits, the newest first."""
    return [row.asDict() for row in session.sql(f"DESCRIBE HISTORY {table_sql(location)} LIMIT {most:d}").collect()]


def _read_detail(
    session: SparkSession, location: StorageLocation, newest: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The result of ``DESCRIBE DETAIL``, cached by the newest commit: a run looks at its table many times."""
    details = _DETAILS.setdefault(session, {})
    commit, detail = details.get(table_sql(location), ({}, {}))
    if not newest or commit != newest[0]:
        (row,) = session.sql(f"DESCRIBE DETAIL {table_sql(location)}").collect()
        detail = row.asDict()
        if newest:
            details[table_sql(location)] = (newest[0], detail)
    return detail


def parameter(commit: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401  JSON
    """A parameter of a commit's operation; None without it."""
    text = (commit.get("operationParameters") or {}).get(name)
    try:
        return json.loads(text) if text is not None else None
    except ValueError:
        return text


OpenedTable = PathTable | CatalogTable


def find_table(session: SparkSession, location: StorageLocation) -> OpenedTable | None:
    """The table; None where there is none. One at a path is opened without Spark wherever possible.

    Raises:
        RunError: deltalake would open another path.
        SourceError: The name is not that of a Delta table.
    """
    if location.table:
        return find_catalog_table(session, location)
    from deltalake.exceptions import DeltaError

    try:
        return find_path_table(location.path)
    except DeltaError as error:
        if isinstance(unreadable(location.path, error), SessionNeededError):
            return find_catalog_table(session, location)
        raise


def describe_table_of(session: SparkSession, asset: AssetSpec) -> TableDescription | None:
    """The asset's table as a target; None when there is none."""
    table = find_table(session, location_of(asset))
    return None if table is None else table.describe()
