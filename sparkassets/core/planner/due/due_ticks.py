"""Finds the due ticks of an asset's timetable, or until when there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, LatestOnly, Strategy
from sparkassets.core.timetables import Catchup, ContinuousTimetable, OnceTimetable, Slot, Timetable
from sparkassets.frozen import frozen, replace

InstanceInterval = tuple[tuple[int, int], tuple[int, int]]
"""Data interval of an instance and of the slot that it stands for, Unix seconds; mostly the same."""

MOST_RUNS = 100
"""Most runs of one asset in a plan, under ``catchup: all`` and ``every_instance``; others follow after these."""


@frozen
class DueTick:
    """A due tick of a timetable; all times are Unix seconds.

    Attributes:
        run_after: The instant of the tick.
        interval: Data interval of its run; it may span several slots.
        cursor: The newest slot that it stands for: the asset's cursor once the run succeeds.
        note: Remark about its interval, for people.
    """

    run_after: int
    interval: tuple[int, int]
    cursor: tuple[int, int]
    note: str = ""


def find_due_ticks(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState
) -> tuple[DueTick, ...] | Waiting:
    """Returns the ticks that still need a run, oldest first; or, as `Waiting`, when the next one is.

    Under ``catchup: latest`` only the newest, under ``rollup`` one that spans all of them, under ``all`` at most
    `MOST_RUNS`. The first begins where the last interval that ran ended, even if the schedule changed in between.
    """
    match timetable:
        case ContinuousTimetable():
            return _continuous_ticks(context, asset, timetable, state)
        case OnceTimetable():
            return _once_ticks(context, asset, timetable, state)
    catchup = catchup_of(asset, timetable)
    newest = timetable.last_at(from_unix(context.now))
    if newest is None or (catchup != "all" and _interval_of(newest) in _marked_intervals(state)):
        return _explain_not_due(context, asset, timetable, state)
    # one more than are planned shows whether others follow
    missed = list(islice(_missed_slots(timetable, newest, state, context.now), MOST_RUNS + 1))
    if not missed:
        return _explain_not_due(context, asset, timetable, state)
    is_cut = len(missed) > MOST_RUNS
    if catchup == "all":
        ticks = [_build_tick(context, slot, timetable, state) for slot in missed[:MOST_RUNS]]
        more = (_add_note(ticks[-1], "more missed intervals follow"),) if is_cut else (ticks[-1],)
        return (*ticks[:-1], *more)
    newest_tick = _build_tick(context, newest, timetable, state)
    if len(missed) == 1:
        return (newest_tick,)
    oldest = _build_tick(context, missed[0], timetable, state)
    since_text = context.format_instant(oldest.interval[0])
    if catchup == "latest":
        skipped = f"more than {MOST_RUNS}" if is_cut else f"{len(missed) - 1}"
        return (_add_note(newest_tick, f"skips older intervals: {skipped} since {since_text} (catchup: latest)"),)
    spanned = f"more than {MOST_RUNS}" if is_cut else f"{len(missed)}"
    spanning = replace(newest_tick, interval=(oldest.interval[0], newest_tick.interval[1]), note=oldest.note)
    return (_add_note(spanning, f"spans {spanned} intervals since {since_text} (catchup: rollup)"),)


def catchup_of(asset: AssetSpec, timetable: Timetable) -> Catchup:
    """The catchup mode for missed intervals: the timetable's own, or the default of the asset's strategy."""
    return timetable.catchup or _default_catchup(asset.strategy)


def _default_catchup(strategy: Strategy | None) -> Catchup:
    """The default catchup mode of a strategy; `LatestOnly` rolls up: its run reads from the watermark to now."""
    match strategy:
        case EveryInstance():
            return "all"
        case LatestOnly():
            return "rollup"
    return "latest"


def instance_tick(context: PlanningContext, timetable: Timetable) -> DueTick | None:
    """The newest tick, for assets whose instances are partitions: it asks for those over by the end of its interval.

    A timetable that ticks once, or continuously, ticks now. None before the first tick, or outside of start and end.
    """
    match timetable:
        case ContinuousTimetable() | OnceTimetable():
            start, end = timetable.start, timetable.end
            if (start is not None and start > context.now) or (end is not None and end <= context.now):
                return None
            at = start if start is not None and isinstance(timetable, OnceTimetable) else context.now
            return DueTick(at, interval=(at, at), cursor=(at, at))
    slot = timetable.last_at(from_unix(context.now))
    return (
        None
        if slot is None
        else DueTick(to_unix(slot.run_after), interval=_interval_of(slot), cursor=_interval_of(slot))
    )


def next_tick_of(context: PlanningContext, asset: AssetSpec) -> int | None:
    """When the asset's timetable ticks next, Unix seconds; None where it never does, or has no fixed instants."""
    timetable = asset.schedule.timetable
    if timetable is None or isinstance(timetable, ContinuousTimetable | OnceTimetable):
        return None
    slot = timetable.first_after(from_unix(context.now))
    return None if slot is None else to_unix(slot.run_after)


