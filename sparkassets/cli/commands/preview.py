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
    "--from",
    "start",
    metavar="TIME",
    help="Start of the preview (ISO 8601; in the project's time zone unless it has an offset).",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Runs to show for each asset.",
)
@json_option
def command(assets: tuple[str, ...], folder: Path, start: str | None, count: int, as_json: bool) -> None:
    """Show the next scheduled runs of each ASSET (default: all), regardless of past runs.

    Covers timetables, and times in a condition that can trigger a run on their own; runs triggered only by data are
    left out. Runs that start at the same instant are ordered by interval. With --json: [{asset, run_after,
    data_interval: {start, end}, logical_date}].
    """
    project = open_project(folder)
    previews: list[SchedulePreview] = project.assets.preview(*assets, start=start, count=count)
    if as_json:
        print_json([document for each in previews for document in preview_document(each)])
    else:
        print_preview(previews, SystemClock().now(), Terminal.from_stream(sys.stdout))
