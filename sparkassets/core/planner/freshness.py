"""Gates on when an inlet was updated: ``fresh_within`` its last update, ``settle`` how long it has been quiet."""

from __future__ import annotations

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import RangeSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.spec.model import AssetSpec, InletSpec


def stale_inlet(context: PlanningContext, asset: AssetSpec, inlet: InletSpec) -> str | None:
    """Why ``fresh_within`` keeps the asset from running; None where it does not."""
    dataset = context.dataset(inlet)
    if inlet.fresh_within is None or not dataset.seq:
        return None
    if inlet.fresh_within.add_to(dataset.at, asset.timezone) >= context.now:
        return None
    return (
        f"waits for {inlet.name}: its last update, at {context.when(dataset.at)}, is older than "
        f"{inlet.fresh_within.text} (fresh_within)"
    )


def unquiet_until(context: PlanningContext, inlet: InletSpec) -> int | None:
    """When the inlet will have been quiet for its ``settle``, Unix seconds; None when it has."""
    dataset = context.dataset(inlet)
    quiet_at = dataset.at + inlet.settle_seconds
    return quiet_at if inlet.settle_seconds and dataset.seq and context.clock < quiet_at else None


def unquiet_blocks(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet
) -> tuple[RangeSet, int | None]:
    """Those of ``blocks`` that read what was updated less than ``settle`` ago, and when they may run."""
    if not inlet.settle_seconds:
        return RangeSet(), None
    dataset, down, up = context.dataset(inlet), asset.partition, context.project.assets[inlet.name].partition
    since = context.clock - inlet.settle_seconds
    if inlet.mapping is None or up is None or down is None:
        until = unquiet_until(context, inlet)
        return (blocks, until) if until is not None else (RangeSet(), None)
    lately = [(start, end, at) for start, end, at in dataset.touched.items() if at > since]
    if not lately:
        return RangeSet(), None
    changed = RangeSet.of((start, end) for start, end, _ in lately)
    unquiet = inlet.mapping.down(changed, down=down, up=up) & blocks
    return unquiet, max(at for _, _, at in lately) + inlet.settle_seconds


def until_quiet(inlet: InletSpec) -> str:
    """Why ``settle`` keeps what reads an inlet from running."""
    return f"waits until {inlet.name} has been quiet for {_seconds(inlet.settle_seconds)}"


def _seconds(seconds: int) -> str:
    return Duration(seconds=seconds).text
