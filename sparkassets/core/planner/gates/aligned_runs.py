"""Finds the output of an upstream's run of a tick, for consumers aligned to it, or why there is none.

A run that was skipped, by its code or by a person, has nothing new, so the one before it is read in its place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.iterations import iteration_of_version
from sparkassets.core.journal.asset_records import AlignedInstance
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.planner.due.due_ticks import find_due_ticks
from sparkassets.core.planner.due.withheld_partitions import accept_command, find_withheld
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.runs import InletPin
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.timetables import Slot, Timetable
from sparkassets.frozen import frozen

MOST_SKIPPED = 10_000
"""Most skipped runs in a row that are searched for the run that published."""

Ticks = dict[str, tuple[int, ...]]
"""Cache, by aligned inlet, of where the intervals of its due ticks end (Unix seconds); filled on demand.

It is the same for all partitions of one decision.
"""


def _newest_finished_slot(context: PlanningContext, inlet: InletSpec, end: int) -> Slot | None:
    """The upstream's newest slot that is over at ``end``; None before the first and without a timetable."""
    timetable = context.project.assets[inlet.name].schedule.timetable
    return timetable.last_over(from_unix(end)) if timetable is not None else None


def run_read_at(context: PlanningContext, inlet: InletSpec, end: int) -> Slot | None:
    """The slot of the upstream's run that is read at ``end``: the newest that is over and was not skipped.

    None where the upstream has no such slot. After `MOST_SKIPPED` skipped runs in a row it gives up and returns one
    that was skipped.
    """
    slot, skipped_count = _newest_finished_slot(context, inlet, end), 0
    while slot is not None and skipped_count < MOST_SKIPPED and _is_skipped(context, inlet, slot):
        # a second before the skipped slot's end, the newest that is over is the one before it
        slot, skipped_count = _newest_finished_slot(context, inlet, to_unix(slot.end) - 1), skipped_count + 1
    return slot


@frozen
class UpstreamOutput:
    """The output of the upstream's run of a slot.

    Attributes:
        pin: Pin with which a consumer reads it; None where it does not exist.
        since: Begin of the first interval, Unix seconds, if the run stands for several.
        lacking: Missing partitions of a partitioned upstream.
    """

    pin: InletPin | None = None
    since: int | None = None
    lacking: PartitionSet | None = None


def find_output(
    context: PlanningContext, inlet: InletSpec, slot: Slot, *, allows_partial: bool = False
) -> UpstreamOutput:
    """The output of the upstream's run of ``slot``; without a pin where it does not exist.

    With ``allows_partial`` the output counts even if some of the slot's partitions are missing. Otherwise all must be
    present or skipped; a slot without partitions counts as present.
    """
    upstream, end = context.project.assets[inlet.name], to_unix(slot.end)
    if upstream.partitioning.is_partitioned:
        slot_partitions = _partitions_of_slot(upstream, slot)
        present = slot_partitions & context.dataset(inlet).coverage
        lacking = slot_partitions - present - _skipped_upstream(context, upstream)
        is_there = bool(present) if allows_partial else bool(present or not slot_partitions) and not lacking
        return (
            UpstreamOutput(_pin_partitions(context, upstream, inlet, slot_partitions))
            if is_there
            else UpstreamOutput(lacking=lacking)
        )
    instance = _find_instance(context, inlet, end)
    if instance is None or instance.skipped:
        return UpstreamOutput()
    iteration = iteration_of_version(context.state.assets[inlet.name].iterations, instance.version)
    pin = InletPin(inlet.uri, instance.seq, instance.table_id, instance.version, iteration=iteration)
    return UpstreamOutput(pin, None if instance.start == to_unix(slot.start) else instance.start)


def _partitions_of_slot(upstream: AssetSpec, slot: Slot) -> PartitionSet:
    """The partitions that the run of ``slot`` computes."""
    return upstream.partitioning.cover(PartitionSet.span(to_unix(slot.start), to_unix(slot.end)))