def tick_at(timetable: Timetable, at: int, state: AssetState) -> DueTick:
    """The `DueTick` at a known instant, Unix seconds; the timetable may have changed and no longer tick then.

    A continuous timetable has no slots: its interval begins where the last one ended (the cursor).
    """
    start = min(state.cursor[1], at) if state.cursor is not None and isinstance(timetable, ContinuousTimetable) else at
    slot = None if isinstance(timetable, ContinuousTimetable | OnceTimetable) else timetable.last_at(from_unix(at))
    interval = (start, at) if slot is None else _interval_of(slot)
    return DueTick(at, interval=interval, cursor=interval)


def before_tick(timetable: Timetable, tick: DueTick) -> int:
    """End of the slot before the tick's own, Unix seconds; the start of the tick's interval where it is the first."""
    earlier = timetable.last_at(from_unix(tick.run_after - 1))
    return tick.interval[0] if earlier is None else min(to_unix(earlier.end), tick.interval[1])


def find_due_intervals(
    context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState
) -> Iterator[InstanceInterval]:
    """Yields (interval, cursor) of every due instance, oldest first, without the limit of `find_due_ticks`."""
    newest = timetable.last_at(from_unix(context.now))
    if newest is None or catchup_of(asset, timetable) != "all":
        ticks = find_due_ticks(context, asset, timetable, state)
        return iter([] if isinstance(ticks, Waiting) else [(tick.interval, tick.cursor) for tick in ticks])
    slots = _missed_slots(timetable, newest, state, context.now)
    missed = (_build_tick(context, slot, timetable, state) for slot in slots)
    return ((tick.interval, tick.cursor) for tick in missed)


def slots_after(timetable: Timetable, at: int) -> Iterator[Slot]:
    """Yields the slots whose ``run_after`` is later than ``at`` (Unix seconds), oldest first."""
    first = timetable.first_after(from_unix(at))
    return iter(()) if first is None else _iterate_slots_from(timetable, first)


def _marked_intervals(state: AssetState) -> frozenset[tuple[int, int]]:
    """The slots that need no run because a person marked them as done or skipped."""
    return frozenset(mark.interval for mark in state.marked_ticks)


def _missed_slots(timetable: Timetable, newest: Slot, state: AssetState, now: int) -> Iterator[Slot]:
    """Yields the unmarked slots since the last one that ran, oldest first; from the timetable's start if none ran.

    Slots may share an end: those that follow the last one that ran are missed too. After a change of the schedule the
    last interval that ran is no slot of the new timetable, and nothing up to its end is missed.
    """
    slots, marked = _slots_since_cursor(timetable, newest, state, now), _marked_intervals(state)
    return (slot for slot in slots if _interval_of(slot) not in marked) if marked else slots


def _slots_since_cursor(timetable: Timetable, newest: Slot, state: AssetState, now: int) -> Iterator[Slot]:
    """Yields the slots after the asset's cursor, up to ``now``, marked ones included; see `_missed_slots`.

    Without a cursor: all from the timetable's start, or only the newest where it has none.
    """
    if state.cursor is None:
        start = timetable.start
        return iter([newest]) if start is None else timetable.between(from_unix(start), from_unix(now))
    if to_unix(newest.end) < state.cursor[1] or _interval_of(newest) == state.cursor:
        return iter(())
    return _slots_after_cursor(state.cursor, timetable.between(from_unix(state.cursor[1]), from_unix(now)))


def _slots_after_cursor(cursor: tuple[int, int], slots: Iterable[Slot]) -> Iterator[Slot]:
    """Yields the slots that come after ``cursor``: a later end, or the same end and listed after it."""
    is_cursor_seen = False
    for slot in slots:
        end = to_unix(slot.end)
        if _interval_of(slot) == cursor:
            is_cursor_seen = True
        elif end > cursor[1] or (is_cursor_seen and end == cursor[1]):
            yield slot


def _interval_of(slot: Slot) -> tuple[int, int]:
    """The slot's data interval, Unix seconds."""
    return to_unix(slot.start), to_unix(slot.end)


def _build_tick(context: PlanningContext, slot: Slot, timetable: Timetable, state: AssetState) -> DueTick:
    """The tick of one slot; it begins where the last interval ended, if that lies inside the slot.

    That happens after a change of the schedule, when the new slots do not meet the old ones.
    """
    start, end = _interval_of(slot)
    ended = state.cursor[1] if state.cursor is not None else start
    if timetable.abutting and start < ended < end:
        note = f"the schedule changed: the interval starts at the end of the last one, {context.format_instant(ended)}"
        return DueTick(to_unix(slot.run_after), interval=(ended, end), cursor=(start, end), note=note)
    return DueTick(to_unix(slot.run_after), interval=(start, end), cursor=(start, end))


