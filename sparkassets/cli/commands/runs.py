"""``sparkassets runs``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from sparkassets.cli.completing import AssetName
from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import json_option, last_option, open_project, project_option
from sparkassets.cli.render import (
    STATUS_STYLES,
    blocks_text,
    came_out_text,
    clock,
    interval_text,
    number,
    print_failure,
    print_withheld,
)
from sparkassets.cli.tables import Cell, Column, Row, print_table
from sparkassets.cli.terminal import Terminal
from sparkassets.core.documents.runs import run_document
from sparkassets.core.instants import instant
from sparkassets.core.journal.runs import RunStatus

if TYPE_CHECKING:
    from sparkassets.core.journal.runs import RunRecord
    from sparkassets.core.spec.model import ProjectSpec

COLUMNS = [
    Column("started", spare=True),
    Column("run"),
    Column("partitions", free=True),
    Column("interval", spare=True),
    Column("status"),
    Column("rows", right=True),
    Column("seconds", right=True),
]


@click.command("runs")
@project_option
@click.option("--asset", type=AssetName(), metavar="ASSET", help="Only runs of this asset.")
@click.option("--status", type=click.Choice(get_args(RunStatus)), help="Only runs that ended so.")
@last_option(20)
@json_option
def command(folder: Path, asset: str | None, status: RunStatus | None, last: int, as_json: bool) -> int:
    """List runs, the newest last.

    A run whose driver is gone, or whose work another run settled, is `lost`: nothing of it is in the target.
    """
    project = open_project(folder)
    runs = project.runs(asset=asset, status=status, last=last)
    if as_json:
        print_json([run_document(run, project.spec) for run in runs])
        return 0
    terminal = Terminal.of(sys.stdout)
    if not runs:
        terminal.print("no runs")
        return 0
    print_table(terminal, COLUMNS, [_row(run, project.spec) for run in runs])
    for run in runs:
        if run.status == "failed":
            print_failure(run.run, run.error, terminal, hint=run.hint, details=run.details)
        if run.withheld:
            print_withheld(run.run, run, terminal)
    return 0


def _row(run: RunRecord, project: ProjectSpec) -> Row:
    told = ", ".join(filter(None, ["adopted" if run.adopted else run.status, came_out_text(run, project)]))
    return [
        clock(run.started, project, seconds=True),
        run.run,
        blocks_text(run.asset, run.blocks, project),
        "" if run.interval is None else interval_text(*map(instant, run.interval), timezone=project.timezone),
        Cell(told, STATUS_STYLES["withheld" if run.withheld else run.status]),
        number(run.rows),
        "" if run.seconds is None else f"{run.seconds:.1f}",
    ]
