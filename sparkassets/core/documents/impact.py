"""The impact of an update as data: the assets that it makes due, or reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.documents.plan import totals_document
from sparkassets.core.planner.batch.cost_estimates import sum_estimates

if TYPE_CHECKING:
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.planner.explain.impact import UpdateImpact
    from sparkassets.core.planner.plan import CostEstimate
    from sparkassets.core.spec.model import ProjectSpec


def downstream_document(
    after: Mapping[str, PartitionSet], costs: Mapping[str, Sequence[CostEstimate]], project: ProjectSpec
) -> list[dict[str, Any]]:
    """The assets that become due, upstream first, with the totals of their runs by what they would read now.

    ``partitions`` is null for the whole of one.
    """
    return [
        {
            "asset": name,
            "partitions": partitions_document(blocks, project.assets[name]),
            "estimate": {**totals_document(sum_estimates(costs[name])), "assumed": True},
        }
        for name, blocks in after.items()
    ]


def impact_document(found: UpdateImpact, project: ProjectSpec) -> dict[str, Any]:
    """``{asset, partitions, downstream}``: upstream first, each with what of it is there, and through which assets.

    ``rerun`` is whether it is computed again by itself, and ``why`` why not.
    """
    return {
        "asset": found.asset,
        "partitions": partitions_document(found.blocks, project.assets[found.asset]),
        "downstream": [
            {
                "asset": reach.asset,
                "partitions": partitions_document(reach.blocks, project.assets[reach.asset]),
                "computed": partitions_document(reach.computed, project.assets[reach.asset]),
                "through": list(reach.through),
                "rerun": not reach.stays,
                "why": reach.stays or None,
            }
            for reach in found.reaches
        ],
    }
