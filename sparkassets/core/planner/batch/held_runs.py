"""Holds back runs until a person acts, with their consumers, for reasons that others find."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.core.partitions import PartitionSet
from sparkassets.core.planner.due.decision_progress import DecisionInput, DecisionProgress
from sparkassets.core.planner.plan import Plan, PlannedRun, Waiting
from sparkassets.core.planner.planning_context import UpstreamBlocker
from sparkassets.core.planner.wording import name_partitions
from sparkassets.frozen import frozen, replace


@frozen
class HeldRun:
    """A planned run that is held back, and the waiting reason that replaces it in the plan."""

    run: PlannedRun
    wait: Waiting


def remove_held_runs(
    case: DecisionInput, progress: DecisionProgress, held: Sequence[HeldRun], by: str
) -> DecisionProgress:
    """The progress without the ``held`` runs; their waiting reasons take their place.

    Consumers wait for missing and stale partitions of these runs. They do not wait for partitions that a person asked
    to compute once more, as those have data. ``by`` names what holds them back, for the consumers' reason.
    """
    if not held:
        return progress
    partitions = PartitionSet.union(each.wait.partitions for each in held)
    without_held = replace(
        progress,
        runs=_runs_not_held(progress.runs, held),
        waiting=(*progress.waiting, *(each.wait for each in held)),
        expected=progress.expected - partitions,
    )
    awaited = partitions if case.pending is None else partitions & case.pending.due_partitions
    if not awaited:
        return without_held
    failure = f"{name_partitions(case.asset.name, awaited, case.asset.partitioning)}, held by its {by}"
    return replace(without_held, blockers=(*progress.blockers, UpstreamBlocker(awaited, failure)))


def plan_without_held_runs(plan: Plan, held: Sequence[HeldRun]) -> Plan:
    """The plan of one asset with the ``held`` runs replaced by their waiting reasons."""
    if not held:
        return plan
    waiting = (*plan.waiting, *(each.wait for each in held))
    return replace(plan, runs=_runs_not_held(plan.runs, held), waiting=waiting)


def _runs_not_held(runs: Sequence[PlannedRun], held: Sequence[HeldRun]) -> tuple[PlannedRun, ...]:
    """The ``runs`` without the held ones, which are the same objects."""
    return tuple(run for run in runs if all(run is not each.run for each in held))
