"""A table as it is now, at a path or in a catalog, for whoever reads it, writes to it or asks what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.spec.model import AssetSpec
from sparkassets.delta.errors import unreadable
from sparkassets.errors import SessionNeededError
from sparkassets.spark.catalogs.told import NamedTable, table_there
from sparkassets.spark.relation import Relation, relation_of
from sparkassets.spark.table import TableAtPath, TargetTable, table_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Opened = TableAtPath | NamedTable


def opened(session: SparkSession, relation: Relation) -> Opened | None:
    """The table; None where there is none. At a path it is opened without Spark wherever that is enough.

    Raises:
        RunError: deltalake would look elsewhere.
        SourceError: What has its name is no Delta table.
    """
    if relation.storage.table:
        return table_there(session, relation)
    from deltalake.exceptions import DeltaError

    try:
        return table_at(relation.storage.path)
    except DeltaError as error:
        if isinstance(unreadable(relation.storage.path, error), SessionNeededError):
            return table_there(session, relation)
        raise


def table_of(session: SparkSession, asset: AssetSpec) -> TargetTable | None:
    """The asset's table as a target; None when there is none."""
    table = opened(session, relation_of(asset))
    return None if table is None else table.described()
