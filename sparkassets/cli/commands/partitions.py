"""``sparkassets partitions``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.grids import print_grid, print_list
from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import AssetNameParam, at_option, json_option, open_project, project_option
from sparkassets.cli.terminal import Terminal
from sparkassets.core.documents.status import partition_document
from sparkassets.core.partitions.segments import ALL, decode_segment
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.wiring import Project


@click.command("partitions")
@click.argument("asset", type=AssetNameParam())
@click.argument("action", type=click.Choice(["add", "remove"]), required=False, metavar="[add|remove]")
@click.argument("keys", nargs=-1, metavar="[KEY…]")
@project_option
@at_option
@click.option("--all", "whole", is_flag=True, help="Also in a terminal that has no room for them all.")
@click.option("--dimension", metavar="COLUMN", help="Of the KEYs, where several are segments: runtime.")
@json_option
def command(
    folder: Path,
    asset: str,
    action: str | None,
    keys: tuple[str, ...],
    at: str | None,
    whole: bool,
    dimension: str | None,
    as_json: bool,
) -> int:
    """Show every partition of ASSET that is wanted or there; or say which segments there are.

    Neighbours of the same status share a line, which spans no gap; where there are segments besides time, these are
    columns, and those that are alike share one. In a terminal at most a screen is shown, the newest. With --json each
    partition has an object: {partition, status, definition}, the last one of the code that
    computed it.

    With add the KEYs are segments of ASSET from now on (of a partition with segments: runtime), with remove they are
    none any more: their data stays, and nothing computes them until they are added again. With --json
    {added: [KEY, …], unchanged: [KEY, …]}, or removed.
    """
    project = open_project(folder)
    if action is not None:
        _tell(project, asset, keys, adds=action == "add", dimension=dimension, as_json=as_json)
        return 0
    if as_json:
        made = project.partitions.definitions(asset, at=at)
        print_json(
            [
                partition_document(key, status, made.get(key))
                for key, status in project.partitions.statuses(asset, at=at)
            ]
        )
        return 0
    terminal, partitioning = Terminal.from_stream(sys.stdout), project.spec.asset(asset).partitioning
    if partitioning.time is not None and partitioning.is_product:
        if (grid := project.partitions.grid(asset, at=at)).rows:
            print_grid(grid, terminal, time=partitioning.time.name, whole=whole)
            return 0
    elif found := project.partitions.ranges(asset, at=at):
        print_list(found, terminal, whole=whole)
        return 0
    terminal.print("no partition is wanted or there yet")
    return 0


def _tell(
    project: Project, asset: str, keys: Sequence[str], *, adds: bool, dimension: str | None, as_json: bool
) -> None:
    """Adds or removes segments, and says of each key whether anything changed."""
    if not keys:
        raise InputError("which segments? expected a KEY, or several")
    named = {key: _segment(key) for key in keys}
    tell = project.partitions.add if adds else project.partitions.remove
    changed = {*tell(asset, *named.values(), dimension=dimension)}
    done = [key for key, segment in named.items() if segment in changed]
    if as_json:
        print_json({"added" if adds else "removed": done, "unchanged": [key for key in named if key not in done]})
        return
    already = "was known already" if adds else "was removed already"
    word = "added" if adds else "removed"
    Terminal.from_stream(sys.stdout).print(*(f"{asset} {key}  {word if key in done else already}" for key in named))


def _segment(key: str) -> str:
    if key in ("", ALL):
        raise InputError(f"{key!r} names no segment", hint="the empty text is written as %, a * as %2A")
    if "," in key:
        raise InputError(f"{key!r} is more than one key", hint="put spaces between keys; a comma within one is %2C")
    return decode_segment(key)
