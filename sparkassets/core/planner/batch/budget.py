"""Budgets: a run that is to cost more than its asset's ``budget`` says waits until a person lets it."""

from __future__ import annotations

from sparkassets.core.planner.batch.cost_estimates import estimate_cost
from sparkassets.core.planner.batch.held_runs import HeldRun, plan_without_held_runs, remove_held_runs
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import CostEstimate, Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.sizes import duration_text, size_text
from sparkassets.core.spec.model import AssetSpec, RunBudget

_OVER = "over budget: "


def hold_over_budget(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step after the runs: without those that are over budget."""
    return remove_held_runs(case, course, _find_over_budget(case.context, case.asset, course.runs), "budget")


def plan_within_budget(context: PlanningContext, asset: AssetSpec, found: Plan) -> Plan:
    """The plan of one asset without the runs that are over its budget."""
    return plan_without_held_runs(found, _find_over_budget(context, asset, found.runs))


def is_budget_wait(wait: Waiting) -> bool:
    """Whether it is a budget that something waits for."""
    return wait.reason.startswith(_OVER)


def _find_over_budget(context: PlanningContext, asset: AssetSpec, runs: tuple[PlannedRun, ...]) -> list[HeldRun]:
    """The runs that are over the asset's budget, with why they wait. One that settles an older run is not held."""
    budget = asset.budget
    if budget is None or context.estimate_volume is None or context.over_budget:
        return []
    found = []
    for run in runs:
        if run.asset == asset.name and not run.recovers:
            reasons = _describe_excess(
                budget, estimate_cost(context, asset, run.blocks, run.request.pins, context.estimate_volume)
            )
            if reasons:
                text = f"{_OVER}{' and '.join(reasons)}; with --over-budget it runs"
                found.append(HeldRun(run, Waiting(asset.name, text, None, run.blocks)))
    return found


def _describe_excess(budget: RunBudget, cost: CostEstimate) -> list[str]:
    """What exceeds the budget; what is not known exceeds nothing."""
    found = []
    if budget.bytes is not None and cost.bytes is not None and cost.bytes > budget.bytes:
        found.append(f"reads {size_text(cost.bytes)} of at most {size_text(budget.bytes)}")
    if budget.seconds is not None and cost.seconds is not None and cost.seconds > budget.seconds:
        found.append(f"takes ~{duration_text(cost.seconds)} of at most {duration_text(budget.seconds)}")
    return found
