"""Marks of single instances: which one a person names by its data interval, and what the mark changes.

An instance is one run of an asset without partitions under ``every_instance``: a slot of its timetable, or an event.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, takewhile

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.marks import InstanceMark, MarkEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.planner.due.condition_causes import ConditionCauses, find_causes
from sparkassets.core.planner.due.due_ticks import find_due_intervals, slots_after
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import listing
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.timetables import ContinuousTimetable, Slot, Timetable
from sparkassets.errors import InputError
from sparkassets.frozen import replace

DataInterval = tuple[int, int]
"""A data interval, Unix seconds; as a person names it, start and end may both be the instant at which it starts."""

MOST_NAMED = 5
"""Intervals that a refusal lists."""

MOST_SLOTS = 100_000
"""Slots that are looked through for the one that a person names."""


def mark_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry:
    """Resolves the instance that a person names; returns their mark with it and with the causes that it uses up.

    An instance can be marked if it is due or withheld; with ``skip`` also if it lies ahead. Where the instance has this
    mark already, ``said`` comes back as it was, without an ``instance``: it changes nothing.

    Raises:
        InputError: There is no such instance, it is no longer due, or this mark does not apply to it.
    """
    _refuse_what_is_asked(asset, state)
    before = next((each for each in reversed(state.instance_marks) if _fits(asked, each.interval)), None)
    if before is not None and before.kind == said.kind:
        return said
    if said.kind == "missing":
        return _revoke_mark(context, asset, state, asked, said, before)
    found = _find_instance(context, asset, state, asked, said)
    if found is None:
        raise _not_due_error(context, asset, state, asked)
    return replace(found, came=EVERYTHING if said.kind == "done" else NOTHING)


def _find_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark with the instance of that interval: due, withheld or still to come; None where there is none."""
    of_schedule = _due_by_ticks if asset.schedule.timetable is not None else _due_by_events
    if (due := of_schedule(context, asset, state, asked, said)) is not None:
        return due
    if held := [each for each in state.withheld if each.apart and _fits(asked, each.interval)]:
        return replace(said, instance=held[0].interval)
    return _mark_future_instance(context, asset, state, asked, said)


def _refuse_what_is_asked(asset: AssetSpec, state: AssetState) -> None:
    """Refuses an interval where no mark of one instance can apply to the asset.

    It has no instances, runs by hand or continuously, or a person must settle one of its runs first.
    """
    name, schedule = asset.name, asset.schedule
    if not isinstance(asset.strategy, EveryInstance):
        raise InputError(
            f"asset {name!r} has no run for each interval: leave --interval out, and the mark is about all that is due",
            hint="--interval names one instance of an asset with `strategy: every_instance`",
        )
    if state.asking_claims:
        raise InputError(
            f"{name}: a person has to tell first what became of {state.asking_claims[0].entry.run}",
            hint=f"`sparkassets explain {name}` tells how; leave --interval out",
        )
    if schedule.timetable is None and schedule.condition is None:
        raise InputError(f"asset {name!r} is manual: no instance of it is ever due", hint=_backfill(name))
    if isinstance(schedule.timetable, ContinuousTimetable):
        raise InputError(f"asset {name!r} runs whenever a driver looks: it has no intervals before they run")


def _fits(asked: DataInterval, interval: DataInterval | None) -> bool:
    """Whether ``asked`` names the interval: both ends, or its start alone."""
    if interval is None:
        return False
    return asked == interval or (asked[0] == asked[1] == interval[0])


def _backfill(name: str) -> str:
    """Hint with the command that computes one interval."""
    return f"`sparkassets backfill {name} --interval A..B` computes one"


def _revoke_mark(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    asked: DataInterval,
    said: MarkEntry,
    before: InstanceMark | None,
) -> MarkEntry:
    """The mark (missing) that takes back an earlier mark of an instance still ahead, so that the schedule runs it.

    ``before`` is the mark that it takes back; None where the instance has none, which is refused.
    """
    if before is None or not before.is_ahead(state.cursor):
        raise InputError(
            f"{_name_instance(context, asset, asked)} is not marked, or is past: "
            "only an instance that is still ahead can be missing again",
            hint=_backfill(asset.name) + " again",
        )
    if before.kind == "done" and asset.appends:
        raise InputError(f"asset {asset.name!r} appends: what it holds cannot be computed again")
    return replace(said, instance=before.interval)


