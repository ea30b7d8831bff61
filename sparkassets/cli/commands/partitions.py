"""``sparkassets partitions``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.completing import AssetName
from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import at_option, json_option, open_project, project_option
from sparkassets.cli.render import STATUS_STYLES, number
from sparkassets.cli.tables import Cell, Column, Row, print_table
from sparkassets.cli.terminal import Terminal
from sparkassets.core.documents.status import partition_document


@click.command("partitions")
@click.argument("asset", type=AssetName())
@project_option
@at_option
@json_option
def command(folder: Path, asset: str, at: str | None, as_json: bool) -> int:
    """Show every partition of ASSET that is wanted or there.

    Neighbours of the same status share a line, which spans no gap; with --json each has an object: {partition, status}.
    """
    project = open_project(folder)
    if as_json:
        print_json([partition_document(key, status) for key, status in project.partitions(asset, at=at)])
        return 0
    terminal, found = Terminal.of(sys.stdout), project.stretches(asset, at=at)
    if not found:
        terminal.print("no partition is wanted or there yet")
        return 0
    columns = [Column("partitions"), Column("count", right=True), Column("status")]
    rows: list[Row] = [
        [span, number(count), Cell(status, STATUS_STYLES.get(status, ""))] for span, count, status in found
    ]
    print_table(terminal, columns, rows)
    return 0
