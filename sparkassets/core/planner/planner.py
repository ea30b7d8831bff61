"""(project, state, now) → `Plan`: a pure function, so it can be printed, compared in a test, simulated at any time."""

from __future__ import annotations

from sparkassets.core.planner.decision import decide_asset
from sparkassets.core.planner.plan import Plan
from sparkassets.core.planner.planning_context import AssetDecision, PlanningContext
from sparkassets.core.spec.asset_graph import find_ancestors
from sparkassets.core.spec.model import AssetSpec, ProjectSpec


def make_plan(context: PlanningContext) -> Plan:
    """What is due, and why the rest is not; fills ``context.decided``.

    Assets come upstream first, so that each knows what will come, or failed to come, before it.
    """
    for asset in context.project.assets.values():
        context.decisions[asset.name] = decide_asset(context, asset)
    return assemble_plan(context, context.project)


def decide_alone(context: PlanningContext, asset: AssetSpec) -> AssetDecision:
    """The decision for one asset; nothing else is decided than what it goes by."""
    before = find_ancestors(context.project.assets, asset.name)
    for each in context.project.assets.values():
        if each.name in before:
            context.decisions[each.name] = decide_asset(context, each)
    return decide_asset(context, asset)


def assemble_plan(context: PlanningContext, project: ProjectSpec) -> Plan:
    """The plan of the decisions, upstream first."""
    decided = [context.decisions[name] for name in project.assets]
    runs = tuple([run for each in decided for run in each.runs])
    waiting = tuple([item for each in decided for item in each.waiting])
    notes = tuple([note for each in decided for note in each.notes])
    return Plan(context.now, runs, waiting, notes, context.unseen)
