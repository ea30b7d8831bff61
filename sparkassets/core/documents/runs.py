"""A run of the journal, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import (
    count_partitions,
    instant_text,
    interval_document,
    partitions_document,
)
from sparkassets.core.documents.verdicts import verdicts_document, withheld_document

if TYPE_CHECKING:
    from sparkassets.core.journal.run_records import RunRecord
    from sparkassets.core.spec.model import ProjectSpec


def run_document(run: RunRecord, project: ProjectSpec) -> dict[str, Any]:
    """A run and its outcome; ``partitions`` is null for an asset without partitions."""
    return {
        "run": run.run,
        "asset": run.asset,
        "kind": run.kind,
        "status": run.status,
        "started": instant_text(run.started),
        "at": instant_text(run.ended),
        "seconds": run.seconds,
        "partitions": partitions_document(run.blocks, project.assets.get(run.asset)),
        "rows": run.rows,
        "unchanged": count_partitions(run.unchanged, project.assets.get(run.asset)),
        "withheld": withheld_document(run, project),
        "validations": verdicts_document(run.verdicts, project.assets.get(run.asset)),
        "version": run.version,
        "attempts": run.attempts,
        "reason": run.reason,
        "error": run.error,
        "hint": run.hint,
        "details": run.details,
        "adopted": run.adopted,
        "skipped": run.skipped,
        "data_interval": interval_document(run.interval),
        "events": list(run.request.events),
    }
