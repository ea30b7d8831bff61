"""What somebody asked to be computed again and what is left of it: runs of it come after those of the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.journal.requests import RedoRequest
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.context import PlanningContext
from sparkassets.core.planner.course import Candidate, Case, Course, Step
from sparkassets.core.planner.news import Uses
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.slots import busy
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.model import AssetSpec


def left_of(context: PlanningContext, asset: AssetSpec, request: RedoRequest) -> PartitionSet:
    """The partitions of a request that are still to be computed, of those that the asset has now."""
    left = asset.partitioning.cover(request.left) & asset.partitioning.known & context.over(asset.partitioning)
    return left - busy(context, asset, context.state_of(asset))


def requested(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What somebody asked to be computed again and no run has computed yet."""
    return PartitionSet.union(left_of(context, asset, each) for each in state.redo)


def open_request(asset: AssetSpec, state: AssetState, asked: PartitionSet) -> RedoRequest | None:
    """The request of exactly these blocks; None where nothing is left of it that the asset still has."""
    found = next((each for each in state.redo if each.asked == asked), None)
    left = asset.partitioning.cover(found.left) & asset.partitioning.known if found is not None else NOTHING
    return replace(found, left=left) if found is not None and left else None


def redone(case: Case, course: Course, steps: Sequence[Step]) -> Course:
    """The step after the schedule's runs: where there is none, one of the oldest request that can run.

    Whoever was to do it may be gone. A request of so many runs alone (``--max-runs``) is left to who asks again.

    Args:
        case: The asset.
        course: What came of the schedule.
        steps: Through which a candidate goes.
    """
    if not case.state.redo or case.pending is None:
        return course
    for request in case.state.redo:
        left = left_of(case.context, case.asset, request)
        if request.limited and left:
            wait = Waiting(case.asset.name, _limited(case, left), None, left, quiet=True)
            course = replace(course, waiting=(*course.waiting, wait))
        elif left and not course.runs:
            course = _joined(course, _of_request(case, request, left, steps))
        else:
            course = _later(case, course, request, left)
    return course


def _later(case: Case, course: Course, request: RedoRequest, left: PartitionSet) -> Course:
    """What of a request comes after the runs that come first."""
    rest = left - PartitionSet.union(run.blocks for run in course.runs)
    after = replace(course, coming=course.coming | left)
    if not rest:
        return after
    count = plural(case.asset.partitioning.count(rest), "partition")
    reason = f"left for the next runs: backfill of {count}, asked {case.context.when(request.at)}"
    return replace(after, waiting=(*after.waiting, Waiting(case.asset.name, reason, None, rest)))


def _joined(course: Course, found: Course) -> Course:
    """What came of the schedule, with the runs of a request."""
    return replace(
        course,
        waiting=(*course.waiting, *(each for each in found.waiting if each not in course.waiting)),
        runs=found.runs,
        coming=course.coming | found.coming,
        barriers=(*course.barriers, *(each for each in found.barriers if each not in course.barriers)),
    )


def reserved(case: Case, course: Course) -> Course:
    """The step: without what a backfill in this very invocation computes."""
    taken = case.context.reserved.get(case.asset.name)
    both = course.blocks & taken if taken is not None and case.pending is not None else NOTHING
    if not both:
        return course
    return course.without(both, Waiting(case.asset.name, "computed by the backfill", None, both))


def _of_request(case: Case, request: RedoRequest, left: PartitionSet, steps: Sequence[Step]) -> Course:
    note = f"asked {case.context.when(request.at)}"
    candidate = Candidate(
        left, case.context.now, Uses(), kind="backfill", newest_first=request.newest_first, notes=(note,)
    )
    course = Course((candidate,), left)
    for step in steps:
        course = step(case, course)
    return course


def _limited(case: Case, left: PartitionSet) -> str:
    count = plural(case.asset.partitioning.count(left), "partition")
    return f"{count} left of a backfill with --max-runs; the same command goes on with it"
