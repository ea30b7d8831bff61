"""What the schedule asks for of an asset without partitions: a run for a tick, for a condition, or for each event."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from sparkassets.core.conditions import Condition
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld import Withheld
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Candidate, Case, Course
from sparkassets.core.planner.instance_marks import marked_instances
from sparkassets.core.planner.news import Causes, Uses, causes, everything
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.redefined import outdated
from sparkassets.core.planner.timing import MOST_RUNS, Tick, due_ticks
from sparkassets.core.planner.withheld import Held, Standing, held, held_up, waits
from sparkassets.core.planner.wording import lacking
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.timetables import Continuous, Once


def due_runs(case: Case) -> Course:
    """The runs that are due, in order, without events whose own run failed in this invocation; or why there is none.

    Where there is none, but an older run never ended, one that settles that.
    """
    course = _course(case)
    return replace(course, waiting=(*course.waiting, *marked_instances(case.context, case.state)))


def _course(case: Case) -> Course:
    found, again, withheld = _due(case), _again(case), held(case.context, case.asset, case.state)
    if isinstance(found, Waiting):
        return _not_due(case, found, again, withheld)
    if again:
        found = tuple(replace(each, anew=True) for each in found)
    elif (first := _withheld_first(case, withheld)) is not None:
        return first
    return _with_instances(case, Course(found, EVERYTHING).noted(again), withheld)


def _not_due(case: Case, found: Waiting, again: tuple[str, ...], withheld: Held) -> Course:
    """The runs of what the schedule does not ask for: other code, what somebody wants, what never ended or rests."""
    if case.asset.schedule.condition is not None and outdated(case.asset, case.state) and not case.state.chain:
        return Course((_redefined(case),), EVERYTHING).noted(again)
    if again:
        at = case.context.now
        return Course((Candidate(EVERYTHING, at, Uses(), reason=again[0], since=at, anew=True),), EVERYTHING)
    if case.state.chain and not _settles(case, withheld):
        return Course((_rescue(case),), EVERYTHING)
    return _resting(case, found, withheld)


def _withheld_first(case: Case, withheld: Held) -> Course | None:
    """What of the withheld comes before all that is due, where runs go on from each other; None where nothing does.

    What is accepted is published as it was looked at, unless that has failed; what came since follows.
    """
    asset, state = case.asset, case.state
    if reason := held_up(asset, state):
        said = (*waits(case.context, asset, state), Waiting(asset.name, reason))
        return Course(_tried_again(case, withheld), EVERYTHING, waiting=said)
    if isinstance(asset.strategy, LatestOnly) and withheld.accepted and not (state.failed or state.chain):
        return Course(_tried_again(case, withheld), EVERYTHING)
    return None


def _with_instances(case: Case, course: Course, withheld: Held) -> Course:
    """What is due, and after it the instances that are tried again; with what is said of those that rest."""
    if not any(each.apart for each in case.state.withheld):
        return course
    said = waits(case.context, case.asset, case.state)
    return replace(course, candidates=(*course.candidates, *_tried_again(case, withheld)), waiting=said)


def _settles(case: Case, withheld: Held) -> bool:
    """Whether a run of an instance that is tried again settles what never ended: no backfill, which has to go on."""
    apart = any(each.apart for each, _ in withheld.tried)
    return apart and case.state.chain[-1].entry.kind == "scheduled"


def _resting(case: Case, found: Waiting, withheld: Held) -> Course:
    """Nothing is due, but for what was withheld and is tried again."""
    said = waits(case.context, case.asset, case.state)
    if withheld.tried:
        return Course(_tried_again(case, withheld), EVERYTHING, waiting=said)
    if withheld.resting:
        return Course(waiting=(*said, replace(found, quiet=True)))
    return Course(waiting=(_as_marked(case, found),))


def _tried_again(case: Case, found: Held) -> tuple[Candidate, ...]:
    """Runs of what was withheld and is tried again, but for instances whose own run failed in this invocation."""
    failed = [item for item in case.state.failed if item.invocation == case.context.invocation]
    tried = [set(item.events) for item in failed if item.events]
    return tuple(
        _again_of(case, record, standing)
        for record, standing in found.tried
        if not (record.apart and any(set(record.events) <= failing for failing in tried))
    )


def _again_of(case: Case, record: Withheld, standing: Standing) -> Candidate:
    """A run of what was withheld, as somebody accepted it, or its rules or its code changed; it uses up nothing.

    What is accepted is read as it was looked at.
    """
    accepted, now = standing == "accepted", case.context.now
    said = [record.said, *(mark.text for mark in case.state.marks if mark.kind == "accept")]
    rejudged = standing == "rejudged"
    reason = "withheld by other rules or code" if rejudged else "withheld before, by what was updated since"
    return Candidate(
        EVERYTHING,
        now,
        Uses(),
        reason=next(filter(None, said), reason) if accepted else reason,
        since=now,
        interval=record.interval,
        events=case.context.answering(case.state, record.events),
        accepted=EVERYTHING if accepted else NOTHING,
        pins=record.pins if accepted else {},
        again=record.run if record.apart else "",
    )


def _going_on(case: Case, candidate: Candidate) -> Candidate:
    """The run, with what was withheld before it where runs go on from each other."""
    records = [each for each in case.state.withheld if not each.apart]
    if not records or not isinstance(case.asset.strategy, LatestOnly):
        return candidate
    before = records[-1]
    events = {ref.seq: ref for ref in (*case.context.answering(case.state, before.events), *candidate.events)}
    interval, note = candidate.interval, f"with what {before.run} withheld"
    if interval is not None and before.interval is not None:
        interval = min(before.interval[0], interval[0]), max(before.interval[1], interval[1])
    return replace(
        candidate,
        interval=interval or before.interval,
        events=tuple(events[seq] for seq in sorted(events)),
        notes=(*candidate.notes, note),
    )


def _as_marked(case: Case, found: Waiting) -> Waiting:
    """The same with what a run that was skipped, or somebody, said of the asset since it ran."""
    skip = case.state.skip
    said = [f"{skip.run} was skipped: {skip.reason}"] if skip is not None else []
    said += [mark.text for mark in case.state.marks if mark.kind in ("done", "skip")]
    return replace(found, reason="; ".join([found.reason, *said])) if said else found


def _due(case: Case) -> tuple[Candidate, ...] | Waiting:
    context, asset, state = case.context, case.asset, case.state
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = due_ticks(context, asset, schedule.timetable, state)
        return ticks if isinstance(ticks, Waiting) else tuple(_going_on(case, _of_tick(case, tick)) for tick in ticks)
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
    found = causes(context, schedule.condition, state)
    if not found.holds:
        return _idle(context, asset, schedule.condition, state, found)
    if isinstance(asset.strategy, EveryInstance):
        return _instances(case, found)
    return (_going_on(case, _of_causes(context, found)),)


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
        came = any(context.state.dataset(context.uri(asset.name, leaf)).seq for leaf in condition.leaves())
        nothing = "what it reads is not there yet" if came else "nothing is there yet"
        return Waiting(asset.name, f"waits for {wanted}: {fault or nothing}", found.until)
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
