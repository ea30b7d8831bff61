"""``sparkassets state``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import WrappedGroup, json_option, open_project, project_option
from sparkassets.cli.output import Terminal, print_json

if TYPE_CHECKING:
    from sparkassets.app.state import VerificationResult

DAMAGED = 3
"""The exit code of a state that cannot be used."""


@click.group("state", cls=WrappedGroup, no_args_is_help=False)
def command() -> None:
    """Maintain the state: compact, verify, export, migrate."""


@command.command("compact")
@project_option
@json_option
def compact(folder: Path, as_json: bool) -> None:
    """Run the state's maintenance now; safe while drivers are running.

    Writes a snapshot, removes entries older than `retention`, merges files, and deletes files and logs that are no
    longer needed, as drivers do from time to time. With --json: {entries, let_go}.
    """
    result = open_project(folder).state.compact()
    if as_json:
        print_json({"entries": result.entries, "let_go": result.let_go})
    else:
        expired_note = f"; {result.let_go:,} expired entries were removed" if result.let_go else ""
        Terminal.from_stream(sys.stdout).print(f"compacted: {result.entries:,} entries{expired_note}")


@command.command("verify")
@project_option
@json_option
def verify(folder: Path, as_json: bool) -> int:
    """Check the whole state and the tables of assets without writing.

    Prints any damage with how to repair it; the exit code is then 3. A table that differs from the recorded state is
    not damage: the next run handles it. With --json: {begins, entries, damages: [{what, repair}], tables: [{asset,
    what}]}.
    """
    result = open_project(folder).state.verify()
    if as_json:
        damages = [{"what": each.problem, "repair": each.repair} for each in result.damages]
        tables = [{"asset": asset, "what": difference} for asset, difference in result.tables]
        print_json({"begins": result.begins, "entries": result.entries, "damages": damages, "tables": tables})
    else:
        _print_verification(result, Terminal.from_stream(sys.stdout))
    return DAMAGED if result.damages else 0


@command.command("export")
@project_option
@click.option(
    "--out",
    "file",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; it may replace an older export of this project, but nothing else.",
)
@json_option
def export(folder: Path, file: Path, as_json: bool) -> None:
    """Export the state to FILE as JSON lines, without credentials.

    The first line describes the export. In every other line, `table` says whether it is an entry of the `journal`, the
    current state of an asset (`watermarks`), or the state before the oldest entry (`base`). With --json: {file, lines}.
    """
    from sparkassets.state.export_file import write_export

    project = open_project(folder)
    lines = write_export(file, project.state.export_lines(), project=project.spec.name)
    if as_json:
        print_json({"file": str(file), "lines": lines})
    else:
        Terminal.from_stream(sys.stdout).print(f"{lines:,} lines in {file}")


@command.command("migrate")
@project_option
@json_option
def migrate(folder: Path, as_json: bool) -> None:
    """Rewrite a state of an older release in the current format, which older releases cannot read.

    This is optional, because older formats can be read. Old rows are kept until the new ones are written and verified;
    if it is killed, run it again. With --json: {format, changed}.
    """
    from sparkassets.core.journal.rows import FORMAT

    changed = open_project(folder).state.migrate()
    if as_json:
        print_json({"format": FORMAT, "changed": changed})
    elif changed:
        Terminal.from_stream(sys.stdout).print(f"{changed:,} rows converted to format {FORMAT}")
    else:
        Terminal.from_stream(sys.stdout).print(f"everything is already in format {FORMAT}")


def _print_verification(result: VerificationResult, terminal: Terminal) -> None:
    """Prints what a verification found, for people."""
    for damage in result.damages:
        terminal.print(damage.problem, f"  hint: {damage.repair}")
    for asset, difference in result.tables:
        terminal.print(f"{asset}: {difference}; the next run takes it into account")
    if not result.damages:
        last = result.begins + result.entries - 1
        entries = f"entries {result.begins:,} to {last:,}" if result.entries else "no entries"
        terminal.print(f"intact: {entries}, and the snapshot matches them")
