"""Holds back runs that are estimated over their asset's budget."""

from __future__ import annotations

from sparkassets.core.phrases import duration_text, size_text
from sparkassets.core.planner.batch.cost_estimates import estimate_cost
from sparkassets.core.planner.batch.held_runs import HeldRun, plan_without_held_runs, remove_held_runs
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import CostEstimate, Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.asset_services import RunBudget
from sparkassets.core.spec.model import AssetSpec

_BUDGET_PREFIX = "over budget: "
"""Prefix of a waiting reason, by which `is_budget_wait` recognises it."""


def hold_over_budget(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step after the runs: holds back those that are estimated over the asset's budget."""
    return remove_held_runs(case, progress, _find_over_budget(case.context, case.asset, progress.runs), "budget")


def plan_within_budget(context: PlanningContext, asset: AssetSpec, plan: Plan) -> Plan:
    """The plan of one asset without the runs that are over its budget."""
    return plan_without_held_runs(plan, _find_over_budget(context, asset, plan.runs))


def is_budget_wait(wait: Waiting) -> bool:
    """Whether it waits because it is over its budget."""
    return wait.reason.startswith(_BUDGET_PREFIX)


def _find_over_budget(context: PlanningContext, asset: AssetSpec, runs: tuple[PlannedRun, ...]) -> list[HeldRun]:
    """The runs that are estimated over the asset's budget, each with its waiting reason.

    Empty without a budget, or where nothing estimates. A run that settles an unfinished one is not held: what that
    committed must be recorded.
    """
    budget = asset.budget
    if budget is None or context.estimate_volume is None:
        return []
    held = []
    for run in runs:
        if run.asset == asset.name and not run.recovers:
            reasons = _describe_excess(
                budget, estimate_cost(context, asset, run.partitions, run.request.pins, context.estimate_volume)
            )
            if reasons:
                text = f"{_BUDGET_PREFIX}{' and '.join(reasons)}; --over-budget runs it anyway"
                held.append(HeldRun(run, Waiting(asset.name, text, None, run.partitions)))
    return held


def _describe_excess(budget: RunBudget, cost: CostEstimate) -> list[str]:
    """Clauses that say which limits the cost exceeds; an unknown cost exceeds nothing."""
    clauses = []
    if budget.bytes is not None and cost.bytes is not None and cost.bytes > budget.bytes:
        clauses.append(f"reads {size_text(cost.bytes)}, budget {size_text(budget.bytes)}")
    if budget.seconds is not None and cost.seconds is not None and cost.seconds > budget.seconds:
        clauses.append(f"takes ~{duration_text(cost.seconds)}, budget {duration_text(budget.seconds)}")
    return clauses
