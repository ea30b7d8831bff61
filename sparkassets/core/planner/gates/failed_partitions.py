"""What failed in this invocation is not tried again in it, unless there is a cause that the failed run did not have."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.state import FailedBlocks
from sparkassets.core.partitions import EVERYTHING
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.due.pending_partitions import PendingPartitions
from sparkassets.core.planner.plan import Waiting
from sparkassets.core.planner.planning_context import UpstreamBarrier
from sparkassets.core.planner.wording import name_partitions
from sparkassets.core.strategies import EveryInstance


def remove_failed(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """The step: without what failed."""
    return _runs(case, course) if case.pending is None else _blocks(case, course, case.pending)


def _blocks(case: DecisionInput, course: DecisionProgress, found: PendingPartitions) -> DecisionProgress:
    failed = found.failed & course.due
    if not failed:
        return course
    name = case.asset.name
    rest = course.without_partitions(failed, Waiting(name, f"failed: {found.error}", None, failed))
    barrier = UpstreamBarrier(failed, f"{name_partitions(name, failed, case.asset.partitioning)}, which failed")
    return replace(rest, barriers=(*rest.barriers, barrier))


def _runs(case: DecisionInput, course: DecisionProgress) -> DecisionProgress:
    """Where each run is for events of its own, one that failed keeps no other from running."""
    name, context = case.asset.name, case.context
    failed = tuple(item for item in case.state.failed if item.invocation == context.invocation)
    if not failed or not course.due:
        return course
    said = tuple(Waiting(name, f"failed: {item.error}") for item in failed)
    if course.candidates and isinstance(case.asset.strategy, EveryInstance) and course.candidates[0].events:
        return replace(course, waiting=(*course.waiting, *said))
    if course.candidates and _has_newer_cause(case, course, failed[-1]):
        return course
    return DecisionProgress(
        due=course.due, waiting=said, barriers=(UpstreamBarrier(EVERYTHING, f"{name}, which failed"),)
    )


def _has_newer_cause(case: DecisionInput, course: DecisionProgress, failed: FailedBlocks) -> bool:
    """Whether there is a cause that the failed run did not have."""
    updated = (case.context.state.dataset(uri).seq > failed.token for uri in case.state.spec.listens)
    ticked = (each.newest is not None and each.newest > failed.planned for each in course.candidates)
    return any(updated) or any(ticked)
