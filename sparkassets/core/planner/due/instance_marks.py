"""Marks of single instances: which one a person names by its data interval, and what the mark changes.

An instance is one run of an asset without partitions under ``every_instance``: a slot of its timetable, or an event.
"""

from __future__ import annotations

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
    context: PlanningContext, asset: AssetSpec, state: AssetState, named: DataInterval, mark: MarkEntry
) -> MarkEntry:
    """Resolves the instance that a person names; returns their mark with it and with the causes that it uses up.

    An instance can be marked if it is due or withheld; with ``skip`` also if it lies ahead. Where the instance has this
    mark already, ``mark`` comes back as it was, without an ``instance``: it changes nothing.

    Raises:
        InputError: There is no such instance, it is no longer due, or this mark does not apply to it.
    """
    _refuse_without_instances(asset, state)
    earlier_mark = next(
        (each for each in reversed(state.instance_marks) if _names_interval(named, each.interval)), None
    )
    if earlier_mark is not None and earlier_mark.kind == mark.kind:
        return mark
    if mark.kind == "missing":
        return _revoke_mark(context, asset, state, named, mark, earlier_mark)
    resolved = _find_instance(context, asset, state, named, mark)
    if resolved is None:
        raise _not_due_error(context, asset, state, named)
    return replace(resolved, made_present=EVERYTHING if mark.kind == "done" else NOTHING)


def _find_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, named: DataInterval, mark: MarkEntry
) -> MarkEntry | None:
    """The mark with the instance of that interval: due, withheld or still to come; None where there is none."""
    mark_due = _mark_tick_instance if asset.schedule.timetable is not None else _mark_event_instance
    if (due := mark_due(context, asset, state, named, mark)) is not None:
        return due
    if withheld := [each for each in state.withheld if each.is_instance and _names_interval(named, each.interval)]:
        return replace(mark, instance=withheld[0].interval)
    return _mark_future_instance(context, asset, state, named, mark)


def _refuse_without_instances(asset: AssetSpec, state: AssetState) -> None:
    """Refuses an interval where no mark of one instance can apply to the asset.

    It has no instances, runs by hand or continuously, or a person must settle one of its runs first.
    """
    name, schedule = asset.name, asset.schedule
    if not isinstance(asset.strategy, EveryInstance):
        raise InputError(
            f"asset {name!r} has no instances that --interval could name",
            hint=(
                "only `strategy: every_instance` has instances; without --interval the mark covers everything that "
                "is due"
            ),
        )
    if state.asking_claims:
        raise InputError(
            f"{name}: first state the outcome of {state.asking_claims[0].entry.run}",
            hint=f"`sparkassets explain {name}` shows the commands; leave --interval out",
        )
    if schedule.timetable is None and schedule.condition is None:
        raise InputError(f"asset {name!r} is manual: its instances are never due", hint=_backfill_hint(name))
    if isinstance(schedule.timetable, ContinuousTimetable):
        raise InputError(f"asset {name!r} runs continuously: it has no intervals before they run")


def _names_interval(named: DataInterval, interval: DataInterval | None) -> bool:
    """Whether ``named`` names the interval: both ends, or its start alone."""
    if interval is None:
        return False
    return named == interval or (named[0] == named[1] == interval[0])


def _backfill_hint(name: str) -> str:
    """Hint with the command that computes one interval."""
    return f"`sparkassets backfill {name} --interval A..B` computes one"


def _revoke_mark(
    context: PlanningContext,
    asset: AssetSpec,
    state: AssetState,
    named: DataInterval,
    mark: MarkEntry,
    earlier_mark: InstanceMark | None,
) -> MarkEntry:
    """The mark (missing) that takes back an earlier mark of an instance still ahead, so that the schedule runs it.

    ``earlier_mark`` is the mark that it takes back; None where the instance has none, which is refused.
    """
    if earlier_mark is None or not earlier_mark.is_ahead(state.cursor):
        raise InputError(
            f"{_name_instance(context, asset, named)} cannot be missing: only a marked instance in the future can",
            hint=_backfill_hint(asset.name) + " again",
        )
    if earlier_mark.kind == "done" and asset.appends:
        raise InputError(f"asset {asset.name!r} appends: its rows cannot be recomputed")
    return replace(mark, instance=earlier_mark.interval)


def _mark_tick_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, named: DataInterval, mark: MarkEntry
) -> MarkEntry | None:
    """The mark with the instance that a tick makes due; None where none has that interval.

    If it is the oldest due tick, the mark also moves the asset's cursor past it. A later one leaves the cursor, as
    earlier ticks have still to run.
    """
    timetable = asset.schedule.timetable
    due = find_due_intervals(context, asset, timetable, state) if timetable is not None else iter(())
    # items (number, (interval, slot)), oldest first: none that starts after the named end can match
    candidates = takewhile(lambda item: item[1][0][0] <= named[1], enumerate(due))
    matching = (
        (number, slot)
        for number, (interval, slot) in candidates
        if _names_interval(named, interval) or _names_interval(named, slot)
    )
    number, slot = next(matching, (0, None))
    return replace(mark, instance=slot, cursor=slot if number == 0 else None) if slot is not None else None


def _mark_event_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, named: DataInterval, mark: MarkEntry
) -> MarkEntry | None:
    """The mark with the instance that events make due, and with these events; None where none has that interval.

    Several events may share the interval: the mark is about all of them, and leaves the other events unused.
    """
    due = _due_instances(context, asset, state)
    meant = [causes for causes in due if _names_interval(named, _interval_of_causes(context, causes))]
    if not meant:
        return None
    event_seqs = tuple(ref.seq for causes in meant for ref in causes.events)
    other_seqs = sorted({ref.seq for causes in due for ref in causes.events} - {*event_seqs})
    newest_by_uri: dict[str, int] = {}
    for causes in meant:  # by ascending events, so that the newest of each dataset stays
        newest_by_uri.update(causes.uses.consumption.consumes)
    consumption = replace(meant[0].uses.consumption, consumes=newest_by_uri, skips=tuple(other_seqs))
    return replace(mark, instance=_interval_of_causes(context, meant[0]), events=event_seqs, consumption=consumption)


