"""Holds back runs that exceed a budget or conflict with a table's schema, until a person acts.

Holds back runs whose new code surely returns columns that the table may not get; a person has to act first.

Unsure cases are left to the run, which compares its result with the table: functions, tables that cannot be observed,
and code that has computed a part of the table already.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.phrases import duration_text, size_text
from sparkassets.core.planner.batch.cost_estimates import estimate_cost
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.outdated_code import own_definition_id
from sparkassets.core.planner.plan import CostEstimate, Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext, UpstreamBarrier
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.spec.column_changes import ColumnChanges, rebuild_command
from sparkassets.core.spec.model import AssetSpec, RunBudget, SqlBody
from sparkassets.frozen import frozen, replace


@frozen
class HeldRun:
    """A planned run that is held back, and the waiting reason that replaces it in the plan."""

    run: PlannedRun
    wait: Waiting


def remove_held_runs(
    case: DecisionInput, course: DecisionProgress, held: Sequence[HeldRun], by: str
) -> DecisionProgress:
    """The progress without the ``held`` runs; their waiting reasons take their place.

    Consumers wait for missing and stale partitions of these runs. They do not wait for partitions that a person asked
    to compute once more, as those have data. ``by`` names what holds them back, for the consumers' reason.
    """
    if not held:
        return course
    partitions = PartitionSet.union(each.wait.partitions for each in held)
    left = replace(
        course,
        runs=_runs_not_held(course.runs, held),
        waiting=(*course.waiting, *(each.wait for each in held)),
        coming=course.coming - partitions,
    )
    awaited = partitions if case.pending is None else partitions & case.pending.due_partitions
    if not awaited:
        return left
    failure = f"{name_partitions(case.asset.name, awaited, case.asset.partitioning)}, held by its {by}"
    return replace(left, barriers=(*course.barriers, UpstreamBarrier(awaited, failure)))


def plan_without_held_runs(found: Plan, held: Sequence[HeldRun]) -> Plan:
    """The plan of one asset with the ``held`` runs replaced by their waiting reasons."""
    if not held:
        return found
    waiting = (*found.waiting, *(each.wait for each in held))
    return replace(found, runs=_runs_not_held(found.runs, held), waiting=waiting)


def _runs_not_held(runs: Sequence[PlannedRun], held: Sequence[HeldRun]) -> tuple[PlannedRun, ...]:
    return tuple(run for run in runs if all(run is not each.run for each in held))


_OVER = "over budget: "
"""Prefix of a waiting reason, by which `is_budget_wait` recognises it."""


def hold_over_budget(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step after the runs: holds back those that are estimated over the asset's budget."""
    return remove_held_runs(case, course, _find_over_budget(case.context, case.asset, course.runs), "budget")


def plan_within_budget(context: PlanningContext, asset: AssetSpec, found: Plan) -> Plan:
    """The plan of one asset without the runs that are over its budget."""
    return plan_without_held_runs(found, _find_over_budget(context, asset, found.runs))


def is_budget_wait(wait: Waiting) -> bool:
    """Whether it waits because it is over its budget."""
    return wait.reason.startswith(_OVER)


def _find_over_budget(context: PlanningContext, asset: AssetSpec, runs: tuple[PlannedRun, ...]) -> list[HeldRun]:
    """The runs that are estimated over the asset's budget, each with its waiting reason.

    Empty without a budget or estimates, or where the user lifts budgets. A run that settles an older one is not held:
    it must go on.
    """
    budget = asset.budget
    if budget is None or context.estimate_volume is None or context.over_budget:
        return []
    found = []
    for run in runs:
        if run.asset == asset.name and not run.recovers:
            reasons = _describe_excess(
                budget, estimate_cost(context, asset, run.partitions, run.request.pins, context.estimate_volume)
            )
            if reasons:
                text = f"{_OVER}{' and '.join(reasons)}; with --over-budget it runs"
                found.append(HeldRun(run, Waiting(asset.name, text, None, run.partitions)))
    return found


def _describe_excess(budget: RunBudget, cost: CostEstimate) -> list[str]:
    """Clauses that say which limits the cost exceeds; an unknown cost exceeds nothing."""
    found = []
    if budget.bytes is not None and cost.bytes is not None and cost.bytes > budget.bytes:
        found.append(f"reads {size_text(cost.bytes)} of at most {size_text(budget.bytes)}")
    if budget.seconds is not None and cost.seconds is not None and cost.seconds > budget.seconds:
        found.append(f"takes ~{duration_text(cost.seconds)} of at most {duration_text(budget.seconds)}")
    return found


def hold_schema_conflicts(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step that holds back runs whose columns do not fit the table."""
    return remove_held_runs(case, course, _find_conflicting_runs(case.context, case.asset, course.runs), "columns")


def plan_within_schema(context: PlanningContext, asset: AssetSpec, found: Plan) -> Plan:
    """The plan of one asset without the runs whose columns do not fit the table."""
    return plan_without_held_runs(found, _find_conflicting_runs(context, asset, found.runs))


def explain_schema_conflict(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str:
    """Why no run of a part of the table can write the columns that the code returns now.

    Empty without a known conflict; only new columns are a conflict that is known before a run.
    """
    if not _is_in_question(asset, state) or context.stored_columns is None:
        return ""
    if not (table := context.stored_columns(asset)) or (returned := _returned_columns(context, asset)) is None:
        return ""
    found = ColumnChanges.from_columns(table, returned)
    return found.describe_conflict(asset, rebuild_command(asset)) if found.added else ""


def _find_conflicting_runs(context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun]) -> list[HeldRun]:
    """The runs whose columns do not fit the table, each with its waiting reason.

    A run that replaces the whole table brings its columns along, and a run that settles an older one must go on.
    """
    bound = [run for run in runs if run.asset == asset.name and not run.recovers and not _takes_all(asset, run)]
    reason = explain_schema_conflict(context, asset, context.state_of(asset)) if bound else ""
    return (
        [HeldRun(run, Waiting(asset.name, reason, None, run.partitions, stuck=True)) for run in bound] if reason else []
    )


def _takes_all(asset: AssetSpec, run: PlannedRun) -> bool:
    """Whether the run replaces the whole table, columns included."""
    return run.request.rebuilds or (asset.write is not None and asset.write.takes_all and run.partitions.is_everything)


def _is_in_question(asset: AssetSpec, state: AssetState) -> bool:
    """Whether the table is ``strict`` and was computed wholly by other code than the asset's."""
    if asset.schema != "strict" or not isinstance(asset.body, SqlBody) or asset.writes_itself:
        return False
    made = {each.definition.id for each in state.made if each.partitions}
    return bool(made) and own_definition_id(asset) not in made


def _returned_columns(context: PlanningContext, asset: AssetSpec) -> Sequence[str] | None:
    """The columns that the query returns, given its inlets' present columns; None where these are not certain."""
    from sparkassets.core.derivation.asset_columns import derive_asset  # where code has changed

    def columns(name: str) -> Sequence[str] | None:
        inlet = context.project.assets[name]
        stored = context.stored_columns(inlet) if context.stored_columns is not None else None
        if stored or inlet.source is None:
            return stored or None
        return (*inlet.columns, *inlet.partitioning.columns) if inlet.columns else None

    found = derive_asset(asset, columns)
    return None if found is None else (*found.columns,)
