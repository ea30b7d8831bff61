"""What becomes of an outlet: what becomes of the multi-asset whose runs write it."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.planner.gates import table_losses
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext
from sparkassets.core.spec.model import AssetSpec


def decide_outlet(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """The decision for an outlet, when its maker is decided: what comes of that one's runs, and no run of its own."""
    maker = context.decisions.get(asset.maker, AssetDecision())
    found = replace(maker, waiting=(), notes=())
    return replace(table_losses.add_loss_notes(context, asset, context.state_of(asset), found), runs=())
