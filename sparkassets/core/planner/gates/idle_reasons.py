"""What wants nothing, and why: up to date, not over yet, or it keeps rows whose input is gone."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.due_ticks import find_due_ticks, next_tick_of
from sparkassets.core.planner.due.skip_reasons import explain_skipped
from sparkassets.core.planner.due.wanted_partitions import explain_beyond_newest, explain_left_out, mapped_inlets
from sparkassets.core.planner.gates.kept_rows import describe_removed_input, find_kept_partitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.wording import listing


def add_idle_reasons(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step after the runs: says what no step before had to say."""
    found = case.pending
    if found is None:
        return course
    waiting = [*course.waiting, *explain_left_out(case.context, case.asset, found.wanted | found.later)]
    waiting += _later(case, found.later | course.later)
    if not course.runs and not waiting:
        waiting.append(_up_to_date(case))
    told = PartitionSet.union(each.blocks for each in waiting if not each.blocks.is_everything)
    waiting += explain_beyond_newest(case.context, case.asset, found.beyond_newest - told)
    waiting += explain_skipped(case.context, case.asset, case.state)
    for inlet, lost, gone in find_kept_partitions(case.context, case.asset, case.state.coverage):
        if rest := lost - (course.due - found.failed) - PartitionSet.union(run.blocks for run in course.runs):
            waiting.append(
                Waiting(case.asset.name, describe_removed_input(case.context, inlet, gone), None, rest, quiet=True)
            )
    return course.with_waiting(tuple(waiting))


def _later(case: DecisionInput, later: PartitionSet) -> list[Waiting]:
    if not later:
        return []
    partitioning = case.asset.partitioning
    first, at = next(partitioning.keys(later)), partitioning.first_finish_time(later)
    reason = f"{first} is not over before {case.context.format_instant(at or case.context.now)}"
    return [Waiting(case.asset.name, reason, at, later, quiet=True)]


def _up_to_date(case: DecisionInput) -> Waiting:
    state = case.state
    since = f" since {state.last.run}" if state.last else ""
    if not state.coverage:
        return Waiting(case.asset.name, _nothing(case) + since)
    return Waiting(
        case.asset.name, f"up to date{since}{_of_tick(case)}", next_tick_of(case.context, case.asset), quiet=True
    )


def _of_tick(case: DecisionInput) -> str:
    """Of an asset by a timetable: the tick that has come and finds nothing to do, and the next one."""
    until, timetable = next_tick_of(case.context, case.asset), case.asset.schedule.timetable
    if until is None or timetable is None:
        return ""
    ticks, then = find_due_ticks(case.context, case.asset, timetable, case.state), case.context.format_instant(until)
    if isinstance(ticks, Waiting):
        return f"; {case.asset.schedule.text} next at {then}"
    at = case.context.format_instant(ticks[-1].run_after)
    return f"; nothing to do yet for {case.asset.schedule.text} at {at}, next at {then}"


def _nothing(case: DecisionInput) -> str:
    names = [inlet.name for inlet in mapped_inlets(case.context, case.asset)]
    faulty = next((name for name in names if name in case.context.faults), None)
    if faulty is not None:
        return f"waits for {faulty}: {case.context.faults[faulty]}"
    return f"waits for the first partition of {listing(names)}" if names else "no partition is over yet"
