"""``sparkassets show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.options import (
    AssetNameParam,
    json_option,
    one_partition_option,
    open_project,
    open_scope,
    project_option,
    scope_option,
)
from sparkassets.cli.output import TableColumn, Terminal, print_json, print_table


@click.command("show")
@click.argument("asset", type=AssetNameParam())
@project_option
@one_partition_option("Only these partitions: KEY, a range A..B (inclusive), or KEY,SEGMENT for several dimensions.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Most rows.")
@click.option("--query", is_flag=True, help="Rows of ASSET's query or function, computed now and written nowhere.")
@scope_option
@json_option
def command(folder: Path, asset: str, partition: str | None, limit: int, query: bool, as_json: bool) -> None:
    """Print some rows of ASSET's table as it is now.

    Spark starts only for a table that only Spark can read, such as one in a catalog, and for --query, which computes
    the run that `render` prints. Values of `pii` columns are hidden. The rows are in no order. With --json: {asset,
    version, columns: [NAME], rows: [[VALUE]]}.
    """
    project = open_scope(open_project(folder), existing=True)
    with project:
        queries = project.queries
        sample = (
            queries.compute(asset, partition=partition, limit=limit)
            if query
            else queries.show(asset, partition=partition, limit=limit)
        )
    from sparkassets.core.documents.row_sample import sample_document, value_text
    from sparkassets.core.redaction import redact

    if as_json:
        print_json(sample_document(sample))
        return
    terminal = Terminal.from_stream(sys.stdout)
    if not sample.rows:
        terminal.print(f"{asset} has no rows{' in ' + partition if partition else ''}")
        return
    columns = [TableColumn(name, wraps=True) for name in sample.columns]
    print_table(terminal, columns, [[redact(value_text(value)) for value in row] for row in sample.rows])
