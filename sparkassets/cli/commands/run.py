"""``sparkassets run``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkassets.cli.options import (
    ProgressOptions,
    at_option,
    engine_option,
    explain_no_runs,
    json_option,
    open_project,
    open_scope,
    over_budget_option,
    progress_options,
    project_option,
    reason_option,
    scope_option,
    select_assets,
    select_option,
)
from sparkassets.cli.plan_tables import NOTHING_WAS_DUE
from sparkassets.cli.run_loop import drive
from sparkassets.core.instants import Duration
from sparkassets.errors import InputError


@click.command("run")
@project_option
@engine_option
@at_option
@select_option
@click.option("--loop", metavar="DURATION", help="Run again after this pause (such as 60s or 5m) until interrupted.")
@reason_option
@over_budget_option
@scope_option
@json_option
@progress_options
def command(
    folder: Path,
    at: str | None,
    select: tuple[str, ...],
    loop: str | None,
    over_budget: bool,
    reason: str,
    reporting: ProgressOptions,
    as_json: bool,
) -> int:
    """Run everything that is due.

    Progress and the summary go to stderr. The first Ctrl-C (or SIGTERM) cancels running assets and records that. A
    second one exits at once; that is safe too, because the next run recovers.
    """
    every_seconds = _seconds(loop)
    base = open_project(folder)
    project = open_scope(base)
    names = select_assets(base, select)
    return drive(
        project,
        lambda progress: project.run(
            at=at, select=names, progress=progress, check=False, over_budget=over_budget, reason=reason
        ),
        as_json=as_json,
        every_seconds=every_seconds,
        reporting=reporting,
        idle=lambda _: explain_no_runs(base, NOTHING_WAS_DUE),
    )


def _seconds(loop: str | None) -> float | None:
    """The pause of ``--loop`` in seconds; None without a loop."""
    if loop is None:
        return None
    seconds = Duration.parse(loop).seconds_exactly()
    if seconds <= 0:
        raise InputError(f"--loop {loop}: expected a pause of at least a second")
    return float(seconds)
