"""What the rules of an asset say of rows that are staged, before any of them is committed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.validations import RunJudgement
from sparkassets.core.validations.judgement import judge_run
from sparkassets.ports import RunOrder
from sparkassets.spark.inlet_reader import ReadInlets
from sparkassets.spark.partition_guard import find_segments
from sparkassets.spark.validation import CheckCaller, PartitionGrouping, RowRules, measure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def find_rules(order: RunOrder, inlets: ReadInlets, packages: Collection[str]) -> RowRules | None:
    """The rules of the rows of a run; None where there are none."""
    asset = order.asset
    if not asset.rules:
        return None
    time = asset.partitioning.time
    return RowRules(
        f"the result of {asset.name}",
        asset.rules,
        inlets.frames,
        CheckCaller(asset.name, packages, asset.location),
        asset.timezone if time is None else time.timezone,
        frozenset(name.lower() for name in asset.private),
    )


def judge_rows(order: RunOrder, asked: RowRules, rows: DataFrame) -> RunJudgement:
    """What becomes of the run's blocks.

    Raises:
        RunError: A rule cannot be asked of such rows, or Spark says something else.
    """
    keys = keys_of(order, asked, rows.schema)
    tallies = measure(rows, asked, keys)
    absent = order.discovered_partitions - _with_rows(order, rows) if order.discovered_partitions else NOTHING
    blocks = [block for block in keys.blocks if not absent.covers(block)]
    return judge_run(asked.rules, tallies, blocks, past=order.past, accepted=order.accepted_partitions)


def _with_rows(order: RunOrder, rows: DataFrame) -> PartitionSet:
    """The blocks of segments that nobody knew, of which there are rows; the others are left to the next run."""
    keys = find_segments(rows, order.restrict_to(order.discovered_partitions))
    return order.asset.partitioning.restrict_to_segments(order.discovered_partitions, keys)


def keys_of(order: RunOrder, asked: RowRules, schema: StructType) -> PartitionGrouping:
    """Tells the run's blocks; where nothing does, all of it is one.

    Raises:
        RunError: A column that tells them is not there.
    """
    if order.discovers_segments:
        return PartitionGrouping.whole(order.blocks)
    return PartitionGrouping.from_schema(schema, order.blocks, partitioning=order.asset.partitioning, owner=asked.owner)
