"""``sparkassets explain``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.documents import node_document, print_json
from sparkassets.cli.options import at_option, json_option, open_project, project_option
from sparkassets.cli.terminal import Terminal, clean

if TYPE_CHECKING:
    from sparkassets.core.planner.explain import Node


@click.command("explain")
@click.argument("asset")
@project_option
@click.option("--partition", metavar="A..B", help="Only these partitions, by key, inclusive; or a single KEY.")
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
        terminal.print(_line(node, terminal), *_branches(node, terminal, ""))
    return 0


def _branches(node: Node, terminal: Terminal, indent: str) -> Iterator[str]:
    tee, end, bar = ("├─ ", "└─ ", "│  ") if terminal.unicode else ("|- ", "`- ", "|  ")
    for child in node.children:
        last = child is node.children[-1]
        yield f"{terminal.paint(indent + (end if last else tee), 'dim')}{_line(child, terminal)}"
        yield from _branches(child, terminal, indent + ("   " if last else bar))


def _line(node: Node, terminal: Terminal) -> str:
    tick, cross = ("✓", "✗") if terminal.unicode else ("+", "-")
    match node.holds:
        case True:
            mark = terminal.paint(tick, "green") + " "
        case False:
            mark = terminal.paint(cross, "red") + " "
        case None:
            mark = ""
    return mark + clean(node.text)
