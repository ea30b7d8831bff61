"""Finds the due runs of an asset without partitions: one for a tick, for a condition, or for each event."""

from __future__ import annotations

from itertools import islice

from sparkassets.core.conditions import Condition
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld_records import WithheldPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING
from sparkassets.core.planner.due.condition_causes import (
    ConditionCauses,
    ConditionUsage,
    consume_everything,
    find_causes,
)
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, RunCandidate
from sparkassets.core.planner.due.due_ticks import MOST_RUNS, DueTick, find_due_ticks
from sparkassets.core.planner.due.instance_marks import explain_marked_instances
from sparkassets.core.planner.due.outdated_code import outdated_partitions
from sparkassets.core.planner.due.withheld_partitions import (
    WithheldStanding,
    WithheldStatus,
    explain_held_instances,
    explain_withheld,
    find_withheld,
)
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.wording import describe_unmet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import EveryInstance, LatestOnly
from sparkassets.core.timetables import ContinuousTimetable, OnceTimetable
from sparkassets.frozen import replace


def find_due_runs(case: DecisionInput) -> DecisionProgress:
    """Returns the due runs in order, or the reason why there is none.

    Events whose own run failed in this invocation are left out. Without a due run, an unfinished run is settled.
    """
    course = _schedule_runs(case)
    return replace(course, waiting=(*course.waiting, *explain_marked_instances(case.context, case.state)))


def _schedule_runs(case: DecisionInput) -> DecisionProgress:
    """The due runs, before the reasons of marked instances are added.

    A person's mark comes first: it makes due runs read everything. Otherwise withheld runs may have to be retried
    first.
    """
    found, again, withheld = _due(case), _redo_candidates(case), find_withheld(case.context, case.asset, case.state)
    if isinstance(found, Waiting):
        return _unscheduled_runs(case, found, again, withheld)
    if again:
        found = tuple(replace(each, rereads_all=True) for each in found)
    elif (first := _withheld_first(case, withheld)) is not None:
        return first
    return _with_instances(case, DecisionProgress(found, EVERYTHING).with_notes(again), withheld)


def _unscheduled_runs(
    case: DecisionInput, found: Waiting, again: tuple[str, ...], withheld: WithheldStatus
) -> DecisionProgress:
    """Runs where the schedule asks for none: for changed code, a person's mark, an unfinished run or withheld rows.

    ``found`` is the schedule's reason; ``again`` are the texts of the marks that ask to compute the asset again.
    """
    if (
        case.asset.schedule.condition is not None
        and outdated_partitions(case.asset, case.state)
        and not case.state.chain
    ):
        return DecisionProgress((_code_change_candidate(case),), EVERYTHING).with_notes(again)
    if again:
        at = case.context.now
        return DecisionProgress(
            (RunCandidate(EVERYTHING, at, ConditionUsage(), reason=again[0], due_since=at, rereads_all=True),),
            EVERYTHING,
        )
    if case.state.chain and not _settles(case, withheld):
        return DecisionProgress((_recovery_candidate(case),), EVERYTHING)
    return _without_due_runs(case, found, withheld)


def _withheld_first(case: DecisionInput, withheld: WithheldStatus) -> DecisionProgress | None:
    """Retries of withheld runs that come before all due runs; None where the due runs go ahead.

    That is so where each run builds on the one before. Under ``latest_only`` an accepted run comes first too: it is
    published with the inputs that were judged, unless a run failed or is unfinished; newer inputs follow.
    """
    asset, state = case.asset, case.state
    if reason := explain_held_instances(asset, state):
        said = (*explain_withheld(case.context, asset, state), Waiting(asset.name, reason))
        return DecisionProgress(_retried_runs(case, withheld), EVERYTHING, waiting=said)
    if isinstance(asset.strategy, LatestOnly) and withheld.accepted and not (state.failed or state.chain):
        return DecisionProgress(_retried_runs(case, withheld), EVERYTHING)
    return None


def _with_instances(case: DecisionInput, course: DecisionProgress, withheld: WithheldStatus) -> DecisionProgress:
    """Adds the retries of withheld instances after the due runs, and the reasons of those that are not retried."""
    if not any(each.apart for each in case.state.withheld):
        return course
    said = explain_withheld(case.context, case.asset, case.state)
    return replace(course, candidates=(*course.candidates, *_retried_runs(case, withheld)), waiting=said)


def _settles(case: DecisionInput, withheld: WithheldStatus) -> bool:
    """Whether retrying a withheld instance also settles the unfinished run; a backfill has to be completed instead."""
    apart = any(each.apart for each, _ in withheld.tried)
    return apart and case.state.chain[-1].entry.kind == "scheduled"


