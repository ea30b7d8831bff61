"""What of an asset comes after what runs first: nobody wants it yet, but the plan names it."""

from __future__ import annotations

from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.planner.planner import decision_of
from sparkassets.core.spec.model import AssetSpec


def decision(context: PlanningContext, asset: AssetSpec) -> Decision:
    """What is decided for the asset; where a plan was made with the context, by that."""
    if asset.name not in context.decided:
        context.decided[asset.name] = decision_of(context, asset)
    return context.decided[asset.name]


def upcoming(context: PlanningContext, asset: AssetSpec) -> PartitionSet:
    """The partitions that are to come in the same invocation and are not there."""
    coming = decision(context, asset).coming
    have = asset.partitioning.inside(context.state_of(asset).coverage)
    return NOTHING if coming.is_everything else asset.partitioning.inside(coming) - have
