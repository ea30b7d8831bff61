"""Unfinished backfill requests: their remaining partitions, and runs for them after the schedule's runs."""

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
    """Partitions left of a request that the asset has now, without those that a parallel run computes."""
    left = (
        asset.partitioning.cover(request.left)
        & asset.partitioning.known_partitions
        & context.finished_partitions(asset.partitioning)
    )
    return left - busy_partitions(context, asset, context.state_of(asset))


def requested_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that somebody asked to compute again and that no run has computed yet."""
    return PartitionSet.union(remaining_request(context, asset, each) for each in state.redo)


def open_request(asset: AssetSpec, state: AssetState, asked: PartitionSet) -> RedoRequest | None:
    """The request of exactly these partitions, with what is left of it; None where nothing is left."""
    found = next((each for each in state.redo if each.asked == asked), None)
    left = asset.partitioning.cover(found.left) & asset.partitioning.known_partitions if found is not None else NOTHING
    return replace(found, left=left) if found is not None and left else None


def add_redo_runs(case: DecisionInput, course: DecisionProgress, steps: Sequence[DecisionStep]) -> DecisionProgress:
    """Step after the schedule's runs: where there are none, plans a run of the oldest request that can run.

    The driver that was to compute a request may be gone. One that its person limited (``--max-runs``) goes on only when
    the same command is given again.

    Args:
        case: The asset and its state.
        course: The progress of the schedule's decision.
        steps: The steps through which the request's candidate goes.
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
    """Adds the rest of a request that comes after the planned runs: as coming partitions, with a waiting reason."""
    rest = left - PartitionSet.union(run.partitions for run in course.runs)
    after = replace(course, coming=course.coming | left)
    if not rest:
        return after
    count = plural(case.asset.partitioning.count(rest), "partition")
    reason = f"left for the next runs: backfill of {count}, asked {case.context.format_instant(request.at)}"
    return replace(after, waiting=(*after.waiting, Waiting(case.asset.name, reason, None, rest)))


def _join_redo_runs(course: DecisionProgress, found: DecisionProgress) -> DecisionProgress:
    """The schedule's progress with the runs, reasons and barriers of a request; common reasons are listed once."""
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
    """The progress of a run for what is left of a request, after all steps."""
    note = f"asked {case.context.format_instant(request.at)}"
    candidate = RunCandidate(
        left, case.context.now, ConditionUsage(), kind="backfill", newest_first=request.newest_first, notes=(note,)
    )
    course = DecisionProgress((candidate,), left)
    for step in steps:
        course = step(case, course)
    return course


def _limit_reason(case: DecisionInput, left: PartitionSet) -> str:
    """Reason of a request with ``--max-runs``: how much of it is left, and that the same command goes on."""
    count = plural(case.asset.partitioning.count(left), "partition")
    return f"{count} left of a backfill with --max-runs; the same command goes on with it"
