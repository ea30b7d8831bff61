"""Lateness as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, partitions_document
from sparkassets.core.planner.explain.lateness import describe_lateness

if TYPE_CHECKING:
    from sparkassets.core.planner.plan import AssetLateness
    from sparkassets.core.spec.model import ProjectSpec


def late_document(late: AssetLateness, project: ProjectSpec) -> dict[str, Any]:
    """What an asset owes by its newest deadline: partitions, or a run where ``partitions`` is null."""
    asset = project.assets[late.asset]
    return {
        "asset": late.asset,
        "by": instant_text(late.by),
        "partitions": partitions_document(late.blocks, asset),
        "text": describe_lateness(late, asset),
    }
