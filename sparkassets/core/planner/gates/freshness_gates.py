"""Gates on when an inlet was updated: ``fresh_within`` its last update, ``settle`` how long it has been quiet."""

from __future__ import annotations

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec


def explain_stale_inlet(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> str | None:
    """Why ``fresh_within`` keeps the asset from running; None where it does not."""
    dataset = context.dataset(inlet)
    if inlet.fresh_within is None or not dataset.seq:
        return None
    if inlet.fresh_within.add_to(dataset.last_fresh_at, asset.timezone) >= context.now:
        return None
    return (
        f"waits for {inlet.name}: its last update, at {context.format_instant(dataset.last_fresh_at)}, is older than "
        f"{inlet.fresh_within.text} (fresh_within)"
    )


def unquiet_until(context: PlanningContext, inlet: InletSpec) -> int | None:
    """When the inlet will have been quiet for its ``settle``, Unix seconds; None when it has."""
    dataset = context.dataset(inlet)
    quiet_at = dataset.at + inlet.settle_seconds
    return quiet_at if inlet.settle_seconds and dataset.seq and context.clock < quiet_at else None


def unquiet_partitions(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: PartitionSet
) -> tuple[PartitionSet, int | None]:
    """Those of ``blocks`` that read what was updated less than ``settle`` ago, and when they may run."""
    if not inlet.settle_seconds:
        return NOTHING, None
    dataset, needed = context.dataset(inlet), context.dependency(asset, inlet)
    if not needed.is_mapped:
        until = unquiet_until(context, inlet)
        return (blocks, until) if until is not None else (NOTHING, None)
    lately = dataset.touched.stamped_after(context.clock - inlet.settle_seconds)
    if lately.newest is None:
        return NOTHING, None
    return needed.affected_partitions(lately.stamped_partitions()) & blocks, lately.newest + inlet.settle_seconds


def explain_settling(inlet: InletSpec) -> str:
    """Why ``settle`` keeps what reads an inlet from running."""
    return f"waits until {inlet.name} has been quiet for {_seconds(inlet.settle_seconds)}"


def _seconds(seconds: int) -> str:
    return Duration(seconds=seconds).text
