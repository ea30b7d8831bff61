"""Why blocks are not wanted although what they are made of may be there: somebody skipped them, or all of that."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.marks import PartitionMark
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.pending_partitions import cut_off_partitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import waived_inputs
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec


def explain_skipped(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[Waiting]:
    """What is skipped of an asset, and why, quietly."""
    found = []
    for mark, own in partitions_by_mark(asset, state.skip_marks) if state.marks else ():
        reason = f"{mark.text}; `sparkassets mark {asset.name} --missing` wants it again"
        found.append(Waiting(asset.name, reason, None, own, quiet=True))
    if cut := cut_off_partitions(context, asset, state):
        found.append(Waiting(asset.name, explain_cut_off(context, asset, cut), None, cut, quiet=True))
    return found


def partitions_by_mark(asset: AssetSpec, marks: Sequence[PartitionMark]) -> list[tuple[PartitionMark, PartitionSet]]:
    """Which partitions each mark is about, of those that the asset has now."""
    inside, known = asset.partitioning.inside, asset.partitioning.known_partitions
    return [(mark, own) for mark in marks if (own := inside(mark.blocks) & known)]


def explain_cut_off(context: PlanningContext, asset: AssetSpec, blocks: PartitionSet) -> str:
    """Why ``blocks`` are cut off."""
    names = [inlet.name for inlet in asset.inlets.values() if waived_inputs(context, asset, inlet, blocks)]
    return f"not wanted: what it would be made of is skipped in {listing(names)}"
