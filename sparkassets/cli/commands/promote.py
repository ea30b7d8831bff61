"""``sparkassets promote``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import (
    ProgressOptions,
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
@select_option
@click.option("--rebuild", is_flag=True, help="Also columns that no run may change; each such table at once.")
@click.option("--dry-run", is_flag=True, help="Only show what would be promoted, and why not the rest.")
@json_option
@progress_options
def command(
    folder: Path,
    name: str,
    select: tuple[str, ...],
    rebuild: bool,
    dry_run: bool,
    telling: ProgressOptions,
    as_json: bool,
) -> int:
    """Make what branch NAME has computed the base's, without computing it again.

    Partition by partition, upstream first, by runs of the base that take over the branch's rows. What the base has
    the same of already is left alone; what changed in the base since, and what is made of it, is not promoted, and it
    is said why: run the branch again and promote it again. Killed in between, the same command goes on.
    """
    project = open_project(folder)
    names = select_assets(project.spec, select)
    if not dry_run:
        return drive(
            project,
            lambda progress: project.branches.promote(
                name, select=names, rebuild=rebuild, progress=progress, check=False
            ),
            as_json=as_json,
            telling=telling,
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
        return f"nothing to promote: the base has all that branch {name} has computed"
    return f"nothing of branch {name} can be promoted now"
