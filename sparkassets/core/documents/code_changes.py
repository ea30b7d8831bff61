"""Changes of code, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkassets.core.documents.document_values import instant_text, partitions_document, seconds_figure

if TYPE_CHECKING:
    from sparkassets.core.journal.state import DefinitionOutput
    from sparkassets.core.planner.plan import CodeChange
    from sparkassets.core.spec.model import AssetSpec, ProjectSpec


def change_document(change: CodeChange, project: ProjectSpec) -> dict[str, Any]:
    """What other code has made of an asset; ``partitions`` is null for one without, ``columns`` where it is not sure.

    ``verdict`` is ``additive``, ``unread`` or ``breaking``; ``recompute`` is the cost of computing it again.
    """
    asset, touched = project.assets[change.asset], change.effect
    columns = {"added": list(touched.added), "removed": list(touched.removed), "changed": list(touched.changed)}
    return {
        "asset": change.asset,
        "on_code_change": change.on_code_change,
        "partitions": partitions_document(change.blocks, asset),
        "definition": change.definition,
        "newer": change.newer,
        "computed_by": [_output_document(made, asset) for made in change.made],
        "difference": list(change.difference),
        "verdict": change.verdict,
        "columns": None if touched.affects_everything else columns,
        "readers": list(change.readers),
        "recompute": {
            "runs": change.runs,
            "seconds": seconds_figure(change.seconds),
            "downstream": [
                {"asset": name, "partitions": partitions_document(blocks, project.assets[name])}
                for name, blocks in change.downstream.items()
            ],
        },
    }


def _output_document(made: DefinitionOutput, asset: AssetSpec) -> dict[str, Any]:
    return {
        "definition": made.definition.id,
        "last_run": made.run or None,
        "last_at": instant_text(made.at or None),
        "partitions": partitions_document(made.blocks, asset),
    }
