"""``sparkassets plan``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from sparkassets.cli.options import (
    at_option,
    branch_option,
    explain_no_runs,
    json_option,
    open_branch,
    open_project,
    project_option,
    select_assets,
    select_option,
)


@click.command("plan")
@project_option
@at_option
@select_option
@click.option("--estimate", is_flag=True, help="Tell what each run is to cost: bytes to read, seconds, rows.")
@branch_option
@click.option(
    "--spark", is_flag=True, help="Start Spark, to look also at what a session alone sees, such as tables in catalogs."
)
@json_option
def command(
    folder: Path,
    branch: str | None,
    at: str | None,
    select: tuple[str, ...],
    estimate: bool,
    spark: bool,
    as_json: bool,
) -> int:
    """Show what would run now, and why the rest would not.

    Looks at sources, starts no Spark and records nothing. What a Spark session alone sees, such as tables in catalogs
    or values in new CSV files, is then as a run saw it last, which the plan says, or as it is with --spark. With
    --estimate it also opens the logs of the tables that the runs read: bytes are of the data files that hold what is
    read, seconds and rows go by earlier runs.
    """
    base = open_project(folder)
    project = open_branch(base, branch)
    with project.connect() if spark else nullcontext():
        plan = project.plan(at=at, select=select_assets(base.spec, select), estimate=estimate)
    if as_json:
        from sparkassets.cli.output import print_json
        from sparkassets.core.documents.plan import plan_document

        print_json(plan_document(plan, project.spec))
    else:
        from sparkassets.cli.plan_tables import NOTHING_IS_DUE, print_plan

        print_plan(plan, project.spec, idle=explain_no_runs(base, branch, NOTHING_IS_DUE))
    return 0
