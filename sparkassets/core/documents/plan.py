"""Documents of a plan: its runs and waits, estimates, code changes, impact, lateness and coming ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import (
    instant_text,
    interval_document,
    partitions_document,
    seconds_figure,
)
from sparkassets.core.documents.records import event_document
from sparkassets.core.instants import format_instant
from sparkassets.core.journal import history
from sparkassets.core.journal.announcements import event_partitioning
from sparkassets.core.planner.batch.cost_estimates import sum_estimates
from sparkassets.core.planner.explain.lateness import describe_lateness

if TYPE_CHECKING:
    from sparkassets.core.journal.asset_records import DefinitionOutput
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.planner.explain.impact import UpdateImpact
    from sparkassets.core.planner.explain.preview import SchedulePreview
    from sparkassets.core.planner.plan import (
        AssetLateness,
        AssetNote,
        CodeChange,
        CostEstimate,
        CostTotals,
        Plan,
        PlannedRun,
        Waiting,
    )
    from sparkassets.core.spec.model import AssetSpec
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.core.timetables.timetable import RunAlignment


def change_document(change: CodeChange, project: ProjectSpec) -> dict[str, Any]:
    """A change of an asset's code; ``partitions`` is null without partitions, ``columns`` where any may be touched.

    ``category`` is ``none``, ``non-breaking``, ``breaking`` or ``unknown``; ``recompute`` is the cost of computing it
    again, and ``reached`` has null for all columns of an asset.
    """
    asset, touched = project.assets[change.asset], change.effect
    columns = {"added": list(touched.added), "removed": list(touched.removed), "changed": list(touched.changed)}
    return {
        "asset": change.asset,
        "on_code_change": change.on_code_change,
        "partitions": partitions_document(change.partitions, asset),
        "definition": change.definition,
        "newer": change.newer,
        "computed_by": [_output_document(made, asset) for made in change.made],
        "difference": list(change.difference),
        "category": change.category,
        "columns": None if touched.affects_everything else columns,
        "readers": list(change.readers),
        "reached": [
            {"asset": name, "columns": None if columns is None else sorted(columns)}
            for name, columns in change.reached.items()
        ],
        "recompute": {
            "runs": change.runs,
            "seconds": seconds_figure(change.seconds),
            "downstream": [
                {"asset": name, "partitions": partitions_document(partitions, project.assets[name])}
                for name, partitions in change.downstream.items()
            ],
        },
    }


def _output_document(made: DefinitionOutput, asset: AssetSpec) -> dict[str, Any]:
    """What one definition computed: its partitions and its last run."""
    return {
        "definition": made.definition.id,
        "last_run": made.run or None,
        "last_at": instant_text(made.at or None),
        "partitions": partitions_document(made.partitions, asset),
    }


def late_document(late: AssetLateness, project: ProjectSpec) -> dict[str, Any]:
    """The data that an asset lacks at its newest deadline; ``partitions`` is null where a run is missing."""
    asset = project.assets[late.asset]
    return {
        "asset": late.asset,
        "by": instant_text(late.by),
        "partitions": partitions_document(late.partitions, asset),
        "text": describe_lateness(late, asset),
    }


def plan_document(plan: Plan, project: ProjectSpec) -> dict[str, Any]:
    """A plan; ``partitions`` is null for an asset without partitions.

    With an estimate of costs, every run has an ``estimate``, and the plan has ``totals``.
    """
    totals = {} if plan.totals is None else {"totals": totals_document(plan.totals)}
    return {
        "at": instant_text(plan.at),
        "runs": [_planned_document(run, project) for run in plan.runs],
        "waiting": [waiting_document(item, project) for item in plan.waiting],
        "notes": [note_document(note, project) for note in plan.notes],
        "needs_session": [{"asset": name, "reason": why} for name, why in plan.unseen.items()],
        "late": [late_document(each, project) for each in plan.late],
        "code_changes": [change_document(change, project) for change in plan.changes],
        **totals,
    }


def estimate_document(estimate: CostEstimate) -> dict[str, Any]:
    """The estimated cost of a run; null where unknown, and ``unknown`` gives the reason for missing bytes.

    ``assumed`` means that the run is not planned yet, so that it may read other versions.
    """
    return {
        "bytes": estimate.bytes,
        "files": estimate.files,
        "seconds": seconds_figure(estimate.seconds),
        "rows": estimate.rows,
        "seconds_between": None if estimate.between is None else [seconds_figure(each) for each in estimate.between],
        "earlier_runs": estimate.earlier,
        "unknown": list(estimate.unknown),
        "assumed": estimate.assumed,
    }


def totals_document(totals: CostTotals) -> dict[str, Any]:
    """The cost of all runs; ``unknown`` counts the runs without a figure, which the sum leaves out."""
    return {
        "runs": totals.runs,
        "bytes": totals.bytes,
        "files": totals.files,
        "seconds": seconds_figure(totals.seconds),
        "rows": totals.rows,
        "unknown": dict(totals.unknown),
    }


def waiting_document(item: Waiting, project: ProjectSpec) -> dict[str, Any]:
    """Why an asset, or some of its partitions, does not run; ``quiet`` where nothing is wanted now."""
    return {
        "asset": item.asset,
        "reason": item.reason,
        "until": instant_text(item.until),
        "partitions": partitions_document(item.partitions, project.assets.get(item.asset)),
        "quiet": item.quiet,
    }


def _planned_document(run: PlannedRun, project: ProjectSpec) -> dict[str, Any]:
    """A planned run; it has an ``estimate`` if costs were requested."""
    estimate = {} if run.estimate is None else {"estimate": estimate_document(run.estimate)}
    return {
        "asset": run.asset,
        "strategy": run.strategy,
        "write": run.write,
        "reason": run.reason,
        "partitions": partitions_document(run.partitions, project.assets.get(run.asset)),
        "data_interval": interval_document(run.interval),
        "triggering_events": [
            event_document(
                history.event_values(ref, event_partitioning(project, asset=ref.asset, uri=ref.uri)), project
            )
            for ref in run.events
        ],
        **estimate,
    }


def note_document(note: AssetNote, project: ProjectSpec) -> dict[str, Any]:
    """A note about an asset's table."""
    partitions = partitions_document(note.partitions, project.assets.get(note.asset))
    return {"asset": note.asset, "note": note.text, "partitions": partitions}


