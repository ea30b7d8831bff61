"""Runs that are held back: a person lets them run, or changes something; what reads them waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import UpstreamBarrier
from sparkassets.core.planner.wording import name_partitions
from sparkassets.frozen import frozen


@frozen
class HeldRun:
    """A run that is held back, and what is said of it."""

    run: PlannedRun
    wait: Waiting


def remove_held_runs(
    case: DecisionInput, course: DecisionProgress, held: Sequence[HeldRun], by: str
) -> DecisionProgress:
    """The course without these runs.

    Consumers wait for what of them is missing or stale; what a person asked for once more is as it was.
    """
    if not held:
        return course
    blocks = PartitionSet.union(each.wait.blocks for each in held)
    left = replace(
        course,
        runs=_runs_not_held(course.runs, held),
        waiting=(*course.waiting, *(each.wait for each in held)),
        coming=course.coming - blocks,
    )
    awaited = blocks if case.pending is None else blocks & case.pending.due_partitions
    if not awaited:
        return left
    failure = f"{name_partitions(case.asset.name, awaited, case.asset.partitioning)}, held by its {by}"
    return replace(left, barriers=(*course.barriers, UpstreamBarrier(awaited, failure)))


def plan_without_held_runs(found: Plan, held: Sequence[HeldRun]) -> Plan:
    """The plan of one asset without these runs."""
    if not held:
        return found
    waiting = (*found.waiting, *(each.wait for each in held))
    return replace(found, runs=_runs_not_held(found.runs, held), waiting=waiting)


def _runs_not_held(runs: Sequence[PlannedRun], held: Sequence[HeldRun]) -> tuple[PlannedRun, ...]:
    return tuple(run for run in runs if all(run is not each.run for each in held))
