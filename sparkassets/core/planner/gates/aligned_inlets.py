"""Inlets with ``partitions: aligned``: each run reads the output of the upstream's run of the same tick.

When the downstream runs at T, its upstream run is the one that also fires at T, or else the last one that fired before
(docs/design/schedules.md#aligned-inlets). Partitions that share it run together. A skipped run has nothing new, so the
one before it is read. A withheld, failed or absent run is waited for until the ``tolerance`` is over; where only
a person can bring it, ``require: any`` or ``none`` does not wait. Then the newest one before it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import timedelta

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DueRun
from sparkassets.core.planner.gates.aligned_runs import (
    MissingOutputReason,
    Ticks,
    UpstreamOutput,
    find_missing_output_reason,
    find_newest_output,
    find_output,
    last_published_end,
    run_read_at,
)
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.requirements import tolerance_end
from sparkassets.core.planner.wording import label_partitions
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.timetables import Slot, Timetable
from sparkassets.core.timetables.timetable import delta_text
from sparkassets.frozen import frozen, replace

SECOND = timedelta(seconds=1)


@frozen
class InletAlignment:
    """What one run reads of its aligned inlets, or why it cannot run.

    Attributes:
        pins: Pin of each aligned inlet, by inlet name.
        notes: The upstream runs that it reads, for people.
        waiting: Why it may not run yet, or never; empty where it may run.
        unwanted: Whether it never runs because there is no upstream run to read; later runs do not wait for it.
    """

    pins: Mapping[str, InletPin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    unwanted: bool = False


def align_due_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Step that pins the upstream runs which each due run reads, and removes due runs that wait for one."""
    return _align_runs(case, progress) if case.pending is None else _align_partitions(case, progress)


