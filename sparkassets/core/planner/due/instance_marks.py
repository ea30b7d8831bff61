"""Which instance of an asset without partitions a person names by its data interval, and what a mark of it changes."""

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
"""A data interval, Unix seconds; of one that a person wrote both may be the instant at which the interval starts."""

MOST_NAMED = 5
"""Intervals that a refusal lists."""

MOST_SLOTS = 100_000
"""Slots that are looked through for the one that a person names."""


def mark_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry:
    """Resolves which instance a person means; returns their mark with it and with the causes that it uses up.

    An instance can be marked if it is due or withheld; with ``skip`` also if it lies ahead. Without an ``instance`` the
    mark changes nothing.

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
    """The mark of an instance that is due, that is withheld, or that is still to come; None where it is none."""
    of_schedule = _due_by_ticks if asset.schedule.timetable is not None else _due_by_events
    if (due := of_schedule(context, asset, state, asked, said)) is not None:
        return due
    if held := [each for each in state.withheld if each.apart and _fits(asked, each.interval)]:
        return replace(said, instance=held[0].interval)
    return _mark_future_instance(context, asset, state, asked, said)


def _refuse_what_is_asked(asset: AssetSpec, state: AssetState) -> None:
    """Refuses intervals of an asset that has no instances, or of whose runs something else has to be told first."""
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
    if interval is None:
        return False
    return asked == interval or (asked[0] == asked[1] == interval[0])


def _backfill(name: str) -> str:
    return f"`sparkassets backfill {name} --interval A..B` computes one"


def _revoke_mark(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    asked: DataInterval,
    said: MarkEntry,
    before: InstanceMark | None,
) -> MarkEntry:
    """Takes back the mark of an instance that lies ahead, so that the schedule runs it after all."""
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
    """The mark, where a tick has the instance due; of the first of all, the next run goes on after it."""
    timetable = asset.schedule.timetable
    due = find_due_intervals(context, asset, timetable, state) if timetable is not None else iter(())
    near = takewhile(lambda item: item[1][0][0] <= asked[1], enumerate(due))
    found = ((number, slot) for number, (interval, slot) in near if _fits(asked, interval) or _fits(asked, slot))
    number, slot = next(found, (0, None))
    return replace(said, instance=slot, cursor=slot if number == 0 else None) if slot is not None else None


def _due_by_events(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark, where events have the instance due, with these events; all that have that interval."""
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
    """What is due of an asset that a condition runs, each instance by itself."""
    if asset.schedule.condition is None:
        return []
    found = find_causes(context, asset.schedule.condition, state)
    return list(found.split_by_event()) if found.holds else []


def _span(context: PlanningContext, part: ConditionCauses) -> DataInterval | None:
    return context.interval_of_events(part.events) or part.interval


def _mark_future_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark of an instance that a mark has told of otherwise, or that is still to come; None where it is none."""
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
    """The slot of that interval, whenever it is."""
    coming = islice(slots_after(timetable, asked[0] - 1), MOST_SLOTS)
    near = takewhile(lambda slot: to_unix(slot.start) <= asked[1], coming)
    return next((slot for slot in near if _fits(asked, (to_unix(slot.start), to_unix(slot.end)))), None)


def _not_due_error(context: PlanningContext, asset: AssetSpec, state: AssetState, asked: DataInterval) -> InputError:
    """Why an interval cannot be marked, of which no instance is due."""
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
    return listing([_text(context, span) for span in spans])


def _text(context: PlanningContext, span: DataInterval) -> str:
    return "..".join(map(context.format_instant, dict.fromkeys(span)))


def _name_instance(context: PlanningContext, asset: AssetSpec, asked: DataInterval) -> str:
    return f"{asset.name} {_text(context, asked)}"


def explain_marked_instances(context: PlanningContext, state: AssetState) -> list[Waiting]:
    """The instances of an asset without partitions that need no run, and why, quietly."""
    found = []
    for mark in state.marked_ticks:
        span = _text(context, mark.interval)
        said = f"{span} {mark.text}; `sparkassets mark {state.name} --interval {span} --missing` takes it back"
        found.append(Waiting(state.name, said, quiet=True))
    return found


def describe_instance_mark(context: PlanningContext, mark: InstanceMark) -> str:
    """What was said of an instance and when, for `explain`."""
    return f"{_text(context, mark.interval)} {mark.text} (at {context.format_instant(mark.at)})"
