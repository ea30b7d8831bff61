"""Budgets: a run that is to cost more than its asset's ``budget`` says waits until a person lets it."""

from __future__ import annotations

from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Case, Course
from sparkassets.core.planner.estimate import estimate
from sparkassets.core.planner.holding import Held, plan_without_held, without_held
from sparkassets.core.planner.plan import Estimate, Plan, PlannedRun, Waiting
from sparkassets.core.sizes import duration_text, size_text
from sparkassets.core.spec.model import AssetSpec, Budget

_OVER = "over budget: "


def budgeted(case: Case, course: Course) -> Course:
    """The step after the runs: without those that are over budget."""
    return without_held(case, course, _held(case.context, case.asset, course.runs), "budget")


def within_budget(context: PlanningContext, asset: AssetSpec, found: Plan) -> Plan:
    """The plan of one asset without the runs that are over its budget."""
    return plan_without_held(found, _held(context, asset, found.runs))


def is_held(wait: Waiting) -> bool:
    """Whether it is a budget that something waits for."""
    return wait.reason.startswith(_OVER)


def _held(context: PlanningContext, asset: AssetSpec, runs: tuple[PlannedRun, ...]) -> list[Held]:
    """The runs that are over the asset's budget, with why they wait. One that settles an older run is not held."""
    budget = asset.budget
    if budget is None or context.weigh is None or context.over_budget:
        return []
    found = []
    for run in runs:
        if run.asset == asset.name and not run.recovers:
            reasons = _over(budget, estimate(context, asset, run.blocks, run.request.pins, context.weigh))
            if reasons:
                text = f"{_OVER}{' and '.join(reasons)}; with --over-budget it runs"
                found.append(Held(run, Waiting(asset.name, text, None, run.blocks)))
    return found


def _over(budget: Budget, cost: Estimate) -> list[str]:
    """What exceeds the budget; what is not known exceeds nothing."""
    found = []
    if budget.bytes is not None and cost.bytes is not None and cost.bytes > budget.bytes:
        found.append(f"reads {size_text(cost.bytes)} of at most {size_text(budget.bytes)}")
    if budget.seconds is not None and cost.seconds is not None and cost.seconds > budget.seconds:
        found.append(f"takes ~{duration_text(cost.seconds)} of at most {duration_text(budget.seconds)}")
    return found
