"""How a branch differs from its base, as data."""

from __future__ import annotations

from typing import Any

from sparkassets.core.branches.difference import AssetDifference, RowCounts
from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.spec.model import ProjectSpec


def difference_document(found: AssetDifference, project: ProjectSpec) -> dict[str, Any]:
    """How one asset differs; ``rows`` is null where nothing was compared, ``by`` where rows have no keys."""
    asset = project.assets.get(found.asset)
    rows = found.rows
    told = None
    if rows is not None:
        told = {
            "by": list(rows.keys) or None,
            "keys_not_unique": rows.has_duplicate_keys,
            **_counts(found.total_row_counts),
            "partitions": [
                {"partitions": partitions_document(block, asset), **_counts(counts)}
                for block, counts in rows.blocks
                if counts.has_differences
            ],
            "samples": [
                {
                    "change": each.change,
                    "before": None if each.before is None else dict(each.before),
                    "after": None if each.after is None else dict(each.after),
                }
                for each in rows.samples
            ],
        }
    return {
        "asset": found.asset,
        "columns": {
            "added": dict(found.columns.added),
            "removed": dict(found.columns.removed),
            "changed": {name: list(types) for name, types in found.columns.changed.items()},
        },
        "only_in_base": partitions_document(found.only_base, asset) if found.only_base else None,
        "only_in_branch": partitions_document(found.only_branch, asset) if found.only_branch else None,
        "rows": told,
    }


def _counts(counts: RowCounts) -> dict[str, int]:
    return {"added": counts.added, "removed": counts.removed, "changed": counts.changed, "same": counts.same}
