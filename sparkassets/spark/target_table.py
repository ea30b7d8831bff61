"""A Delta table at a path, read without a JVM: its schema, its layout, its newest commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from sparkassets.core.partitions import EVERYTHING, UNPARTITIONED, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.log import DeltaLog
from sparkassets.delta.newer_rows import NewerRows
from sparkassets.delta.tables import load_table
from sparkassets.errors import RunError
from sparkassets.frozen import frozen
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.markers import has_no_rows
from sparkassets.spark.schemas import spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

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
    """
    from deltalake.exceptions import TableNotFoundError

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
