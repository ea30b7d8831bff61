"""``sparkassets partitions``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.completing import AssetName
from sparkassets.cli.grids import print_grid, print_list
from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import at_option, json_option, open_project, project_option
from sparkassets.cli.terminal import Terminal
from sparkassets.core.documents.status import partition_document


@click.command("partitions")
@click.argument("asset", type=AssetName())
@project_option
@at_option
@click.option("--all", "whole", is_flag=True, help="Also in a terminal that has no room for them all.")
@json_option
def command(folder: Path, asset: str, at: str | None, whole: bool, as_json: bool) -> int:
    """Show every partition of ASSET that is wanted or there.

    Neighbours of the same status share a line, which spans no gap; where there are segments besides time, these are
    columns, and those that are alike share one. In a terminal at most a screen is shown, the newest. With --json each
    partition has an object: {partition, status}.
    """
    project = open_project(folder)
    if as_json:
        print_json([partition_document(key, status) for key, status in project.partitions(asset, at=at)])
        return 0
    terminal, partitioning = Terminal.of(sys.stdout), project.asset(asset).partitioning
    if partitioning.time is not None and partitioning.is_product:
        if (grid := project.grid(asset, at=at)).rows:
            print_grid(grid, terminal, time=partitioning.time.by, whole=whole)
            return 0
    elif found := project.stretches(asset, at=at):
        print_list(found, terminal, whole=whole)
        return 0
    terminal.print("no partition is wanted or there yet")
    return 0
