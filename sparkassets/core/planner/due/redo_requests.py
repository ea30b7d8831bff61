"""Unfinished backfill requests: their remaining partitions, and runs for them after the schedule's runs."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.journal.entries import RedoRequest
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.planner.due.condition_causes import ConditionUsage
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress, DecisionStep, DueRun
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.planner.run_slots import busy_partitions
from sparkassets.core.planner.wording import plural
from sparkassets.core.spec.model import AssetSpec
from sparkassets.frozen import replace


def remaining_request(context: PlanningContext, asset: AssetSpec, request: RedoRequest) -> PartitionSet:
    """Partitions left of a request that could run now: those over, of known segments, that no parallel run computes."""
    remaining = (
        asset.partitioning.cover(request.left)
        & asset.partitioning.known_partitions
        & context.finished_partitions(asset.partitioning)
    )
    return remaining - busy_partitions(context, asset, context.state_of(asset))


def requested_partitions(context: PlanningContext, asset: AssetSpec, state: AssetState) -> PartitionSet:
    """Partitions that somebody asked to compute again and that no run has computed yet."""
    return PartitionSet.union(remaining_request(context, asset, each) for each in state.redo_requests)


def open_request(asset: AssetSpec, state: AssetState, requested: PartitionSet) -> RedoRequest | None:
    """The request of exactly these partitions, with what is left of it; None without one, or where nothing is left."""
    request = next((each for each in state.redo_requests if each.asked == requested), None)
    remaining = (
        asset.partitioning.cover(request.left) & asset.partitioning.known_partitions if request is not None else NOTHING
    )
    return replace(request, left=remaining) if request is not None and remaining else None


def add_redo_runs(case: DecisionInput, progress: DecisionProgress, steps: Sequence[DecisionStep]) -> DecisionProgress:
    """Step after the schedule's runs: where there are none, plans a run of the oldest request that can run.

    The driver that was to compute a request may be gone. One that its person limited (``--max-runs``) goes on only when
    the same command is given again.

    Args:
        case: The asset and its state.
        progress: The progress of the schedule's decision.
        steps: The steps through which the request's due run goes.
    """
    for request in case.state.redo_requests:
        remaining = remaining_request(case.context, case.asset, request)
        if request.limited and remaining:
            wait = Waiting(case.asset.name, _explain_limit(case, remaining), None, remaining, quiet=True)
            progress = replace(progress, waiting=(*progress.waiting, wait))
        elif remaining and not progress.runs:
            progress = _join_redo_runs(progress, _decide_request(case, request, remaining, steps))
        else:
            progress = _explain_later_redo(case, progress, request, remaining)
    return progress


def _explain_later_redo(
    case: DecisionInput, progress: DecisionProgress, request: RedoRequest, remaining: PartitionSet
) -> DecisionProgress:
    """Adds the rest of a request that comes after the planned runs: as coming partitions, with a waiting reason."""
    not_running = remaining - PartitionSet.union(run.partitions for run in progress.runs)
    with_expected = replace(progress, expected=progress.expected | remaining)
    if not not_running:
        return with_expected
    count = plural(case.asset.partitioning.count(not_running), "partition")
    reason = f"left for the next runs: backfill of {count}, requested at {case.context.format_instant(request.at)}"
    return replace(with_expected, waiting=(*with_expected.waiting, Waiting(case.asset.name, reason, None, not_running)))


def _join_redo_runs(progress: DecisionProgress, request_progress: DecisionProgress) -> DecisionProgress:
    """The schedule's progress with the runs, reasons and blockers of a request; common reasons are listed once."""
    return replace(
        progress,
        waiting=(*progress.waiting, *(each for each in request_progress.waiting if each not in progress.waiting)),
        runs=request_progress.runs,
        expected=progress.expected | request_progress.expected,
        blockers=(*progress.blockers, *(each for each in request_progress.blockers if each not in progress.blockers)),
    )


def _decide_request(
    case: DecisionInput, request: RedoRequest, remaining: PartitionSet, steps: Sequence[DecisionStep]
) -> DecisionProgress:
    """The progress of a run for what is left of a request, after all steps."""
    note = f"asked {case.context.format_instant(request.at)}"
    due_run = DueRun(
        remaining, case.context.now, ConditionUsage(), kind="backfill", newest_first=request.newest_first, notes=(note,)
    )
    progress = DecisionProgress((due_run,), remaining)
    for step in steps:
        progress = step(case, progress)
    return progress


def _explain_limit(case: DecisionInput, remaining: PartitionSet) -> str:
    """Reason of a request with ``--max-runs``: how much of it is left, and that the same command goes on."""
    count = plural(case.asset.partitioning.count(remaining), "partition")
    return f"{count} left of a backfill with --max-runs; run the same command again to continue"
