"""``sparkassets plan``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkassets.cli.options import at_option, json_option, open_project, project_option, select_option
from sparkassets.cli.selection import selected


@click.command("plan")
@project_option
@at_option
@select_option
@json_option
def command(folder: Path, at: str | None, select: tuple[str, ...], as_json: bool) -> int:
    """Show what would run now, and why the rest would not.

    Looks at sources, starts no Spark and records nothing.
    """
    project = open_project(folder)
    plan = project.plan(at=at, select=selected(project.spec, select))
    if as_json:
        from sparkassets.cli.json_output import print_json
        from sparkassets.core.documents.plan import plan_document

        print_json(plan_document(plan, project.spec))
    else:
        from sparkassets.cli.render import print_plan

        print_plan(plan, project.spec)
    return 0
