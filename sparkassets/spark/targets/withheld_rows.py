"""What a target has prepared, and what is left of it where blocks are withheld."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.partitions import PartitionSet
from sparkassets.ports import CommitMarker
from sparkassets.spark.computation import SparkComputation
from sparkassets.spark.partition_guard import guard_for


def drop_withheld(made: SparkComputation, withheld: PartitionSet) -> SparkComputation:
    """What is computed but for withheld blocks."""
    if not withheld:
        return made
    order = made.order.restrict_to(made.order.blocks - withheld)
    blocks = guard_for(order, made.frame.schema)
    return replace(made, order=order, frame=made.frame if blocks is None else made.frame.filter(blocks.predicate))


def is_prepared_for(prepared: CommitMarker, marker: CommitMarker) -> bool:
    """Whether that was prepared for this commit, whatever was decided since."""
    return replace(prepared, measures=marker.measures) == marker
