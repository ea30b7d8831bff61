"""What the schedule asks for of an asset without partitions: a run for a tick, for a condition, or for each event."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from sparkassets.core.conditions import Condition
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Candidate, Case, Course
from sparkassets.core.planner.news import Causes, Uses, causes, everything
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.redefined import outdated
from sparkassets.core.planner.timing import MOST_RUNS, Tick, due_ticks
from sparkassets.core.planner.withheld import Held, held, waits
from sparkassets.core.planner.wording import lacking
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance
from sparkassets.core.timetables import Continuous, Once


def due_runs(case: Case) -> Course:
    """The runs that are due, in order, without events whose own run failed in this invocation; or why there is none.

    Where there is none, but an older run never ended, one that settles that.
    """
    found, again = _due(case), _again(case)
    if not isinstance(found, Waiting):
        found = tuple(replace(each, anew=True) for each in found) if again else found
        return Course(found, EVERYTHING).noted(again)
    if case.asset.schedule.condition is not None and outdated(case.asset, case.state) and not case.state.chain:
        return Course((_redefined(case),), EVERYTHING).noted(again)
    if again:
        at = case.context.now
        return Course((Candidate(EVERYTHING, at, Uses(), reason=again[0], since=at, anew=True),), EVERYTHING)
    if case.state.chain:
        return Course((_rescue(case),), EVERYTHING)
    return _resting(case, found)


def _resting(case: Case, found: Waiting) -> Course:
    """Nothing is due, but for what was withheld and is tried again."""
    withheld = held(case.context, case.asset, case.state)
    if withheld.again:
        return Course((_tried_again(case, withheld),), EVERYTHING)
    if withheld.resting:
        return Course(waiting=(*waits(case.context, case.asset, case.state), replace(found, quiet=True)))
    return Course(waiting=(_as_marked(case, found),))


def _tried_again(case: Case, found: Held) -> Candidate:
    """A run of what was withheld, as somebody accepted it, or its rules or its code changed; it uses up nothing."""
    said = [mark.text for mark in case.state.marks if mark.kind == "accept"]
    rejudged = "withheld by other rules or code" if found.rejudged else "withheld before, by what was updated since"
    reason = said[0] if found.accepted and said else rejudged
    now = case.context.now
    return Candidate(
        EVERYTHING,
        now,
        Uses(),
        reason=reason,
        since=now,
        interval=case.state.withheld[-1].interval,
        accepted=found.accepted,
    )


def _as_marked(case: Case, found: Waiting) -> Waiting:
    """The same with what somebody said of the asset since it ran."""
    said = [mark.text for mark in case.state.marks if mark.kind in ("done", "skip")]
    return replace(found, reason="; ".join([found.reason, *said])) if said else found


def _due(case: Case) -> tuple[Candidate, ...] | Waiting:
    context, asset, state = case.context, case.asset, case.state
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = due_ticks(context, asset, schedule.timetable, state)
        return ticks if isinstance(ticks, Waiting) else tuple(_of_tick(case, tick) for tick in ticks)
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
    found = causes(context, schedule.condition, state)
    if not found.holds:
        return _idle(context, asset, schedule.condition, state, found)
    return _instances(case, found) if isinstance(asset.strategy, EveryInstance) else (_of_causes(context, found),)


def _again(case: Case) -> tuple[str, ...]:
    """What somebody said of it, who wants it computed again; it waits for no tick and no event."""
    schedule = case.asset.schedule
    if schedule.timetable is None and schedule.condition is None:
        return ()
    return tuple(mark.text for mark in case.state.marks if mark.kind == "missing")


def _of_tick(case: Case, tick: Tick) -> Candidate:
    """The run of a tick; it uses what was updated meanwhile, but that did not trigger it."""
    context, schedule = case.context, case.asset.schedule
    reason = f"{schedule.text} at {context.when(tick.run_after)}" + (f"; {tick.note}" if tick.note else "")
    at = tick.run_after
    moves = isinstance(schedule.timetable, Continuous | Once)  # with now: no new cause after a failure
    return Candidate(
        EVERYTHING,
        at,
        Uses({}, everything(context, case.state)),
        reason=reason,
        since=at,
        newest=None if moves else at,
        interval=tick.interval,
        cursor=tick.cursor,
    )


def _instances(case: Case, found: Causes) -> tuple[Candidate, ...]:
    """A run for each event; those whose own run failed are left for another invocation."""
    tried = [set(item.events) for item in case.state.failed if item.invocation == case.context.invocation]
    own = ((part, {ref.seq for ref in part.events}) for part in found.one_by_one())
    parts = ((part, events) for part, events in own if not any(events <= failing for failing in tried))
    failing = set[int]().union(*tried)
    due = [
        _of_causes(case.context, part.skipping(tuple(sorted(failing - events))))
        for part, events in islice(parts, MOST_RUNS + 1)
    ]
    if len(due) > MOST_RUNS:
        due = [*due[: MOST_RUNS - 1], replace(due[MOST_RUNS - 1], reason=f"{due[MOST_RUNS - 1].reason}; more follow")]
    return tuple(due)


def _of_causes(context: PlanningContext, found: Causes) -> Candidate:
    return Candidate(
        EVERYTHING,
        found.run_after if found.run_after is not None else context.now,
        found.uses,
        reason=found.reason,
        since=found.since,
        newest=found.run_after,
        interval=context.interval(found.events) or found.interval,
        events=found.events,
    )


def _idle(
    context: PlanningContext, asset: AssetSpec, condition: Condition, state: AssetState, found: Causes
) -> Waiting:
    """Why the condition does not hold."""
    truths = dict(found.verdict.leaves())
    wanted = lacking(condition, lambda leaf: not truths[leaf])
    if any(truths.values()):
        return Waiting(asset.name, f"waits for {wanted} ({asset.schedule.text})", found.until)
    fault = next((context.faults[leaf.ref] for leaf in condition.leaves() if leaf.ref in context.faults), None)
    if state.last is None and (fault or not state.marks):
        return Waiting(asset.name, f"waits for {wanted}: {fault or 'nothing is there yet'}", found.until)
    return Waiting(asset.name, _up_to_date(state, wanted), found.until, quiet=True)


def _up_to_date(state: AssetState, wanted: str) -> str:
    """Why nothing is due of an asset that ran, or that somebody marked."""
    if state.skips:
        return f"waits for {wanted} to come again"
    return f"up to date since {state.last.run}" if state.last is not None else "up to date"


def _redefined(case: Case) -> Candidate:
    """A run because the code changed; it uses up nothing that the condition waits for."""
    now = case.context.now
    return Candidate(EVERYTHING, now, Uses(), reason="its code changed", since=now, anew=True)


def _rescue(case: Case) -> Candidate:
    """A run that is due only because an older one never ended: it may have to compute what that one should have."""
    request, state = case.state.chain[-1].entry.request, case.state
    tried = set(request.events)
    unused = case.context.unused(state, {*state.spec.listens, *state.parted})  # the condition may not name them by now
    return Candidate(
        EVERYTHING,
        request.schedule_date,
        Uses({}, request.consumption),
        since=request.schedule_date,
        interval=request.interval,
        cursor=request.cursor,
        events=tuple(ref for ref in unused if ref.seq in tried),
        rescues=True,
        accepted=request.accepted & state.accepted,
        anew=state.chain[-1].entry.kind == "backfill",
    )
