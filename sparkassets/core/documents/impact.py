"""What a backfill makes due after it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.values import partitions_document
from sparkassets.core.partitions import PartitionSet

if TYPE_CHECKING:
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.spec.model import ProjectSpec


def downstream_document(after: Mapping[str, PartitionSet], project: ProjectSpec) -> list[dict[str, Any]]:
    """The assets that become due, upstream first; ``partitions`` is null for the whole of one."""
    return [
        {"asset": name, "partitions": partitions_document(blocks, project.assets[name])}
        for name, blocks in after.items()
    ]
