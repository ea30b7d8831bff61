"""What somebody asked to be computed again and what is left of it: runs of it come after those of the schedule."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.entries import RedoRequest
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DecisionStep, RunCandidate
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import busy_partitions
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import replace


def remaining_request(context: PlanningContext, asset: AssetSpec, request: RedoRequest) -> PartitionSet:
    """The partitions of a request that are still to be computed, of those that the asset has now."""
    left = (
        asset.partitioning.cover(request.left)
        & asset.partitioning.known_partitions
        & context.finished_partitions(asset.partitioning)
    )
    return left - busy_partitions(context, asset, context.state_of(asset))


def requested_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """What somebody asked to be computed again and no run has computed yet."""
    return PartitionSet.union(remaining_request(context, asset, each) for each in state.redo)


def open_request(asset: AssetSpec, state: AssetState, asked: PartitionSet) -> RedoRequest | None:
    """The request of exactly these partitions; None where nothing is left of it that the asset still has."""
    found = next((each for each in state.redo if each.asked == asked), None)
    left = asset.partitioning.cover(found.left) & asset.partitioning.known_partitions if found is not None else NOTHING
    return replace(found, left=left) if found is not None and left else None


def add_redo_runs(case: DecisionInput, course: DecisionProgress, steps: Sequence[DecisionStep]) -> DecisionProgress:
    """The step after the schedule's runs: where there is none, one of the oldest request that can run.

    Whoever was to do it may be gone. A request of so many runs alone (``--max-runs``) is left to who asks again.

    Args:
        case: The asset.
        course: What came of the schedule.
        steps: Through which a candidate goes.
    """
    for request in case.state.redo:
        left = remaining_request(case.context, case.asset, request)
        if request.limited and left:
            wait = Waiting(case.asset.name, _limit_reason(case, left), None, left, quiet=True)
            course = replace(course, waiting=(*course.waiting, wait))
        elif left and not course.runs:
            course = _join_redo_runs(course, _of_request(case, request, left, steps))
        else:
            course = _explain_later_redo(case, course, request, left)
    return course


def _explain_later_redo(
    case: DecisionInput, course: DecisionProgress, request: RedoRequest, left: PartitionSet
) -> DecisionProgress:
    """What of a request comes after the runs that come first."""
    rest = left - PartitionSet.union(run.partitions for run in course.runs)
    after = replace(course, coming=course.coming | left)
    if not rest:
        return after
    count = plural(case.asset.partitioning.count(rest), "partition")
    reason = f"left for the next runs: backfill of {count}, asked {case.context.format_instant(request.at)}"
    return replace(after, waiting=(*after.waiting, Waiting(case.asset.name, reason, None, rest)))


def _join_redo_runs(course: DecisionProgress, found: DecisionProgress) -> DecisionProgress:
    """What came of the schedule, with the runs of a request."""
    return replace(
        course,
        waiting=(*course.waiting, *(each for each in found.waiting if each not in course.waiting)),
        runs=found.runs,
        coming=course.coming | found.coming,
        barriers=(*course.barriers, *(each for each in found.barriers if each not in course.barriers)),
    )


def _of_request(
    case: DecisionInput, request: RedoRequest, left: PartitionSet, steps: Sequence[DecisionStep]
) -> DecisionProgress:
    note = f"asked {case.context.format_instant(request.at)}"
    candidate = RunCandidate(
        left, case.context.now, ConditionUsage(), kind="backfill", newest_first=request.newest_first, notes=(note,)
    )
    course = DecisionProgress((candidate,), left)
    for step in steps:
        course = step(case, course)
    return course


def _limit_reason(case: DecisionInput, left: PartitionSet) -> str:
    count = plural(case.asset.partitioning.count(left), "partition")
    return f"{count} left of a backfill with --max-runs; the same command goes on with it"
