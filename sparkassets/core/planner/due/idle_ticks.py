"""Ticks at which nothing was out of date, which are recorded, so that later changes wait for the next tick.

This concerns only assets with segments and no time whose inlets show which segments changed. An asset by time waits for
its tick's own partitions, which may come after the tick. An asset whose inlets do not show it runs at each tick.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkassets.core.journal.entries import TickPassedEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.due.due_ticks import find_due_ticks
from sparkassets.core.planner.due.pending_partitions import (
    find_pending,
    is_due_by_trigger,
)
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import SegmentBatches
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable


def assets_with_idle_ticks(project: ProjectSpec) -> list[AssetSpec]:
    """Assets under ``segments`` whose ticks may find nothing to do; not with a continuous or one-time timetable."""
    return [
        asset
        for asset in project.assets.values()
        if isinstance(asset.strategy, SegmentBatches)
        and asset.schedule.timetable is not None
        and not isinstance(asset.schedule.timetable, ContinuousTimetable | OnceTimetable)
    ]


def find_idle_ticks(context: PlanningContext) -> Iterator[TickPassedEntry]:
    """Yields an entry for each tick that has come and found nothing to do.

    The context must be planned, with no run planned or expected. Recording the tick makes what changes later wait for
    the next one.
    """
    for asset in assets_with_idle_ticks(context.project):
        state, timetable = context.state_of(asset), asset.schedule.timetable
        if timetable is not None and _has_nothing_to_do(context, asset, state):
            ticks = find_due_ticks(context, asset, timetable, state)
            if not isinstance(ticks, Waiting):
                yield TickPassedEntry(asset.name, ticks[-1].cursor)


def _has_nothing_to_do(context: PlanningContext, asset: AssetSpec, state: AssetState) -> bool:
    """Whether the asset could run now, and neither its partitions nor the decisions upstream give it anything to do.

    While it could not (paused, not selected, a failure or an unfinished run), its tick stays due.
    """
    decision = context.decisions.get(asset.name)
    if decision is None or decision.runs or decision.expected or decision.blockers or state.chain:
        return False
    if asset.paused or state.paused or not context.is_selected(asset) or is_due_by_trigger(context, asset):
        return False
    return not find_pending(context, asset, state).due_partitions
