"""``sparkassets drop``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.options import json_option, open_project, project_option
from sparkassets.cli.output import Terminal, print_json


@click.command("drop")
@click.argument("name")
@project_option
@json_option
def command(folder: Path, name: str, as_json: bool) -> None:
    """Delete branch NAME, its tables and views; promoted rows stay in the base.

    Refused while a run is in progress in the branch or a promotion is unfinished. If it is killed, run it again.
    """
    with open_project(folder) as project:
        dropped = project.branches.drop(name)
    if as_json:
        print_json({"branch": name, "assets": list(dropped)})
    else:
        Terminal.from_stream(sys.stdout).print(f"{name}: dropped, with {', '.join(dropped) or 'nothing computed'}")
