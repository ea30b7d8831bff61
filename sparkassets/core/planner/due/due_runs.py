"""Finds the due runs of an asset without partitions: one for a tick, for a condition, or for each event.

Such an asset counts as one partition, which is `EVERYTHING`: what a `DecisionProgress` has as due is that or nothing.
"""

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
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DueRun
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
    progress = _find_runs(case)
    return replace(progress, waiting=(*progress.waiting, *explain_marked_instances(case.context, case.state)))


def _find_runs(case: DecisionInput) -> DecisionProgress:
    """The due runs, before the reasons of marked instances are added.

    A person's mark comes first: it makes due runs read everything. Otherwise withheld runs may have to be retried
    first.
    """
    scheduled = _find_scheduled_runs(case)
    redo_texts = _redo_mark_texts(case)
    withheld = find_withheld(case.context, case.asset, case.state)
    if isinstance(scheduled, Waiting):
        return _unscheduled_runs(case, scheduled, redo_texts, withheld)
    if redo_texts:
        scheduled = tuple(replace(each, rereads_all=True) for each in scheduled)
    elif (retries := _withheld_first(case, withheld)) is not None:
        return retries
    return _add_instance_retries(case, DecisionProgress(scheduled, EVERYTHING).with_notes(redo_texts), withheld)


def _unscheduled_runs(
    case: DecisionInput, idle_reason: Waiting, redo_texts: tuple[str, ...], withheld: WithheldStatus
) -> DecisionProgress:
    """Runs where the schedule asks for none: for changed code, a person's mark, an unfinished run or withheld rows.

    ``idle_reason`` is the schedule's reason; ``redo_texts`` are the texts of marks that ask to compute the asset again.
    """
    if (
        case.asset.schedule.condition is not None
        and outdated_partitions(case.asset, case.state)
        and not case.state.chain
    ):
        return DecisionProgress((_build_code_change_run(case),), EVERYTHING).with_notes(redo_texts)
    if redo_texts:
        now = case.context.now
        return DecisionProgress(
            (DueRun(EVERYTHING, now, ConditionUsage(), reason=redo_texts[0], due_since=now, rereads_all=True),),
            EVERYTHING,
        )
    if case.state.chain and not _retry_settles_claim(case, withheld):
        return DecisionProgress((_build_recovery_run(case),), EVERYTHING)
    return _decide_without_due_runs(case, idle_reason, withheld)


def _withheld_first(case: DecisionInput, withheld: WithheldStatus) -> DecisionProgress | None:
    """Retries of withheld runs that come before all due runs; None where the due runs go ahead.

    Due instances wait where each builds on the one before, or where too many are withheld. Under ``latest_only`` an
    accepted run comes first: it is published with the inputs that were judged, and a run for newer inputs follows. If
    a run failed or is unfinished, the due run goes ahead instead.
    """
    asset, state = case.asset, case.state
    if reason := explain_held_instances(asset, state):
        waiting = (*explain_withheld(case.context, asset, state), Waiting(asset.name, reason))
        return DecisionProgress(_build_retries(case, withheld), EVERYTHING, waiting=waiting)
    if isinstance(asset.strategy, LatestOnly) and withheld.accepted and not (state.failed or state.chain):
        return DecisionProgress(_build_retries(case, withheld), EVERYTHING)
    return None


def _add_instance_retries(
    case: DecisionInput, progress: DecisionProgress, withheld: WithheldStatus
) -> DecisionProgress:
    """Adds the retries of withheld instances after the due runs, and the reasons of those that are not retried."""
    if not any(each.is_instance for each in case.state.withheld):
        return progress
    withheld_reasons = explain_withheld(case.context, case.asset, case.state)
    return replace(progress, due_runs=(*progress.due_runs, *_build_retries(case, withheld)), waiting=withheld_reasons)


def _retry_settles_claim(case: DecisionInput, withheld: WithheldStatus) -> bool:
    """Whether retrying a withheld instance also settles the unfinished run, so that this needs no run of its own.

    An unfinished backfill has to be completed instead.
    """
    is_instance = any(each.is_instance for each, _ in withheld.tried)
    return is_instance and case.state.chain[-1].entry.kind == "scheduled"


def _decide_without_due_runs(case: DecisionInput, idle_reason: Waiting, withheld: WithheldStatus) -> DecisionProgress:
    """Progress where nothing is due: retries of withheld runs, or the reasons why nothing runs.

    ``withheld.tried`` are withheld runs with a reason to try again (accepted, changed inputs, rules or code);
    ``withheld.resting`` says that some have none. Beside these, the schedule's reason is added only if it says more
    than "up to date", and quietly, as the withheld run is what people have to see.
    """
    withheld_reasons = explain_withheld(case.context, case.asset, case.state)
    if withheld.tried:
        return DecisionProgress(_build_retries(case, withheld), EVERYTHING, waiting=withheld_reasons)
    if withheld.resting:
        next_cause = (replace(idle_reason, quiet=True),) if idle_reason.until or not idle_reason.quiet else ()
        return DecisionProgress(waiting=(*withheld_reasons, *next_cause))
    return DecisionProgress(waiting=(_extend_idle_reason(case, idle_reason),))


