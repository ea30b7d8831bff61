"""Inlets with ``partitions: aligned``: each run reads what the upstream's run of the same tick wrote.

When the downstream runs at T, its upstream run is the one that also fires at T, or else the last one that fired before
(DESIGN section 5, Cron to cron). Blocks fuse while they share it. A run that was skipped has nothing new, so the one
before it is read. One that is withheld, failed or never came is waited for, as long as the inlet's ``tolerance`` says;
where only a person can bring it, ``require: any`` or ``none`` does not wait. Then the newest one before it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import timedelta

from sparkassets.core.instants import instant, unix
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet
from sparkassets.core.planner.aligned_runs import (
    Published,
    Ticks,
    fate_of,
    last_published,
    newest_published,
    published,
    run_read_at,
)
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Candidate, Case, Course
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.require import tolerated_until
from sparkassets.core.planner.wording import labels
from sparkassets.core.runs import Pin
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.timetables import Slot, Timetable
from sparkassets.core.timetables.align import delta_text
from sparkassets.frozen import frozen

SECOND = timedelta(seconds=1)


@frozen
class Aligned:
    """What the aligned inlets say of one run.

    Attributes:
        pins: What it reads of them.
        notes: Which upstream runs those are, for people.
        waiting: Why it may not run yet, or never.
        unwanted: Whether it never runs, as there is nothing that it could read; later ones do not wait for it.
    """

    pins: Mapping[str, Pin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    unwanted: bool = False


def alignment(case: Case, course: Course) -> Course:
    """The step: each candidate with the upstream runs that it reads; those that wait for one are taken out."""
    if not _inlets(case.asset):
        return course
    return _of_runs(case, course) if case.pending is None else _of_blocks(case, course)


def _of_blocks(case: Case, course: Course) -> Course:
    (candidate,) = course.candidates
    shared = groups(case.context, case.asset, candidate.blocks)
    waiting = tuple(wait for group in shared for wait in group.aligned.waiting)
    kept = [
        replace(candidate, blocks=group.blocks, pins=group.aligned.pins, notes=(*group.aligned.notes, *candidate.notes))
        for group in shared
        if not group.aligned.waiting
    ]
    empty = replace(candidate, blocks=NOTHING)
    return replace(course, candidates=tuple(kept) or (empty,), waiting=(*course.waiting, *waiting))


def _of_runs(case: Case, course: Course) -> Course:
    """In order: what comes after one that waits, waits too. Who takes over a run settles it, whatever it waits for."""
    kept: list[Candidate] = []
    waiting: tuple[Waiting, ...] = ()
    for candidate in course.candidates:
        aligned = align_unpartitioned(case.context, case.asset, candidate.interval)
        if aligned.waiting and not case.state.chain:
            waiting = (*waiting, *aligned.waiting)
            if aligned.unwanted:
                continue
            break
        kept.append(replace(candidate, pins=aligned.pins, notes=(*aligned.notes, *candidate.notes)))
    return replace(course, candidates=tuple(kept), waiting=(*course.waiting, *waiting))


@frozen
class Group:
    """Blocks that share their upstream runs."""

    blocks: PartitionSet
    aligned: Aligned


def align_unpartitioned(context: PlanningContext, asset: AssetSpec, interval: tuple[int, int] | None) -> Aligned:
    """What the aligned inlets say of the run with that data interval."""
    inlets = _inlets(asset)
    if not inlets or interval is None:
        return Aligned()
    ticks: Ticks = {}
    theirs = [(inlet, run_read_at(context, inlet, interval[1])) for inlet in inlets]
    return _join([_one(context, asset, inlet, slot, interval, EVERYTHING, ticks=ticks) for inlet, slot in theirs])


def groups(context: PlanningContext, asset: AssetSpec, blocks: PartitionSet) -> tuple[Group, ...]:
    """The blocks by the upstream runs that they share, oldest first; one group where nothing is aligned."""
    inlets, timetable = _inlets(asset), asset.schedule.timetable
    if not inlets or timetable is None:
        return (Group(blocks, Aligned()),) if blocks else ()
    found: dict[tuple[int | None, ...], _Shared] = {}
    for shared in _shared(context, asset, timetable, inlets, blocks):
        key = tuple(None if slot is None else unix(slot.end) for slot in shared.theirs)
        first = found.get(key)
        found[key] = shared if first is None else replace(first, blocks=first.blocks | shared.blocks)
    ticks: Ticks = {}
    return tuple(
        Group(
            each.blocks,
            _join(
                [
                    _one(context, asset, inlet, slot, each.interval, each.blocks, ticks=ticks)
                    for inlet, slot in zip(inlets, each.theirs, strict=True)
                ]
            ),
        )
        for each in found.values()
    )


@frozen
class _Shared:
    """Blocks that follow each other and share their upstream runs.

    Attributes:
        theirs: Those runs, one for each inlet; None where there is none.
        interval: Data interval of the first block's own tick.
    """

    blocks: PartitionSet
    theirs: tuple[Slot | None, ...]
    interval: tuple[int, int]


def _shared(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, inlets: list[InletSpec], blocks: PartitionSet
) -> Iterator[_Shared]:
    """The blocks, oldest first; takes time by the upstream runs that they have, not by blocks.

    Upstream runs are over in the order of the blocks' ticks, so that the first block tells until when all share its.
    """
    start = blocks.first if blocks else None
    while start is not None and (end := asset.partitioning.rollover(start)) is not None:
        own = _tick_of(timetable, end)
        interval = (start, end) if own is None else (unix(own.start), unix(own.end))
        theirs = tuple(run_read_at(context, inlet, interval[1]) for inlet in inlets)
        coming = [at for inlet in inlets if (at := _next_over(context, inlet, interval[1])) is not None]
        until = max(end, _last_before(timetable, asset.partitioning, min(coming), own)) if coming else None
        yield _Shared(blocks.clip(start, until), theirs, interval)
        start = blocks.after(until) if until is not None else None


def _next_over(context: PlanningContext, inlet: InletSpec, end: int) -> int | None:
    """When the run after the newest that is over at ``end`` is over; None when there will be none."""
    timetable = context.project.assets[inlet.name].schedule.timetable
    if timetable is None:
        return None
    slot = timetable.last_over(instant(end))
    if slot is None:
        first = timetable.first_after(instant(end))  # none is over, so none may have started
        return None if first is None else unix(first.end)
    at_once = [unix(each.end) for each in timetable.between(slot.run_after, slot.run_after)]
    following = timetable.first_after(slot.run_after)
    later = [*at_once, *([] if following is None else [unix(following.end)])]
    return next((at for at in later if at > end), None)


def _last_before(timetable: Timetable, partitioning: Partitioning, bound: int, own: Slot | None) -> int:
    """The end of the last block whose tick's interval ends before ``bound``; without a tick the block's own end."""
    newest = None if own is None else timetable.last_over(instant(bound) - SECOND)
    return partitioning.over(bound - 1 if newest is None else unix(newest.end)).last


def _inlets(asset: AssetSpec) -> list[InletSpec]:
    return [inlet for inlet in asset.inlets.values() if inlet.aligned]


def _tick_of(timetable: Timetable, end: int) -> Slot | None:
    """The first tick of the downstream at or after the end of a block: the one that processes it."""
    slot = timetable.first_after(instant(end) - SECOND)
    while slot is not None:
        at_once = timetable.between(slot.run_after, slot.run_after)
        found = next((each for each in at_once if unix(each.end) >= end), None)
        if found is not None:
            return found
        slot = timetable.first_after(slot.run_after)
    return None


def _one(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    slot: Slot | None,
    interval: tuple[int, int],
    blocks: PartitionSet,
    *,
    ticks: Ticks,
) -> Aligned:
    if slot is None:
        return Aligned(waiting=(_not_wanted(context, asset, inlet, interval, blocks),), unwanted=True)
    which = _named(context, slot, interval)
    found = published(context, inlet, slot)
    if found.pin is not None:
        return Aligned({inlet.name: found.pin}, (f"reads {inlet.name}'s {_read(context, slot, found, which)}",))
    if found.lacking is not None:
        which += f": missing {labels(found.lacking, context.project.assets[inlet.name].partitioning)}"
    fate = fate_of(context, inlet, slot, found.lacking, ticks)
    over = tolerated_until(inlet, max(interval[1], unix(slot.run_after)), asset)
    if inlet.tolerance is not None and over is not None and context.now >= over:
        why = f"the tolerance of {inlet.tolerance.text} is over"
    else:
        why = "it is not required" if fate.settled and inlet.require.kind in ("any", "none") else ""
    before = newest_published(context, inlet, slot) if why else None
    if before is not None and before[1].pin is not None:
        went = f"goes on without {inlet.name}'s {which}{fate.text}: {why}"
        read = _read(context, *before, _named(context, before[0], interval))
        return Aligned({inlet.name: before[1].pin}, (went, f"reads {inlet.name}'s {read}"))
    return Aligned(waiting=(_wait(context, asset, inlet, which + fate.text, blocks, slot, over=over),))


def _read(context: PlanningContext, slot: Slot, found: Published, which: str) -> str:
    """Which run is read, for a sentence: ``which``, unless it stands for several intervals."""
    if found.since is None:
        return which
    span = f"{context.when(found.since)}..{context.when(unix(slot.end))}"
    return f"run of {span}, which is for {which.removeprefix('run of ')}"


def _not_wanted(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, interval: tuple[int, int], blocks: PartitionSet
) -> Waiting:
    """Says quietly that nothing is read for this interval, as the inlet has no run that could be read."""
    timetable, when = context.project.assets[inlet.name].schedule.timetable, context.when(interval[1])
    newest = timetable.last_over(instant(interval[1])) if timetable is not None else None
    if newest is not None:
        reason = f"not wanted: {inlet.name} has nothing at or before {when}: its run of "
        reason += f"{context.when(unix(newest.start))} was skipped, and nothing was published before"
    else:
        reason = f"not wanted: {inlet.name} has no run at or before {when}"
        if timetable is not None and timetable.start is not None:
            reason += f": it starts at {context.when(timetable.start)}"
    return Waiting(asset.name, reason, None, blocks, quiet=True)


def _named(context: PlanningContext, slot: Slot, interval: tuple[int, int]) -> str:
    start = unix(slot.start)
    return f"run of {context.when(start)} (execution delta {delta_text(interval[0] - start)})"


def _wait(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    which: str,
    blocks: PartitionSet,
    slot: Slot,
    *,
    over: int | None,
) -> Waiting:
    """Waits for the upstream's run of ``slot``, at most until ``over``, where something before it can be read then."""
    said, due = f"waits for {inlet.name}'s {which}", unix(slot.run_after)
    until = due if due > context.now else None
    if over is not None and over > context.now and last_published(context, inlet, slot) is not None:
        return Waiting(asset.name, f"{said}; at most until {context.when(over)} (tolerance)", until or over, blocks)
    return Waiting(asset.name, said, until, blocks)


def _join(parts: list[Aligned]) -> Aligned:
    pins = {name: pin for part in parts for name, pin in part.pins.items()}
    return Aligned(
        pins,
        tuple(note for part in parts for note in part.notes),
        tuple(wait for part in parts for wait in part.waiting),
        any(part.unwanted for part in parts),
    )
