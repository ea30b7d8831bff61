"""Gates on inlets: which blocks may run, because what they read is there (``require``, DESIGN section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec


@dataclass(frozen=True, slots=True)
class Gated:
    """The blocks that may run, and why the others may not."""

    ready: RangeSet
    waiting: tuple[Waiting, ...]


def gate(look: Look, asset: AssetSpec, blocks: RangeSet) -> Gated:
    """Sorts ``blocks`` of a partitioned asset by whether every inlet's ``require`` holds."""
    ready, waiting = blocks, []
    for inlet in asset.inlets.values():
        if not ready:
            break
        refused = lacking_blocks(look, asset, inlet, ready)
        if refused:
            ready = ready - refused
            waiting.append(_say(look, asset, inlet, refused))
    return Gated(ready, tuple(waiting))


def open_without_blocks(look: Look, asset: AssetSpec) -> Waiting | None:
    """Why an asset without partitions may not run: an inlet that never had an update; None when it may."""
    for inlet in asset.inlets.values():
        if inlet.require.kind != "none" and not look.dataset(inlet).seq:
            return _never(look, asset, inlet, None)
    return None


def lacking_blocks(look: Look, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> RangeSet:
    """Those of ``blocks`` for which ``inlet`` does not have what ``require`` asks."""
    down, up = asset.partition, look.project.assets[inlet.name].partition
    if inlet.require.kind == "none":
        return RangeSet()
    if inlet.mapping is None or up is None or down is None:
        return RangeSet() if look.dataset(inlet).seq else blocks
    there = _there(look, inlet, up)
    if inlet.require.kind == "all":
        lacking = _required(look, inlet, inlet.mapping.up(blocks, down=down, up=up)) - there
        if not look.dataset(inlet).coverage:
            return blocks
        return inlet.mapping.down(lacking, down=down, up=up) & blocks if lacking else RangeSet()
    least = max(1, inlet.require.count)
    few = [
        slot
        for slot in down.slots(blocks)
        if up.count(inlet.mapping.up(RangeSet.of([slot]), down=down, up=up) & there) < least
    ]
    return RangeSet.of(few)


def _there(look: Look, inlet: InletSpec, up: TimePartition) -> RangeSet:
    """Inlet time that counts: it is there, and its partition is over."""
    return look.dataset(inlet).coverage.clip(None, look.over(up))


def _required(look: Look, inlet: InletSpec, mapped: RangeSet) -> RangeSet:
    """The mapped inlet time without what lies before the inlet's own start or after its end."""
    spec = look.project.assets[inlet.name]
    coverage = look.dataset(inlet).coverage
    start = spec.start if spec.start is not None else (coverage.first if coverage else None)
    return mapped.clip(start, spec.end)


def _say(look: Look, asset: AssetSpec, inlet: InletSpec, refused: RangeSet) -> Waiting:
    down, up = asset.partition, look.project.assets[inlet.name].partition
    if inlet.mapping is None or up is None or down is None or not look.dataset(inlet).coverage:
        return _never(look, asset, inlet, refused)
    there = _there(look, inlet, up)
    mapped = inlet.mapping.up(refused, down=down, up=up)
    required = _required(look, inlet, mapped)
    have, missing = up.count(required & there), required - there
    asked = "" if inlet.require.kind == "all" else f" (require: {_require(inlet)})"
    counted = f"{have:,} of {plural(up.count(required), 'partition')}, missing {labels(missing, up)}"
    reason = f"waits for {inlet.name}: {counted}{asked}"
    announced = missing & look.dataset(inlet).coverage  # its data is coming in, but it is not over
    until = up.next(announced.last - 1) if announced and missing.last <= announced.last else None
    return Waiting(asset.name, reason, until, refused)


def _require(inlet: InletSpec) -> str:
    return f"at_least {inlet.require.count}" if inlet.require.kind == "at_least" else inlet.require.kind


def _never(look: Look, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet | None) -> Waiting:
    fault = look.faults.get(inlet.name)
    reason = f"waits for {inlet.name}: " + (fault or "nothing is there yet")
    return Waiting(asset.name, reason, None, blocks)
