"""Runs that are held back: a person lets them run, or changes something; what reads them waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.context import Barrier
from sparkassets.core.planner.course import Case, Course
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.wording import named_parts
from sparkassets.frozen import frozen


@frozen
class Held:
    """A run that is held back, and what is said of it."""

    run: PlannedRun
    wait: Waiting


def without_held(case: Case, course: Course, held: Sequence[Held], by: str) -> Course:
    """The course without these runs.

    Consumers wait for what of them is missing or stale; what a person asked for once more is as it was.
    """
    if not held:
        return course
    blocks = PartitionSet.union(each.wait.blocks for each in held)
    left = replace(
        course,
        runs=_others(course.runs, held),
        waiting=(*course.waiting, *(each.wait for each in held)),
        coming=course.coming - blocks,
    )
    awaited = blocks if case.pending is None else blocks & case.pending.due
    if not awaited:
        return left
    failure = f"{named_parts(case.asset.name, awaited, case.asset.partitioning)}, held by its {by}"
    return replace(left, barriers=(*course.barriers, Barrier(awaited, failure)))


def plan_without_held(found: Plan, held: Sequence[Held]) -> Plan:
    """The plan of one asset without these runs."""
    if not held:
        return found
    waiting = (*found.waiting, *(each.wait for each in held))
    return replace(found, runs=_others(found.runs, held), waiting=waiting)


def _others(runs: Sequence[PlannedRun], held: Sequence[Held]) -> tuple[PlannedRun, ...]:
    return tuple(run for run in runs if all(run is not each.run for each in held))
