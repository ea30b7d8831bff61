"""Columns that new code surely returns and the table may not get: such a run waits for a person, and starts nothing.

What is not sure is left to the run, which compares its result with the table: functions, tables that cannot be looked
at, and code that has computed something of the table already.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Case, Course
from sparkassets.core.planner.holding import Held, plan_without_held, without_held
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.redefined import own_id
from sparkassets.core.spec.model import AssetSpec, SqlBody
from sparkassets.core.spec.reshaping import Reshaping, rebuild_of


def fitting(case: Case, course: Course) -> Course:
    """The step after the runs: without those whose columns do not fit the table."""
    return without_held(case, course, _held(case.context, case.asset, course.runs), "columns")


def within_columns(context: PlanningContext, asset: AssetSpec, found: Plan) -> Plan:
    """The plan of one asset without the runs whose columns do not fit the table."""
    return plan_without_held(found, _held(context, asset, found.runs))


def misfit(context: PlanningContext, asset: AssetSpec, state: AssetState) -> str:
    """Why no run of some of the table can write what the code returns now; empty where nobody knows of anything."""
    if not _is_in_question(asset, state) or context.stored is None:
        return ""
    if not (table := context.stored(asset)) or (returned := _returned(context, asset)) is None:
        return ""
    found = Reshaping.between(table, returned)
    return found.sentence(asset, rebuild_of(asset)) if found.added else ""


def _held(context: PlanningContext, asset: AssetSpec, runs: Sequence[PlannedRun]) -> list[Held]:
    """The runs that do not fit, with why they wait. One that settles an older run is not held."""
    bound = [run for run in runs if run.asset == asset.name and not run.recovers and not _takes_all(asset, run)]
    reason = misfit(context, asset, context.state_of(asset)) if bound else ""
    return [Held(run, Waiting(asset.name, reason, None, run.blocks, stuck=True)) for run in bound] if reason else []


def _takes_all(asset: AssetSpec, run: PlannedRun) -> bool:
    """Whether the run replaces the whole table, columns included."""
    return run.request.rebuilds or (asset.write is not None and asset.write.takes_all and run.blocks.is_everything)


def _is_in_question(asset: AssetSpec, state: AssetState) -> bool:
    """Whether the table is ``strict`` and all of other code than the asset's."""
    if asset.schema != "strict" or not isinstance(asset.body, SqlBody) or asset.writes_itself:
        return False
    made = {each.definition.id for each in state.made if each.blocks}
    return bool(made) and own_id(asset) not in made


def _returned(context: PlanningContext, asset: AssetSpec) -> Sequence[str] | None:
    """The columns that the query returns, given its inlets' tables as they are; None where that is not sure."""
    from sparkassets.core.derivation.assets import derive  # where code has changed

    def columns(name: str) -> Sequence[str] | None:
        inlet = context.project.assets[name]
        stored = context.stored(inlet) if context.stored is not None else None
        if stored or inlet.source is None:
            return stored or None
        return (*inlet.columns, *inlet.partitioning.columns) if inlet.columns else None

    found = derive(asset, columns)
    return None if found is None else (*found.columns,)
