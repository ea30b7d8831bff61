"""The one run of an asset whose work is done in code that is not the project's; no gate holds it back."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import explain_obstacles
from sparkassets.core.runs import RunRequest
from sparkassets.core.spec.model import AssetSpec


def plan_attended(
    context: PlanningContext, asset: AssetSpec, blocks: PartitionSet, interval: tuple[int, int] | None
) -> Plan:
    """The run, which reads its inlets as they are now; or what lives of the asset, and keeps it from being claimed.

    Args:
        context: As of a tick.
        asset: Whose run it is.
        blocks: That it computes; everything of an asset without partitions.
        interval: Its data interval, Unix seconds; that of its blocks where none is given.
    """
    state = context.state_of(asset)
    if (before := explain_obstacles(context, asset, state, blocks)) is not None:
        return before
    request = RunRequest(
        asset=asset.name,
        kind="backfill",
        blocks=blocks,
        schedule_date=context.now,
        reason="its own job runs it",
        interval=interval or (asset.partitioning.interval(blocks) if asset.partitioning.is_partitioned else None),
        pins=context.pins(asset, state, blocks),
    )
    return Plan(context.now, (PlannedRun.from_request(request, asset=asset, state=state),), ())
