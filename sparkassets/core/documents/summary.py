"""The summary of an invocation as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import count_partitions, partitions_document
from sparkassets.core.documents.lateness import late_document
from sparkassets.core.documents.plan import note_document, waiting_document
from sparkassets.core.documents.verdicts import verdicts_document, withheld_document

if TYPE_CHECKING:
    from sparkassets.core.results import RunResult, Summary
    from sparkassets.core.spec.model import ProjectSpec


def summary_document(summary: Summary, project: ProjectSpec) -> dict[str, Any]:
    """The results of its runs, the assets that still wait, and the sources that could not be observed."""
    return {
        "runs": [result_document(result, project) for result in summary.runs],
        "waiting": [waiting_document(item, project) for item in summary.waiting],
        "notes": [note_document(note, project) for note in summary.notes],
        "late": [late_document(each, project) for each in summary.late],
        "faults": [{"asset": asset, "reason": reason} for asset, reason in summary.faults],
        "interrupted": summary.interrupted,
    }


def result_document(result: RunResult, project: ProjectSpec) -> dict[str, Any]:
    """How one run ended."""
    return {
        "asset": result.asset,
        "run": result.run,
        "kind": result.kind,
        "status": result.status,
        "partitions": partitions_document(result.blocks, project.assets.get(result.asset)),
        "rows": result.rows,
        "unchanged": count_partitions(result.unchanged, project.assets.get(result.asset)),
        "withheld": withheld_document(result, project),
        "validations": verdicts_document(result.verdicts, project.assets.get(result.asset)),
        "version": result.version,
        "seconds": round(result.seconds, 3),
        "attempts": result.attempts,
        "reason": result.reason,
        "error": result.error,
        "hint": result.hint,
        "details": result.details,
        "adopted": result.adopted,
        "skipped": result.skipped,
    }
