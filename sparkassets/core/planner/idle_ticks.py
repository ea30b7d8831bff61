"""Ticks at which nothing was out of date: they are recorded, so that what changes later waits for the next tick.

Only of segments alone whose inlets tell which of them changed. Time waits for a tick's own partitions, which may come
after it; what no inlet tells to be out of date runs at each tick.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.journal.entries import TickPassedEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.pending import pending
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.timing import due_ticks
from sparkassets.core.planner.triggers import is_due_by_trigger
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.strategies import Segments
from sparkassets.core.timetables import Continuous, Once


def may_be_idle(project: ProjectSpec) -> list[AssetSpec]:
    """The assets whose ticks may find nothing to do."""
    return [
        asset
        for asset in project.assets.values()
        if isinstance(asset.strategy, Segments)
        and asset.schedule.timetable is not None
        and not isinstance(asset.schedule.timetable, Continuous | Once)
    ]


def idle_ticks(context: PlanningContext) -> Iterator[TickPassedEntry]:
    """Those of the ticks that have come, of a planned context in which nothing runs or is to come."""
    for asset in may_be_idle(context.project):
        state, timetable = context.state_of(asset), asset.schedule.timetable
        if timetable is not None and _has_nothing_to_do(context, asset, state):
            ticks = due_ticks(context, asset, timetable, state)
            if not isinstance(ticks, Waiting):
                yield TickPassedEntry(asset.name, ticks[-1].cursor)


def _has_nothing_to_do(context: PlanningContext, asset: AssetSpec, state: AssetState) -> bool:
    """Whether the asset may run, and nothing of it is out of date or comes upstream."""
    decided = context.decided.get(asset.name)
    if decided is None or decided.runs or decided.coming or decided.barriers or state.chain:
        return False
    if asset.paused or state.paused or not context.is_selected(asset) or is_due_by_trigger(context, asset):
        return False
    return not pending(context, asset, state).due
