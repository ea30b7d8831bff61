"""The result of a mark as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import interval_document, partitions_document

if TYPE_CHECKING:
    from sparkassets.core.journal.marks import MarkResult
    from sparkassets.core.spec.model import ProjectSpec


def mark_document(mark: MarkResult, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, mark, changed, partitions, unchanged, data_interval, settled, reason, by}``.

    Without partitions both are null; ``data_interval`` is that of the only instance that was named, else null.
    """
    asset = project.assets[mark.asset]
    return {
        "asset": mark.asset,
        "mark": mark.kind,
        "changed": bool(mark.blocks),
        "partitions": partitions_document(mark.blocks, asset),
        "unchanged": partitions_document(mark.unchanged, asset),
        "data_interval": interval_document(mark.instance),
        "settled": list(mark.settled),
        "reason": mark.reason,
        "by": mark.by,
    }
