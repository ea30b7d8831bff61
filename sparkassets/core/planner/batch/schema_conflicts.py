"""Holds back runs whose new code surely returns columns that the table may not get; a person has to act first.

Unsure cases are left to the run, which compares its result with the table: functions, tables that cannot be observed,
and code that has computed a part of the table already.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.batch.held_runs import HeldRun, plan_without_held_runs, remove_held_runs
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.outdated_code import own_definition_id
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.column_changes import ColumnChanges, rebuild_command
from sparkassets.core.spec.model import AssetSpec, SqlBody


def hold_schema_conflicts(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Step that holds back runs whose columns do not fit the table."""
    return remove_held_runs(case, course, _find_conflicting_runs(case.context, case.asset, course.runs), "columns")


def plan_within_schema(context: PlanningContext, asset: AssetSpec, found: Plan) -> Plan:
    """The plan of one asset without the runs whose columns do not fit the table."""
    return plan_without_held_runs(found, _find_conflicting_runs(context, asset, found.runs))


def explain_schema_conflict(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str:
    """Why no partial run can write the columns that the code returns now; empty without a known conflict."""
    if not _is_in_question(asset, state) or context.stored_columns is None:
        return ""
    if not (table := context.stored_columns(asset)) or (returned := _returned_columns(context, asset)) is None:
        return ""
    found = ColumnChanges.from_columns(table, returned)
    return found.describe_conflict(asset, rebuild_command(asset)) if found.added else ""


def _find_conflicting_runs(context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun]) -> list[HeldRun]:
    """The runs whose columns do not fit, with the reason; a run that settles an older one is not held."""
    bound = [run for run in runs if run.asset == asset.name and not run.recovers and not _takes_all(asset, run)]
    reason = explain_schema_conflict(context, asset, context.state_of(asset)) if bound else ""
    return [HeldRun(run, Waiting(asset.name, reason, None, run.blocks, stuck=True)) for run in bound] if reason else []


def _takes_all(asset: AssetSpec, run: PlannedRun) -> bool:
    """Whether the run replaces the whole table, columns included."""
    return run.request.rebuilds or (asset.write is not None and asset.write.takes_all and run.blocks.is_everything)


def _is_in_question(asset: AssetSpec, state: AssetState) -> bool:
    """Whether the table is ``strict`` and was computed wholly by other code than the asset's."""
    if asset.schema != "strict" or not isinstance(asset.body, SqlBody) or asset.writes_itself:
        return False
    made = {each.definition.id for each in state.made if each.blocks}
    return bool(made) and own_definition_id(asset) not in made


def _returned_columns(context: PlanningContext, asset: AssetSpec) -> Sequence[str] | None:
    """The columns that the query returns, given its inlets' present columns; None where that is not sure."""
    from sparkassets.core.derivation.asset_columns import derive_asset  # where code has changed

    def columns(name: str) -> Sequence[str] | None:
        inlet = context.project.assets[name]
        stored = context.stored_columns(inlet) if context.stored_columns is not None else None
        if stored or inlet.source is None:
            return stored or None
        return (*inlet.columns, *inlet.partitioning.columns) if inlet.columns else None

    found = derive_asset(asset, columns)
    return None if found is None else (*found.columns,)
