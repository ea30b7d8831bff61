"""Makes the `Plan` of a project from its state and an instant.

Planning is a pure function, so a plan can be printed, compared in a test and simulated for any time.
"""

from __future__ import annotations

from sparkassets.core.planner.decision import decide_asset
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext
from sparkassets.core.spec.asset_graph import find_ancestors
from sparkassets.core.spec.model import AssetSpec, ProjectSpec


def make_plan(context: PlanningContext) -> Plan:
    """Returns the due runs and the reason why everything else does not run; fills ``context.decisions``.

    Assets are decided upstream first: each decision reads which partitions its inlets will bring or fail to bring.
    """
    for asset in context.project.assets.values():
        context.decisions[asset.name] = decide_asset(context, asset)
    return assemble_plan(context, context.project)


def decide_alone(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """Returns the decision for one asset; decides only its ancestors besides."""
    ancestors = find_ancestors(context.project.assets, asset.name)
    for upstream in context.project.assets.values():
        if upstream.name in ancestors:
            context.decisions[upstream.name] = decide_asset(context, upstream)
    return decide_asset(context, asset)


def assemble_plan(context: PlanningContext, project: ProjectSpec) -> Plan:
    """Joins the decisions of all assets into one plan, upstream first."""
    decisions = [context.decisions[name] for name in project.assets]
    runs = tuple([run for decision in decisions for run in decision.runs])
    waiting = tuple([item for decision in decisions for item in decision.waiting])
    notes = tuple([note for decision in decisions for note in decision.notes])
    return Plan(context.now, runs, waiting, notes, context.unseen)
