"""Detects partitions of a run that came out unchanged: before the driver commits, or after Spark did."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.writes import row_counts
from sparkassets.delta.file_split import FileSplit
from sparkassets.delta.partition_files import UnchangedFiles, group_by_files, is_known_position
from sparkassets.delta.staging import StagedFile
from sparkassets.delta.tables import load_table
from sparkassets.ports import DataCommit, RunOrder
from sparkassets.spark.commit_history import changes_rows, commits_since
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.open_tables import CatalogTable
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.row_comparison import find_changed_partitions
from sparkassets.spark.table_locations import path_of, read_rows
from sparkassets.spark.writes import PlannedWrite

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession


def find_unchanged_before_commit(
    order: RunOrder,
    planned: PlannedWrite,
    table: DeltaTable,
    *,
    replaced: FileSplit,
    files: Sequence[StagedFile],
    folder: str,
) -> UnchangedFiles:
    """The partitions whose staged rows equal those in the table; nothing where the table is not as consumers know it.

    Only rows at the recorded position count: consumers have read those, and not what others wrote since.

    Args:
        order: The run's order.
        planned: The planned write.
        table: The table before the commit.
        replaced: The files of the table that the commit removes.
        files: All staged files.
        folder: The folder of the run's own rows among them.
    """
    asset, landing, path = order.asset, planned.landing, path_of(order.asset)
    replaces = landing.replaces != "nothing" and landing.columns == "kept"
    if not replaces or not _has_partitions(order) or not is_known_position(path, table, order.known_position):
        return UnchangedFiles()
    groups = []
    if not replaced.mixed:
        parts = asset.partitioning
        groups = group_by_files(table, order.partitions, partitioning=parts, table_files=replaced.inside, staged=files)
    unchanged = order.partitions - PartitionSet.union(group.parts for group in groups if group.differs)
    if unchanged:
        unchanged = unchanged - _find_changed_staged(planned, table, unchanged, folder=folder)
    return UnchangedFiles.from_groups([group for group in groups if unchanged.covers(group.parts)], beside=unchanged)


def find_unchanged_by_spark_commit(session: SparkSession, order: RunOrder, found: DataCommit) -> PartitionSet:
    """The partitions of a run whose rows Spark's commit left as they were recorded; nothing if that is unknown."""
    path, version = path_of(order.asset), found.version
    if not version or not _has_partitions(order):
        return NOTHING
    table = load_table(path, version=version)
    schema = table.schema().to_json()
    new = _read_rows_of(session, table, order.partitions, asset=order.asset)
    table = load_table(path, version=version - 1)
    if table.schema().to_json() != schema or not is_known_position(path, table, order.known_position):
        return NOTHING
    old = _read_rows_of(session, table, order.partitions, asset=order.asset)
    return order.partitions - find_changed_partitions(
        old, new, order.partitions, partitioning=order.asset.partitioning, schema=schema
    )


def find_unchanged_in_catalog(table: CatalogTable, order: RunOrder, found: DataCommit) -> PartitionSet | None:
    """The partitions of a run that its commit to a catalog's table left as they were recorded.

    None if others changed rows between the record and the commit, or the history does not reach back to the record.
    """
    if order.known_position is None or table.table_id != order.known_position[0]:
        return None
    later = commits_since(table, order.known_position[1])
    version = found.stamped_version
    if later is None or any(changes_rows(each) for each in later if each["version"] < version):
        return None
    if not version or not _has_partitions(order):
        return NOTHING
    partitioning, read = order.asset.partitioning, partial(read_rows, table.location, table.session)
    old, new = (_filter_partitions(read(each), order.partitions, partitioning) for each in (version - 1, version))
    if old.schema != new.schema:
        return NOTHING
    return order.partitions - find_changed_partitions(
        old, new, order.partitions, partitioning=partitioning, schema=new.schema.json()
    )


def find_unchanged_by_merge(order: RunOrder, found: DataCommit) -> PartitionSet:
    """All partitions of a run if its merge changed no recorded row; else none: which ones it changed is unknown."""
    path, changes = path_of(order.asset), ("inserted", "updated", "deleted")
    counts = row_counts(found.operation, found.metrics)
    if not found.version or not _has_partitions(order) or any(counts.get(each, 0) for each in changes):
        return NOTHING
    return (
        order.partitions
        if is_known_position(path, load_table(path, version=found.version - 1), order.known_position)
        else NOTHING
    )


def _has_partitions(order: RunOrder) -> bool:
    """Whether the run's partitions were all known beforehand, so that each can be compared."""
    are_known = not order.rebuilds and not order.discovers_segments
    return are_known and order.partitions.is_everything is not order.asset.partitioning.is_partitioned


def _find_changed_staged(
    planned: PlannedWrite, table: DeltaTable, partitions: PartitionSet, *, folder: str
) -> PartitionSet:
    """The partitions whose staged rows differ from the table's; all where it cannot be determined."""
    from pyspark.errors import PySparkException

    session, partitioning = planned.landing.rows.sparkSession, planned.asset.partitioning
    try:
        old = _read_rows_of(session, table, partitions, asset=planned.asset)
        staged = session.read.schema(old.schema).parquet(folder)
        new = _filter_partitions(staged, partitions, partitioning)
        return find_changed_partitions(old, new, partitions, partitioning=partitioning, schema=table.schema().to_json())
    except PySparkException:
        return partitions


def _read_rows_of(session: SparkSession, table: DeltaTable, partitions: PartitionSet, *, asset: AssetSpec) -> DataFrame:
    """The rows of the partitions at the loaded version."""
    partitioning, version = asset.partitioning, table.version()
    frame, _ = read_version(
        session,
        table,
        version,
        path=path_of(asset),
        parts=partitions,
        partitioning=partitioning.with_segments_of(partitions),
    )
    return _filter_partitions(frame, partitions, partitioning)


def _filter_partitions(frame: DataFrame, partitions: PartitionSet, partitioning: Partitioning) -> DataFrame:
    """The rows of a table within the partitions."""
    predicate = partition_predicate(
        frame.schema, partitions, partitioning=partitioning.with_segments_of(partitions), owner="the table"
    )
    return frame if predicate is None else frame.filter(predicate)
