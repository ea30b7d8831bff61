"""Ticks at which nothing was out of date: they are recorded, so that what changes later waits for the next tick.

Only of segments alone whose inlets tell which of them changed. Time waits for a tick's own partitions, which may come
after it; what no inlet tells to be out of date runs at each tick.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.journal.entries import TickPassedEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.due.due_ticks import find_due_ticks
from sparkassets.core.planner.due.pending_partitions import find_pending
from sparkassets.core.planner.due.triggers import is_due_by_trigger
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.strategies import SegmentBatches
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable


def assets_with_idle_ticks(project: ProjectSpec) -> list[AssetSpec]:
    """The assets whose ticks may find nothing to do."""
    return [
        asset
        for asset in project.assets.values()
        if isinstance(asset.strategy, SegmentBatches)
        and asset.schedule.timetable is not None
        and not isinstance(asset.schedule.timetable, ContinuousTimetable | OnceTimetable)
    ]


def find_idle_ticks(context: PlanningContext) -> Iterator[TickPassedEntry]:
    """Those of the ticks that have come, of a planned context in which nothing runs or is to come."""
    for asset in assets_with_idle_ticks(context.project):
        state, timetable = context.state_of(asset), asset.schedule.timetable
        if timetable is not None and _has_nothing_to_do(context, asset, state):
            ticks = find_due_ticks(context, asset, timetable, state)
            if not isinstance(ticks, Waiting):
                yield TickPassedEntry(asset.name, ticks[-1].cursor)


def _has_nothing_to_do(context: PlanningContext, asset: AssetSpec, state: AssetState) -> bool:
    """Whether the asset may run, and nothing of it is out of date or comes upstream."""
    decided = context.decisions.get(asset.name)
    if decided is None or decided.runs or decided.coming or decided.barriers or state.chain:
        return False
    if asset.paused or state.paused or not context.is_selected(asset) or is_due_by_trigger(context, asset):
        return False
    return not find_pending(context, asset, state).due_partitions
