"""``sparkassets iterations``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkassets.cli.options import AssetNameParam, json_option, open_project, project_option
from sparkassets.cli.output import TableCell, TableColumn, Terminal, print_json, print_table
from sparkassets.core.documents.iterations import ListedIteration, iteration_document
from sparkassets.core.instants import format_zoned, from_unix
from sparkassets.core.planner.wording import label_partitions

if TYPE_CHECKING:
    from sparkassets.core.spec.model import AssetSpec
    from sparkassets.wiring import Project

_COLUMNS = (
    TableColumn("run"),
    TableColumn("partition"),
    TableColumn("published"),
    TableColumn(""),
    TableColumn("path", wraps=True),
    TableColumn("extra", wraps=True, is_optional=True),
)


@click.command("iterations")
@click.argument("asset", type=AssetNameParam())
@project_option
@click.option("--rollback", metavar="RUN", help="Roll back to the iteration of this run.")
@json_option
def command(folder: Path, asset: str, rollback: str | None, as_json: bool) -> int:
    """List the iterations that ASSET has published and kept, newest first, or roll back to one of them.

    --rollback computes nothing: readers see the older iteration, and consumers of ASSET run as after any update. The
    next run of ASSET publishes a new iteration. With --json: {asset, run, rolled_back_to, status, error}.
    """
    project = open_project(folder)
    if rollback is not None:
        return _roll_back(project, asset, rollback, as_json=as_json)
    iterations, spec = project.history.iterations(asset), project.spec.asset(asset)
    if as_json:
        print_json([iteration_document(each, spec) for each in iterations])
        return 0
    terminal = Terminal.from_stream(sys.stdout)
    if not iterations:
        terminal.print(f"{asset} has published nothing yet")
        return 0
    print_table(terminal, _COLUMNS, [_row(each, spec, project.spec.timezone) for each in iterations])
    return 0


def _row(listed: ListedIteration, asset: AssetSpec, timezone: str) -> list[str | TableCell]:
    """An iteration as a row of the table, in the order of ``_COLUMNS``."""
    iteration = listed.iteration
    partitions = (
        "" if iteration.partitions.is_everything else label_partitions(iteration.partitions, asset.partitioning)
    )
    at = format_zoned(from_unix(iteration.at), timezone)
    newest = TableCell("newest", "green") if listed.newest else ""
    return [iteration.run, partitions, at, newest, listed.path, _format_extra(listed.extra)]


def _format_extra(extra: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in extra.items())


def _roll_back(project: Project, asset: str, run: str, *, as_json: bool) -> int:
    """Rolls back to the iteration of ``run`` and prints the result; the exit code is 0 if it is the newest now."""
    summary = project.assets.roll_back(asset, run, check=False)
    # runs of the invocation that roll back to it, not those that first recover what another driver left behind
    ended = [(each.run, each.status, each.error) for each in summary.runs if each.request.restores == run]
    rollback, status, error = ended[-1] if ended else (None, "waiting", "")
    if as_json:
        print_json({"asset": asset, "run": rollback, "rolled_back_to": run, "status": status, "error": error})
    elif status == "success":
        Terminal.from_stream(sys.stdout).print(f"{asset}: {run} is the newest again")
    else:
        reasons = [error] if error else [waiting.reason for waiting in summary.waiting]
        Terminal.from_stream(sys.stderr).print(f"{asset}: not rolled back: {'; '.join(dict.fromkeys(reasons))}")
    return 0 if status == "success" else 1
