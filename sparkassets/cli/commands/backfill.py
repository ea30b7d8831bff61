"""``sparkassets backfill``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkassets.cli.options import (
    AssetNameParam,
    ProgressOptions,
    branch_option,
    json_option,
    open_branch,
    open_project,
    over_budget_option,
    progress_options,
    project_option,
)
from sparkassets.cli.output import Terminal, print_json
from sparkassets.cli.plan_tables import print_downstream, print_plan
from sparkassets.cli.run_loop import drive
from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.documents.plan import downstream_document, plan_document
from sparkassets.core.planner.wording import label_partitions

if TYPE_CHECKING:
    from sparkassets.app.project import OpenProject


@click.command("backfill")
@click.argument("asset", type=AssetNameParam())
@project_option
@click.option(
    "--partition", metavar="A..B", help="Which partitions: A..B (inclusive) or KEY; of a product KEY,SEGMENT."
)
@click.option(
    "--interval",
    metavar="A..B",
    help="The data interval, for an asset without partitions (ISO; without an offset in its schedule's zone).",
)
@click.option("--all", "whole", is_flag=True, help="All that is wanted, also what was computed by other code.")
@click.option(
    "--segment",
    "segments",
    metavar="KEY",
    multiple=True,
    help="Only these segments, KEY or COLUMN=KEY; without --partition of all time. Repeatable.",
)
@click.option("--newest-first", is_flag=True, help="The newest partitions first.")
@click.option(
    "--max-runs",
    metavar="N",
    type=click.IntRange(min=1),
    help="N runs at most; the same command goes on with the rest.",
)
@click.option("--downstream", is_flag=True, help="Afterwards run what reads it or waits for it, too.")
@click.option("--force", is_flag=True, help="Compute again what is up to date.")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Compute all of the table in one commit, into the columns that it has now; readers see the old or the new.",
)
@click.option("--give-up", is_flag=True, help="Give up what is left of forced backfills of ASSET; computes nothing.")
@click.option("--dry-run", is_flag=True, help="Show the runs, do nothing.")
@over_budget_option
@branch_option
@json_option
@progress_options
def command(
    folder: Path,
    asset: str,
    *,
    branch: str | None,
    give_up: bool,
    dry_run: bool,
    over_budget: bool,
    telling: ProgressOptions,
    as_json: bool,
    **asked: Any,  # noqa: ANN401  the fields of a request, by their names
) -> int:
    """Compute what is missing or stale of ASSET in a stretch of time; no watermark moves.

    With --rebuild every partition that the table has or should have is computed again, in one run whatever the cap, and
    the columns that come out take the place of the table's. A partition that it has and that cannot be computed any
    more, as its inlets are gone, is a refusal; with --force it is computed from what is left.

    What --force asks for is recorded: where it is interrupted or killed, the same command, or else the next
    `sparkassets run`, goes on with what is left; with --max-runs only the same command does. What comes due meanwhile
    by the asset's schedule gets its turn after each run.

    With --dry-run the plan goes to stdout, as `sparkassets plan` prints it, and with --downstream what it would make
    due after it, which its gates may keep waiting; both with what they are to cost, as of `sparkassets plan
    --estimate`. Else progress and summary as for `sparkassets run`.
    """
    from sparkassets.app.backfills import BackfillRequest

    project = open_branch(open_project(folder), branch)
    request = BackfillRequest(asset, **asked)
    if give_up:
        return _give_up(project, asset, as_json=as_json)
    if not dry_run:
        return drive(
            project,
            lambda progress: project.backfills.run(request, progress=progress, check=False, over_budget=over_budget),
            as_json=as_json,
            telling=telling,
        )
    plan = project.backfills.plan(request, estimate=True, over_budget=over_budget)
    after = project.backfills.downstream(plan) if request.downstream else None
    costs = project.backfills.downstream_costs(after) if after else {}
    if as_json:
        document = {} if after is None else {"downstream": downstream_document(after, costs, project.spec)}
        print_json({**plan_document(plan, project.spec), **document})
        return 0
    print_plan(plan, project.spec)
    if after is not None:
        print_downstream(after, costs, project.spec, Terminal.from_stream(sys.stdout))
    return 0


def _give_up(project: OpenProject, asset: str, *, as_json: bool) -> int:
    """Ends the asset's recorded backfills and prints what was left of them."""
    left = project.backfills.give_up(asset)
    if as_json:
        print_json({"given_up": partitions_document(left, project.spec.assets[asset])})
    else:
        labels = label_partitions(left, project.spec.assets[asset].partitioning) or "nothing"
        Terminal.from_stream(sys.stdout).print(f"{asset}: {labels} given up")
    return 0
