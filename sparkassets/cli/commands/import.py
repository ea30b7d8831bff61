"""``sparkassets import``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkassets.cli.options import WrappedGroup, json_option
from sparkassets.cli.output import TableColumn, Terminal, print_json, print_table
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.features.dbt_import import ImportedProject


@click.group("import", cls=WrappedGroup, no_args_is_help=False)
def command() -> None:
    """Make a project of one that was written for another tool."""


@command.command("dbt")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--to",
    "folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="New folder for the project.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="SQL of the dbt project, such as duckdb or postgres; default: that of its adapter.",
)
@click.option("--vars", "variables", default="{}", metavar="YAML", help="Values of its `vars`, as dbt takes them.")
@json_option
def dbt(path: Path, folder: Path, dialect: str | None, variables: str, as_json: bool) -> None:
    """Make assets of the models, snapshots, seeds and sources of a dbt project.

    dbt is not needed. What it resolved is read from target/manifest.json if it is there (`dbt compile` writes it), else
    the project's files are read. The new folder also holds IMPORTED.md, with all that was not carried over and why.
    """
    from sparkassets.features.dbt_import import REPORT, import_dbt, write_import

    imported = import_dbt(path, variables=_read_variables(variables), dialect=dialect)
    files = write_import(imported, folder)
    if as_json:
        notes = [
            {
                "file": note.file,
                "line": note.line,
                "subject": note.subject,
                "reason": note.reason,
                "remedy": note.remedy,
            }
            for note in imported.notes
        ]
        tests = {"carried_over": imported.carried_tests, "not_carried_over": imported.lost_tests}
        assets = dict(imported.counts)
        print_json({"folder": str(folder), "files": files, "assets": assets, "tests": tests, "notes": notes})
        return
    terminal = Terminal.from_stream(sys.stdout)
    _print_notes(terminal, imported)
    terminal.print(f"wrote to {folder}: {imported.summary}; the report is {folder / REPORT}")
    terminal.print("", "next:", *(f"  sparkassets {verb} --project {folder}" for verb in ("validate", "plan", "run")))


def _print_notes(terminal: Terminal, imported: ImportedProject) -> None:
    """Prints a table of what was not carried over, why, and what to write by hand; nothing if all was."""
    if not imported.notes:
        return
    terminal.print("not carried over, or not as it was:")
    columns = [TableColumn("where"), TableColumn("what"), TableColumn("why"), TableColumn("write by hand")]
    rows = [(note.place, note.subject, note.reason, note.remedy) for note in imported.notes]
    print_table(terminal, columns, rows)
    terminal.print("")


def _read_variables(text: str) -> dict[str, Any]:
    """The map that ``--vars`` holds.

    Raises:
        InputError: It is none.
    """
    import yaml

    try:
        variables = yaml.safe_load(text)
    except yaml.YAMLError:
        variables = None
    if not isinstance(variables, dict):
        raise InputError(f"--vars {text!r} does not hold a map", hint="such as --vars '{start: 2025-01-01}'")
    return variables
