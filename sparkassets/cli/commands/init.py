"""``sparkassets init``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.documents import print_json
from sparkassets.cli.options import json_option
from sparkassets.errors import InputError

SCAFFOLD = Path(__file__).parents[1] / "scaffold"
RENAMED = {"gitignore": ".gitignore"}
"""Files that would act where they lie, were they not named otherwise."""


@click.command("init")
@click.argument("folder", metavar="[DIR]", default="conf", type=click.Path(path_type=Path))
@json_option
def command(folder: Path, as_json: bool) -> int:
    """Write a small project that runs into DIR (default: conf).

    Two days of orders as CSV files, their revenue by day, and a report. What is there already is not touched: then
    nothing is written at all.
    """
    files = {file: folder / _target(file) for file in sorted(SCAFFOLD.rglob("*")) if file.is_file()}
    there = [str(target) for target in files.values() if target.exists()]
    if there:
        hint = f"name another folder: sparkassets init {folder}2"
        raise InputError(f"{there[0]!r} is there already; nothing was written", hint=hint)
    try:
        for file, target in files.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}") from error
    if as_json:
        print_json({"project": str(folder), "files": [str(target) for target in files.values()]})
        return 0
    option = "" if str(folder) == "conf" else f" --project {folder}"
    lines = [f"wrote {target}" for target in files.values()]
    lines += ["", "next:", *(f"  sparkassets {verb}{option}" for verb in ("plan", "run", "status"))]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _target(file: Path) -> Path:
    inside = file.relative_to(SCAFFOLD)
    return inside.with_name(RENAMED.get(inside.name, inside.name))