def _skipped_upstream(context: PlanningContext, upstream: AssetSpec) -> PartitionSet:
    """Partitions of the upstream that its runs or a person skipped, or that lack all input for that reason.

    For an outlet, the skips are those of its multi-asset.
    """
    waived = context.waived_partitions
    return (
        waived.get(upstream.written_by or upstream.name, NOTHING) | context.inherited_skips(upstream)
        if waived
        else NOTHING
    )


def _is_skipped(context: PlanningContext, inlet: InletSpec, slot: Slot) -> bool:
    """Whether the upstream's run of ``slot`` was skipped, by its code or by a person."""
    upstream = context.project.assets[inlet.name]
    if upstream.partitioning.is_partitioned:
        slot_partitions = _partitions_of_slot(upstream, slot) if context.waived_partitions else NOTHING
        return bool(slot_partitions) and not slot_partitions - _skipped_upstream(context, upstream)
    instance = _find_instance(context, inlet, to_unix(slot.end))
    return instance is not None and instance.skipped


def find_newest_output(context: PlanningContext, inlet: InletSpec, slot: Slot) -> tuple[Slot, UpstreamOutput] | None:
    """The newest of the upstream's runs up to ``slot`` with an output, as (slot, output); None where there is none.

    It goes back by what was published, so runs that published nothing are passed over at once.
    """
    timetable = context.project.assets[inlet.name].schedule.timetable
    output = find_output(context, inlet, slot, allows_partial=True)
    while output.pin is None:
        end = last_published_end(context, inlet, slot)
        earlier = timetable.last_over(from_unix(end)) if timetable is not None and end is not None else None
        if earlier is None or earlier.end >= slot.end:
            return None
        slot, output = earlier, find_output(context, inlet, earlier, allows_partial=True)
    return slot, output


def last_published_end(context: PlanningContext, inlet: InletSpec, slot: Slot) -> int | None:
    """The end of the newest interval before ``slot`` that the upstream published, Unix seconds; None without one."""
    if context.project.assets[inlet.name].partitioning.is_partitioned:
        extent = context.dataset(inlet).coverage.clip(None, to_unix(slot.start)).extent
        return None if extent is None else extent[1]
    state, end = context.state.assets.get(inlet.name), to_unix(slot.end)
    instances = reversed(state.instances if state is not None else ())
    return next((each.end for each in instances if not each.skipped and each.end < end), None)


def _pin_partitions(context: PlanningContext, upstream: AssetSpec, inlet: InletSpec, parts: PartitionSet) -> InletPin:
    """Pins the partitions: at the table's newest version if its columns hold them, else their newest iteration.

    If no iteration has just these partitions, the whole table at its newest version.
    """
    if upstream.partitioning.has_columns:
        return context.pin(inlet, parts)
    known = context.state.assets[inlet.name]
    newest = next((each for each in reversed(known.iterations) if each.partitions == parts), None)
    if newest is None:
        return InletPin(inlet.uri, context.dataset(inlet).seq, known.table_id, known.version)
    return InletPin(inlet.uri, newest.seq, known.table_id, newest.version, iteration=newest.name)


def _find_instance(context: PlanningContext, inlet: InletSpec, end: int) -> AlignedInstance | None:
    """The recorded run of the upstream whose interval ends at ``end``; None where none is recorded."""
    state = context.state.assets.get(inlet.name)
    instances = state.instances if state is not None else ()
    # at most one instance has an end, and they ascend by it
    index = bisect_left(instances, end, key=lambda each: each.end)
    return instances[index] if index < len(instances) and instances[index].end == end else None


@frozen
class MissingOutputReason:
    """Why a run of an upstream has no output.

    Attributes:
        text: Clause for a sentence; empty when the run is still to come.
        settled: Whether only a person can bring its output: it is withheld, or no run will come for it any more.
    """

    text: str = ""
    settled: bool = False


