"""What a run would execute, as text that a person runs by hand."""

from __future__ import annotations

from typing import Any

from sparkassets.frozen import frozen


@frozen
class RenderedCode:
    """The code that computes one table.

    Attributes:
        asset: The asset, or one outlet of a multi-asset.
        statements: SQL to be executed in order: views of the pinned inlets, then the query, or the asset's own
            statements. For a function only the views.
        function: The function ``module:name`` instead of a query; empty for SQL.
        arguments: What the function is passed, by argument, as text.
    """

    asset: str
    statements: tuple[str, ...]
    function: str = ""
    arguments: tuple[tuple[str, str], ...] = ()


@frozen
class RenderedRun:
    """One run of an asset as it would be executed now.

    Attributes:
        partitions: Its partition keys as ``A..B``; empty for an asset without partitions.
        reason: Why it would run, or that nothing is due.
        is_due: Whether the plan holds just this run.
        code: For each table that it writes.
        notes: What the text leaves out.
    """

    asset: str
    partitions: tuple[str, ...]
    reason: str
    is_due: bool
    code: tuple[RenderedCode, ...]
    notes: tuple[str, ...] = ()


def rendered_document(run: RenderedRun) -> dict[str, Any]:
    """The run for ``render --json``."""
    return {
        "asset": run.asset,
        "partitions": list(run.partitions),
        "due": run.is_due,
        "reason": run.reason,
        "code": [
            {
                "asset": each.asset,
                "statements": list(each.statements),
                "function": each.function or None,
                "arguments": dict(each.arguments),
            }
            for each in run.code
        ],
        "notes": list(run.notes),
    }