def downstream_document(
    after: Mapping[str, PartitionSet], costs: Mapping[str, Sequence[CostEstimate]], project: ProjectSpec
) -> list[dict[str, Any]]:
    """The assets that become due, upstream first, with the total cost of their runs if they ran now.

    ``partitions`` is null for a whole asset.
    """
    return [
        {
            "asset": name,
            "partitions": partitions_document(partitions, project.assets[name]),
            "estimate": {**totals_document(sum_estimates(costs[name])), "assumed": True},
        }
        for name, partitions in after.items()
    ]


def impact_document(found: UpdateImpact, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, partitions, downstream}``; downstream assets are upstream first.

    Each has its present partitions (``computed``) and the assets ``through`` which it is reached; ``rerun`` says
    whether it is computed again by itself, and ``why`` why not.
    """
    return {
        "asset": found.asset,
        "partitions": partitions_document(found.partitions, project.assets[found.asset]),
        "downstream": [
            {
                "asset": reach.asset,
                "partitions": partitions_document(reach.partitions, project.assets[reach.asset]),
                "computed": partitions_document(reach.computed, project.assets[reach.asset]),
                "through": list(reach.through),
                "rerun": not reach.stays,
                "why": reach.stays or None,
            }
            for reach in found.reaches
        ],
    }


def preview_document(preview: SchedulePreview) -> list[dict[str, Any]]:
    """The coming runs of one asset, oldest first."""
    return [
        {
            "asset": preview.asset,
            "run_after": format_instant(slot.run_after),
            "data_interval": {"start": format_instant(slot.start), "end": format_instant(slot.end)},
            "logical_date": format_instant(slot.start),
        }
        for slot in preview.slots
    ]


def alignment_document(alignment: RunAlignment) -> dict[str, Any]:
    """Two runs that belong together; ``execution_delta`` is in seconds."""
    return {
        "upstream_logical_date": format_instant(alignment.upstream.start),
        "downstream_logical_date": format_instant(alignment.downstream.start),
        "execution_delta": alignment.delta_seconds,
        "case": alignment.case,
    }
