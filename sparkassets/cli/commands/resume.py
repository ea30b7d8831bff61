"""``sparkassets resume``."""

from __future__ import annotations

from pathlib import Path

import click

from sparkassets.cli.commands.pause import report_changes
from sparkassets.cli.options import AssetNameParam, json_option, open_project, project_option, reason_option


@click.command("resume")
@click.argument("assets", type=AssetNameParam(), metavar="ASSET…", nargs=-1, required=True)
@project_option
@reason_option
@json_option
def command(folder: Path, assets: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Resume paused ASSETs, including updates that arrived meanwhile."""
    changed = open_project(folder).assets.resume(*assets, reason=reason)
    report_changes(assets, changed, done="resumed", already="was not paused", as_json=as_json)
