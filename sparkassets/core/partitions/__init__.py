"""Partitions: sets of them and their algebra; dimensions and keys; dependencies between assets."""

from sparkassets.core.partitions.chunks import Slot
from sparkassets.core.partitions.dependency import Dependency
from sparkassets.core.partitions.grains import NAMED_GRAINS, YEARS, PartitionError
from sparkassets.core.partitions.partition_set import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.partitioning import UNPARTITIONED, Partitioning
from sparkassets.core.partitions.range_set import RangeSet
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.segment_matching import SegmentMatch, match_by_column
from sparkassets.core.partitions.segments import (
    SegmentPartition,
    SegmentValue,
    holds_segments,
    segment_of,
    segment_value,
)
from sparkassets.core.partitions.stamped_partitions import StampedPartitions, StampedRanges
from sparkassets.core.partitions.time_mappings import (
    NamedMapping,
    NewestMapping,
    OverlapMapping,
    PartitionMapping,
    WholeMapping,
    WindowMapping,
)
from sparkassets.core.partitions.time_partition import TimePartition

__all__ = [
    "EVERYTHING",
    "NAMED_GRAINS",
    "NOTHING",
    "UNPARTITIONED",
    "YEARS",
    "Dependency",
    "NamedMapping",
    "NewestMapping",
    "OverlapMapping",
    "PartitionError",
    "PartitionMapping",
    "PartitionSet",
    "Partitioning",
    "RangeSet",
    "Segment",
    "SegmentMatch",
    "SegmentPartition",
    "SegmentValue",
    "Slot",
    "StampedPartitions",
    "StampedRanges",
    "TimePartition",
    "WholeMapping",
    "WindowMapping",
    "holds_segments",
    "match_by_column",
    "segment_of",
    "segment_value",
]
