"""``sparkassets partitions``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import click

from sparkassets.cli.documents import print_json
from sparkassets.cli.options import at_option, json_option, open_project, project_option
from sparkassets.cli.render import STATUS_STYLES, number
from sparkassets.cli.tables import Cell, Column, Row, print_table
from sparkassets.cli.terminal import Terminal


@click.command("partitions")
@click.argument("asset")
@project_option
@at_option
@json_option
def command(folder: Path, asset: str, at: str | None, as_json: bool) -> int:
    """Show every partition of ASSET that is wanted or there.

    Neighbours of the same status share a line; with --json each has an object: {partition, status}.
    """
    grid = open_project(folder).partitions(asset, at=at)
    if as_json:
        print_json([{"partition": key, "status": status} for key, status in grid])
        return 0
    terminal = Terminal.of(sys.stdout)
    if not grid:
        terminal.print("no partition is wanted or there yet")
        return 0
    columns = [Column("partitions"), Column("count", right=True), Column("status")]
    print_table(terminal, columns, list(_stretches(grid)))
    return 0


def _stretches(grid: Iterable[tuple[str, str]]) -> Iterable[Row]:
    for status, group in groupby(grid, key=lambda pair: pair[1]):
        keys = [key for key, _ in group]
        span = keys[0] if len(keys) == 1 else f"{keys[0]}..{keys[-1]}"
        yield [span, number(len(keys)), Cell(status, STATUS_STYLES.get(status, ""))]
