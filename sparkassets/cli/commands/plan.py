"""``sparkassets plan``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from sparkassets.cli.options import (
    as_of_option,
    at_option,
    explain_no_runs,
    json_option,
    open_project,
    open_scope,
    project_option,
    scope_option,
    select_assets,
    select_option,
)
from sparkassets.errors import InputError


@click.command("plan")
@project_option
@at_option
@as_of_option
@select_option
@click.option("--estimate", is_flag=True, help="Estimate the cost of each run: bytes to read, seconds, rows.")
@click.option("--sql", is_flag=True, help="With --json: what each run would execute, as `render` prints it.")
@scope_option
@click.option(
    "--spark", is_flag=True, help="Start Spark to check sources that only a session can see, such as catalog tables."
)
@json_option
def command(
    folder: Path,
    at: str | None,
    as_of: str | None,
    select: tuple[str, ...],
    estimate: bool,
    sql: bool,
    spark: bool,
    as_json: bool,
) -> None:
    """Show what would run now, and why everything else would not.

    Checks sources, but starts no Spark and records nothing. What only a Spark session can see, such as catalog tables
    or values in new CSV files, is taken from the last run, and the plan says so; --spark looks at it now. With
    --estimate, the plan also reads the logs of the input tables: bytes are the size of the data files to read, rows and
    seconds are based on earlier runs.

    --as-of shows the decision of an earlier time: what the journal knew then, by the files of the project as they are
    now. Assets whose files have changed since are noted. With --branch, it is what the branch's journal knew of the
    base, as of its last run before then.
    """
    if spark and as_of is not None:
        raise InputError("--as-of excludes --spark: sources are taken from the journal, as they were known then")
    if sql and (as_of is not None or not as_json):
        raise InputError("--sql needs --json, and excludes --as-of", hint="`sparkassets render ASSET` prints one run")
    base = open_project(folder)
    project = open_scope(base, existing=as_of is not None)
    with project.connect() if spark else nullcontext():
        names = select_assets(base, select)
        plan = project.plan(at=at, as_of=as_of, select=names, estimate=estimate)
        rendered = project.queries.render_plan(at=at, select=names) if sql else ()
    if as_json:
        from sparkassets.cli.output import print_json
        from sparkassets.core.documents.plan import plan_document
        from sparkassets.core.documents.rendered_run import rendered_document

        document = plan_document(plan, project.spec)
        print_json({**document, "sql": [*map(rendered_document, rendered)]} if sql else document)
    else:
        from sparkassets.cli.plan_tables import NOTHING_IS_DUE, print_plan

        print_plan(plan, project.spec, idle=explain_no_runs(base, NOTHING_IS_DUE))
