"""An asset's table: its name in SQL, what its log says of it, and the markers of its commits."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec, StorageLocation
from sparkassets.core.table_names import quote_table_name
from sparkassets.delta.file_split import NewerRows
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.tables import find_damage, load_table
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.ports import CommitMarker
from sparkassets.spark import sqltext
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.own_session import open_brief_session
from sparkassets.spark.schemas import spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@frozen
class TableRelation:
    """One table.

    >>> TableRelation(StorageLocation("/lake/a`b", "a")).sql, TableRelation(StorageLocation.of_table(("main", "a"))).sql
    ('delta.`/lake/a``b`', '`main`.`a`')
    """

    storage: StorageLocation

    @property
    def sql(self) -> str:
        """The table's name in a statement."""
        named = self.storage.table
        return quote_table_name(named) if named else f"delta.{sqltext.name(self.storage.path)}"

    def save_rows(
        self,
        rows: DataFrame,
        options: Mapping[str, str],
        *,
        mode: Literal["append", "overwrite"] = "append",
        layout: Sequence[str] = (),
        there: bool = True,
    ) -> None:
        """Commits rows to the table.

        Args:
            rows: The rows.
            options: Options of Delta's writer.
            mode: Whether rows are added, or replace those that the options select.
            layout: The columns that folders are named by.
            there: Whether the table exists; creating one in a catalog leaves its first commit without ``userMetadata``.
        """
        if self.storage.table and there and "overwriteSchema" not in options:
            from pyspark.sql import functions as sql

            resolved = rows.select("*")  # what a query calls its inlets is resolved anew otherwise, and gone by now
            writing = resolved.writeTo(self.sql).options(**options)
            if mode == "append":
                writing.append()
            else:
                writing.overwrite(sql.lit(True))  # noqa: FBT003  what the options say
            return
        if self.storage.table and there and layout:  # Spark's own catalog has these columns last
            others = [name for name in rows.columns if name not in layout]
            rows = rows.select(*map(sqltext.name, [*others, *layout]))
        writer = rows.write.format("delta").mode(mode).options(**options)
        writer = writer.partitionBy(*layout) if layout else writer
        if self.storage.table:
            writer.saveAsTable(self.sql)
        else:
            writer.save(self.storage.path)

    def read_rows(self, session: SparkSession, version: int) -> DataFrame:
        """The rows of a version."""
        if self.storage.table:
            return session.sql(f"SELECT * FROM {self.sql} VERSION AS OF {version:d}")  # noqa: S608  quoted
        return session.read.format("delta").option("versionAsOf", version).load(self.storage.path)

    def read_feed(self, session: SparkSession, first: int, last: int) -> DataFrame:
        """The change feed of these versions."""
        reader = session.read.format("delta").option("readChangeFeed", "true")
        reader = reader.option("startingVersion", first).option("endingVersion", last)
        return reader.table(self.sql) if self.storage.table else reader.load(self.storage.path)


def relation_of(asset: AssetSpec) -> TableRelation:
    """The asset's table."""
    if asset.storage is None:
        raise RunError(f"{asset.name} has no path")
    return TableRelation(asset.storage)


def format_marker(marker: CommitMarker) -> str:
    """The ``userMetadata`` of a marked commit."""
    fields = {
        "app": marker.app_id,
        "version": marker.version,
        "epoch": marker.token,
        "run": marker.run,
        "attempt": marker.attempt,
        "kind": marker.kind,
        "partitions": list(marker.partitions),
        "measures": dict(marker.measures),
    }
    return json.dumps(fields, separators=(",", ":"), sort_keys=True)


def read_own_marker(commit: Mapping[str, Any], app_id: str) -> dict[str, Any] | None:
    """The marker of a commit, if it is of this app id."""
    marker = read_marker(commit)
    return marker if marker is not None and marker.get("app") == app_id else None


def read_marker(commit: Mapping[str, Any]) -> dict[str, Any] | None:
    """The marker of a commit of any asset's run; None without one."""
    try:
        marker = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return marker if isinstance(marker, dict) and isinstance(marker.get("app"), str) else None


def has_no_rows(commit: Mapping[str, Any]) -> bool:
    """Whether a run's commit has no rows, whoever made it: a fence, or a run that published nothing."""
    text = commit.get("userMetadata") or ""
    return '"kind":"fence"' in text or '"published":"nothing"' in text


_CHECK = "delta.constraints."
_MISREAD = {"%": "an escape", "\\": "the end of a folder", "#": "the end of a path", "?": "the end of a path"}
MOST_FENCES = 64
"""A table with more commits than this is assumed to hold more than fences."""


@frozen
class TargetTable:
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
class TableAtPath:
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

    def describe_target(self) -> TargetTable:
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


def find_table_at(path: str) -> TableAtPath | None:
    """The table at the path, None when there is none.

    Raises:
        RunError: deltalake would look elsewhere.
    """
    opened = open_table(path)
    return None if opened is None else TableAtPath(path, opened)


def path_of(asset: AssetSpec) -> str:
    """The asset's path."""
    if asset.storage is None:
        raise RunError(f"{asset.name} has no path")
    return asset.storage.path


def describe_table(path: str, table: DeltaTable) -> TargetTable:
    """The table at the loaded version."""
    metadata = table.metadata()
    return TargetTable(
        str(metadata.id),
        table.version(),
        schema=spark_schema(table.schema().to_json()),
        layout=tuple(metadata.partition_columns),
        constraints=constraints_in(metadata.configuration),
        is_clustered="clustering" in (table.protocol().writer_features or ()),
        allows_widening=metadata.configuration.get("delta.enableTypeWidening") == "true",
        has_no_rows=_is_bare(path, table),
    )


def open_table(path: str) -> DeltaTable | None:
    """The table at the path, None when there is none.

    Raises:
        RunError: deltalake would look elsewhere.
        SourceError: A file of its log is missing or broken.
    """
    from deltalake.exceptions import DeltaError, TableNotFoundError

    misread = next((character for character in path if character in _MISREAD), None)
    if misread is not None:
        raise RunError(
            f"the path {path} holds a '{misread}', which Delta's libraries take for {_MISREAD[misread]}",
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
    found = properties.items()
    return {key.removeprefix(_CHECK): text for key, text in found if key.startswith(_CHECK) and text is not None}


def _is_bare(path: str, table: DeltaTable) -> bool:
    if table.version() >= MOST_FENCES:
        return False
    last = 0
    for commit in DeltaLog(path).iterate_commit_info(table.version()):
        if not has_no_rows(commit):
            return False
        last = commit["version"] + 1
    return last == 1


_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@contextlib.contextmanager
def mark_commits(session: SparkSession, marker: CommitMarker) -> Iterator[SparkSession]:
    """A session like this one, whose commits carry the marker while the context lasts."""
    with open_brief_session(session) as own:
        own.conf.set(_USER_METADATA, format_marker(marker))
        try:
            yield own
        finally:
            own.conf.unset(_USER_METADATA)
