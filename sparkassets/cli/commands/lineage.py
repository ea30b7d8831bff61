"""``sparkassets lineage``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import (
    AssetNameParam,
    json_option,
    open_project,
    partitions_option,
    print_forgotten,
    project_option,
)
from sparkassets.cli.plan_tables import clock_text
from sparkassets.cli.terminal import Terminal
from sparkassets.cli.trees import render_tree
from sparkassets.core.documents.lineage import lineage_document
from sparkassets.core.partitions import UNPARTITIONED
from sparkassets.core.planner.explain.explanation import ExplanationNode
from sparkassets.core.planner.wording import label_prefix, name_partitions
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.journal.lineage import InletRead, PartitionOrigin
    from sparkassets.core.spec.model import ProjectSpec
    from sparkassets.wiring import Project

_NOTHING = {
    "missing": "not there",
    "unknown": "the journal does not tell what computed it, or does not any more",
}


@click.command("lineage")
@click.argument("asset", type=AssetNameParam())
@project_option
@partitions_option
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Only so many runs back; default: all.")
@click.option("--columns", is_flag=True, help="From which columns each of its columns is made, by its query.")
@json_option
def command(
    folder: Path, asset: str, partitions: tuple[str, ...], depth: int | None, columns: bool, as_json: bool
) -> int:
    """Show from what partitions of ASSET were computed: by which runs, of which versions, up to the sources.

    What one run computed is one line; below it is what it read. A run that stands further up is not unfolded again.

    Of a column, as ASSET.column: from which columns it is made, up to the sources, and what is made of it, all the way
    down, by the queries alone. What a query does not tell for sure is said so.
    """
    project = open_project(folder)
    name, dot, column = asset.partition(".")
    if dot or columns:
        if partitions or depth is not None:
            raise InputError("columns are told by queries, not by runs: --partition and --depth do not go with them")
        return _columns(project, name, column, as_json=as_json)
    found = project.lineage.trace(asset, *partitions, depth=depth)
    if any(map(_is_unknown, found.origins)):
        print_forgotten(project)
    if as_json:
        print_json(lineage_document(found, project.spec))
        return 0
    terminal = Terminal.from_stream(sys.stdout)
    head = name_partitions(asset, found.blocks, project.spec.assets[asset].partitioning)
    below = tuple(_origin(origin, project.spec) for origin in found.origins)
    terminal.print(*render_tree(ExplanationNode(head, None, below), terminal))
    return 0


def _columns(project: Project, asset: str, column: str, *, as_json: bool) -> int:
    """Prints what a column is made of and what of it; or what each column of the asset is made of."""
    from sparkassets.cli.columns import column_tree, columns_tree
    from sparkassets.core.documents.columns import column_document, columns_document

    terminal = Terminal.from_stream(sys.stdout)
    if column:
        one = project.lineage.column(asset, column)
        print_json(column_document(one)) if as_json else terminal.print(*render_tree(column_tree(one), terminal))
    else:
        each = project.lineage.columns(asset)
        print_json(columns_document(each)) if as_json else terminal.print(*render_tree(columns_tree(each), terminal))
    return 0


def _is_unknown(origin: PartitionOrigin) -> bool:
    """Whether the journal does not tell where it came from, or something that it was made of."""
    return origin.kind == "unknown" or any(_is_unknown(each) for read in origin.reads for each in read.origins)


def _origin(origin: PartitionOrigin, project: ProjectSpec) -> ExplanationNode:
    which = label_prefix(origin.blocks, project.assets[origin.asset].partitioning)
    if origin.kind in _NOTHING:
        return ExplanationNode(f"{which}{_NOTHING[origin.kind]}", holds=False)
    facts = [origin.run or {"source": "observed", "event": "announced"}.get(origin.kind, origin.note)]
    facts[0] += f" at {clock_text(origin.at, project)}"
    facts += [f"version {origin.version}"] if origin.version is not None else []
    facts += [f"code {origin.definition[:8]}"] if origin.definition else []
    facts += [origin.note] if origin.note and origin.note not in facts[0] else []
    facts += [f"changed by another writer since: {', '.join(origin.changed)}"] if origin.changed else []
    facts += ["as above"] if origin.again else []
    return ExplanationNode(
        f"{which}{', '.join(facts)}", None, tuple(_read_node(read, project) for read in origin.reads)
    )


def _read_node(read: InletRead, project: ProjectSpec) -> ExplanationNode:
    known = project.assets.get(read.asset)
    text = f"read {name_partitions(read.asset, read.parts, known.partitioning if known is not None else UNPARTITIONED)}"
    text += f" at version {read.version}" if read.version is not None else ""
    text += f" from {read.low} on" if read.low is not None else ""
    return ExplanationNode(text, None, tuple(_origin(origin, project) for origin in read.origins))