def _build_retries(case: DecisionInput, withheld: WithheldStatus) -> tuple[DueRun, ...]:
    """Retries of withheld runs, without instances that failed in this invocation: the next one tries these again."""
    failed = [item for item in case.state.failed if item.invocation == case.context.invocation]
    failed_events = [set(item.events) for item in failed if item.events]
    return tuple(
        _build_retry(case, record, standing)
        for record, standing in withheld.tried
        if not (record.is_instance and any(set(record.events) <= events for events in failed_events))
    )


def _build_retry(case: DecisionInput, record: WithheldPartitions, standing: WithheldStanding) -> DueRun:
    """Retry of a withheld run that a person accepted, or whose inputs, rules or code changed since.

    It uses up no events or ticks, because the withheld run did. An accepted one reads the same pins as when it was
    judged.
    """
    accepted, now = standing == "accepted", case.context.now
    accept_reasons = [record.acceptance, *(mark.text for mark in case.state.marks if mark.kind == "accept")]
    rejudged = standing == "rejudged"
    reason = "withheld before its rules or code changed" if rejudged else "withheld before its inputs were updated"
    return DueRun(
        EVERYTHING,
        now,
        ConditionUsage(),
        reason=next(filter(None, accept_reasons), reason) if accepted else reason,
        due_since=now,
        interval=record.interval,
        events=case.context.events_by_number(case.state, record.events),
        accepted=EVERYTHING if accepted else NOTHING,
        pins=record.pins if accepted else {},
        retried_record=record.run if record.is_instance else "",
    )


def _with_earlier_withheld(case: DecisionInput, due_run: DueRun) -> DueRun:
    """The due run, extended by the interval and events of the withheld run before it; only under ``latest_only``.

    The watermark did not move for the withheld run, so this run reads its rows again and stands for its input too.
    """
    records = [each for each in case.state.withheld if not each.is_instance]
    if not records or not isinstance(case.asset.strategy, LatestOnly):
        return due_run
    earlier = records[-1]
    events = {ref.seq: ref for ref in (*case.context.events_by_number(case.state, earlier.events), *due_run.events)}
    interval, note = due_run.interval, f"with the input of {earlier.run}, which was withheld"
    if interval is not None and earlier.interval is not None:
        interval = min(earlier.interval[0], interval[0]), max(earlier.interval[1], interval[1])
    return replace(
        due_run,
        interval=interval or earlier.interval,
        events=tuple(events[seq] for seq in sorted(events)),
        notes=(*due_run.notes, note),
    )


def _extend_idle_reason(case: DecisionInput, idle_reason: Waiting) -> Waiting:
    """The idle reason, extended by why the last run was skipped and by what a person's marks (done, skip) say."""
    skip = case.state.last_skip
    reasons = [f"{skip.run} was skipped: {skip.reason}"] if skip is not None else []
    reasons += [mark.text for mark in case.state.marks if mark.kind in ("done", "skip")]
    return replace(idle_reason, reason="; ".join([idle_reason.reason, *reasons])) if reasons else idle_reason


def _find_scheduled_runs(case: DecisionInput) -> tuple[DueRun, ...] | Waiting:
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
            else tuple(_with_earlier_withheld(case, _build_tick_run(case, tick)) for tick in ticks)
        )
    if schedule.condition is None:
        return Waiting(asset.name, "manual: runs only by `sparkassets backfill`", quiet=True)
    causes = find_causes(context, schedule.condition, state)
    if not causes.holds:
        return _explain_unmet_condition(context, asset, schedule.condition, state, causes)
    if isinstance(asset.strategy, EveryInstance):
        return _build_event_runs(case, causes)
    return (_with_earlier_withheld(case, _build_condition_run(context, causes)),)


def _redo_mark_texts(case: DecisionInput) -> tuple[str, ...]:
    """Texts of the marks (missing) that ask to compute the asset again; they wait for no tick and no event.

    Empty without such marks, and for an asset that runs by hand.
    """
    schedule = case.asset.schedule
    if schedule.timetable is None and schedule.condition is None:
        return ()
    return tuple(mark.text for mark in case.state.marks if mark.kind == "missing")


