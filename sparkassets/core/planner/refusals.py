"""What the blocks that ``require`` keeps from running wait for, in sentences."""

from __future__ import annotations

from sparkassets.core.partitions import RangeSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.require import counted, newest, required
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec


def refusals(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: RangeSet) -> tuple[Waiting, ...]:
    """What the blocks that ``require`` refused wait for.

    Quietly where it never was there: what comes before the inlet's first partition or after the newest of all inlets,
    and what was removed before it was used. What the asset's own table lost since cannot come back by itself.
    """
    down, up, dataset = asset.partition, context.project.assets[inlet.name].partition, context.dataset(inlet)
    if inlet.mapping is None or up is None or down is None or not (dataset.coverage or dataset.gone):
        return (never(context, asset, inlet, refused),)
    first = min(ranges.first for ranges in (dataset.coverage, dataset.gone) if ranges)
    lacking = required(context, asset, inlet, refused) - counted(context, inlet, up)

    def reached(part: RangeSet, among: RangeSet) -> RangeSet:
        return inlet.mapping.down(part, down=down, up=up) & among if part and inlet.mapping is not None else RangeSet()

    between = lacking.clip(first, newest(context, asset))
    computed = refused & context.state_of(asset).coverage
    loud = reached(between - dataset.gone, refused) | reached(between, computed)
    early = reached(lacking.clip(None, first), refused - loud)
    if inlet.require.kind != "all":  # what is still to come may be enough
        early = early - reached(lacking.clip(newest(context, asset), None), early)
    removed = reached(between, refused - loud - early)
    loss = context.state_of(asset).loss
    lost = removed & (loss.ranges if loss is not None and loss.ranges is not None else RangeSet())
    begins = f", before the first partition of {inlet.name}; declare `start` where {inlet.name} begins"
    without = f", which was removed; `sparkassets backfill {asset.name} --partition … --force` computes it without"
    parts = (
        (loud, "", False),
        (early, begins, True),
        (lost, without, False),
        (removed - lost, ", which was removed before it was used", True),
        (refused - loud - early - removed, "", True),
    )
    return tuple(said_of(context, asset, inlet, part, then, quiet=quiet) for part, then, quiet in parts if part)


def said_of(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    refused: RangeSet,
    then: str = "",
    *,
    quiet: bool = False,
) -> Waiting:
    """How much of what the refused blocks need is there, and what is not."""
    up = context.project.assets[inlet.name].partition
    if inlet.mapping is None or up is None or not (context.dataset(inlet).coverage or context.dataset(inlet).gone):
        return never(context, asset, inlet, refused)
    there, asks = counted(context, inlet, up), required(context, asset, inlet, refused)
    have, missing = up.count(asks & there), asks - there
    asked = "" if inlet.require.kind == "all" else f" (require: {_require(inlet)})"
    told = f"{have:,} of {plural(up.count(asks), 'partition')}, missing {labels(missing, up)}"
    reason = f"waits for {inlet.name}: {told}{then}{asked}"
    announced = missing & context.dataset(inlet).coverage  # its data is coming in, but it is not over
    until = up.next(announced.last - 1) if announced and missing.last <= announced.last else None
    return Waiting(asset.name, reason, until, refused, quiet)


def _require(inlet: InletSpec) -> str:
    return f"at_least {inlet.require.count}" if inlet.require.kind == "at_least" else inlet.require.kind


def never(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet | None) -> Waiting:
    """Why blocks wait for an inlet of which nothing ever came, or which cannot be looked at."""
    fault = context.faults.get(inlet.name)
    reason = f"waits for {inlet.name}: " + (fault or "nothing is there yet")
    return Waiting(asset.name, reason, None, blocks)
