"""What a project answers, with the keys of its partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from sparkassets.core.instants import format_zoned, from_unix

if TYPE_CHECKING:
    from sparkassets.core.journal.run_records import RunRecord
    from sparkassets.core.planner.plan import AssetNote, Plan, PlannedRun, Waiting
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.spec.model import ProjectSpec

Named = TypeVar("Named", "PlannedRun", "Waiting", "AssetNote", "RunResult", "RunRecord")


def plan_with_keys(plan: Plan, project: ProjectSpec) -> Plan:
    """The plan, its partitions told by their keys."""
    return replace(
        plan,
        runs=tuple(with_keys(run, project) for run in plan.runs),
        waiting=tuple(with_keys(item, project) for item in plan.waiting),
        notes=tuple(with_keys(note, project) for note in plan.notes),
    )


def summary_with_keys(summary: Summary, project: ProjectSpec) -> Summary:
    """The summary, its partitions told by their keys."""
    runs = tuple(_with_withheld_keys(with_keys(run, project), project) for run in summary.runs)
    waiting = tuple(with_keys(item, project) for item in summary.waiting)
    return replace(summary, runs=runs, waiting=waiting, notes=tuple(with_keys(note, project) for note in summary.notes))


def _with_withheld_keys(run: RunResult, project: ProjectSpec) -> RunResult:
    """The result, what it withheld told by its keys; of an instance by its data interval."""
    asset = project.assets.get(run.asset)
    if not run.withheld or asset is None:
        return run
    if run.request.apart and run.interval is not None:
        return replace(run, held=("..".join(format_zoned(from_unix(at), project.timezone) for at in run.interval),))
    return replace(run, held=tuple(asset.partitioning.labels(run.withheld)))


def with_keys(item: Named, project: ProjectSpec) -> Named:
    """The item, its partitions told by their keys, as far as the project has its asset."""
    asset = project.assets.get(item.asset)
    labels = asset.partitioning.labels(item.blocks) if asset is not None else []
    return replace(item, partition_keys=tuple(labels)) if labels else item
