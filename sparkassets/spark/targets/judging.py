"""What the rules of an asset say of rows that are staged, before any of them is committed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.validations import Judgement, judge
from sparkassets.ports import RunOrder
from sparkassets.spark.blocks import segments_in
from sparkassets.spark.reader import ReadInlets
from sparkassets.spark.validating import Asked, BlockKeys, Caller, measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def asked_of(order: RunOrder, inlets: ReadInlets, packages: Collection[str]) -> Asked | None:
    """The rules of the rows of a run; None where there are none."""
    asset = order.asset
    if not asset.rules:
        return None
    time = asset.partitioning.time
    return Asked(
        f"the result of {asset.name}",
        asset.rules,
        inlets.frames,
        Caller(asset.name, packages, asset.location),
        asset.timezone if time is None else time.timezone,
        frozenset(name.lower() for name in asset.private),
    )


def judged(order: RunOrder, asked: Asked, rows: DataFrame) -> Judgement:
    """What becomes of the run's blocks.

    Raises:
        RunError: A rule cannot be asked of such rows, or Spark says something else.
    """
    keys = keys_of(order, asked, rows.schema)
    tallies = measure(rows, asked, keys)
    absent = order.found - _with_rows(order, rows) if order.found else NOTHING
    blocks = [block for block in keys.blocks if not absent.covers(block)]
    return judge(asked.rules, tallies, blocks, past=order.past, accepted=order.accepted)


def _with_rows(order: RunOrder, rows: DataFrame) -> PartitionSet:
    """The blocks of segments that nobody knew, of which there are rows; the others are left to the next run."""
    keys = segments_in(rows, order.publishing(order.found))
    return order.asset.partitioning.having(order.found, keys)


def keys_of(order: RunOrder, asked: Asked, schema: StructType) -> BlockKeys:
    """Tells the run's blocks; where nothing does, all of it is one.

    Raises:
        RunError: A column that tells them is not there.
    """
    if order.finds_segments:
        return BlockKeys.whole(order.blocks)
    return BlockKeys.of(schema, order.blocks, partitioning=order.asset.partitioning, owner=asked.owner)
