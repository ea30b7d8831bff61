"""``sparkassets explain``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.options import (
    AssetNameParam,
    as_of_option,
    at_option,
    json_option,
    one_partition_option,
    open_project,
    open_scope,
    project_option,
    scope_option,
)
from sparkassets.cli.output import Terminal, print_json, render_tree
from sparkassets.core.documents.status import node_document


@click.command("explain")
@click.argument("asset", type=AssetNameParam())
@project_option
@one_partition_option("Only these partitions: KEY, a range A..B (inclusive), or KEY,SEGMENT for several dimensions.")
@at_option
@as_of_option
@scope_option
@json_option
def command(folder: Path, asset: str, partition: str | None, at: str | None, as_of: str | None, as_json: bool) -> None:
    """Explain as a tree why ASSET would or would not run.

    Shows which updates arrived and when, what is missing, and what would make it run. A check mark counts for running,
    a cross against it. --as-of explains the decision of an earlier time: what the journal knew then, by the files of
    the project as they are now.
    """
    node = open_scope(open_project(folder), existing=True).explain(asset, partition=partition, at=at, as_of=as_of)
    if as_json:
        print_json(node_document(node))
    else:
        terminal = Terminal.from_stream(sys.stdout)
        terminal.print(*render_tree(node, terminal))
