"""``sparkassets promote``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import (
    ProgressOptions,
    engine_option,
    json_option,
    open_project,
    progress_options,
    project_option,
    select_assets,
    select_option,
)
from sparkassets.cli.run_loop import drive

if TYPE_CHECKING:
    from sparkassets.core.planner.plan import Waiting


@click.command("promote")
@click.argument("name")
@project_option
@engine_option
@select_option
@click.option(
    "--rebuild",
    is_flag=True,
    help="Replace whole tables where their rows continue earlier ones, or runs may not change their columns.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be promoted, and why the rest would not.")
@json_option
@progress_options
def command(
    folder: Path,
    name: str,
    select: tuple[str, ...],
    rebuild: bool,
    dry_run: bool,
    reporting: ProgressOptions,
    as_json: bool,
) -> int:
    """Promote the results of branch NAME to the base without computing them again.

    Promotes partition by partition, upstream first, by runs of the base that take over the branch's rows. Partitions
    that are the same in the base are skipped. Partitions that changed in the base since the branch computed them, and
    everything downstream of those, are not promoted, with a reason: run the branch again, then promote again. If it is
    killed, the same command continues.
    """
    project = open_project(folder)
    names = select_assets(project, select)
    if not dry_run:
        return drive(
            project,
            lambda progress: project.branches.promote(
                name, select=names, rebuild=rebuild, progress=progress, check=False
            ),
            as_json=as_json,
            reporting=reporting,
            idle=lambda summary: _nothing(name, summary.waiting),
        )
    plan = project.branches.plan_promotion(name, select=names, rebuild=rebuild)
    if as_json:
        from sparkassets.cli.output import print_json
        from sparkassets.core.documents.plan import plan_document

        print_json(plan_document(plan, project.spec))
    else:
        from sparkassets.cli.plan_tables import print_plan

        print_plan(plan, project.spec, idle=_nothing(name, plan.waiting))
    return 0


def _nothing(name: str, waiting: Sequence[Waiting]) -> str:
    """Why nothing is promoted, as the first line above the reasons of what waits."""
    if all(each.quiet for each in waiting):
        return f"nothing to promote: the base already has everything that branch {name} computed"
    return f"nothing of branch {name} can be promoted now"
