"""What an asset's timetable says at a moment: which ticks are due, or until when none is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from sparkassets.core.instants import epoch, instant
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.look import Look
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import when
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.timetables import Continuous, Once, Slot, Timetable

MOST_TICKS = 100
"""Missed ticks that one plan names under ``catchup: all``; the others follow when these ran."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A due tick of a timetable; epoch seconds.

    Attributes:
        cursor: What the asset's cursor becomes when the run succeeds.
        note: What people should know of its interval.
    """

    run_after: int
    interval: tuple[int, int]
    cursor: int
    note: str = ""


def due_ticks(look: Look, asset: AssetSpec, timetable: Timetable, state: AssetState) -> tuple[Tick, ...] | Waiting:
    """The ticks that no run stands for yet, oldest first, by ``catchup``; or until when there is none.

    Under ``latest`` only the newest, under ``rollup`` one that spans all of them. The first begins where the last
    interval that ran ended, also where the schedule was changed in between.
    """
    match timetable:
        case Continuous():
            return _continuous(look, asset, state)
        case Once():
            return _once(look, asset, timetable, state)
    catchup = timetable.catchup or ("all" if isinstance(asset.strategy, EveryInstance) else "latest")
    newest = timetable.last_at(instant(look.now))
    if newest is None or (state.cursor is not None and epoch(newest.end) <= state.cursor):
        return _not_yet(look, asset, timetable)
    if catchup == "latest":
        return (_tick(newest, timetable, state),)
    missed = _missed(timetable, state, look.now) or [newest]
    if catchup == "all":
        return tuple(_tick(slot, timetable, state) for slot in missed)
    first = _tick(missed[0], timetable, state)
    spanning = _tick(newest, timetable, state)
    return (replace(spanning, interval=(first.interval[0], spanning.interval[1]), note=first.note),)


def _missed(timetable: Timetable, state: AssetState, now: int) -> list[Slot]:
    """The slots since the last one that ran, oldest first; since the timetable's start where none ran."""
    begin: datetime
    if state.cursor is not None:
        begin = instant(state.cursor)
    elif timetable.start is not None:
        begin = instant(timetable.start)
    else:
        return []
    slots = timetable.between(begin, instant(now))
    return list(islice((slot for slot in slots if state.cursor is None or epoch(slot.end) > state.cursor), MOST_TICKS))


def _tick(slot: Slot, timetable: Timetable, state: AssetState) -> Tick:
    start, end = epoch(slot.start), epoch(slot.end)
    if timetable.abutting and state.cursor is not None and start < state.cursor < end:
        note = f"the schedule changed: the interval begins where the last one ended, {when(state.cursor)}"
        return Tick(epoch(slot.run_after), (state.cursor, end), end, note)
    return Tick(epoch(slot.run_after), (start, end), end)


def _not_yet(look: Look, asset: AssetSpec, timetable: Timetable) -> Waiting:
    coming = timetable.first_after(instant(look.now))
    if coming is None:
        return Waiting(asset.name, f"{asset.schedule.text}: its end has passed", quiet=True)
    until = epoch(coming.run_after)
    return Waiting(asset.name, f"{asset.schedule.text}: not before {when(until)}", until, quiet=True)


def _once(look: Look, asset: AssetSpec, timetable: Once, state: AssetState) -> tuple[Tick, ...] | Waiting:
    if state.last is not None:
        return Waiting(asset.name, f"{asset.schedule.text}: {state.last.run} was it", quiet=True)
    if timetable.start is not None and timetable.start > look.now:
        return _not_yet(look, asset, timetable)
    at = look.now if timetable.start is None else timetable.start
    return (Tick(at, (at, at), at),)


def _continuous(look: Look, asset: AssetSpec, state: AssetState) -> tuple[Tick, ...] | Waiting:
    timetable = asset.schedule.timetable
    if timetable is not None and timetable.start is not None and timetable.start > look.now:
        return Waiting(
            asset.name, f"{asset.schedule.text}: not before {when(timetable.start)}", timetable.start, quiet=True
        )
    if timetable is not None and timetable.end is not None and timetable.end <= look.now:
        return Waiting(asset.name, f"{asset.schedule.text}: its end has passed", quiet=True)
    if state.last is not None and look.invocation is not None and state.last.invocation == look.invocation:
        return Waiting(asset.name, f"{asset.schedule.text}: ran in this invocation", quiet=True)
    begin = state.cursor if state.cursor is not None and state.cursor <= look.now else look.now
    return (Tick(look.now, (begin, look.now), look.now),)
