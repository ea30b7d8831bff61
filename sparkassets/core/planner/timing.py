"""What an asset's schedule says at a moment: considered now, or not until."""

from __future__ import annotations

from dataclasses import dataclass

from sparkassets.core.instants import epoch, instant
from sparkassets.core.journal.state import AssetState
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import when
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.timetables import Timetable


@dataclass(frozen=True, slots=True)
class Tick:
    """A due tick of a timetable; epoch seconds.

    Attributes:
        cursor: What the asset's cursor becomes when the run succeeds.
    """

    run_after: int
    interval: tuple[int, int]
    cursor: int


def due_tick(asset: AssetSpec, timetable: Timetable, state: AssetState, now: int) -> Tick | Waiting:
    """The newest tick that no run stands for yet, or until when there is none."""
    slot = timetable.last_at(instant(now))
    if slot is not None and (state.cursor is None or epoch(slot.end) > state.cursor):
        return Tick(epoch(slot.run_after), (epoch(slot.start), epoch(slot.end)), epoch(slot.end))
    coming = timetable.first_after(instant(now))
    if coming is None:
        return Waiting(asset.name, f"{asset.schedule.text}: its end has passed", quiet=True)
    until = epoch(coming.run_after)
    return Waiting(asset.name, f"{asset.schedule.text}: not before {when(until)}", until, quiet=True)
