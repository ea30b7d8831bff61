"""``sparkassets replay``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.difference_lines import difference_document, print_differences
from sparkassets.cli.options import (
    engine_option,
    json_option,
    open_project,
    open_scope,
    project_option,
    samples_option,
    scope_option,
)
from sparkassets.cli.output import Terminal, print_json

if TYPE_CHECKING:
    from sparkassets.core.documents.table_difference import ReplayResult
    from sparkassets.core.spec.project_spec import ProjectSpec


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
    else:
        _print_result(run, result, spec)
    return 0 if result.is_equal else 1


def _print_result(run: str, result: ReplayResult, project: ProjectSpec) -> None:
    """Prints the rows that differ from the published ones, notes, and the verdict in one line."""
    terminal = Terminal.from_stream(sys.stdout)
    print_differences(result.differences, project, terminal)
    for note in result.notes:
        terminal.print(f"note: {note}")
    code = "" if result.is_present_code else " by the code of then"
    verdict = "the same rows as published" if result.is_equal else "other rows than published"
    terminal.print(f"{run} was replayed{code}: {verdict}")
