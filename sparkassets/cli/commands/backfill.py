"""``sparkassets backfill``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkassets.cli.options import (
    AssetNameParam,
    ProgressOptions,
    engine_option,
    json_option,
    one_partition_option,
    open_project,
    open_scope,
    over_budget_option,
    progress_options,
    project_option,
    reason_option,
    scope_option,
)
from sparkassets.cli.output import Terminal, print_json
from sparkassets.cli.plan_tables import print_downstream, print_plan
from sparkassets.cli.run_loop import drive
from sparkassets.core.documents.document_values import partitions_document
from sparkassets.core.documents.plan import downstream_document, plan_document
from sparkassets.core.planner.wording import label_partitions

if TYPE_CHECKING:
    from sparkassets.open_project import OpenProject


@click.command("backfill")
@click.argument("asset", type=AssetNameParam())
@project_option
@engine_option
@one_partition_option("Partitions: KEY, a range A..B (inclusive), or KEY,SEGMENT for several dimensions.")
@click.option(
    "--interval",
    metavar="A..B",
    help=(
        "Data interval, for an asset without partitions (ISO 8601; in the schedule's time zone unless it "
        "has an offset)."
    ),
)
@click.option(
    "--all",
    "whole",
    is_flag=True,
    help="Every expected partition, including those computed by an earlier version of the code.",
)
@click.option(
    "--segment",
    "segments",
    metavar="KEY",
    multiple=True,
    help="Only these segments: KEY or COLUMN=KEY; for all of time unless --partition is given. Repeatable.",
)
@click.option("--newest-first", is_flag=True, help="Start with the newest partitions.")
@click.option(
    "--max-runs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Stop after N runs; the same command continues with the rest.",
)
@click.option(
    "--max-parallel",
    metavar="N",
    type=click.IntRange(min=1),
    help="Run at most N at the same time, in place of the project's `max_parallel_runs`.",
)
@click.option("--downstream", is_flag=True, help="Then run everything downstream.")
@click.option("--force", is_flag=True, help="Recompute partitions that are up to date, too.")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Recompute the whole table in one commit, with the columns that the code has now.",
)
@click.option("--give-up", is_flag=True, help="Abandon unfinished forced backfills of ASSET.")
@click.option("--dry-run", is_flag=True, help="Only show the runs.")
@reason_option
@over_budget_option
@scope_option
@json_option
@progress_options
def command(
    folder: Path,
    asset: str,
    *,
    give_up: bool,
    dry_run: bool,
    over_budget: bool,
    reporting: ProgressOptions,
    as_json: bool,
    **fields: Any,  # noqa: ANN401  the fields of a request, by their names
) -> int:
    """Compute missing or stale partitions of ASSET, without moving watermarks.

    --rebuild recomputes every partition that the table has or should have in a single run, ignoring the cap, and the
    resulting columns replace the table's. It refuses a table with partitions that can no longer be computed because
    their inlets are gone; --force computes them from what is left.

    A --force request is recorded: if it is interrupted or killed, the same command or the next `sparkassets run`
    continues with what is left (with --max-runs, only the same command does). Scheduled runs of the asset that become
    due meanwhile run in between.

    --dry-run prints the plan to stdout, as `sparkassets plan --estimate` does; with --downstream, also what would
    become due afterwards, although gates may make it wait. Otherwise the output is that of `sparkassets run`.
    """
    from sparkassets.app.backfills import BackfillRequest

    project = open_scope(open_project(folder))
    request = BackfillRequest(asset, **fields)
    if give_up:
        return _give_up(project, asset, as_json=as_json)
    if not dry_run:
        return drive(
            project,
            lambda progress: project.backfills.run(request, progress=progress, check=False, over_budget=over_budget),
            as_json=as_json,
            reporting=reporting,
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
        Terminal.from_stream(sys.stdout).print(f"{asset}: {labels} abandoned")
    return 0
