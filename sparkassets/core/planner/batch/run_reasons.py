"""Why a run computes its partitions: what changed before, what a person asked for, or what triggered it."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.spec.model import AssetSpec


def stale_causes(pending: PendingPartitions, partitions: PartitionSet) -> list[str]:
    """The inlets, and the code, that made some of the partitions stale."""
    causes = [name for name, ranges in pending.stale.items() if ranges.overlaps(partitions)]
    return [*causes, "its code"] if pending.outdated.overlaps(partitions) else causes


def redo_reasons(asset: AssetSpec, state: AssetState, partitions: PartitionSet) -> list[tuple[str, PartitionSet]]:
    """Partitions of ``partitions`` that a person marked as missing or accepted, each with the text of that mark."""
    marks = (mark for mark in state.marks if mark.kind in ("missing", "accept"))
    return [(mark.text, redone) for mark in marks if (redone := asset.partitioning.cover(mark.partitions) & partitions)]


def trigger_reasons(asset: AssetSpec) -> str:
    """Reason of partitions that are due by each tick or event because no inlet shows that they are out of date."""
    return "due at every tick" if asset.schedule.timetable is not None else f"due for {asset.schedule.text}"
