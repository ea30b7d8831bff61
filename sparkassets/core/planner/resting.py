"""What wants nothing, and why: up to date, not over yet, or it keeps rows whose input is gone."""

from __future__ import annotations

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.course import Case, Course
from sparkassets.core.planner.kept import kept, without
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.skipped import skipped
from sparkassets.core.planner.timing import due_ticks, next_tick_of
from sparkassets.core.planner.wanted import lacks_the_newest, left_out, mapped_inlets
from sparkassets.core.planner.wording import listing


def resting(case: Case, course: Course) -> Course:
    """The step after the runs: says what no step before had to say."""
    found = case.pending
    if found is None:
        return course
    waiting = [*course.waiting, *left_out(case.context, case.asset, found.wanted | found.later)]
    waiting += _later(case, found.later | course.later)
    if not course.runs and not waiting:
        waiting.append(_up_to_date(case))
    told = PartitionSet.union(each.blocks for each in waiting if not each.blocks.is_everything)
    waiting += lacks_the_newest(case.context, case.asset, found.ahead - told)
    waiting += skipped(case.context, case.asset, case.state)
    for inlet, lost, gone in kept(case.context, case.asset, case.state.coverage):
        if rest := lost - (course.due - found.failed) - PartitionSet.union(run.blocks for run in course.runs):
            waiting.append(Waiting(case.asset.name, without(case.context, inlet, gone), None, rest, quiet=True))
    return course.saying(tuple(waiting))


def _later(case: Case, later: PartitionSet) -> list[Waiting]:
    if not later:
        return []
    partitioning = case.asset.partitioning
    first, at = next(partitioning.keys(later)), partitioning.first_over(later)
    reason = f"{first} is not over before {case.context.when(at or case.context.now)}"
    return [Waiting(case.asset.name, reason, at, later, quiet=True)]


def _up_to_date(case: Case) -> Waiting:
    state = case.state
    since = f" since {state.last.run}" if state.last else ""
    if not state.coverage:
        return Waiting(case.asset.name, _nothing(case) + since)
    return Waiting(
        case.asset.name, f"up to date{since}{_of_tick(case)}", next_tick_of(case.context, case.asset), quiet=True
    )


def _of_tick(case: Case) -> str:
    """Of an asset by a timetable: the tick that has come and finds nothing to do, and the next one."""
    until, timetable = next_tick_of(case.context, case.asset), case.asset.schedule.timetable
    if until is None or timetable is None:
        return ""
    ticks, then = due_ticks(case.context, case.asset, timetable, case.state), case.context.when(until)
    if isinstance(ticks, Waiting):
        return f"; {case.asset.schedule.text} next at {then}"
    at = case.context.when(ticks[-1].run_after)
    return f"; nothing to do yet for {case.asset.schedule.text} at {at}, next at {then}"


def _nothing(case: Case) -> str:
    names = [inlet.name for inlet in mapped_inlets(case.context, case.asset)]
    faulty = next((name for name in names if name in case.context.faults), None)
    if faulty is not None:
        return f"waits for {faulty}: {case.context.faults[faulty]}"
    return f"waits for the first partition of {listing(names)}" if names else "no partition is over yet"
