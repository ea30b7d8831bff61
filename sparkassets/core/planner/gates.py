"""Gates on inlets: which blocks may run, because what they read is there, fresh and quiet (DESIGN section 5).

``require`` counts partitions, ``tolerance`` says how long past due it is waited for, ``fresh_within`` is about the
inlet's last update and ``settle`` about how long it has been quiet. They hold for timetables and conditions alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sparkassets.core.instants import Duration
from sparkassets.core.partitions import PartitionMapping, RangeSet, TimePartition
from sparkassets.core.planner.bounds import possible
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.counted import having
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


def gate(
    context: PlanningContext, asset: AssetSpec, blocks: RangeSet, due: int | None = None, *, emptied: bool = False
) -> Gated:
    """Sorts ``blocks`` of a partitioned asset by whether every inlet's gates are open.

    What keeps the rows of an input that was removed is not computed again.

    Args:
        context: The moment.
        asset: A partitioned asset.
        blocks: Whole partitions.
        due: When the run was due, Unix seconds; None where each block is due at its own end.
        emptied: Whether all that was removed counts as there, and nothing keeps its rows.
    """
    if not blocks:
        return Gated(blocks)
    protected = () if emptied else kept(context, asset, blocks)
    waiting = [_protects(context, asset, inlet, lost, gone) for inlet, lost, gone in protected]
    ready = blocks - RangeSet.union(item.blocks for item in waiting if item.blocks)
    notes: list[str] = []
    for inlet in asset.inlets.values():
        if not ready:
            break
        lost = lost_blocks(context, asset, inlet, ready)
        if lost and (wait := waits_for_lost(context, asset, inlet, lost)) is not None:
            ready = ready - lost
            waiting.append(wait)
        closed = stale_inlet(context, asset, inlet)
        if closed is not None:
            return Gated(RangeSet(), (*waiting, Waiting(asset.name, closed, None, ready)), ())
        unquiet, until = unquiet_blocks(context, asset, inlet, ready)
        if unquiet:
            ready = ready - unquiet
            waiting.append(Waiting(asset.name, _until_quiet(inlet), until, unquiet))
        refused, tolerated = refused_blocks(context, asset, inlet, ready, due, emptied=emptied)
        if tolerated:
            said = said_of(context, asset, inlet, tolerated).reason.removeprefix("waits for ")
            notes.append(f"goes on without all of {said}: the tolerance of {_text(inlet.tolerance)} is over")
        if refused:
            ready = ready - refused
            waiting += [
                _until_tolerance(context, asset, inlet, said, due) for said in refusals(context, asset, inlet, refused)
            ]
    return Gated(ready, tuple(waiting), tuple(notes))


def open_without_blocks(context: PlanningContext, asset: AssetSpec, due: int) -> Gated:
    """Why an asset without partitions may not run; no waiting when it may.

    Args:
        context: The moment.
        asset: An asset without partitions.
        due: When its run was due, Unix seconds.
    """
    notes: list[str] = []
    for inlet in asset.inlets.values():
        dataset = context.dataset(inlet)
        if (wait := waits_for_lost(context, asset, inlet)) is not None:
            return Gated(RangeSet(), (wait,))
        if inlet.require.kind != "none" and not inlet.aligned and not dataset.seq:
            over = _over(inlet, due, asset)
            if not inlet.waits_only or over is None or context.now < over:
                never = _never(context, asset, inlet, None)
                return Gated(RangeSet(), (Waiting(asset.name, never.reason, over if inlet.waits_only else None),))
            notes.append(f"goes on without {inlet.name}: the tolerance of {_text(inlet.tolerance)} is over")
        closed = stale_inlet(context, asset, inlet)
        if closed is not None:
            return Gated(RangeSet(), (Waiting(asset.name, closed),))
        quiet_at = unquiet_until(context, inlet)
        if quiet_at is not None:
            return Gated(RangeSet(), (Waiting(asset.name, _until_quiet(inlet), quiet_at),))
    return Gated(RangeSet(), (), tuple(notes))


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


def refused_blocks(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    blocks: RangeSet,
    due: int | None = None,
    *,
    emptied: bool = False,
) -> tuple[RangeSet, RangeSet]:
    """Those of ``blocks`` that ``require`` keeps from running, and those that it would but for the tolerance."""
    lacking = lacking_blocks(context, asset, inlet, blocks, emptied=emptied)
    tolerated = _tolerated(context, asset, inlet, lacking, due)
    return lacking - tolerated, tolerated


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


def _tolerated(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: RangeSet, due: int | None
) -> RangeSet:
    """Those of ``refused`` that were waited for long enough, and of which something is there."""
    if not refused or inlet.tolerance is None or asset.partition is None or not context.dataset(inlet).seq:
        return RangeSet()
    if due is not None:
        over = _over(inlet, due, asset)
        return refused if over is not None and context.now >= over else RangeSet()
    return refused.clip(None, asset.partition.floor((-inlet.tolerance).add_to(context.now, asset.timezone)))


def _until_tolerance(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, said: Waiting, due: int | None
) -> Waiting:
    """With the end of the tolerance, where that comes first."""
    blocks = said.blocks
    if due is None and blocks and asset.partition is not None:
        due = asset.partition.next(blocks.first)
    over = _over(inlet, due, asset) if due is not None and context.dataset(inlet).seq else None
    if over is None:
        return said
    until = over if said.until is None else min(over, said.until)
    return replace(said, reason=f"{said.reason}; at most until {context.when(over)} (tolerance)", until=until)


def _over(inlet: InletSpec, due: int, asset: AssetSpec) -> int | None:
    return None if inlet.tolerance is None else inlet.tolerance.add_to(due, asset.timezone)


def _until_quiet(inlet: InletSpec) -> str:
    return f"waits until {inlet.name} has been quiet for {_seconds(inlet.settle_seconds)}"


def _text(duration: Duration | None) -> str:
    return duration.text if duration is not None else ""


def _seconds(seconds: int) -> str:
    return Duration(seconds=seconds).text


def lacking_blocks(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet, *, emptied: bool = False
) -> RangeSet:
    """Those of ``blocks`` for which ``inlet`` does not have what ``require`` asks.

    What the inlet can never have, by the declared bounds of all before it, is not required of it.
    """
    down, up = asset.partition, context.project.assets[inlet.name].partition
    if inlet.require.kind == "none" or inlet.aligned:  # an aligned inlet waits for its own run
        return RangeSet()
    if inlet.mapping is None or up is None or down is None:
        return RangeSet() if context.dataset(inlet).seq else blocks
    there = counted(context, inlet, up, emptied=emptied)
    mapped = inlet.mapping.up(blocks, down=down, up=up)
    able = mapped & possible(context.project, inlet.name)
    if inlet.require.kind == "all":
        lacking = able - there
        return inlet.mapping.down(lacking, down=down, up=up) & blocks if lacking else RangeSet()
    asked = inlet.mapping.down(able, down=down, up=up) & blocks
    cut = inlet.mapping.down(mapped - able, down=down, up=up) & asked if able != mapped else RangeSet()
    least = max(1, inlet.require.count)
    few = RangeSet.of(_fewer(inlet.mapping, cut, able, there, least, down=down, up=up))
    inner = asked - cut
    return (inner - having(inner, there, least=least, mapping=inlet.mapping, down=down, up=up)) | few


def _fewer(
    mapping: PartitionMapping,
    blocks: RangeSet,
    able: RangeSet,
    there: RangeSet,
    least: int,
    *,
    down: TimePartition,
    up: TimePartition,
) -> Iterator[tuple[int, int]]:
    """Those of the blocks at the inlet's bounds that lack ``least``, or all where it can have fewer."""
    for slot in down.slots(blocks):
        mapped = mapping.up(RangeSet.of([slot]), down=down, up=up) & able
        if up.count(mapped & there) < min(least, up.count(mapped)):
            yield slot