def _without_due_runs(case: DecisionInput, found: Waiting, withheld: WithheldStatus) -> DecisionProgress:
    """Progress where nothing is due: retries of withheld runs, or the reasons why nothing runs."""
    said = explain_withheld(case.context, case.asset, case.state)
    if withheld.tried:
        return DecisionProgress(_retried_runs(case, withheld), EVERYTHING, waiting=said)
    if withheld.resting:
        return DecisionProgress(waiting=(*said, replace(found, quiet=True)))
    return DecisionProgress(waiting=(_as_marked(case, found),))


def _retried_runs(case: DecisionInput, found: WithheldStatus) -> tuple[RunCandidate, ...]:
    """Retries of withheld runs, without the instances whose own run failed in this invocation."""
    failed = [item for item in case.state.failed if item.invocation == case.context.invocation]
    tried = [set(item.events) for item in failed if item.events]
    return tuple(
        _retried_run(case, record, standing)
        for record, standing in found.tried
        if not (record.apart and any(set(record.events) <= failing for failing in tried))
    )


def _retried_run(case: DecisionInput, record: WithheldPartitions, standing: WithheldStanding) -> RunCandidate:
    """Retry of a withheld run that a person accepted, or whose inputs, rules or code changed since.

    It uses up no events or ticks, because the withheld run did. An accepted one reads the same pins as when it was
    judged.
    """
    accepted, now = standing == "accepted", case.context.now
    said = [record.said, *(mark.text for mark in case.state.marks if mark.kind == "accept")]
    rejudged = standing == "rejudged"
    reason = "withheld by other rules or code" if rejudged else "withheld before, by what was updated since"
    return RunCandidate(
        EVERYTHING,
        now,
        ConditionUsage(),
        reason=next(filter(None, said), reason) if accepted else reason,
        due_since=now,
        interval=record.interval,
        events=case.context.events_by_number(case.state, record.events),
        accepted=EVERYTHING if accepted else NOTHING,
        pins=record.pins if accepted else {},
        retried_record=record.run if record.apart else "",
    )


def _with_earlier_withheld(case: DecisionInput, candidate: RunCandidate) -> RunCandidate:
    """The candidate, extended by the interval and events of the withheld run before it; only under ``latest_only``.

    The watermark did not move for the withheld run, so this run reads its rows again.
    """
    records = [each for each in case.state.withheld if not each.apart]
    if not records or not isinstance(case.asset.strategy, LatestOnly):
        return candidate
    before = records[-1]
    events = {ref.seq: ref for ref in (*case.context.events_by_number(case.state, before.events), *candidate.events)}
    interval, note = candidate.interval, f"with what {before.run} withheld"
    if interval is not None and before.interval is not None:
        interval = min(before.interval[0], interval[0]), max(before.interval[1], interval[1])
    return replace(
        candidate,
        interval=interval or before.interval,
        events=tuple(events[seq] for seq in sorted(events)),
        notes=(*candidate.notes, note),
    )


def _as_marked(case: DecisionInput, found: Waiting) -> Waiting:
    """The idle reason, extended by why the last run was skipped and by what a person's marks (done, skip) say."""
    skip = case.state.skip
    said = [f"{skip.run} was skipped: {skip.reason}"] if skip is not None else []
    said += [mark.text for mark in case.state.marks if mark.kind in ("done", "skip")]
    return replace(found, reason="; ".join([found.reason, *said])) if said else found


def _due(case: DecisionInput) -> tuple[RunCandidate, ...] | Waiting:
    """The runs that the schedule asks for, or the reason why it asks for none.

    One for each due tick, one for a condition that holds, or one for each event under ``every_instance``.
    """
    context, asset, state = case.context, case.asset, case.state
    schedule = asset.schedule
    if schedule.timetable is not None:
        ticks = find_due_ticks(context, asset, schedule.timetable, state)
        return (
            ticks
            if isinstance(ticks, Waiting)
            else tuple(_with_earlier_withheld(case, _of_tick(case, tick)) for tick in ticks)
        )
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs by `sparkassets backfill` only", quiet=True)
    found = find_causes(context, schedule.condition, state)
    if not found.holds:
        return _idle(context, asset, schedule.condition, state, found)
    if isinstance(asset.strategy, EveryInstance):
        return _instances(case, found)
    return (_with_earlier_withheld(case, _of_causes(context, found)),)


def _redo_candidates(case: DecisionInput) -> tuple[str, ...]:
    """Texts of the marks (missing) that ask to compute the asset again; they wait for no tick and no event.

    Empty without such marks, and for an asset that runs by hand.
    """
    schedule = case.asset.schedule
    if schedule.timetable is None and schedule.condition is None:
        return ()
    return tuple(mark.text for mark in case.state.marks if mark.kind == "missing")


