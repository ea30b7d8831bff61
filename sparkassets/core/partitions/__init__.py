"""Time partitions: keys, slots, the algebra of time ranges, and the mappings between two partitionings."""

from sparkassets.core.partitions.definition import TimePartition
from sparkassets.core.partitions.grains import YEARS, By, PartitionError
from sparkassets.core.partitions.mappings import Overlap, PartitionMapping, WindowMapping
from sparkassets.core.partitions.ranges import RangeSet
from sparkassets.core.partitions.stamped import StampedRanges

__all__ = [
    "YEARS",
    "By",
    "Overlap",
    "PartitionError",
    "PartitionMapping",
    "RangeSet",
    "StampedRanges",
    "TimePartition",
    "WindowMapping",
]