def _due_instances(context: PlanningContext, asset: AssetSpec, state: AssetState) -> list[ConditionCauses]:
    """The due instances of an asset that a condition runs, one `ConditionCauses` each; empty where it does not hold."""
    if asset.schedule.condition is None:
        return []
    causes = find_causes(context, asset.schedule.condition, state)
    return list(causes.split_by_event()) if causes.holds else []


def _interval_of_causes(context: PlanningContext, causes: ConditionCauses) -> DataInterval | None:
    """The data interval of an instance: from its events, else from its ticks; None without one."""
    return context.interval_of_events(causes.events) or causes.interval


def _mark_future_instance(
    context: PlanningContext, asset: AssetSpec, state: AssetState, named: DataInterval, said: MarkEntry
) -> MarkEntry | None:
    """The mark with an instance that is marked already or whose tick is still to come; None where none is.

    ``said`` is the mark as the person gave it.

    Raises:
        InputError: ``done`` is said of an instance that is still to come.
    """
    timetable = asset.schedule.timetable
    slot = _find_named_slot(timetable, named) if timetable is not None else None
    if slot is None:
        return None
    interval = to_unix(slot.start), to_unix(slot.end)
    if any(mark.interval == interval for mark in state.marked_ticks):
        return replace(said, instance=interval)
    if to_unix(slot.run_after) <= context.now:
        return None
    if said.kind == "done":
        when = context.format_instant(to_unix(slot.run_after))
        raise InputError(f"{_name_instance(context, asset, named)} cannot be done: it is not due before {when}")
    return replace(said, instance=interval)


def _find_named_slot(timetable: Timetable, named: DataInterval) -> Slot | None:
    """The slot of the timetable with that interval, past or future; None where there is none."""
    # a slot runs at its interval's start or later; a second before, as `slots_after` leaves out the instant itself
    coming = islice(slots_after(timetable, named[0] - 1), MOST_SLOTS)
    near = takewhile(lambda slot: to_unix(slot.start) <= named[1], coming)
    return next((slot for slot in near if _names_interval(named, (to_unix(slot.start), to_unix(slot.end)))), None)


def _not_due_error(context: PlanningContext, asset: AssetSpec, state: AssetState, named: DataInterval) -> InputError:
    """The error for an interval that is not due: it ran already, or the schedule has no such interval."""
    instance_text, timetable = _name_instance(context, asset, named), asset.schedule.timetable
    if timetable is None:
        return _not_due_event_error(context, asset, state, instance_text)
    if _find_named_slot(timetable, named) is not None:
        ran_text = (
            f": the asset already ran up to {context.format_instant(state.cursor[1])}"
            if state.cursor is not None
            else ""
        )
        return InputError(f"{instance_text} is not due{ran_text}", hint=_backfill_hint(asset.name) + " again")
    nearest = next(slots_after(timetable, named[0]), None)
    hint = (
        None
        if nearest is None
        else f"the next interval is {_format_interval(context, (to_unix(nearest.start), to_unix(nearest.end)))}"
    )
    return InputError(f"{instance_text} is not an interval of its schedule {asset.schedule.text}", hint=hint)


def _not_due_event_error(
    context: PlanningContext, asset: AssetSpec, state: AssetState, instance_text: str
) -> InputError:
    """The error for an interval of an asset that runs by events, with the due intervals as a hint.

    Due events without a data interval cannot be named by one.
    """
    due = _due_instances(context, asset, state)
    intervals = list(
        dict.fromkeys(interval for part in due if (interval := _interval_of_causes(context, part)) is not None)
    )
    if intervals:
        named = [_format_interval(context, interval) for interval in intervals[:MOST_NAMED]]
        more = f", and {len(intervals) - MOST_NAMED} more" if len(intervals) > MOST_NAMED else ""
        return InputError(
            f"{instance_text} is not due",
            hint=f"these intervals are due: {listing(named)}{more}",
        )
    if due:
        return InputError(
            f"{instance_text} is not due: the asset's pending events have no data interval",
            hint="without --interval the mark covers everything that is due",
        )
    return InputError(f"{instance_text} is not due: no interval is")


def _format_interval(context: PlanningContext, interval: DataInterval) -> str:
    """The interval as a person writes it: ``start..end``, or one instant where both are equal."""
    return "..".join(map(context.format_instant, dict.fromkeys(interval)))


def _name_instance(context: PlanningContext, asset: AssetSpec, named: DataInterval) -> str:
    """Names the instance for a message: the asset and the interval."""
    return f"{asset.name} {_format_interval(context, named)}"


def explain_marked_instances(context: PlanningContext, state: AssetState) -> list[Waiting]:
    """Quiet reasons for the marked instances that need no run, with the command that takes the mark back."""
    waiting = []
    for mark in state.marked_ticks:
        interval_text = _format_interval(context, mark.interval)
        command = f"sparkassets mark {state.name} --interval {interval_text} --missing"
        reason = f"{interval_text} {mark.text}; `{command}` undoes it"
        waiting.append(Waiting(state.name, reason, quiet=True))
    return waiting


def describe_instance_mark(context: PlanningContext, mark: InstanceMark) -> str:
    """The sentence of `explain` about a marked instance: what the person said of it, and when."""
    return f"{_format_interval(context, mark.interval)} {mark.text} (at {context.format_instant(mark.at)})"
