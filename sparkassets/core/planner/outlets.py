"""What becomes of an outlet: what becomes of the multi-asset whose runs write it."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.planner import losses
from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.spec.model import AssetSpec


def decide(context: PlanningContext, asset: AssetSpec) -> Decision:
    """The decision for an outlet, when its maker is decided: what comes of that one's runs, and no run of its own."""
    maker = context.decided.get(asset.maker, Decision())
    found = replace(maker, waiting=(), notes=())
    return replace(losses.told(context, asset, context.state_of(asset), found), runs=())
