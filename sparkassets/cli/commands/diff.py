"""``sparkassets diff``: how a branch differs from its base."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.difference_lines import DIFFERENCE_COLUMNS, difference_document, difference_lines, partition_rows
from sparkassets.cli.options import (
    engine_option,
    json_option,
    open_project,
    project_option,
    samples_option,
    select_assets,
    select_option,
)
from sparkassets.cli.output import Terminal, print_json, print_table


@click.command("diff")
@click.option("--branch", required=True, metavar="NAME", help="Branch to compare.")
@project_option
@engine_option
@select_option
@samples_option
@json_option
def command(folder: Path, branch: str, select: tuple[str, ...], samples: int, as_json: bool) -> int:
    """Compare a branch's tables with the base's.

    Compares columns, and rows by partition: by key if the asset upserts or a `unique` rule names one, else as whole
    rows. Values of columns with `pii: true` are not shown.
    """
    project = open_project(folder)
    differences = project.branches.diff(branch, select=select_assets(project, select), samples=samples)
    if as_json:
        print_json([difference_document(difference, project.spec) for difference in differences])
        return 0
    terminal = Terminal.from_stream(sys.stdout)
    rows = [row for difference in differences for row in partition_rows(difference, project.spec)]
    if rows:
        print_table(terminal, DIFFERENCE_COLUMNS, rows)
    for difference in differences:
        for line in difference_lines(difference, project.spec):
            terminal.print(f"{difference.asset}: {line}")
    if not differences:
        terminal.print(f"branch {branch} has computed nothing")
    return 0