def _due_by_ticks(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark with the instance that a tick makes due; None where none has that interval.

    If it is the oldest due tick, the mark also moves the asset's cursor past it. A later one leaves the cursor, as
    earlier ticks have still to run.
    """
    timetable = asset.schedule.timetable
    due = find_due_intervals(context, asset, timetable, state) if timetable is not None else iter(())
    near = takewhile(lambda item: item[1][0][0] <= asked[1], enumerate(due))
    found = ((number, slot) for number, (interval, slot) in near if _fits(asked, interval) or _fits(asked, slot))
    number, slot = next(found, (0, None))
    return replace(said, instance=slot, cursor=slot if number == 0 else None) if slot is not None else None


def _due_by_events(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark with the instance that events make due, and with these events; None where none has that interval.

    Several events may share the interval: the mark is about all of them, and leaves the other events unused.
    """
    parts = _parts(context, asset, state)
    chosen = [part for part in parts if _fits(asked, _span(context, part))]
    if not chosen:
        return None
    numbers = tuple(ref.seq for part in chosen for ref in part.events)
    others = sorted({ref.seq for part in parts for ref in part.events} - {*numbers})
    newest: dict[str, int] = {}
    for part in chosen:  # ascending
        newest.update(part.uses.consumption.consumes)
    using = replace(chosen[0].uses.consumption, consumes=newest, skips=tuple(others))
    return replace(said, instance=_span(context, chosen[0]), events=numbers, consumption=using)


def _parts(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[ConditionCauses]:
    """The due instances of an asset that a condition runs, one `ConditionCauses` each; empty where it does not hold."""
    if asset.schedule.condition is None:
        return []
    found = find_causes(context, asset.schedule.condition, state)
    return list(found.split_by_event()) if found.holds else []


def _span(context: PlanningContext, part: ConditionCauses) -> DataInterval | None:
    """The data interval of an instance: from its events, else from its ticks; None without one."""
    return context.interval_of_events(part.events) or part.interval


def _mark_future_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark with an instance that is marked already or whose tick is still to come; None where none is."""
    timetable = asset.schedule.timetable
    slot = _slot(timetable, asked) if timetable is not None else None
    if slot is None:
        return None
    interval = to_unix(slot.start), to_unix(slot.end)
    if any(mark.interval == interval for mark in state.marked_ticks):
        return replace(said, instance=interval)
    if to_unix(slot.run_after) <= context.now:
        return None
    if said.kind == "done":
        when = context.format_instant(to_unix(slot.run_after))
        raise InputError(f"{_name_instance(context, asset, asked)} is not due before {when}, so it cannot be done")
    return replace(said, instance=interval)


def _slot(timetable: Timetable, asked: DataInterval) -> Slot | None:
    """The slot of the timetable with that interval, past or future; None where there is none."""
    coming = islice(slots_after(timetable, asked[0] - 1), MOST_SLOTS)
    near = takewhile(lambda slot: to_unix(slot.start) <= asked[1], coming)
    return next((slot for slot in near if _fits(asked, (to_unix(slot.start), to_unix(slot.end)))), None)


def _not_due_error(context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval) -> InputError:
    """The error for an interval that is not due: it ran already, or the schedule has no such interval."""
    called, timetable = _name_instance(context, asset, asked), asset.schedule.timetable
    if timetable is None:
        return _not_of_events(context, asset, state, called)
    if _slot(timetable, asked) is not None:
        ran = f": it ran up to {context.format_instant(state.cursor[1])}" if state.cursor is not None else ""
        return InputError(f"{called} is not due{ran}", hint=_backfill(asset.name) + " again")
    near = next(slots_after(timetable, asked[0]), None)
    hint = None if near is None else f"near it is {_text(context, (to_unix(near.start), to_unix(near.end)))}"
    return InputError(f"{called} is no interval of its schedule {asset.schedule.text}", hint=hint)


def _not_of_events(context: PlanningContext, asset: AssetSpec, state: AssetState, called: str) -> InputError:
    """The error for an interval of an asset that runs by events, with the due intervals as a hint."""
    parts = _parts(context, asset, state)
    spans = list(dict.fromkeys(span for part in parts if (span := _span(context, part)) is not None))
    if spans:
        more = f", and {len(spans) - MOST_NAMED} more" if len(spans) > MOST_NAMED else ""
        return InputError(f"{called} is not due", hint=f"due are {_texts(context, spans[:MOST_NAMED])}{more}")
    if parts:
        return InputError(
            f"{called} is not due: the events of which it has runs tell no data interval",
            hint="without --interval the mark is about all that is due",
        )
    return InputError(f"{called} is not due: nothing is")


def _texts(context: PlanningContext, spans: Iterable[DataInterval]) -> str:
    """The intervals as a list in a sentence."""
    return listing([_text(context, span) for span in spans])


def _text(context: PlanningContext, span: DataInterval) -> str:
    """The interval as a person writes it: ``start..end``, or one instant where both are equal."""
    return "..".join(map(context.format_instant, dict.fromkeys(span)))


def _name_instance(context: PlanningContext, asset: AssetSpec, asked: DataInterval) -> str:
    """Names the instance for a message: the asset and the interval."""
    return f"{asset.name} {_text(context, asked)}"


def explain_marked_instances(context: PlanningContext, state: AssetState) -> list[Waiting]:
    """Quiet reasons for the marked instances that need no run, with the command that takes the mark back."""
    found = []
    for mark in state.marked_ticks:
        span = _text(context, mark.interval)
        said = f"{span} {mark.text}; `sparkassets mark {state.name} --interval {span} --missing` takes it back"
        found.append(Waiting(state.name, said, quiet=True))
    return found


def describe_instance_mark(context: PlanningContext, mark: InstanceMark) -> str:
    """The sentence of `explain` about a marked instance: what the person said of it, and when."""
    return f"{_text(context, mark.interval)} {mark.text} (at {context.format_instant(mark.at)})"
