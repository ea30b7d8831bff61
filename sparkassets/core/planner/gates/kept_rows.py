"""What keeps rows of an inlet's partitions that are gone (``on_removed: keep``) is not computed again."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import required_partitions
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.model import AssetSpec, InletSpec


def find_kept_partitions(
    context: PlanningContext, asset: AssetSpec, blocks: PartitionSet
) -> list[tuple[InletSpec, PartitionSet, PartitionSet]]:
    """Which of ``blocks`` keep the rows of what an inlet has lost: (the inlet, the blocks, what it lost of theirs)."""
    found, state = [], context.state_of(asset)
    if not state.kept:
        return []
    for inlet in asset.inlets.values():
        marks = state.kept.get(inlet.name)
        if marks is not None and inlet.on_removed == "keep":
            lost = asset.partitioning.cover(marks.stamped_partitions() & state.coverage) & blocks
            if lost:
                found.append(
                    (inlet, lost, required_partitions(context, asset, inlet, lost) & context.dataset(inlet).gone)
                )
    return found


def explain_protection(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, lost: PartitionSet, gone: PartitionSet
) -> Waiting:
    """Why a block that keeps its rows is not computed again."""
    removed = describe_removed_input(context, inlet, gone)
    reason = f"{removed}, and would lose its rows; `sparkassets backfill --force` computes it again"
    return Waiting(asset.name, reason, None, lost)


def describe_removed_input(context: PlanningContext, inlet: InletSpec, gone: PartitionSet) -> str:
    """Which partitions of an inlet are gone, although what was computed from them is not, for a sentence."""
    up = context.partitioning(inlet)
    verb = "were" if up.count(gone) > 1 else "was"
    return f"kept without {name_partitions(inlet.name, gone, up)}, which {verb} removed"