def _of_tick(case: DecisionInput, tick: DueTick) -> RunCandidate:
    """The run of a tick; it uses up all updates since the last run, although they did not trigger it."""
    context, schedule = case.context, case.asset.schedule
    reason = f"{schedule.text} at {context.format_instant(tick.run_after)}" + (f"; {tick.note}" if tick.note else "")
    at = tick.run_after
    # These timetables tick "now" whenever they are asked, so their tick is no new cause after a failure.
    moves = isinstance(schedule.timetable, ContinuousTimetable | OnceTimetable)
    return RunCandidate(
        EVERYTHING,
        at,
        ConditionUsage({}, consume_everything(context, case.state)),
        reason=reason,
        due_since=at,
        newest=None if moves else at,
        interval=tick.interval,
        cursor=tick.cursor,
    )


def _instances(case: DecisionInput, found: ConditionCauses) -> tuple[RunCandidate, ...]:
    """Runs for each event under ``every_instance``, at most `MOST_RUNS`; the reason of the last says if more follow.

    Events whose own run failed in this invocation are left for the next one, and stay unused.
    """
    tried = [set(item.events) for item in case.state.failed if item.invocation == case.context.invocation]
    own = ((part, {ref.seq for ref in part.events}) for part in found.split_by_event())
    parts = ((part, events) for part, events in own if not any(events <= failing for failing in tried))
    failing = set[int]().union(*tried)
    due = [
        _of_causes(case.context, part.without_events(tuple(sorted(failing - events))))
        for part, events in islice(parts, MOST_RUNS + 1)
    ]
    if len(due) > MOST_RUNS:
        due = [*due[: MOST_RUNS - 1], replace(due[MOST_RUNS - 1], reason=f"{due[MOST_RUNS - 1].reason}; more follow")]
    return tuple(due)


def _of_causes(context: PlanningContext, found: ConditionCauses) -> RunCandidate:
    """The run of a condition that holds, or of one event of it."""
    return RunCandidate(
        EVERYTHING,
        found.run_after if found.run_after is not None else context.now,
        found.uses,
        reason=found.reason,
        due_since=found.since,
        newest=found.run_after,
        interval=context.interval_of_events(found.events) or found.interval,
        events=found.events,
    )


def _idle(
    context: PlanningContext, asset: AssetSpec, condition: Condition, state: AssetState, found: ConditionCauses
) -> Waiting:
    """Why the condition does not hold: which updates and times it lacks.

    It is quiet for an asset that is up to date. Before the first run it names a faulty or absent input.
    """
    truths = dict(found.verdict.leaves())
    wanted = describe_unmet(condition, lambda leaf: not truths[leaf])
    if any(truths.values()):
        return Waiting(asset.name, f"waits for {wanted} ({asset.schedule.text})", found.until)
    fault = next((context.faults[leaf.ref] for leaf in condition.leaves() if leaf.ref in context.faults), None)
    if state.last is None and (fault or not state.marks):
        came = any(context.state.dataset(context.uri(asset.name, leaf)).seq for leaf in condition.leaves())
        nothing = "what it reads is not there yet" if came else "nothing is there yet"
        return Waiting(asset.name, f"waits for {wanted}: {fault or nothing}", found.until)
    return Waiting(asset.name, _up_to_date(state, wanted), found.until, quiet=True)


def _up_to_date(state: AssetState, wanted: str) -> str:
    """Sentence for an asset with nothing to do that ran before or that a person marked."""
    if state.skip_marks:
        return f"waits for {wanted} to come again"
    return f"up to date since {state.last.run}" if state.last is not None else "up to date"


def _code_change_candidate(case: DecisionInput) -> RunCandidate:
    """A run because the code changed; it uses up no events or ticks of the condition."""
    now = case.context.now
    return RunCandidate(EVERYTHING, now, ConditionUsage(), reason="its code changed", due_since=now, rereads_all=True)


def _recovery_candidate(case: DecisionInput) -> RunCandidate:
    """A run that is due only because an older run never ended; it stands for the same interval, cursor and events.

    If the older run did not commit, this one computes the same again.
    """
    request, state = case.state.chain[-1].entry.request, case.state
    tried = set(request.events)
    # Of all datasets: the condition may have changed and no longer name those that triggered the unfinished run.
    unused = case.context.unused_events(state, {*state.spec.listens, *state.parted})
    return RunCandidate(
        EVERYTHING,
        request.schedule_date,
        ConditionUsage({}, request.consumption),
        due_since=request.schedule_date,
        interval=request.interval,
        cursor=request.cursor,
        events=tuple(ref for ref in unused if ref.seq in tried),
        is_recovery=True,
        accepted=request.accepted & state.accepted_partitions,
        rereads_all=state.chain[-1].entry.kind == "backfill",
    )
