"""Inlets with ``partitions: aligned``: each run reads what the upstream's run of the same tick wrote.

When the downstream runs at T, its upstream run is the one that also fires at T, or else the last one that fired before
(DESIGN section 5, Cron to cron). Blocks fuse while they share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from sparkassets.core.instants import epoch, instant
from sparkassets.core.journal.entries import Pinned
from sparkassets.core.journal.state import Instance
from sparkassets.core.partitions import RangeSet, TimePartition
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.timing import due_ticks
from sparkassets.core.planner.wording import labels, when
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.timetables import Slot, Timetable
from sparkassets.core.timetables.align import delta_text

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Aligned:
    """What the aligned inlets say of one run.

    Attributes:
        pins: What it reads of them.
        notes: Which upstream runs those are, for people.
        waiting: Why it may not run yet, or never.
    """

    pins: Mapping[str, Pinned] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks that share their upstream runs."""

    blocks: RangeSet
    aligned: Aligned


def align_whole(look: Look, asset: AssetSpec, interval: tuple[int, int] | None) -> Aligned:
    """What the aligned inlets say of the run with that data interval."""
    inlets = _inlets(asset)
    if not inlets or interval is None:
        return Aligned()
    return _join([_one(look, asset, inlet, _upstream(look, inlet, interval[1]), interval, None) for inlet in inlets])


def groups(look: Look, asset: AssetSpec, partition: TimePartition, blocks: RangeSet) -> tuple[Group, ...]:
    """The blocks by the upstream runs that they share, oldest first; one group where nothing is aligned."""
    inlets, timetable = _inlets(asset), asset.schedule.timetable
    if not inlets or timetable is None:
        return (Group(blocks, Aligned()),) if blocks else ()
    found: dict[tuple[int | None, ...], list[tuple[int, int]]] = {}
    slots: dict[tuple[int | None, ...], tuple[tuple[Slot | None, ...], tuple[int, int]]] = {}
    for block in partition.slots(blocks):
        own = _tick_of(timetable, block[1])
        theirs = tuple(_upstream(look, inlet, block[1] if own is None else epoch(own.end)) for inlet in inlets)
        key = tuple(None if slot is None else epoch(slot.end) for slot in theirs)
        found.setdefault(key, []).append(block)
        slots.setdefault(key, (theirs, block if own is None else (epoch(own.start), epoch(own.end))))
    made = []
    for key, members in found.items():
        theirs, own_interval = slots[key]
        held = RangeSet.of(members)
        parts = [_one(look, asset, inlet, slot, own_interval, held) for inlet, slot in zip(inlets, theirs, strict=True)]
        made.append(Group(held, _join(parts)))
    return tuple(made)


def _inlets(asset: AssetSpec) -> list[InletSpec]:
    return [inlet for inlet in asset.inlets.values() if inlet.aligned]


def _upstream(look: Look, inlet: InletSpec, end: int) -> Slot | None:
    timetable = look.project.assets[inlet.name].schedule.timetable
    return timetable.last_over(instant(end)) if timetable is not None else None


def _tick_of(timetable: Timetable, end: int) -> Slot | None:
    """The first tick of the downstream at or after the end of a block: the one that processes it."""
    slot = timetable.first_after(instant(end) - SECOND)
    while slot is not None:
        at_once = timetable.between(slot.run_after, slot.run_after)
        found = next((each for each in at_once if epoch(each.end) >= end), None)
        if found is not None:
            return found
        slot = timetable.first_after(slot.run_after)
    return None


def _one(
    look: Look,
    asset: AssetSpec,
    inlet: InletSpec,
    slot: Slot | None,
    interval: tuple[int, int],
    blocks: RangeSet | None,
) -> Aligned:
    upstream = look.project.assets[inlet.name]
    if slot is None:
        start = upstream.schedule.timetable.start if upstream.schedule.timetable else None
        since = f": it starts at {when(start)}" if start is not None else ""
        reason = f"not wanted: {inlet.name} has no run at or before {when(interval[1])}{since}"
        return Aligned(waiting=(Waiting(asset.name, reason, None, blocks, quiet=True),))
    start, end = epoch(slot.start), epoch(slot.end)
    which = f"run of {when(start)} (execution delta {delta_text(interval[0] - start)})"
    dataset = look.dataset(inlet)
    if upstream.partition is not None:
        ranges = upstream.partition.cover(RangeSet.of([(start, end)])) if start < end else RangeSet()
        lacking = ranges - dataset.coverage
        if not lacking:
            return Aligned({inlet.name: look.pin(inlet, ranges)}, (f"reads {inlet.name}'s {which}",))
        missing = f": missing {labels(lacking, upstream.partition)}"
        return Aligned(waiting=(_wait(look, asset, inlet, which + missing, blocks, slot, lacking),))
    instance = _instance(look, inlet, end)
    if instance is None:
        return Aligned(waiting=(_wait(look, asset, inlet, which, blocks, slot),))
    pin = Pinned(inlet.uri, instance.seq, instance.table_id, instance.version)
    if instance.start != start:  # one run for several intervals
        which = f"run of {when(instance.start)}..{when(end)}, which is for {which.removeprefix('run of ')}"
    return Aligned({inlet.name: pin}, (f"reads {inlet.name}'s {which}",))


def _instance(look: Look, inlet: InletSpec, end: int) -> Instance | None:
    state = look.state.assets.get(inlet.name)
    return next((each for each in state.instances if each.end == end), None) if state is not None else None


def _wait(
    look: Look,
    asset: AssetSpec,
    inlet: InletSpec,
    which: str,
    blocks: RangeSet | None,
    slot: Slot,
    lacking: RangeSet | None = None,
) -> Waiting:
    """Waits for the upstream's run of ``slot``; ``lacking`` is what it has not computed, where it has partitions."""
    said = f"waits for {inlet.name}'s {which}" + _fate(look, inlet, slot, lacking)
    due = epoch(slot.run_after)
    return Waiting(asset.name, said, due if due > look.now else None, blocks)


def _fate(look: Look, inlet: InletSpec, slot: Slot, lacking: RangeSet | None) -> str:
    """What became of the upstream's run of ``slot``, for a sentence; empty when it is still to come."""
    upstream, state = look.project.assets[inlet.name], look.state.assets.get(inlet.name)
    timetable = upstream.schedule.timetable
    if state is None or timetable is None:
        return ""
    if lacking is not None:
        error = next((item.error for item in state.failed if item.ranges is not None and item.ranges & lacking), None)
        return f", which failed: {error}" if error is not None else ""
    end, ticks = epoch(slot.end), due_ticks(look, upstream, timetable, state)
    coming = () if isinstance(ticks, Waiting) else tuple(tick.cursor[1] for tick in ticks)
    if (state.cursor is not None and end <= state.cursor[1]) or (coming and end < coming[0]):
        interval = f"{when(epoch(slot.start))}..{when(end)}"
        return f", which was skipped: `sparkassets backfill {inlet.name} --interval {interval}`"
    if not state.failed or not coming:
        return ""
    which = "which failed" if end == coming[0] else "which comes after one that failed"
    return f", {which}: {state.failed[-1].error}"


def _join(parts: list[Aligned]) -> Aligned:
    pins = {name: pin for part in parts for name, pin in part.pins.items()}
    return Aligned(
        pins,
        tuple(note for part in parts for note in part.notes),
        tuple(wait for part in parts for wait in part.waiting),
    )
