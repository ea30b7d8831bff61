"""What a backfill makes due after it, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.plan import totals_document
from sparkassets.core.documents.values import partitions_document
from sparkassets.core.planner.estimate import totals

if TYPE_CHECKING:
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.planner.plan import Estimate
    from sparkassets.core.spec.model import ProjectSpec


def downstream_document(
    after: Mapping[str, PartitionSet], costs: Mapping[str, Sequence[Estimate]], project: ProjectSpec
) -> list[dict[str, Any]]:
    """The assets that become due, upstream first, with the totals of their runs by what they would read now.

    ``partitions`` is null for the whole of one.
    """
    return [
        {
            "asset": name,
            "partitions": partitions_document(blocks, project.assets[name]),
            "estimate": {**totals_document(totals(costs[name])), "assumed": True},
        }
        for name, blocks in after.items()
    ]
