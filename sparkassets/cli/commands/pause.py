"""``sparkassets pause``, and the output that `resume` shares."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import click

from sparkassets.cli.options import AssetNameParam, json_option, open_project, project_option, reason_option
from sparkassets.cli.output import Terminal, print_json


def report_changes(assets: Sequence[str], changed: Collection[str], *, done: str, already: str, as_json: bool) -> None:
    """Reports for each asset whether anything changed; in JSON ``{done: [ASSET, …], "unchanged": [ASSET, …]}``."""
    names = list(dict.fromkeys(assets))
    if as_json:
        unchanged = [name for name in names if name not in changed]
        print_json({done: [name for name in names if name in changed], "unchanged": unchanged})
        return
    terminal = Terminal.from_stream(sys.stdout)
    terminal.print(*(f"{name}  {done if name in changed else already}" for name in names))


@click.command("pause")
@click.argument("assets", type=AssetNameParam(), metavar="ASSET…", nargs=-1, required=True)
@project_option
@reason_option
@json_option
def command(folder: Path, assets: tuple[str, ...], reason: str, as_json: bool) -> None:
    """Pause ASSETs until `resume`; updates that arrive meanwhile are kept.

    A run in progress finishes, and `backfill` still works for a paused asset.
    """
    changed = open_project(folder).assets.pause(*assets, reason=reason)
    report_changes(assets, changed, done="paused", already="was already paused", as_json=as_json)
