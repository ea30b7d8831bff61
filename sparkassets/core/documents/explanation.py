"""An explanation as data: a tree of sentences, each with what speaks for it or against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.explanation import ExplanationNode


def node_document(node: ExplanationNode) -> dict[str, Any]:
    """One line of an explanation and what is below it."""
    return {"text": node.text, "holds": node.holds, "children": [node_document(child) for child in node.children]}
