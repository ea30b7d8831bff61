"""A table as it is now, at a path or in a catalog, for whoever reads it, writes to it or asks what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.errors import unreadable
from sparkassets.errors import SessionNeededError
from sparkassets.spark.catalogs.named_table import NamedTable, find_named_table
from sparkassets.spark.relation import TableRelation, relation_of
from sparkassets.spark.target_table import TableAtPath, TargetTable, find_table_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OpenedTable = TableAtPath | NamedTable


def open_relation(session: SparkSession, relation: TableRelation) -> OpenedTable | None:
    """The table; None where there is none. At a path it is opened without Spark wherever that is enough.

    Raises:
        RunError: deltalake would look elsewhere.
        SourceError: What has its name is no Delta table.
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
