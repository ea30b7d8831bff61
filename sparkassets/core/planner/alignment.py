"""Inlets with ``partitions: aligned``: each run reads what the upstream's run of the same tick wrote.

When the downstream runs at T, its upstream run is the one that also fires at T, or else the last one that fired before
(DESIGN section 5, Cron to cron). Blocks fuse while they share it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import timedelta

from sparkassets.core.instants import instant, unix
from sparkassets.core.journal.iterations import published_by
from sparkassets.core.journal.state import AssetState, Instance
from sparkassets.core.journal.withheld import Withheld
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Candidate, Case, Course
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.timing import due_ticks
from sparkassets.core.planner.withheld import accepting, held
from sparkassets.core.planner.wording import labels
from sparkassets.core.runs import Pin
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.timetables import Slot, Timetable
from sparkassets.core.timetables.align import delta_text
from sparkassets.frozen import frozen

SECOND = timedelta(seconds=1)

Ticks = dict[str, tuple[int, ...]]
"""Aligned inlet to the ends of its intervals that are due, as far as anybody asked; the same for all blocks."""


@frozen
class Aligned:
    """What the aligned inlets say of one run.

    Attributes:
        pins: What it reads of them.
        notes: Which upstream runs those are, for people.
        waiting: Why it may not run yet, or never.
    """

    pins: Mapping[str, Pin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()


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
            waiting = aligned.waiting
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
    theirs = [(inlet, _upstream(context, inlet, interval[1])) for inlet in inlets]
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
        theirs = tuple(_upstream(context, inlet, interval[1]) for inlet in inlets)
        coming = [
            at
            for inlet, slot in zip(inlets, theirs, strict=True)
            if (at := _next_over(context, inlet, slot, interval[1])) is not None
        ]
        until = max(end, _last_before(timetable, asset.partitioning, min(coming), own)) if coming else None
        yield _Shared(blocks.clip(start, until), theirs, interval)
        start = blocks.after(until) if until is not None else None


def _next_over(context: PlanningContext, inlet: InletSpec, slot: Slot | None, end: int) -> int | None:
    """When the run after ``slot``, the newest that is over at ``end``, is over; None when there will be none."""
    timetable = context.project.assets[inlet.name].schedule.timetable
    if timetable is None:
        return None
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


def _upstream(context: PlanningContext, inlet: InletSpec, end: int) -> Slot | None:
    timetable = context.project.assets[inlet.name].schedule.timetable
    return timetable.last_over(instant(end)) if timetable is not None else None


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
    upstream = context.project.assets[inlet.name]
    if slot is None:
        start = upstream.schedule.timetable.start if upstream.schedule.timetable else None
        since = f": it starts at {context.when(start)}" if start is not None else ""
        reason = f"not wanted: {inlet.name} has no run at or before {context.when(interval[1])}{since}"
        return Aligned(waiting=(Waiting(asset.name, reason, None, blocks, quiet=True),))
    start, end = unix(slot.start), unix(slot.end)
    which = f"run of {context.when(start)} (execution delta {delta_text(interval[0] - start)})"
    if upstream.partitioning.is_partitioned:
        parts = upstream.partitioning.cover(PartitionSet.span(start, end))
        lacking = parts - context.dataset(inlet).coverage
        if not lacking:
            return Aligned({inlet.name: _pin(context, upstream, inlet, parts)}, (f"reads {inlet.name}'s {which}",))
        which += f": missing {labels(lacking, upstream.partitioning)}"
        return Aligned(waiting=(_wait(context, asset, inlet, which, blocks, slot, ticks=ticks, lacking=lacking),))
    instance = _instance(context, inlet, end)
    if instance is None:
        return Aligned(waiting=(_wait(context, asset, inlet, which, blocks, slot, ticks=ticks),))
    known = context.state.assets[inlet.name]
    pin = Pin(
        inlet.uri,
        instance.seq,
        instance.table_id,
        instance.version,
        iteration=published_by(known.iterations, instance.version),
    )
    if instance.start != start:  # one run for several intervals
        which = (
            f"run of {context.when(instance.start)}..{context.when(end)}, which is for {which.removeprefix('run of ')}"
        )
    return Aligned({inlet.name: pin}, (f"reads {inlet.name}'s {which}",))


def _pin(context: PlanningContext, upstream: AssetSpec, inlet: InletSpec, parts: PartitionSet) -> Pin:
    """These partitions at the newest version; where no column tells them the newest iteration that is of them."""
    if upstream.partitioning.has_columns:
        return context.pin(inlet, parts)
    known = context.state.assets[inlet.name]
    newest = next((each for each in reversed(known.iterations) if each.blocks == parts), None)
    if newest is None:
        return Pin(inlet.uri, context.dataset(inlet).seq, known.table_id, known.version)
    return Pin(inlet.uri, newest.seq, known.table_id, newest.version, iteration=newest.name)


def _instance(context: PlanningContext, inlet: InletSpec, end: int) -> Instance | None:
    state = context.state.assets.get(inlet.name)
    instances = state.instances if state is not None else ()
    at = bisect_left(instances, end, key=lambda each: each.end)
    return instances[at] if at < len(instances) and instances[at].end == end else None


def _wait(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    which: str,
    blocks: PartitionSet,
    slot: Slot,
    *,
    ticks: Ticks,
    lacking: PartitionSet | None = None,
) -> Waiting:
    """Waits for the upstream's run of ``slot``; ``lacking`` is what it has not computed, where it has partitions."""
    said = f"waits for {inlet.name}'s {which}" + _fate(context, inlet, slot, lacking, ticks)
    due = unix(slot.run_after)
    return Waiting(asset.name, said, due if due > context.now else None, blocks)


