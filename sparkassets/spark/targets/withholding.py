"""What a target has prepared, and what is left of it where blocks are withheld."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.partitions import PartitionSet
from sparkassets.ports import CommitMarker
from sparkassets.spark.blocks import blocks_of
from sparkassets.spark.computation import SparkComputation


def without(made: SparkComputation, withheld: PartitionSet) -> SparkComputation:
    """What is computed but for withheld blocks."""
    if not withheld:
        return made
    order = made.order.publishing(made.order.blocks - withheld)
    blocks = blocks_of(order, made.frame.schema)
    return replace(made, order=order, frame=made.frame if blocks is None else made.frame.filter(blocks.predicate))


def is_of(prepared: CommitMarker, marker: CommitMarker) -> bool:
    """Whether that was prepared for this commit, whatever was decided since."""
    return replace(prepared, measures=marker.measures) == marker