def _add_note(tick: DueTick, note: str) -> DueTick:
    """The tick with a further remark."""
    return replace(tick, note=f"{tick.note}; {note}" if tick.note else note)


def _explain_not_due(context: PlanningContext, asset: AssetSpec, timetable: Timetable, state: AssetState) -> Waiting:
    """Reason why no tick is due, with the time of the next one that has not run.

    Coming slots may have run already: a plan made with ``--at`` for a later time moves the cursor past them.
    """
    next_slot, done_text, marked = timetable.first_after(from_unix(context.now)), "", _marked_intervals(state)
    if next_slot is not None and state.cursor is not None and to_unix(next_slot.end) <= state.cursor[1]:
        done_text = f" a plan for a later time already ran it up to {context.format_instant(state.cursor[1])};"
        next_slot = next(_slots_after_cursor(state.cursor, _iterate_slots_from(timetable, next_slot)), None)
    if next_slot is not None and marked:
        next_slot = next(
            (slot for slot in _iterate_slots_from(timetable, next_slot) if _interval_of(slot) not in marked), None
        )
    if next_slot is None:
        end_text = "its end has passed" if timetable.end is not None else "it has no more runs"
        return Waiting(asset.name, f"{asset.schedule.text}:{done_text} {end_text}", quiet=True)
    until = to_unix(next_slot.run_after)
    return Waiting(
        asset.name, f"{asset.schedule.text}:{done_text} not before {context.format_instant(until)}", until, quiet=True
    )


def _iterate_slots_from(timetable: Timetable, slot: Slot) -> Iterator[Slot]:
    """Yields the slots from ``slot`` on; several may share one ``run_after``, so all of each instant are listed."""
    following: Slot | None = slot
    while following is not None:
        yield from timetable.between(following.run_after, following.run_after)
        following = timetable.first_after(following.run_after)


def _once_ticks(
    context: PlanningContext, asset: AssetSpec, timetable: OnceTimetable, state: AssetState
) -> tuple[DueTick, ...] | Waiting:
    """The single tick of a ``once`` timetable: at its start, or now without one.

    A waiting reason after its run, before its start, and after its end where it has no start. With a start, the tick
    stays due even after the end.
    """
    if ended := _explain_ended(state):
        return Waiting(asset.name, f"{asset.schedule.text}: {ended}", quiet=True)
    has_ended = timetable.start is None and timetable.end is not None and timetable.end <= context.now
    if has_ended or (timetable.start is not None and timetable.start > context.now):
        return _explain_not_due(context, asset, timetable, state)
    at = context.now if timetable.start is None else timetable.start
    return (DueTick(at, interval=(at, at), cursor=(at, at)),)


def _explain_ended(state: AssetState) -> str:
    """Why an asset with ``once`` does not run again; empty before its run.

    A withheld or skipped run counts as its run. A cursor without any run means that a person marked it.
    """
    ended = state.last or (state.withheld[-1] if state.withheld else None) or state.last_skip
    if ended is not None:
        return f"done by {ended.run}"
    return "marked as done" if state.cursor is not None else ""


def _continuous_ticks(
    context: PlanningContext, asset: AssetSpec, timetable: ContinuousTimetable, state: AssetState
) -> tuple[DueTick, ...] | Waiting:
    """The tick of a continuous timetable: one from the cursor to now in each invocation, within its start and end."""
    if timetable.start is not None and timetable.start > context.now:
        until = timetable.start
        return Waiting(
            asset.name, f"{asset.schedule.text}: not before {context.format_instant(until)}", until, quiet=True
        )
    if timetable.end is not None and timetable.end <= context.now:
        return _explain_not_due(context, asset, timetable, state)
    if _has_run_in_invocation(context, state):
        return Waiting(asset.name, f"{asset.schedule.text}: ran in this invocation", quiet=True)
    begin = timetable.start if timetable.start is not None else context.now
    if state.cursor is not None:
        begin = state.cursor[1]
    if state.cursor is not None and begin > context.now:
        done_text = f"a plan for a later time already ran it up to {context.format_instant(begin)}; not before that"
        return Waiting(asset.name, f"{asset.schedule.text}: {done_text}", begin, quiet=True)
    return (DueTick(context.now, interval=(begin, context.now), cursor=(begin, context.now)),)


def _has_run_in_invocation(context: PlanningContext, state: AssetState) -> bool:
    """Whether a run of the asset ended in this invocation, by a success, a skip or as withheld."""
    ended = (each for each in (state.last, state.last_skip, *state.withheld) if each is not None)
    return context.invocation is not None and any(each.invocation == context.invocation for each in ended)
