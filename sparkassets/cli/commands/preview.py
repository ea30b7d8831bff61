"""``sparkassets preview``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import AssetNameParam, json_option, open_project, project_option
from sparkassets.cli.output import Terminal, print_json
from sparkassets.cli.plan_tables import print_preview
from sparkassets.core.documents.plan import preview_document
from sparkassets.wiring.host import SystemClock

if TYPE_CHECKING:
    from sparkassets.core.planner.explain.preview import SchedulePreview


@click.command("preview")
@click.argument("assets", type=AssetNameParam(), nargs=-1, metavar="[ASSET …]")
@project_option
@click.option(
    "--from", "start", metavar="TIME", help="Runs from this time on (ISO; without an offset in the project's zone)."
)
@click.option("--count", type=click.IntRange(min=1), default=5, show_default=True, metavar="N", help="How many each.")
@json_option
def command(assets: tuple[str, ...], folder: Path, start: str | None, count: int, as_json: bool) -> int:
    """Show the next runs that time alone starts of each ASSET (default: every), whatever happened so far.

    By its timetable, or by a time in its condition that nothing else has to come with.
    Runs that may start at the same instant follow in the order of their intervals.
    With --json: [{asset, run_after, data_interval: {start, end}, logical_date}]; what data alone starts is left out.
    """
    project = open_project(folder)
    found: list[SchedulePreview] = project.timetables.preview(*assets, start=start, count=count)
    if as_json:
        print_json([document for each in found for document in preview_document(each)])
    else:
        print_preview(found, SystemClock().now(), Terminal.from_stream(sys.stdout))
    return 0
