"""The next runs that time alone starts, whatever happened so far, for `preview`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import groupby, islice

from sparkassets.core.conditions import TimeLeaf, times_true_alone
from sparkassets.core.instants import format_zoned
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable, Slot, Timetable
from sparkassets.frozen import frozen

MOST_RUNS = 100_000
"""Most coming runs of one asset in a preview: a year of every five minutes."""

_MOMENT = timedelta(microseconds=1)
_EARLIEST = datetime.min.replace(tzinfo=UTC) + _MOMENT
"""The earliest start of a preview, as a search begins a moment before it."""


@frozen
class SchedulePreview:
    """The coming runs of one asset.

    Attributes:
        timezone: Time zone in which its runs are shown.
        slots: Slots of the coming runs, oldest first.
        reason: Why there are none; empty where there are.
        paused: It will not run until it is resumed.
    """

    asset: str
    timezone: str
    slots: tuple[Slot, ...] = ()
    reason: str = ""
    paused: bool = False

    def __repr__(self) -> str:
        runs = (format_zoned(slot.run_after, self.timezone) for slot in self.slots)
        paused_text = "; paused" if self.paused else ""
        return f"<next of {self.asset}: {', '.join(runs) or self.reason}{paused_text}>"


def preview_schedule(asset: AssetSpec, *, start: datetime, count: int, paused: bool = False) -> SchedulePreview:
    """The next ``count`` runs that time alone lets start at ``start`` or later.

    They come by the asset's timetable, or by times in its condition that need nothing else. ``paused`` says whether the
    `pause` verb keeps it from running; its YAML may do so too.
    """
    if asset.written_by:
        return SchedulePreview(asset.name, asset.local_zone, (), describe_untimed(asset))
    timetable, condition = asset.schedule.timetable, asset.schedule.condition
    times = [each for each in times_true_alone(condition) if each.without is None] if condition is not None else ()
    coming = _slots_from(timetable, start) if timetable is not None else _slots_of_times(times, start)
    slots = tuple(islice(coming, count))
    reason = "" if slots else _explain_no_slots(asset, start)
    return SchedulePreview(asset.name, asset.local_zone, slots, reason, paused=asset.paused or paused)


def _slots_of_times(times: Sequence[TimeLeaf], start: datetime) -> Iterator[Slot]:
    """Yields slots for the times in a condition, oldest first.

    Times that tick at the same instant make one run, whose interval spans theirs.
    """
    instants = merge(*((slot.run_after for slot in _slots_from(time.timetable, start)) for time in times))
    for instant, _ in groupby(instants):
        newest = [slot for time in times if (slot := time.timetable.last_at(instant)) and slot.run_after == instant]
        yield Slot(instant, min(slot.start for slot in newest), max(slot.end for slot in newest))


def _describe_ticks(asset: AssetSpec, start: datetime) -> Iterator[str]:
    """Yields a clause for each time of the condition that says when it ticks next."""
    condition = asset.schedule.condition
    for time in condition.times() if condition is not None else ():
        if time.without is not None:
            continue  # its ticks depend on updates that are still to come
        slot = next(_slots_from(time.timetable, start), None)
        next_text = f"next at {format_zoned(slot.run_after, asset.local_zone)}" if slot is not None else "no more"
        yield f"; {time.text()} ticks {next_text}"


def _explain_no_slots(asset: AssetSpec, start: datetime) -> str:
    """Why no run starts at ``start`` or later."""
    timetable = asset.schedule.timetable
    if timetable is None:
        return f"no timetable: {describe_untimed(asset)}" + "".join(_describe_ticks(asset, start))
    described = timetable.describe()
    match timetable:
        case ContinuousTimetable():
            return f"runs again as soon as a run ends: {described}"
        case OnceTimetable() if timetable.start is None:
            return f"runs once, at any time: {described}"
    return f"no run at {format_zoned(start, asset.local_zone)} or later: {described}"


def describe_untimed(asset: AssetSpec) -> str:
    """What makes an asset without a timetable run: its condition, a person, its multi-asset or others."""
    if asset.source is not None:
        return "others write it"
    if asset.written_by:
        return f"the runs of {asset.written_by} write it"
    if asset.schedule.condition is None:
        return "runs only by hand"
    return f"runs on {asset.schedule.text}"


def _slots_from(timetable: Timetable, start: datetime) -> Iterator[Slot]:
    """Yields the timetable's slots that may run at ``start`` or later, oldest first."""
    slot = timetable.first_after(max(start, _EARLIEST) - _MOMENT)
    while slot is not None:
        yield from timetable.between(slot.run_after, slot.run_after)  # several may run after the same instant
        slot = timetable.first_after(slot.run_after)
