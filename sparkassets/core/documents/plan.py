"""A plan as data: what would run, and why the rest would not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.code_changes import change_document
from sparkassets.core.documents.document_values import (
    instant_text,
    interval_document,
    partitions_document,
    seconds_figure,
)
from sparkassets.core.documents.events import event_document
from sparkassets.core.documents.lateness import late_document
from sparkassets.core.journal import event_documents
from sparkassets.core.journal.announcements import event_partitioning

if TYPE_CHECKING:
    from sparkassets.core.planner.plan import AssetNote, CostEstimate, CostTotals, Plan, PlannedRun, Waiting
    from sparkassets.core.spec.model import ProjectSpec


def plan_document(plan: Plan, project: ProjectSpec) -> dict[str, Any]:
    """A plan; ``partitions`` is null for an asset without partitions.

    With an estimate of costs, every run has an ``estimate``, and the plan has ``totals``.
    """
    told = {} if plan.totals is None else {"totals": totals_document(plan.totals)}
    return {
        "at": instant_text(plan.at),
        "runs": [_planned_document(run, project) for run in plan.runs],
        "waiting": [waiting_document(item, project) for item in plan.waiting],
        "notes": [note_document(note, project) for note in plan.notes],
        "needs_session": [{"asset": name, "reason": why} for name, why in plan.unseen.items()],
        "late": [late_document(each, project) for each in plan.late],
        "code_changes": [change_document(change, project) for change in plan.changes],
        **told,
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
    """Why an asset, or some of its partitions, does not run; ``quiet`` where nothing is wanted of it now."""
    return {
        "asset": item.asset,
        "reason": item.reason,
        "until": instant_text(item.until),
        "partitions": partitions_document(item.blocks, project.assets.get(item.asset)),
        "quiet": item.quiet,
    }


def _planned_document(run: PlannedRun, project: ProjectSpec) -> dict[str, Any]:
    told = {} if run.estimate is None else {"estimate": estimate_document(run.estimate)}
    return {
        "asset": run.asset,
        "strategy": run.strategy,
        "write": run.write,
        "reason": run.reason,
        "partitions": partitions_document(run.blocks, project.assets.get(run.asset)),
        "data_interval": interval_document(run.interval),
        "triggering_events": [
            event_document(
                event_documents.event_values(ref, event_partitioning(project, asset=ref.asset, uri=ref.uri)), project
            )
            for ref in run.events
        ],
        **told,
    }


def note_document(note: AssetNote, project: ProjectSpec) -> dict[str, Any]:
    """A note about an asset's table."""
    partitions = partitions_document(note.blocks, project.assets.get(note.asset))
    return {"asset": note.asset, "note": note.text, "partitions": partitions}
