"""What waits for an upstream run: one that comes first in this invocation, or one that failed.

Without the first, a diamond would compute its foot once for each side. The second is why the descendants of a
failure wait and say for what, instead of going on with half of the news.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkassets.core.partitions import RangeSet
from sparkassets.core.planner.bounds import within
from sparkassets.core.planner.context import Extent, PlanningContext
from sparkassets.core.planner.gates import required
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import labels
from sparkassets.core.spec.model import AssetSpec, InletSpec


@dataclass(frozen=True, slots=True)
class Held:
    """Blocks of an asset that wait for upstream runs.

    Attributes:
        coming: What they read comes in this invocation; due by now or not.
        blocked: What they read cannot come, because something failed.
        failure: The sentence of that failure.
    """

    coming: RangeSet
    blocked: RangeSet
    waiting: tuple[Waiting, ...]
    failure: str


def held(context: PlanningContext, asset: AssetSpec, wanted: RangeSet) -> Held:
    """Which blocks wait for an upstream run, and which are behind a failure; ``wanted`` stands for all of them."""
    coming, blocked, failure = RangeSet(), RangeSet(), ""
    waiting: list[Waiting] = []
    for inlet in asset.inlets.values():
        upstream = context.decided.get(inlet.name)
        if upstream is None or inlet.on_update == "ignore" or not (upstream.coming or upstream.blocked):
            continue
        behind = _bounded(asset, _down(context, asset, inlet, upstream.blocked, wanted)) - blocked
        if behind:
            blocked, failure = blocked | behind, failure or upstream.failure
            waiting.append(Waiting(asset.name, f"waits for {upstream.failure}", None, behind))
        later = _later(context, asset, inlet, upstream.coming, wanted) - coming - blocked
        if later:
            coming = coming | later
            waiting.append(Waiting(asset.name, f"waits for {_first(context, inlet, upstream.coming)}", None, later))
    return Held(coming, blocked, tuple(waiting), failure)


def held_whole(context: PlanningContext, asset: AssetSpec) -> tuple[Waiting | None, bool, str]:
    """For an asset without partitions: (why it waits, whether behind a failure, the failure's sentence)."""
    for inlet in asset.inlets.values():
        upstream = context.decided.get(inlet.name)
        if upstream is not None and upstream.blocked and inlet.on_update == "rerun":
            return Waiting(asset.name, f"waits for {upstream.failure}"), True, upstream.failure
    for inlet in asset.inlets.values():
        upstream = context.decided.get(inlet.name)
        if upstream is not None and upstream.coming and inlet.on_update == "rerun":
            return Waiting(asset.name, f"waits for {_first(context, inlet, upstream.coming)}"), False, ""
    return None, False, ""


def _later(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, extent: Extent, wanted: RangeSet) -> RangeSet:
    """The blocks that will be wanted once ``extent`` has come, but for those that need still more of the inlet."""
    blocks = _bounded(asset, _down(context, asset, inlet, extent, wanted))
    up = context.project.assets[inlet.name].partition
    if isinstance(extent, RangeSet) and inlet.mapping is not None and asset.partition is not None and up is not None:
        dataset = context.dataset(inlet)
        newest = max([extent.last, *([dataset.coverage.last] if dataset.coverage else [])]) if extent else None
        needed = required(context, asset, inlet, blocks).clip(newest, None)
        return blocks - inlet.mapping.down(needed, down=asset.partition, up=up)
    return blocks


def _bounded(asset: AssetSpec, blocks: RangeSet) -> RangeSet:
    return blocks if asset.partition is None else blocks & within(asset, asset.partition)


def _down(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, extent: Extent, everything: RangeSet
) -> RangeSet:
    """The blocks that read ``extent`` of the inlet; ``everything`` when it has no partitions."""
    if not extent:
        return RangeSet()
    up = context.project.assets[inlet.name].partition
    if extent is True or inlet.mapping is None or up is None or asset.partition is None:
        return everything
    return inlet.mapping.down(extent, down=asset.partition, up=up)


def _first(context: PlanningContext, inlet: InletSpec, extent: Extent) -> str:
    partition = context.project.assets[inlet.name].partition
    which = f" {labels(extent, partition)}" if isinstance(extent, RangeSet) and partition is not None else ""
    return f"{inlet.name}{which}, which runs first"
