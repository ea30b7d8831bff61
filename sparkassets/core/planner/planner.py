"""(project, state, now) → `Plan`: a pure function, so it can be printed, compared in a test, simulated at any time."""

from __future__ import annotations

from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.planner.decision import decide
from sparkassets.core.planner.plan import Plan
from sparkassets.core.spec.graph import ancestors
from sparkassets.core.spec.model import AssetSpec, ProjectSpec


def plan(context: PlanningContext) -> Plan:
    """What is due, and why the rest is not; fills ``context.decided``.

    Assets come upstream first, so that each knows what will come, or failed to come, before it.
    """
    for asset in context.project.assets.values():
        context.decided[asset.name] = decide(context, asset)
    return assemble(context, context.project)


def decision_of(context: PlanningContext, asset: AssetSpec) -> Decision:
    """The decision for one asset; nothing else is decided than what it goes by."""
    before = ancestors(context.project.assets, asset.name)
    for each in context.project.assets.values():
        if each.name in before:
            context.decided[each.name] = decide(context, each)
    return decide(context, asset)


def assemble(context: PlanningContext, project: ProjectSpec) -> Plan:
    """The plan of the decisions, upstream first."""
    decided = [context.decided[name] for name in project.assets]
    runs = tuple([run for each in decided for run in each.runs])
    waiting = tuple([item for each in decided for item in each.waiting])
    notes = tuple([note for each in decided for note in each.notes])
    return Plan(context.now, runs, waiting, notes, context.unseen)
