"""``sparkassets pause``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkassets.cli.options import AssetNameParam, json_option, open_project, project_option
from sparkassets.cli.pause_report import report_changes


@click.command("pause")
@click.argument("assets", type=AssetNameParam(), metavar="ASSET…", nargs=-1, required=True)
@project_option
@json_option
def command(folder: Path, assets: tuple[str, ...], as_json: bool) -> int:
    """Stop ASSETs from running until `resume`; what comes for them meanwhile is kept.

    A run in progress ends as it would have; a `backfill` that names an asset is done all the same.
    """
    changed = open_project(folder).assets.pause(*assets)
    report_changes(assets, changed, done="paused", already="was paused already", as_json=as_json)
    return 0
