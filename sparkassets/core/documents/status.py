"""Documents of an asset's status, of its partitions, and of an explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, key_ranges
from sparkassets.core.documents.plan import late_document
from sparkassets.core.documents.project_status import status_counts
from sparkassets.core.documents.runs import judged_document

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
    from sparkassets.core.planner.explain.lateness import InletWatermark
    from sparkassets.core.planner.explain.status import AssetStatus, ClaimHolder
    from sparkassets.core.spec.project_spec import ProjectSpec


def status_document(status: AssetStatus, project: ProjectSpec) -> dict[str, Any]:
    """One asset at a glance; ``partitions`` is null for an asset without partitions."""
    partition = project.assets[status.asset].partitioning
    return {
        "asset": status.asset,
        "kind": status.kind,
        "schedule": status.schedule,
        "partitions": {"ranges": key_ranges(status.covered, partition), **status_counts(status)}
        if partition.is_partitioned
        else None,
        "last_run": status.last_run,
        "last_at": instant_text(status.last_at),
        "rows": status.rows,
        "error": status.error,
        "running": status.running,
        "holders": [_holder_document(each) for each in status.holders],
        "next_at": instant_text(status.next_at),
        "paused": status.paused,
        "notes": list(status.notes),
        "withheld": [judged_document(each, project.assets[status.asset]) for each in status.withheld_runs],
        "late": late_document(status.late, project) if status.late is not None else None,
        "watermarks": [_watermark_document(each) for each in status.watermarks],
    }


def _holder_document(holder: ClaimHolder) -> dict[str, Any]:
    """A driver that holds a claim; ``gone`` means that its process has ended and the next run settles the claim."""
    return {
        "run": holder.run,
        "driver": holder.driver,
        "since": instant_text(holder.since),
        "silent_seconds": holder.silent_seconds,
        "lease_seconds": holder.lease_seconds,
        "gone": holder.gone,
    }


def _watermark_document(watermark: InletWatermark) -> dict[str, Any]:
    """How far an inlet was read: up to a version of ``newest``, or a ``high`` value of a column.

    ``behind`` counts versions, or updates of the inlet; it is null where that is unknown.
    """
    document: dict[str, Any] = {"inlet": watermark.inlet}
    if watermark.column is None:
        document |= {"version": None if watermark.high is None else int(watermark.high), "newest": watermark.newest}
    else:
        document |= {"column": watermark.column, "high": watermark.high}
    return {**document, "behind": watermark.behind, "newest_at": instant_text(watermark.newest_at)}


def partition_document(key: str, status: str, definition: str | None = None) -> dict[str, str | None]:
    """One partition of an asset, with its status and the definition that computed it."""
    return {"partition": key, "status": status, "definition": definition}


def node_document(node: ExplanationNode) -> dict[str, Any]:
    """One line of an explanation and what is below it."""
    return {"text": node.text, "holds": node.holds, "children": [node_document(child) for child in node.children]}
