"""Finds what a trigger makes due by itself: a tick, or an event that no inlet maps to partitions.

A schedule says when an asset is written. An asset by time knows which partition is missing once a slot is over; an
asset with the segments of its inlets knows which of them changed. For any other asset only the tick or the event of its
schedule shows that it is out of date, so the trigger makes all of it due.
"""

from __future__ import annotations

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.due_ticks import MOST_RUNS, DueTick, catchup_of, instance_tick, slots_after, tick_at
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.runs import TIMETABLE
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, FullRefresh, SegmentBatches
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable, Timetable

TickRound = tuple[DueTick, PartitionSet]
"""A tick with the partitions for which it is the oldest unanswered tick."""


def is_due_by_trigger(context: PlanningContext, asset: AssetSpec) -> bool:
    """Whether each tick, and each event that no inlet maps, makes all partitions of the asset due.

    Under ``full_refresh`` always; of segments alone under ``every_instance``, where each segment at each tick is an
    instance, and under ``segments`` where no inlet tells which of them changed.
    """
    match asset.strategy:
        case FullRefresh():
            return asset.partitioning.is_partitioned
        case EveryInstance():
            return is_instance_of_tick(asset)
        case SegmentBatches():
            return not any(
                inlet.on_update == "rerun" and context.dependency(asset, inlet).tells_segments
                for inlet in asset.inlets.values()
            )
    return False


def is_instance_of_tick(asset: AssetSpec) -> bool:
    """Whether an instance is a segment at a tick or an update, as the partitions of the asset have no time."""
    timeless = asset.partitioning.is_partitioned and asset.partitioning.time is None
    return timeless and isinstance(asset.strategy, EveryInstance)


def unanswered_partitions(asset: AssetSpec, state: AssetState, tick: DueTick, blocks: PartitionSet) -> PartitionSet:
    """Partitions of ``blocks`` that have still to answer a tick of the timetable: all where no run has yet."""
    used = state.ticks.get(TIMETABLE)
    return blocks if used is None or used < tick.run_after else partly_answered_partitions(asset, state, blocks)


def partly_answered_partitions(asset: AssetSpec, state: AssetState, blocks: PartitionSet) -> PartitionSet:
    """Partitions of ``blocks`` that have still to answer a tick that others have answered."""
    left = state.unanswered_partitions(TIMETABLE)
    return asset.partitioning.cover(blocks & left) & blocks if left else NOTHING


def unanswered_rounds(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState, blocks: PartitionSet
) -> list[TickRound]:
    """Ticks that some of ``blocks`` have still to answer, oldest first: all under ``catchup: all``, else the last.

    A partition answers its ticks in order, so it is listed only with the first that it has not answered.
    """
    newest = instance_tick(context, timetable)
    if newest is None:
        return []
    if catchup_of(asset, timetable) != "all" or isinstance(timetable, ContinuousTimetable | OnceTimetable):
        left = _of_newest(asset, timetable, state, newest, blocks)
        return [(newest, left)] if left else []
    found: list[TickRound] = []
    for at, parts in state.partly.get(TIMETABLE, ())[:MOST_RUNS]:
        if own := asset.partitioning.cover(blocks & parts) & blocks:
            found.append((tick_at(timetable, at, state), own))
            blocks = blocks - own
    fresh = _first_unused(timetable, state, newest)
    return [*found, (fresh, blocks)] if fresh is not None and blocks else found


def _of_newest(
    asset: AssetSpec, timetable: Timetable, state: AssetState, newest: DueTick, blocks: PartitionSet
) -> PartitionSet:
    """Partitions that have still to answer the newest tick; a timetable that ticks once is answered once."""
    if isinstance(timetable, OnceTimetable) and TIMETABLE in state.ticks:
        return partly_answered_partitions(asset, state, blocks)
    return unanswered_partitions(asset, state, newest, blocks)


def _first_unused(timetable: Timetable, state: AssetState, newest: DueTick) -> DueTick | None:
    """The oldest tick that no run has answered."""
    used = state.ticks.get(TIMETABLE)
    if used is None:
        used = timetable.start - 1 if timetable.start is not None else newest.run_after - 1
    slot = next(slots_after(timetable, used), None)
    tick = tick_at(timetable, to_unix(slot.run_after), state) if slot is not None else None
    return tick if tick is not None and tick.run_after <= newest.run_after else None
