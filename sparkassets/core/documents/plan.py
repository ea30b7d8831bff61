"""A plan as data: what would run, and why the rest would not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.events import event_document
from sparkassets.core.documents.values import instant_text, interval_document, partitions_document
from sparkassets.core.journal import events
from sparkassets.core.journal.announce import partition_of

if TYPE_CHECKING:
    from sparkassets.core.planner.plan import Note, Plan, PlannedRun, Waiting
    from sparkassets.core.spec.model import ProjectSpec


def plan_document(plan: Plan, project: ProjectSpec) -> dict[str, Any]:
    """A plan; ``partitions`` is null for an asset without partitions."""
    return {
        "at": instant_text(plan.at),
        "runs": [_planned(run, project) for run in plan.runs],
        "waiting": [waiting_document(item, project) for item in plan.waiting],
        "notes": [_note(note, project) for note in plan.notes],
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


def _planned(run: PlannedRun, project: ProjectSpec) -> dict[str, Any]:
    return {
        "asset": run.asset,
        "strategy": run.strategy,
        "write": run.write,
        "reason": run.reason,
        "partitions": partitions_document(run.blocks, project.assets.get(run.asset)),
        "data_interval": interval_document(run.interval),
        "triggering_events": [
            event_document(events.of_ref(ref, partition_of(project, asset=ref.asset, uri=ref.uri)), project)
            for ref in run.events
        ],
    }


def _note(note: Note, project: ProjectSpec) -> dict[str, Any]:
    partitions = partitions_document(note.blocks, project.assets.get(note.asset))
    return {"asset": note.asset, "note": note.text, "partitions": partitions}