def _fate(context: PlanningContext, inlet: InletSpec, slot: Slot, lacking: PartitionSet | None, ticks: Ticks) -> str:
    """What became of the upstream's run of ``slot``, for a sentence; empty when it is still to come."""
    upstream, state = context.project.assets[inlet.name], context.state.assets.get(inlet.name)
    timetable = upstream.schedule.timetable
    if state is None or timetable is None:
        return ""
    maker = context.state.assets.get(upstream.maker, state)
    if lacking is not None:
        record = next((each for each in reversed(maker.withheld) if each.blocks.overlaps(lacking)), None)
        failed = ", which failed" if state.failed_blocks.overlaps(lacking) else ""
        return failed if record is None else _withheld(context, maker, record, lacking)
    if inlet.name not in ticks:
        due = due_ticks(context, upstream, timetable, state)
        ticks[inlet.name] = () if isinstance(due, Waiting) else tuple(tick.cursor[1] for tick in due)
    end, coming = unix(slot.end), ticks[inlet.name]
    record = next((each for each in maker.withheld if each.interval is not None and each.interval[1] == end), None)
    if record is not None:
        return _withheld(context, maker, record, EVERYTHING)
    told = any(mark.interval[1] == end for mark in state.marked_ticks)
    if told or (state.cursor is not None and end <= state.cursor[1]) or (coming and end < coming[0]):
        interval = f"{context.when(unix(slot.start))}..{context.when(end)}"
        return f", which was skipped: `sparkassets backfill {inlet.name} --interval {interval}`"
    if not state.failed or not coming:
        return ""
    return ", which failed" if end == coming[0] else ", which comes after one that failed"


def _withheld(context: PlanningContext, maker: AssetState, record: Withheld, lacking: PartitionSet) -> str:
    named = held(context, context.asset(maker.name), maker).to_name(record.blocks & lacking)
    return f", which is withheld ({record.text}): `{accepting(context, maker, record, named=named)}` publishes it"


def _join(parts: list[Aligned]) -> Aligned:
    pins = {name: pin for part in parts for name, pin in part.pins.items()}
    return Aligned(
        pins,
        tuple(note for part in parts for note in part.notes),
        tuple(wait for part in parts for wait in part.waiting),
    )
