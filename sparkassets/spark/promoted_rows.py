"""The rows that a promotion takes over: of its partitions in a branch's table, at the version of its claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkassets.core.branches.branch_locations import branch_storage
from sparkassets.core.runs import BranchPromotion
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import RunError
from sparkassets.ports import RunOrder
from sparkassets.spark.delta_files import read_version
from sparkassets.spark.predicates import partition_predicate
from sparkassets.spark.target_table import open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_promoted_rows(
    session: SparkSession, project: ProjectSpec, order: RunOrder, promotion: BranchPromotion
) -> DataFrame:
    """The rows of one table that the run writes.

    Raises:
        RunError: The branch's table is gone.
    """
    asset, partitioning = order.asset, order.asset.partitioning
    place, owner = branch_storage(project, promotion.branch, asset), f"{asset.name} in branch {promotion.branch}"
    table_id, version = promotion.tables.get(asset.name, ("", 0))
    table = open_table(place.path) if place is not None else None
    if place is None or table is None or str(table.metadata().id) != table_id:
        raise RunError(f"{owner} is gone: there is no table of id {table_id}", hint="run the branch again")
    path = place.path
    frame, exact = read_version(session, table, version, path=path, parts=order.blocks, partitioning=partitioning)
    predicate = partition_predicate(frame.schema, order.blocks, partitioning=partitioning, owner=owner)
    return frame if predicate is None or exact else frame.filter(predicate)
