"""``sparkassets diff``: how a branch differs from its base."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.difference_lines import difference_document, print_differences
from sparkassets.cli.options import (
    engine_option,
    json_option,
    open_project,
    project_option,
    samples_option,
    select_assets,
    select_option,
)
from sparkassets.cli.output import Terminal, print_json


@click.command("diff")
@click.option("--branch", required=True, metavar="NAME", help="Branch to compare.")
@project_option
@engine_option
@select_option
@samples_option
@json_option
def command(folder: Path, branch: str, select: tuple[str, ...], samples: int, as_json: bool) -> None:
    """Compare a branch's tables with the base's.

    Compares columns, and rows by partition: by key if the asset upserts or a `unique` rule names one, else as whole
    rows. Values of columns with `pii: true` are not shown.
    """
    project = open_project(folder)
    differences = project.branches.diff(branch, select=select_assets(project, select), samples=samples)
    if as_json:
        print_json([difference_document(difference, project.spec) for difference in differences])
        return
    terminal = Terminal.from_stream(sys.stdout)
    print_differences(differences, project.spec, terminal)
    if not differences:
        terminal.print(f"branch {branch} has computed nothing")