def _build_tick_run(case: DecisionInput, tick: DueTick) -> DueRun:
    """The run of a tick; it uses up all updates since the last run, although they did not trigger it."""
    context, schedule = case.context, case.asset.schedule
    reason = f"{schedule.text} at {context.format_instant(tick.run_after)}" + (f"; {tick.note}" if tick.note else "")
    at = tick.run_after
    # These timetables tick "now" whenever they are asked, so their tick is no new cause after a failure.
    ticks_now = isinstance(schedule.timetable, ContinuousTimetable | OnceTimetable)
    return DueRun(
        EVERYTHING,
        at,
        ConditionUsage({}, consume_everything(context, case.state)),
        reason=reason,
        due_since=at,
        newest=None if ticks_now else at,
        interval=tick.interval,
        cursor=tick.cursor,
    )


def _build_event_runs(case: DecisionInput, causes: ConditionCauses) -> tuple[DueRun, ...]:
    """Runs for each event under ``every_instance``, at most `MOST_RUNS`; the reason of the last says if more follow.

    Events whose own run failed in this invocation are left for the next one, and stay unused: a run uses up all events
    up to its own, so it names those that it leaves (``without_events``).
    """
    failed_events = [set(item.events) for item in case.state.failed if item.invocation == case.context.invocation]
    parts_with_events = ((part, {ref.seq for ref in part.events}) for part in causes.split_by_event())
    parts = (
        (part, events) for part, events in parts_with_events if not any(events <= failing for failing in failed_events)
    )
    failing = set[int]().union(*failed_events)
    due = [
        _build_condition_run(case.context, part.without_events(tuple(sorted(failing - events))))
        for part, events in islice(parts, MOST_RUNS + 1)  # one more shows whether others follow
    ]
    if len(due) > MOST_RUNS:
        due = [*due[: MOST_RUNS - 1], replace(due[MOST_RUNS - 1], reason=f"{due[MOST_RUNS - 1].reason}; more follow")]
    return tuple(due)


def _build_condition_run(context: PlanningContext, causes: ConditionCauses) -> DueRun:
    """The run of a condition that holds, or of one event of it."""
    return DueRun(
        EVERYTHING,
        causes.run_after if causes.run_after is not None else context.now,
        causes.uses,
        reason=causes.reason,
        due_since=causes.since,
        newest=causes.run_after,
        interval=context.interval_of_events(causes.events) or causes.interval,
        events=causes.events,
    )


def _explain_unmet_condition(
    context: PlanningContext, asset: AssetSpec, condition: Condition, state: AssetState, causes: ConditionCauses
) -> Waiting:
    """Why the condition does not hold: which updates and times it lacks.

    It is quiet for an asset that is up to date: one that ran before, or that a person marked. Before the first run it
    names a faulty or absent input.
    """
    truth_of_leaf = dict(causes.verdict.leaves())
    unmet_text = describe_unmet(condition, lambda leaf: not truth_of_leaf[leaf])
    if any(truth_of_leaf.values()):
        return Waiting(asset.name, f"waits for {unmet_text} ({asset.schedule.text})", causes.until)
    fault = next((context.faults[leaf.ref] for leaf in condition.leaves() if leaf.ref in context.faults), None)
    if state.last is None and (fault or not state.marks):
        has_data = any(context.state.dataset(context.uri(asset.name, leaf)).seq for leaf in condition.leaves())
        nothing = "its inputs have no data yet" if has_data else "no data yet"
        return Waiting(asset.name, f"waits for {unmet_text}: {fault or nothing}", causes.until)
    return Waiting(asset.name, _describe_up_to_date(state, unmet_text), causes.until, quiet=True)


def _describe_up_to_date(state: AssetState, unmet_text: str) -> str:
    """Sentence for an asset with nothing to do that ran before or that a person marked."""
    if state.skip_marks:
        return f"waits for the next {unmet_text}"
    return f"up to date since {state.last.run}" if state.last is not None else "up to date"


def _build_code_change_run(case: DecisionInput) -> DueRun:
    """A run because the code changed; it uses up no events or ticks, and reads below the watermark too."""
    now = case.context.now
    return DueRun(EVERYTHING, now, ConditionUsage(), reason="its code changed", due_since=now, rereads_all=True)


def _build_recovery_run(case: DecisionInput) -> DueRun:
    """A run that is due only because an older run never ended; it stands for the same interval, cursor and events.

    If the older run did not commit, this one computes the same again.
    """
    request, state = case.state.chain[-1].entry.request, case.state
    claimed_seqs = set(request.events)
    # Of all datasets: the condition may have changed and no longer name those that triggered the unfinished run.
    unused = case.context.unused_events(state, {*state.spec.listens, *state.former_triggers})
    return DueRun(
        EVERYTHING,
        request.schedule_date,
        ConditionUsage({}, request.consumption),
        due_since=request.schedule_date,
        interval=request.interval,
        cursor=request.cursor,
        events=tuple(ref for ref in unused if ref.seq in claimed_seqs),
        is_recovery=True,
        accepted=request.accepted & state.accepted_partitions,  # the acceptance may have been taken back since
        rereads_all=state.chain[-1].entry.kind == "backfill",
    )
