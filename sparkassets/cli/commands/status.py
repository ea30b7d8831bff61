"""``sparkassets status``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import (
    at_option,
    json_option,
    open_project,
    open_scope,
    project_option,
    scope_option,
    select_assets,
    select_option,
)
from sparkassets.cli.output import (
    Row,
    TableCell,
    TableColumn,
    Terminal,
    print_json,
    print_table,
    print_text,
    strip_controls,
)
from sparkassets.cli.plan_tables import (
    STATUS_STYLES,
    clock_text,
    partitions_text,
    print_failure,
    print_findings,
    relative_time,
)
from sparkassets.core.documents.project_status import summarize_status
from sparkassets.core.instants import format_zoned, from_unix

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.status import AssetStatus, ClaimHolder, WithheldSummary
    from sparkassets.core.spec.project_spec import ProjectSpec

COLUMNS = [
    TableColumn("asset"),
    TableColumn("partitions", wraps=True),
    TableColumn("state", wraps=True),
    TableColumn("last"),
    TableColumn("next"),
]


@click.command("status")
@project_option
@select_option
@at_option
@scope_option
@json_option
def command(folder: Path, select: tuple[str, ...], at: str | None, as_json: bool) -> None:
    """Show the status of every asset, upstream first."""
    base = open_project(folder)
    project = open_scope(base, existing=True)  # the branch, where one is named
    names = select_assets(base, select)
    status = project.status(at=at)
    shown = [asset_status for asset_status in status if names is None or asset_status.asset in names]
    if as_json:
        from sparkassets.core.documents.status import status_document

        print_json([status_document(asset_status, project.spec) for asset_status in shown])
        return
    terminal = Terminal.from_stream(sys.stdout)
    print_table(terminal, COLUMNS, [_row(asset_status, project.spec, status.at) for asset_status in shown])
    for asset_status in shown:
        _print_details(asset_status, project.spec, terminal)


def _print_details(status: AssetStatus, project: ProjectSpec, terminal: Terminal) -> None:
    """Prints below the table what an asset's row has no room for."""
    print_failure(status.asset, status.error or "", terminal)
    for withheld in status.withheld_runs:
        _print_withheld_run(status, withheld, project, terminal)
    # the runs of an outlet are those of its multi-asset, which lists their holders
    for holder in () if project.assets[status.asset].written_by else status.holders:
        terminal.print(f"{status.asset}: {strip_controls(_holder_text(holder, project))}")
    for watermark in status.watermarks:
        terminal.print(f"{status.asset}: {watermark.inlet}: {strip_controls(watermark.text)}")
    if status.late is not None:
        from sparkassets.cli.plan_details import print_late

        print_late([status.late], project, terminal)
    for note in status.notes:
        terminal.print(f"{terminal.paint(status.asset, 'yellow')}: {strip_controls(note)}")


def _print_withheld_run(
    status: AssetStatus, withheld: WithheldSummary, project: ProjectSpec, terminal: Terminal
) -> None:
    """Prints which partitions a run withheld, and why."""
    interval = "..".join(format_zoned(from_unix(at), project.timezone) for at in withheld.interval or ())
    partitions_or_interval = partitions_text(status.asset, withheld.partitions, project) or interval
    name = " ".join(filter(None, [status.asset, partitions_or_interval]))
    terminal.print("")
    print_text(terminal, f"{name} withheld by {withheld.run}: {withheld.text}", style="red")
    print_findings(status.asset, withheld.verdicts, project, terminal)


def _holder_text(holder: ClaimHolder, project: ProjectSpec) -> str:
    """Who holds which run, and when it was last seen alive."""
    held = f"{holder.run} is held by {holder.driver} since {clock_text(holder.since, project)}"
    if holder.gone:
        return f"{held}, which is gone: the next run recovers it"
    return f"{held}, last seen alive {relative_time(-holder.silent_seconds) if holder.silent_seconds else 'just now'}"


def _row(status: AssetStatus, project: ProjectSpec, now: int) -> Row:
    """The status of an asset as a row of the table, in the order of ``COLUMNS``; ``now`` in Unix seconds."""
    text, state = summarize_status(status)
    return [
        status.asset,
        status.covered_text,
        TableCell(text, STATUS_STYLES[state]),
        clock_text(status.last_at, project),
        _next(status.next_at, project, now),
    ]


def _next(at: int | None, project: ProjectSpec, now: int) -> str:
    """When the asset's next run is due; empty if unknown."""
    if at is None:
        return ""
    if at <= now:
        return "due"
    return f"{clock_text(at, project)}, {relative_time(at - now)}"
