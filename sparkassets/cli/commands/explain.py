"""``sparkassets explain``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.completing import AssetName
from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import at_option, json_option, open_project, project_option
from sparkassets.cli.tables import LEAST, wrap
from sparkassets.cli.terminal import Terminal, clean
from sparkassets.core.documents.explain import node_document

if TYPE_CHECKING:
    from sparkassets.core.planner.explain import Node


@click.command("explain")
@click.argument("asset", type=AssetName())
@project_option
@click.option(
    "--partition",
    metavar="A..B",
    help="Only these partitions: A..B (inclusive) or KEY; of a product KEY,SEGMENT.",
)
@at_option
@json_option
def command(folder: Path, asset: str, partition: str | None, at: str | None, as_json: bool) -> int:
    """Show the whole decision for ASSET as a tree.

    What came and when, what is missing, what would make it run: a tick speaks for running, a cross against it.
    """
    node = open_project(folder).explain(asset, partition=partition, at=at)
    if as_json:
        print_json(node_document(node))
    else:
        terminal = Terminal.of(sys.stdout)
        terminal.print(*tree(node, terminal))
    return 0


def tree(node: Node, terminal: Terminal, *, head: str = "", indent: str = "") -> Iterator[str]:
    """The lines of an explanation.

    Args:
        node: What is explained, with what is below it.
        terminal: Its width is kept.
        head: What leads to the node's own line.
        indent: What leads to the lines that follow.
    """
    tee, end, bar = ("├─ ", "└─ ", "│  ") if terminal.unicode else ("|- ", "`- ", "|  ")
    mark = _mark(node, terminal)
    room = sys.maxsize if terminal.width is None else max(terminal.width - len(head) - len(mark), LEAST)
    first, *rest = wrap(clean(node.text), room)
    yield terminal.paint(head, "dim") + terminal.paint(mark, "green" if node.holds else "red") + first
    for line in rest:
        yield terminal.paint(indent, "dim") + " " * len(mark) + line
    for child in node.children:
        last = child is node.children[-1]
        below = indent + ("   " if last else bar)
        yield from tree(child, terminal, head=indent + (end if last else tee), indent=below)


def _mark(node: Node, terminal: Terminal) -> str:
    match node.holds:
        case True:
            return "✓ " if terminal.unicode else "+ "
        case False:
            return "✗ " if terminal.unicode else "- "
        case None:
            return ""