def find_missing_output_reason(
    context: PlanningContext, inlet: InletSpec, slot: Slot, lacking: PartitionSet | None, ticks: Ticks
) -> MissingOutputReason:
    """Returns why the upstream's run of ``slot`` has no output: withheld, failed, passed over, or still to come.

    Args:
        context: The planner's view.
        inlet: The aligned inlet.
        slot: The slot of its run.
        lacking: The missing partitions of a partitioned upstream; None for one without partitions.
        ticks: Cache of the upstream's due ticks; this fills it.
    """
    upstream, state = context.project.assets[inlet.name], context.state.assets.get(inlet.name)
    timetable = upstream.schedule.timetable
    if state is None or timetable is None:
        return MissingOutputReason()
    writer = context.state.assets.get(upstream.written_by, state)
    if lacking is not None:
        return _reason_of_missing_partitions(context, writer, state, lacking)
    if inlet.name not in ticks:
        ticks[inlet.name] = _ends_of_due_ticks(context, upstream, timetable, state)
    end, due_ends = to_unix(slot.end), ticks[inlet.name]
    record = _withheld_instance(writer, end)
    if record is not None:
        return MissingOutputReason(_describe_withheld(context, writer, record, EVERYTHING), settled=True)
    if _has_passed(state, end, due_ends):
        interval = f"{context.format_instant(to_unix(slot.start))}..{context.format_instant(end)}"
        command = f"`sparkassets backfill {inlet.name} --interval {interval}`"
        return MissingOutputReason(f", which published nothing: {command}", settled=True)
    if not state.failed or not due_ends:
        return MissingOutputReason()
    return MissingOutputReason(", which failed" if end == due_ends[0] else ", which comes after a failed run")


def _reason_of_missing_partitions(
    context: PlanningContext, writer: AssetState, state: AssetState, lacking: PartitionSet
) -> MissingOutputReason:
    """Why the ``lacking`` partitions of a run are not published: withheld, failed, or still to come.

    ``writer`` is the state of the multi-asset that writes the upstream ``state``, else the same.
    """
    records = (each for each in reversed(writer.withheld) if not each.skipped)
    record = next((each for each in records if each.partitions.overlaps(lacking)), None)
    if record is None:
        return MissingOutputReason(", which failed" if state.failed_partitions.overlaps(lacking) else "")
    return MissingOutputReason(_describe_withheld(context, writer, record, lacking), settled=True)


def _ends_of_due_ticks(
    context: PlanningContext, upstream: AssetSpec, timetable: Timetable, state: AssetState
) -> tuple[int, ...]:
    """The ends of the upstream's due intervals, oldest first, Unix seconds; empty where no tick is due."""
    due = find_due_ticks(context, upstream, timetable, state)
    return () if isinstance(due, Waiting) else tuple(tick.cursor[1] for tick in due)


def _withheld_instance(writer: AssetState, end: int) -> WithheldPartitions | None:
    """The withheld run whose data interval ends at ``end``; None where there is none."""
    return next((each for each in writer.withheld if each.interval is not None and each.interval[1] == end), None)


def _has_passed(state: AssetState, end: int, due_ends: Sequence[int]) -> bool:
    """Whether no run comes any more for the tick whose interval ends at ``end``.

    The asset's cursor has passed it, or only later ticks are due (``due_ends`` has the ends of their intervals).
    """
    return (state.cursor is not None and end <= state.cursor[1]) or (bool(due_ends) and end < due_ends[0])


def _describe_withheld(
    context: PlanningContext, writer: AssetState, record: WithheldPartitions, lacking: PartitionSet
) -> str:
    """Clause that the output is withheld, with the command that publishes it."""
    named = find_withheld(context, context.asset(writer.name), writer).partitions_to_name(record.partitions & lacking)
    return f", which is withheld ({record.text}): `{accept_command(context, writer, record, named=named)}` publishes it"
