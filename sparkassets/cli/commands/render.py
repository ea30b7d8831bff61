"""``sparkassets render``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.options import (
    AssetNameParam,
    at_option,
    json_option,
    one_partition_option,
    open_project,
    open_scope,
    project_option,
    scope_option,
)
from sparkassets.cli.output import Terminal, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkassets.core.documents.rendered_run import RenderedCode, RenderedRun


@click.command("render")
@click.argument("asset", type=AssetNameParam())
@project_option
@one_partition_option("Partitions of the run: KEY, a range A..B (inclusive), or KEY,SEGMENT for several dimensions.")
@at_option
@scope_option
@json_option
def command(folder: Path, asset: str, partition: str | None, at: str | None, as_json: bool) -> None:
    """Print the SQL that a run of ASSET would execute now, with its pins, partitions and literals.

    The statements can be run by hand in a Spark session: they create a temporary view for each inlet at its pinned
    version or files, and end with the query. For a function, the output says what it is passed. Without --partition
    this is the next run of the plan; if nothing is due, a run of the newest wanted partition. Nothing is recorded, and
    Spark starts only for inlets in a catalog. With --json: {asset, partitions, due, reason, code: [{asset, statements,
    function, arguments}], notes}.
    """
    project = open_scope(open_project(folder), existing=True)
    run = project.queries.render(asset, partition=partition, at=at)
    if as_json:
        from sparkassets.core.documents.rendered_run import rendered_document

        print_json(rendered_document(run))
    else:
        terminal = Terminal.from_stream(sys.stdout)
        for line in _lines(run):
            terminal.print(*line.split("\n"))


def _lines(run: RenderedRun) -> Iterator[str]:
    """The run as one script, which any client of Spark executes."""
    from sparkassets.core.phrases import few

    keys = f" {few(run.partitions)}" if run.partitions else ""
    yield f"-- {run.asset}{keys}: {run.reason}"
    for note in run.notes:
        yield f"-- note: {note}"
    for code in run.code:
        if len(run.code) > 1:
            yield f"-- {code.asset}"
        yield from _statements(code)


def _statements(code: RenderedCode) -> Iterator[str]:
    """The statements, each with its semicolon; before them, as comments, what a function is passed."""
    if code.function:
        yield f"-- {code.function} is called with"
        for name, passed in code.arguments:
            yield f"--   {name}: {passed}"
    for statement in code.statements:
        yield f"{statement};"
