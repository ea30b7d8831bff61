"""Partitions: the one value for a set of them and its algebra; dimensions, keys, and what depends on what."""

from sparkassets.core.partitions.chunks import Slot
from sparkassets.core.partitions.definition import TimePartition
from sparkassets.core.partitions.dependency import Dependency
from sparkassets.core.partitions.grains import FIXED, YEARS, PartitionError
from sparkassets.core.partitions.lifting import Segment
from sparkassets.core.partitions.mappings import Named, Newest, Overlap, PartitionMapping, Whole, WindowMapping
from sparkassets.core.partitions.matching import Match, by_column
from sparkassets.core.partitions.partitioning import UNPARTITIONED, Partitioning
from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.segment_values import SegmentValue, holds_segments, segment_of, segment_value
from sparkassets.core.partitions.segments import SegmentPartition
from sparkassets.core.partitions.sets import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.partitions.stamped import StampedRanges
from sparkassets.core.partitions.stamped_sets import StampedPartitions

__all__ = [
    "EVERYTHING",
    "FIXED",
    "NOTHING",
    "UNPARTITIONED",
    "YEARS",
    "Dependency",
    "Match",
    "Named",
    "Newest",
    "Overlap",
    "PartitionError",
    "PartitionMapping",
    "PartitionSet",
    "Partitioning",
    "RangeSet",
    "Segment",
    "SegmentPartition",
    "SegmentValue",
    "Slot",
    "StampedPartitions",
    "StampedRanges",
    "TimePartition",
    "Whole",
    "WindowMapping",
    "by_column",
    "holds_segments",
    "segment_of",
    "segment_value",
]
