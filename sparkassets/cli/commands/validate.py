"""``sparkassets validate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.failures import print_warnings
from sparkassets.cli.options import engine_option, json_option, open_project, project_option, variables
from sparkassets.cli.output import print_json
from sparkassets.core.documents.document_values import problems_document
from sparkassets.core.planner.wording import plural
from sparkassets.errors import SpecError


@click.command("validate")
@project_option
@engine_option
@json_option
def command(folder: Path, as_json: bool) -> int:
    """Check the whole project and print every problem.

    Prints every problem to stderr with its file, line and column, or the number of assets to stdout if there is none.
    Warnings point out what is valid but probably not intended; they leave the exit code at 0. With --json: {"problems":
    [{file, line, column, message, hint}], "warnings": [the same]}, and "help" with the section about problems.
    """
    from sparkassets.project import load_cases

    try:
        project = open_project(folder, tables=True).spec
        tests = load_cases(project, variables())
    except SpecError as error:
        if not as_json:
            raise
        print_json({"problems": problems_document(error.problems), "warnings": [], "help": error.help})
        return error.exit_code
    if as_json:
        print_json({"problems": [], "warnings": problems_document(project.warnings)})
        return 0
    print_warnings(project.warnings)
    sources = sum(asset.source is not None for asset in project.assets.values())
    counts = f"{plural(len(project.assets) - sources, 'asset')}, {plural(sources, 'source')}"
    counts += f", {plural(len(tests), 'test')}" if tests else ""
    sys.stdout.write(f"project {project.name!r} is valid: {counts}\n")
    return 0
