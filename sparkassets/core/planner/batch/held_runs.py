"""Holds back runs until a person acts: those that are over a budget, and those that others name."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.phrases import duration_text, size_text
from sparkassets.core.planner.batch.cost_estimates import estimate_cost
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import CostEstimate, Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext, UpstreamBarrier
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.model import AssetSpec, RunBudget
from sparkassets.frozen import frozen, replace


@frozen
class HeldRun:
    """A planned run that is held back, and the waiting reason that replaces it in the plan."""

    run: PlannedRun
    wait: Waiting


def remove_held_runs(
    case: DecisionInput, progress: DecisionProgress, held: Sequence[HeldRun], by: str
) -> DecisionProgress:
    """The progress without the ``held`` runs; their waiting reasons take their place.

    Consumers wait for missing and stale partitions of these runs. They do not wait for partitions that a person asked
    to compute once more, as those have data. ``by`` names what holds them back, for the consumers' reason.
    """
    if not held:
        return progress
    partitions = PartitionSet.union(each.wait.partitions for each in held)
    without_held = replace(
        progress,
        runs=_runs_not_held(progress.runs, held),
        waiting=(*progress.waiting, *(each.wait for each in held)),
        coming=progress.coming - partitions,
    )
    awaited = partitions if case.pending is None else partitions & case.pending.due_partitions
    if not awaited:
        return without_held
    failure = f"{name_partitions(case.asset.name, awaited, case.asset.partitioning)}, held by its {by}"
    return replace(without_held, barriers=(*progress.barriers, UpstreamBarrier(awaited, failure)))


def plan_without_held_runs(plan: Plan, held: Sequence[HeldRun]) -> Plan:
    """The plan of one asset with the ``held`` runs replaced by their waiting reasons."""
    if not held:
        return plan
    waiting = (*plan.waiting, *(each.wait for each in held))
    return replace(plan, runs=_runs_not_held(plan.runs, held), waiting=waiting)


def _runs_not_held(runs: Sequence[PlannedRun], held: Sequence[HeldRun]) -> tuple[PlannedRun, ...]:
    return tuple(run for run in runs if all(run is not each.run for each in held))


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

    Empty without a budget or estimates, or where the user lifts budgets. A run that settles an older one is not held:
    it must go on.
    """
    budget = asset.budget
    if budget is None or context.estimate_volume is None or context.over_budget:
        return []
    held = []
    for run in runs:
        if run.asset == asset.name and not run.recovers:
            reasons = _describe_excess(
                budget, estimate_cost(context, asset, run.partitions, run.request.pins, context.estimate_volume)
            )
            if reasons:
                text = f"{_BUDGET_PREFIX}{' and '.join(reasons)}; with --over-budget it runs"
                held.append(HeldRun(run, Waiting(asset.name, text, None, run.partitions)))
    return held


def _describe_excess(budget: RunBudget, cost: CostEstimate) -> list[str]:
    """Clauses that say which limits the cost exceeds; an unknown cost exceeds nothing."""
    clauses = []
    if budget.bytes is not None and cost.bytes is not None and cost.bytes > budget.bytes:
        clauses.append(f"reads {size_text(cost.bytes)} of at most {size_text(budget.bytes)}")
    if budget.seconds is not None and cost.seconds is not None and cost.seconds > budget.seconds:
        clauses.append(f"takes ~{duration_text(cost.seconds)} of at most {duration_text(budget.seconds)}")
    return clauses
