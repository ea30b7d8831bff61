"""(project, state, now) → `Plan`: a pure function, so it can be printed, compared in a test, simulated at any time."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner import losses, partitioned, whole
from sparkassets.core.planner.context import Decision, PlanningContext
from sparkassets.core.planner.plan import Note, Plan, PlannedRun, Waiting
from sparkassets.core.spec.model import AssetSpec, ProjectSpec


def plan(context: PlanningContext) -> Plan:
    """What is due, and why the rest is not; fills ``context.decided``.

    Assets come upstream first, so that each knows what will come, or failed to come, before it.
    """
    for asset in context.project.assets.values():
        context.decided[asset.name] = decide(context, asset)
    return assemble(context, context.project)


def assemble(context: PlanningContext, project: ProjectSpec) -> Plan:
    """The plan of the decisions, upstream first."""
    runs: list[PlannedRun] = []
    waiting: list[Waiting] = []
    notes: list[Note] = []
    for name in project.assets:
        decision = context.decided[name]
        runs += decision.runs
        waiting += decision.waiting
        notes += decision.notes
    return Plan(context.now, tuple(runs), tuple(waiting), tuple(notes))


def decide(context: PlanningContext, asset: AssetSpec) -> Decision:
    """The decision for one asset, when everything before it is decided."""
    if asset.source is not None:
        said = context.faults.get(asset.name) or context.notes.get(asset.name)
        return Decision((), (Waiting(asset.name, said),)) if said else Decision()
    state = context.state_of(asset)
    return losses.told(context, asset, state, _decide(context, asset, state))


def _decide(context: PlanningContext, asset: AssetSpec, state: AssetState) -> Decision:
    chain = context.chain(state)
    if chain:
        newest = chain[-1]
        reason = f"running: {newest.entry.run} since {context.when(newest.at)} by {newest.driver}"
        blocks = newest.entry.blocks
        return Decision((), (Waiting(asset.name, reason, None, blocks),), coming=True if blocks is None else blocks)
    held_back = losses.held_back(context, asset, state)
    if held_back is not None:
        return held_back
    unfenced = _unfenced(context, state)
    if unfenced is not None:
        return Decision((), (Waiting(asset.name, unfenced),), blocked=True, failure=f"{asset.name}, which failed")
    if asset.paused or state.paused:
        return Decision((), (Waiting(asset.name, "paused", quiet=True),))
    if context.select is not None and asset.name not in context.select:
        return Decision((), (Waiting(asset.name, "not selected", quiet=True),))
    if asset.partition is not None:
        return partitioned.decide(context, asset, asset.partition, state)
    return whole.decide(context, asset, state)


def _unfenced(context: PlanningContext, state: AssetState) -> str | None:
    """Why a failure of this invocation keeps the asset from running: nobody knows yet what may still land."""
    if not state.chain or state.chain[-1].status != "unfenced" or not state.failed:
        return None
    last = state.failed[-1]
    if last.invocation != context.invocation or last.token != state.chain[-1].token:
        return None
    return f"failed, and what may have landed of {last.run} is not known: {last.error}"
