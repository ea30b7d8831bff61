"""A tree for people: one line a node, wrapped to the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkassets.cli.tables import LEAST, wrap
from sparkassets.cli.terminal import Terminal, strip_controls

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.explanation import ExplanationNode


def render_tree(node: ExplanationNode, terminal: Terminal, *, head: str = "", indent: str = "") -> Iterator[str]:
    """The lines of a tree.

    Args:
        node: The uppermost, with what is below it.
        terminal: Its width is kept.
        head: What leads to the node's own line.
        indent: What leads to the lines that follow.
    """
    tee, end, bar = ("├─ ", "└─ ", "│  ") if terminal.unicode else ("|- ", "`- ", "|  ")
    mark = _mark(node, terminal)
    room = sys.maxsize if terminal.width is None else max(terminal.width - len(head) - len(mark), LEAST)
    first, *rest = wrap(strip_controls(node.text), room)
    yield terminal.paint(head, "dim") + terminal.paint(mark, "green" if node.holds else "red") + first
    for line in rest:
        yield terminal.paint(indent, "dim") + " " * len(mark) + line
    for child in node.children:
        last = child is node.children[-1]
        below = indent + ("   " if last else bar)
        yield from render_tree(child, terminal, head=indent + (end if last else tee), indent=below)


def _mark(node: ExplanationNode, terminal: Terminal) -> str:
    match node.holds:
        case True:
            return "✓ " if terminal.unicode else "+ "
        case False:
            return "✗ " if terminal.unicode else "- "
        case None:
            return ""
