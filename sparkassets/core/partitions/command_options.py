"""How a command names partitions, for the hints of messages."""

from __future__ import annotations

from sparkassets.core.partitions.partition_set import PartitionSet
from sparkassets.core.partitions.partitioning import Partitioning
from sparkassets.core.phrases import FEW


def partition_options(partitions: PartitionSet, partitioning: Partitioning) -> list[str]:
    """The command-line options that name partitions, the first few; none for an asset without partitions.

    >>> from sparkassets.core.partitions import TimePartition
    >>> days = Partitioning(TimePartition("day", "UTC"))
    >>> partition_options(days.parse("2025-01-02..2025-01-03"), days)
    ['--partition 2025-01-02..2025-01-03']
    """
    from shlex import quote

    labels = partitioning.labels(partitions, most=FEW + 1)
    if not labels and partitioning.is_partitioned:
        return ["--partition …"]
    return [f"--partition {quote(label)}" for label in labels[:FEW]] + ["--partition …"] * (len(labels) > FEW)
