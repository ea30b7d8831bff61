"""A table as it is now, opened at its path or by its name in a catalog."""

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
