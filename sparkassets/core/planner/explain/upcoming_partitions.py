"""Finds partitions that become wanted once upstream runs of the same plan have succeeded."""

from __future__ import annotations

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.planner import decide_alone
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext
from sparkassets.core.spec.model import AssetSpec


def find_decision(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """The decision for the asset, from the context's plan if one was made."""
    if asset.name not in context.decisions:
        context.decisions[asset.name] = decide_alone(context, asset)
    return context.decisions[asset.name]


def find_upcoming_partitions(context: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """Absent partitions that are to come in the same invocation."""
    coming = find_decision(context, asset).coming
    have = asset.partitioning.inside(context.state_of(asset).coverage)
    return NOTHING if coming.is_everything else asset.partitioning.inside(coming) - have