def _align_partitions(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Splits the due run of a partitioned asset by the upstream runs that its partitions read.

    Groups that wait are removed with their reasons. Where none is left, a due run without partitions stays.
    """
    (due_run,) = progress.due_runs
    groups = group_by_upstream_runs(case.context, case.asset, due_run.partitions)
    waiting = tuple(wait for group in groups for wait in group.inlet_alignment.waiting)
    kept = [
        replace(
            due_run,
            partitions=group.partitions,
            pins=group.inlet_alignment.pins,
            notes=(*group.inlet_alignment.notes, *due_run.notes),
        )
        for group in groups
        if not group.inlet_alignment.waiting
    ]
    empty = replace(due_run, partitions=NOTHING)
    return replace(progress, due_runs=tuple(kept) or (empty,), waiting=(*progress.waiting, *waiting))


def _align_runs(case: DecisionInput, progress: DecisionProgress) -> DecisionProgress:
    """Aligns the due runs of an asset without partitions, in order: those after a waiting one wait too.

    An unfinished run is settled without waiting, as its commit may already be in the table.
    """
    kept: list[DueRun] = []
    waiting: tuple[Waiting, ...] = ()
    for due_run in progress.due_runs:
        alignment = align_unpartitioned(case.context, case.asset, due_run.interval)
        if alignment.waiting and not case.state.chain:
            waiting = (*waiting, *alignment.waiting)
            if alignment.unwanted:
                continue
            break
        kept.append(replace(due_run, pins=alignment.pins, notes=(*alignment.notes, *due_run.notes)))
    return replace(progress, due_runs=tuple(kept), waiting=(*progress.waiting, *waiting))


@frozen
class AlignedGroup:
    """Partitions that read the same upstream runs, and what they read of them."""

    partitions: PartitionSet
    inlet_alignment: InletAlignment


def align_unpartitioned(context: PlanningContext, asset: AssetSpec, interval: tuple[int, int] | None) -> InletAlignment:
    """Returns the aligned inlets of the run with this data interval (Unix seconds).

    A run reads the upstream's run that is over at the end of its own interval. Without aligned inlets, or for a run
    without an interval, there is nothing to align: no pins and no reasons.
    """
    inlets = _aligned_inlets(asset)
    if not inlets or interval is None:
        return InletAlignment()
    ticks: Ticks = {}
    slots = [(inlet, run_read_at(context, inlet, interval[1])) for inlet in inlets]
    return _join_alignments(
        [_align_inlet(context, asset, inlet, slot, interval, EVERYTHING, ticks=ticks) for inlet, slot in slots]
    )


def group_by_upstream_runs(
    context: PlanningContext, asset: AssetSpec, partitions: PartitionSet
) -> tuple[AlignedGroup, ...]:
    """Groups partitions by the upstream runs that they read, oldest first.

    All are one group without aligned inlets; there is no group without partitions.
    """
    inlets, timetable = _aligned_inlets(asset), asset.schedule.timetable
    if not inlets or timetable is None:
        return (AlignedGroup(partitions, InletAlignment()),) if partitions else ()
    groups: dict[tuple[int | None, ...], _SharedUpstream] = {}
    for shared in _find_shared_upstream(context, asset, timetable, inlets, partitions):
        # the end of its interval identifies an upstream run
        key = tuple(None if slot is None else to_unix(slot.end) for slot in shared.upstream_slots)
        earlier = groups.get(key)
        groups[key] = shared if earlier is None else replace(earlier, partitions=earlier.partitions | shared.partitions)
    ticks: Ticks = {}
    return tuple(
        AlignedGroup(
            each.partitions,
            _join_alignments(
                [
                    _align_inlet(context, asset, inlet, slot, each.interval, each.partitions, ticks=ticks)
                    for inlet, slot in zip(inlets, each.upstream_slots, strict=True)
                ]
            ),
        )
        for each in groups.values()
    )


@frozen
class _SharedUpstream:
    """Consecutive partitions that read the same upstream runs.

    Attributes:
        upstream_slots: The slot of the upstream run of each aligned inlet; None where it has no run to read.
        interval: Data interval of the first partition's own tick, Unix seconds.
    """

    partitions: PartitionSet
    upstream_slots: tuple[Slot | None, ...]
    interval: tuple[int, int]


def _find_shared_upstream(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, inlets: list[InletSpec], partitions: PartitionSet
) -> Iterator[_SharedUpstream]:
    """Yields runs of consecutive partitions with the same upstream runs, oldest first.

    It takes time by the number of upstream runs, not of partitions: upstream runs end in the order of the partitions'
    ticks, so the first partition shows until when they are shared.
    """
    start = partitions.first if partitions else None
    while start is not None and (end := asset.partitioning.next_rollover(start)) is not None:
        own_tick = _find_own_tick(timetable, end)
        interval = (start, end) if own_tick is None else (to_unix(own_tick.start), to_unix(own_tick.end))
        upstream_slots = tuple(run_read_at(context, inlet, interval[1]) for inlet in inlets)
        next_ends = [at for inlet in inlets if (at := _next_slot_end(context, inlet, interval[1])) is not None]
        shared_until = (
            max(end, _last_partition_before(timetable, asset.partitioning, min(next_ends), own_tick))
            if next_ends
            else None
        )
        yield _SharedUpstream(partitions.clip(start, shared_until), upstream_slots, interval)
        start = partitions.first_instant_from(shared_until) if shared_until is not None else None


def _next_slot_end(context: PlanningContext, inlet: InletSpec, end: int) -> int | None:
    """End of the upstream slot after the newest one that is over at ``end``, Unix seconds; None without a next.

    From then on later partitions read another upstream run.
    """
    timetable = context.project.assets[inlet.name].schedule.timetable
    if timetable is None:
        return None
    slot = timetable.last_over(from_unix(end))
    if slot is None:
        first = timetable.first_after(from_unix(end))  # none is over, so none may have started
        return None if first is None else to_unix(first.end)
    same_instant = [to_unix(each.end) for each in timetable.between(slot.run_after, slot.run_after)]
    following = timetable.first_after(slot.run_after)
    later_ends = [*same_instant, *([] if following is None else [to_unix(following.end)])]
    return next((at for at in later_ends if at > end), None)


def _last_partition_before(timetable: Timetable, partitioning: Partitioning, bound: int, own_tick: Slot | None) -> int:
    """End of the last partition that belongs to a tick whose interval ends before ``bound``, Unix seconds.

    From ``bound`` on, ticks read another upstream run. Without a tick (``own_tick`` is None) the last partition that
    itself ends before ``bound``.
    """
    newest = None if own_tick is None else timetable.last_over(from_unix(bound) - SECOND)
    return partitioning.finished_partitions(bound - 1 if newest is None else to_unix(newest.end)).last


def _aligned_inlets(asset: AssetSpec) -> list[InletSpec]:
    """The inlets with ``partitions: aligned``."""
    return [inlet for inlet in asset.inlets.values() if inlet.aligned]


def _find_own_tick(timetable: Timetable, end: int) -> Slot | None:
    """The asset's own tick that processes a partition: the first whose interval ends at its ``end`` or later.

    None where the timetable has no such tick.
    """
    slot = timetable.first_after(from_unix(end) - SECOND)  # no run of it starts before the end of its interval
    while slot is not None:
        same_instant = timetable.between(slot.run_after, slot.run_after)
        found = next((each for each in same_instant if to_unix(each.end) >= end), None)
        if found is not None:
            return found
        slot = timetable.first_after(slot.run_after)
    return None


def _align_inlet(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    slot: Slot | None,
    interval: tuple[int, int],
    partitions: PartitionSet,
    *,
    ticks: Ticks,
) -> InletAlignment:
    """What a run with this data interval reads of one aligned inlet, or why it waits.

    Args:
        context: The planner's view.
        asset: The asset that reads the inlet.
        inlet: The aligned inlet.
        slot: The slot of the upstream run to read; None where the upstream has no such run.
        interval: Data interval of the asset's run, Unix seconds.
        partitions: Partitions of the run, for the waiting reason.
        ticks: Cache of the upstream's due ticks.

    The result has either the pin, with notes on what is read and what the run goes without, or a reason to wait.
    """
    if slot is None:
        return InletAlignment(
            waiting=(_explain_never_wanted(context, asset, inlet, interval, partitions),), unwanted=True
        )
    run_text = _name_run(context, slot, interval)
    output = find_output(context, inlet, slot)
    if output.pin is not None:
        return InletAlignment(
            {inlet.name: output.pin}, (f"reads {inlet.name}'s {_name_read_run(context, slot, output, run_text)}",)
        )
    if output.lacking is not None:
        run_text += f": missing {label_partitions(output.lacking, context.project.assets[inlet.name].partitioning)}"
    missing_output = find_missing_output_reason(context, inlet, slot, output.lacking, ticks)
    tolerance_over = tolerance_end(inlet, max(interval[1], to_unix(slot.run_after)), asset)
    skip_reason = _explain_going_on(context, inlet, missing_output, tolerance_over)
    earlier = find_newest_output(context, inlet, slot) if skip_reason else None
    if earlier is not None and earlier[1].pin is not None:
        without_text = f"continues without {inlet.name}'s {run_text}{missing_output.text}: {skip_reason}"
        read_text = _name_read_run(context, *earlier, _name_run(context, earlier[0], interval))
        return InletAlignment({inlet.name: earlier[1].pin}, (without_text, f"reads {inlet.name}'s {read_text}"))
    return InletAlignment(
        waiting=(
            _wait_for_run(
                context, asset, inlet, run_text + missing_output.text, partitions, slot, tolerance_over=tolerance_over
            ),
        )
    )


def _explain_going_on(
    context: PlanningContext, inlet: InletSpec, missing_output: MissingOutputReason, tolerance_over: int | None
) -> str:
    """Why a run continues without the upstream's run of its tick; empty where it waits for it.

    ``require: any`` or ``none`` continues only where no run will bring the output by itself (``settled``).
    ``tolerance_over`` is when the inlet's tolerance ends, Unix seconds; None without one.
    """
    if inlet.tolerance is not None and tolerance_over is not None and context.now >= tolerance_over:
        return f"the tolerance of {inlet.tolerance.text} is over"
    return "it is not required" if missing_output.settled and inlet.require.kind in ("any", "none") else ""


def _name_read_run(context: PlanningContext, slot: Slot, output: UpstreamOutput, run_text: str) -> str:
    """Names the upstream run for a sentence: ``run_text``, or its span where it stands for several intervals."""
    if output.since is None:
        return run_text
    span = f"{context.format_instant(output.since)}..{context.format_instant(to_unix(slot.end))}"
    return f"run of {span}, which is for {run_text.removeprefix('run of ')}"


def _explain_never_wanted(
    context: PlanningContext, asset: AssetSpec, inlet: InletSpec, interval: tuple[int, int], partitions: PartitionSet
) -> Waiting:
    """Quiet reason of a run that never comes, because the inlet has no run at or before its interval."""
    timetable, when_text = context.project.assets[inlet.name].schedule.timetable, context.format_instant(interval[1])
    newest = timetable.last_over(from_unix(interval[1])) if timetable is not None else None
    if newest is not None:
        reason = f"not wanted: {inlet.name} published nothing at or before {when_text}; it skipped its run of "
        reason += f"{context.format_instant(to_unix(newest.start))}"
    else:
        reason = f"not wanted: {inlet.name} has no run at or before {when_text}"
        if timetable is not None and timetable.start is not None:
            reason += f": it starts at {context.format_instant(timetable.start)}"
    return Waiting(asset.name, reason, None, partitions, quiet=True)


def _name_run(context: PlanningContext, slot: Slot, interval: tuple[int, int]) -> str:
    """Names the upstream's run of a slot for a sentence, with its distance in time to the asset's own run."""
    start = to_unix(slot.start)
    return f"run of {context.format_instant(start)} (execution delta {delta_text(interval[0] - start)})"


def _wait_for_run(
    context: PlanningContext,
    asset: AssetSpec,
    inlet: InletSpec,
    run_text: str,
    partitions: PartitionSet,
    slot: Slot,
    *,
    tolerance_over: int | None,
) -> Waiting:
    """Reason to wait for the upstream's run of ``slot``.

    It ends at ``tolerance_over`` (the end of the tolerance), if there is an earlier run that can be read from then on.
    Its ``until`` is the upstream's own tick while that is still to come: nothing can change before it.
    """
    reason, due = f"waits for {inlet.name}'s {run_text}", to_unix(slot.run_after)
    until = due if due > context.now else None
    if (
        tolerance_over is not None
        and tolerance_over > context.now
        and last_published_end(context, inlet, slot) is not None
    ):
        return Waiting(
            asset.name,
            f"{reason}; at most until {context.format_instant(tolerance_over)} (tolerance)",
            until or tolerance_over,
            partitions,
        )
    return Waiting(asset.name, reason, until, partitions)


def _join_alignments(parts: list[InletAlignment]) -> InletAlignment:
    """The alignment of a run from that of each of its inlets; the run waits if any of them does."""
    pins = {name: pin for part in parts for name, pin in part.pins.items()}
    return InletAlignment(
        pins,
        tuple(note for part in parts for note in part.notes),
        tuple(wait for part in parts for wait in part.waiting),
        any(part.unwanted for part in parts),
    )