def counted(context: PlanningContext, inlet: InletSpec, up: TimePartition, *, emptied: bool = False) -> RangeSet:
    """Inlet time that counts: it is there, or was removed and does not matter, and its partition is over."""
    dataset = context.dataset(inlet)
    counts = dataset.ever if emptied or inlet.on_removed == "rerun" else dataset.coverage
    return counts.clip(None, context.over(up))


def required(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> RangeSet:
    """The time of a mapped inlet that ``blocks`` need and that it can ever have."""
    down, up = asset.partition, context.project.assets[inlet.name].partition
    if inlet.mapping is None or down is None or up is None:
        return RangeSet()
    return inlet.mapping.up(blocks, down=down, up=up) & possible(context.project, inlet.name)


def updated(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet) -> RangeSet:
    """Those of ``blocks`` for which something of a mapped inlet is there."""
    down, up = asset.partition, context.project.assets[inlet.name].partition
    if inlet.mapping is None or down is None or up is None:
        return RangeSet()
    there = counted(context, inlet, up) & required(context, asset, inlet, blocks)
    return inlet.mapping.down(there, down=down, up=up) & blocks


def newest(context: PlanningContext, asset: AssetSpec) -> int | None:
    """The end of the newest partition that is or was there of any mapped inlet; None before the first."""
    datasets = (context.dataset(inlet) for inlet in asset.inlets.values() if inlet.mapping is not None)
    return max((ranges.last for each in datasets for ranges in (each.coverage, each.gone) if ranges), default=None)


def refusals(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, refused: RangeSet) -> tuple[Waiting, ...]:
    """What the blocks that ``require`` refused wait for.

    Quietly where it never was there: what comes before the inlet's first partition or after the newest of all inlets,
    and what was removed before it was used. What the asset's own table lost since cannot come back by itself.
    """
    down, up, dataset = asset.partition, context.project.assets[inlet.name].partition, context.dataset(inlet)
    if inlet.mapping is None or up is None or down is None or not (dataset.coverage or dataset.gone):
        return (_never(context, asset, inlet, refused),)
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


def kept(context: PlanningContext, asset: AssetSpec, blocks: RangeSet) -> list[tuple[InletSpec, RangeSet, RangeSet]]:
    """Which of ``blocks`` keep the rows of what an inlet has lost: (the inlet, the blocks, what it lost of theirs)."""
    found, state, partition = [], context.state_of(asset), asset.partition
    if not state.kept:
        return []
    for inlet in asset.inlets.values():
        marks = state.kept.get(inlet.name)
        if marks is not None and inlet.on_removed == "keep" and partition is not None:
            lost = partition.cover(marks.ranges() & state.coverage) & blocks
            if lost:
                found.append((inlet, lost, required(context, asset, inlet, lost) & context.dataset(inlet).gone))
    return found


def _protects(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, lost: RangeSet, gone: RangeSet) -> Waiting:
    """Why a block that keeps its rows is not computed again."""
    reason = (
        f"{without(context, inlet, gone)}, and would lose its rows; `sparkassets backfill --force` computes it again"
    )
    return Waiting(asset.name, reason, None, lost)


def without(context: PlanningContext, inlet: InletSpec, gone: RangeSet) -> str:
    """Which partitions of an inlet are gone, although what was computed from them is not, for a sentence."""
    up = context.project.assets[inlet.name].partition
    which = f"{inlet.name} {labels(gone, up)}" if up is not None else inlet.name
    return f"kept without {which}, which {'were' if up and up.count(gone) > 1 else 'was'} removed"


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
        return _never(context, asset, inlet, refused)
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


def _never(context: PlanningContext, asset: AssetSpec, inlet: InletSpec, blocks: RangeSet | None) -> Waiting:
    fault = context.faults.get(inlet.name)
    reason = f"waits for {inlet.name}: " + (fault or "nothing is there yet")
    return Waiting(asset.name, reason, None, blocks)
