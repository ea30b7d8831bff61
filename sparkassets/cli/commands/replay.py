"""``sparkassets replay``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.difference_lines import DIFFERENCE_COLUMNS, difference_document, difference_lines, partition_rows
from sparkassets.cli.options import (
    engine_option,
    json_option,
    open_project,
    open_scope,
    project_option,
    samples_option,
    scope_option,
)
from sparkassets.cli.output import Terminal, print_json, print_table


@click.command("replay")
@click.argument("run")
@project_option
@engine_option
@scope_option
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=str),
    default="",
    help="Keep the replayed rows as a Delta table in this folder, which holds none yet.",
)
@samples_option
@json_option
def command(folder: Path, run: str, keep: str, samples: int, as_json: bool) -> int:
    """Compute RUN again and compare the rows with what it published.

    The run reads the versions and files that it read, by the code that it was computed by, and writes into a scratch
    table; nothing is recorded. Where rows follow from those that it found in its table, as by an upsert, the scratch
    table begins as a copy of these. Rows are compared by partition, as by `diff`: added rows were not published,
    removed ones were and are not computed again. The exit code is 1 if anything differs.
    """
    place = keep if "://" in keep or not keep else str(Path(keep).absolute())
    with open_scope(open_project(folder), existing=True) as project:
        result = project.history.replay(run, keep=place, samples=samples)
        spec = project.spec
    if as_json:
        print_json(
            {
                "run": result.run,
                "asset": result.asset,
                "equal": result.is_equal,
                "definition": result.definition,
                "present_code": result.is_present_code,
                "tables": [difference_document(each, spec) for each in result.differences],
                "notes": list(result.notes),
                "folder": result.folder or None,
            }
        )
        return 0 if result.is_equal else 1
    terminal = Terminal.from_stream(sys.stdout)
    rows = [row for difference in result.differences for row in partition_rows(difference, spec)]
    if rows:
        print_table(terminal, DIFFERENCE_COLUMNS, rows)
    for difference in result.differences:
        terminal.print(*(f"{difference.asset}: {line}" for line in difference_lines(difference, spec)))
    for note in result.notes:
        terminal.print(f"note: {note}")
    code = "" if result.is_present_code else " by the code of then"
    verdict = "the same rows as published" if result.is_equal else "other rows than published"
    terminal.print(f"{run} was replayed{code}: {verdict}")
    return 0 if result.is_equal else 1
