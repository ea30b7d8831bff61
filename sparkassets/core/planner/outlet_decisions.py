"""Decides an outlet of a multi-asset, which has no runs of its own: the runs of its maker write it."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.planner.gates import table_losses
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext
from sparkassets.core.spec.model import AssetSpec


def decide_outlet(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """Returns the decision for an outlet: the partitions that its maker's runs will bring, and no run of its own.

    The maker must be decided before.
    """
    maker = context.decisions.get(asset.maker, AssetDecision())
    decision = replace(maker, waiting=(), notes=())
    return replace(table_losses.add_loss_notes(context, asset, context.state_of(asset), decision), runs=())
