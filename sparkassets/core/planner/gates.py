"""Gates on inlets: which blocks may run, because what they read is there, fresh and quiet (DESIGN section 5).

``require`` counts partitions, ``tolerance`` says how long past due it is waited for, ``fresh_within`` is about the
inlet's last update and ``settle`` about how long it has been quiet. They hold for timetables and conditions alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.counted import having
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.losses import lost_blocks, waits_for_lost
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import labels, plural
from sparkassets.core.spec.model import AssetSpec, InletSpec


@dataclass(frozen=True, slots=True)
class Gated:
    """The blocks that may run, and why the others may not.

    Attributes:
        ready: Empty for an asset without partitions, for which only ``waiting`` counts.
        notes: What a run takes although it lacks something.
    """

    ready: RangeSet
    waiting: tuple[Waiting, ...] = ()
    notes: tuple[str, ...] = ()


def gate(look: Look, asset: AssetSpec, blocks: RangeSet, due: int | None = None) -> Gated:
    """Sorts ``blocks`` of a partitioned asset by whether every inlet's gates are open.

    Args:
        look: The moment.
        asset: A partitioned asset.
        blocks: Whole partitions.
        due: When the run was due, epoch seconds; None where each block is due at its own end.
    """
    ready = blocks
    waiting: list[Waiting] = []
    notes: list[str] = []
    for inlet in asset.inlets.values():
        if not ready:
            break
        lost = lost_blocks(look, asset, inlet, ready)
        if lost and (wait := waits_for_lost(look, asset, inlet, lost)) is not None:
            ready = ready - lost
            waiting.append(wait)
        closed = stale_inlet(look, asset, inlet)
        if closed is not None:
            return Gated(RangeSet(), (*waiting, Waiting(asset.name, closed, None, ready)), ())
        unquiet, until = unquiet_blocks(look, asset, inlet, ready)
        if unquiet:
            ready = ready - unquiet
            waiting.append(Waiting(asset.name, _until_quiet(inlet), until, unquiet))
        refused, tolerated = refused_blocks(look, asset, inlet, ready, due)
        if tolerated:
            said = _say(look, asset, inlet, tolerated).reason.removeprefix("waits for ")
            notes.append(f"goes on without all of {said}: the tolerance of {_text(inlet.tolerance)} is over")
        if refused:
            ready = ready - refused
            waiting.append(_until_tolerance(look, asset, inlet, _say(look, asset, inlet, refused), due))
    return Gated(ready, tuple(waiting), tuple(notes))


def open_without_blocks(look: Look, asset: AssetSpec, due: int) -> Gated:
    """Why an asset without partitions may not run; no waiting when it may.

    Args:
        look: The moment.
        asset: An asset without partitions.
        due: When its run was due, epoch seconds.
    """
    notes: list[str] = []
    for inlet in asset.inlets.values():
        dataset = look.dataset(inlet)
        if (wait := waits_for_lost(look, asset, inlet)) is not None:
            return Gated(RangeSet(), (wait,))
        if inlet.require.kind != "none" and not inlet.aligned and not dataset.seq:
            over = _over(inlet, due, asset)
            if not inlet.waits_only or over is None or look.now < over:
                never = _never(look, asset, inlet, None)
                return Gated(RangeSet(), (Waiting(asset.name, never.reason, over if inlet.waits_only else None),))
            notes.append(f"goes on without {inlet.name}: the tolerance of {_text(inlet.tolerance)} is over")
        closed = stale_inlet(look, asset, inlet)
        if closed is not None:
            return Gated(RangeSet(), (Waiting(asset.name, closed),))
        quiet_at = unquiet_until(look, inlet)
        if quiet_at is not None:
            return Gated(RangeSet(), (Waiting(asset.name, _until_quiet(inlet), quiet_at),))
    return Gated(RangeSet(), (), tuple(notes))


def stale_inlet(look: Look, asset: AssetSpec, inlet: InletSpec) -> str | None:
    """Why ``fresh_within`` keeps the asset from running; None where it does not."""
    dataset = look.dataset(inlet)
    if inlet.fresh_within is None or not dataset.seq:
        return None
    if inlet.fresh_within.add_to(dataset.at, asset.timezone) >= look.now:
        return None
    return (
        f"waits for {inlet.name}: its last update, at {look.when(dataset.at)}, is older than "
        f"{inlet.fresh_within.text} (fresh_within)"
    )


def refused_blocks(
    look: Look, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet, due: int | None = None
) -> tuple[RangeSet, RangeSet]:
    """Those of ``blocks`` that ``require`` keeps from running, and those that it would but for the tolerance."""
    lacking = lacking_blocks(look, asset, inlet, blocks)
    tolerated = _tolerated(look, asset, inlet, lacking, due)
    return lacking - tolerated, tolerated


def unquiet_until(look: Look, inlet: InletSpec) -> int | None:
    """When the inlet will have been quiet for its ``settle``, epoch seconds; None when it has."""
    dataset = look.dataset(inlet)
    quiet_at = dataset.at + inlet.settle_seconds
    return quiet_at if inlet.settle_seconds and dataset.seq and look.clock < quiet_at else None


def unquiet_blocks(look: Look, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> tuple[RangeSet, int | None]:
    """Those of ``blocks`` that read what was updated less than ``settle`` ago, and when they may run."""
    if not inlet.settle_seconds:
        return RangeSet(), None
    dataset, down, up = look.dataset(inlet), asset.partition, look.project.assets[inlet.name].partition
    since = look.clock - inlet.settle_seconds
    if inlet.mapping is None or up is None or down is None:
        until = unquiet_until(look, inlet)
        return (blocks, until) if until is not None else (RangeSet(), None)
    lately = [(start, end, at) for start, end, at in dataset.touched.items() if at > since]
    if not lately:
        return RangeSet(), None
    changed = RangeSet.of((start, end) for start, end, _ in lately)
    unquiet = inlet.mapping.down(changed, down=down, up=up) & blocks
    return unquiet, max(at for _, _, at in lately) + inlet.settle_seconds


def _tolerated(look: Look, asset: AssetSpec, inlet: InletSpec, refused: RangeSet, due: int | None) -> RangeSet:
    """Those of ``refused`` that were waited for long enough, and of which something is there."""
    if not refused or inlet.tolerance is None or asset.partition is None or not look.dataset(inlet).seq:
        return RangeSet()
    if due is not None:
        over = _over(inlet, due, asset)
        return refused if over is not None and look.now >= over else RangeSet()
    return refused.clip(None, asset.partition.floor((-inlet.tolerance).add_to(look.now, asset.timezone)))


def _until_tolerance(look: Look, asset: AssetSpec, inlet: InletSpec, said: Waiting, due: int | None) -> Waiting:
    """With the end of the tolerance, where that comes first."""
    blocks = said.blocks
    if due is None and blocks and asset.partition is not None:
        due = asset.partition.next(blocks.first)
    over = _over(inlet, due, asset) if due is not None and look.dataset(inlet).seq else None
    if over is None:
        return said
    until = over if said.until is None else min(over, said.until)
    return Waiting(said.asset, f"{said.reason}; at most until {look.when(over)} (tolerance)", until, blocks)


def _over(inlet: InletSpec, due: int, asset: AssetSpec) -> int | None:
    return None if inlet.tolerance is None else inlet.tolerance.add_to(due, asset.timezone)


def _until_quiet(inlet: InletSpec) -> str:
    return f"waits until {inlet.name} has been quiet for {_seconds(inlet.settle_seconds)}"


def _text(duration: Duration | None) -> str:
    return duration.text if duration is not None else ""


def _seconds(seconds: int) -> str:
    return Duration(seconds=seconds).text


def lacking_blocks(look: Look, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> RangeSet:
    """Those of ``blocks`` for which ``inlet`` does not have what ``require`` asks."""
    down, up = asset.partition, look.project.assets[inlet.name].partition
    if inlet.require.kind == "none" or inlet.aligned:  # an aligned inlet waits for its own run
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
    return blocks - having(blocks, there, least=least, mapping=inlet.mapping, down=down, up=up)


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
