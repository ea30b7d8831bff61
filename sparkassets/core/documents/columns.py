"""Column lineage as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparkassets.core.derivation.column_lineage import AssetColumnLineage, ColumnLineage, LineageStep


def column_document(found: ColumnLineage) -> dict[str, Any]:
    """``{asset, column, sure, made_of: [{asset, column, how, …, further}], rows, used_by}``.

    ``column`` of a step is null where only which rows there are goes by it, ``rows`` where that is not sure.
    """
    return {
        "asset": found.asset,
        "column": found.column,
        "sure": found.sure,
        "made_of": [_step(each) for each in found.made_of],
        "rows": _steps(found.rows),
        "used_by": [_step(each) for each in found.used_by],
    }


def columns_document(found: AssetColumnLineage) -> dict[str, Any]:
    """``{asset, columns: {name: [{asset, column, how}]}, rows}``; null is what is not sure."""
    columns = None if found.columns is None else {name: _steps(steps) for name, steps in found.columns.items()}
    return {"asset": found.asset, "columns": columns, "rows": _steps(found.rows)}


def _steps(steps: Sequence[LineageStep] | None) -> list[dict[str, Any]] | None:
    if steps is None:
        return None
    return [
        {"asset": each.asset, "column": each.column, "how": list(each.how), "masked": each.masked} for each in steps
    ]


def _step(step: LineageStep) -> dict[str, Any]:
    return {
        "asset": step.asset,
        "column": step.column or None,
        "how": list(step.how),
        "masked": step.masked,
        "sure": step.is_certain,
        "again": step.is_repeated,
        "further": [_step(each) for each in step.next_steps],
    }
