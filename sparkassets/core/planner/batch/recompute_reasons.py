"""Words for a run's reason: why it computes partitions again."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.spec.model import AssetSpec


def stale_causes(found: PendingPartitions, blocks: PartitionSet) -> list[str]:
    """The inlets, and the code, that made some of the partitions stale."""
    causes = [name for name, ranges in found.stale.items() if ranges.overlaps(blocks)]
    return [*causes, "its code"] if found.redefined.overlaps(blocks) else causes


def redo_reasons(asset: AssetSpec, state: AssetState, blocks: PartitionSet) -> list[tuple[str, PartitionSet]]:
    """Partitions of ``blocks`` that a person marked as missing or accepted, with the text of the mark."""
    marks = (mark for mark in state.marks if mark.kind in ("missing", "accept"))
    return [(mark.text, again) for mark in marks if (again := asset.partitioning.cover(mark.blocks) & blocks)]


def trigger_reasons(asset: AssetSpec) -> str:
    """Reason of partitions that are due by each tick or event because no inlet shows that they are out of date."""
    return "due at every tick" if asset.schedule.timetable is not None else f"due for {asset.schedule.text}"
