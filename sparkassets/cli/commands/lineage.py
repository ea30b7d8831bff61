"""``sparkassets lineage``: where partitions and columns come from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sparkassets.cli.options import (
    AssetNameParam,
    json_option,
    open_project,
    partitions_option,
    print_history_start,
    project_option,
)
from sparkassets.cli.output import Terminal, print_json, render_tree
from sparkassets.cli.plan_tables import clock_text
from sparkassets.core.documents.lineage import lineage_document
from sparkassets.core.partitions import UNPARTITIONED
from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode
from sparkassets.core.planner.wording import label_prefix, name_partitions
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from sparkassets.core.derivation.column_lineage import AssetColumnLineage, ColumnLineage, LineageStep
    from sparkassets.core.derivation.column_uses import UseKind
    from sparkassets.core.journal.lineage import InletRead, PartitionOrigin
    from sparkassets.core.spec.project_spec import ProjectSpec
    from sparkassets.wiring import Project

_NO_ORIGIN = {
    "missing": "not there",
    "unknown": "the journal has no record of the run that computed it",
}


@click.command("lineage")
@click.argument("asset", type=AssetNameParam())
@project_option
@partitions_option
@click.option(
    "--depth", type=click.IntRange(min=1), metavar="N", help="Follow at most this many runs back; default: all."
)
@click.option("--columns", is_flag=True, help="Show which columns each of its columns is derived from.")
@json_option
def command(
    folder: Path, asset: str, partitions: tuple[str, ...], depth: int | None, columns: bool, as_json: bool
) -> None:
    """Show which runs and which versions of its inputs partitions of ASSET were computed from, back to the sources.

    Each line is what one run computed, with what it read below. A run that is already shown is not expanded again.

    For a column, given as ASSET.column: which columns it is derived from, back to the sources, and what is derived from
    it, according to the queries. What a query leaves uncertain is marked.
    """
    project = open_project(folder)
    name, dot, column = asset.partition(".")
    if dot or columns:
        if partitions or depth is not None:
            raise InputError("columns are traced by queries, not by runs: leave --partition and --depth out")
        _print_columns(project, name, column, as_json=as_json)
        return
    lineage = project.lineage.trace(asset, *partitions, depth=depth)
    if any(map(_is_unknown, lineage.origins)):
        print_history_start(project)
    if as_json:
        print_json(lineage_document(lineage, project.spec))
        return
    terminal = Terminal.from_stream(sys.stdout)
    title = name_partitions(asset, lineage.partitions, project.spec.assets[asset].partitioning)
    origins = tuple(_origin_node(origin, project.spec) for origin in lineage.origins)
    terminal.print(*render_tree(ExplanationNode(title, None, origins), terminal))


def _print_columns(project: Project, asset: str, column: str, *, as_json: bool) -> None:
    """Prints the lineage of one column in both directions, or that of each column of the asset one step back."""
    from sparkassets.core.documents.lineage import column_document, columns_document

    terminal = Terminal.from_stream(sys.stdout)
    if column:
        lineage = project.lineage.column(asset, column)
        print_json(column_document(lineage)) if as_json else terminal.print(
            *render_tree(column_tree(lineage), terminal)
        )
    else:
        lineages = project.lineage.columns(asset)
        print_json(columns_document(lineages)) if as_json else terminal.print(
            *render_tree(columns_tree(lineages), terminal)
        )


def _is_unknown(origin: PartitionOrigin) -> bool:
    """Whether the journal does not tell where it came from, or something that it was made of."""
    return origin.kind == "unknown" or any(_is_unknown(each) for read in origin.reads for each in read.origins)


def _origin_node(origin: PartitionOrigin, project: ProjectSpec) -> ExplanationNode:
    """The node of one origin: the run, source or event with its facts, and below it what it read."""
    prefix = label_prefix(origin.partitions, project.assets[origin.asset].partitioning)
    if origin.kind in _NO_ORIGIN:
        return ExplanationNode(f"{prefix}{_NO_ORIGIN[origin.kind]}", holds=False)
    # the run, or how the rows became known; for other kinds the note says it
    facts = [origin.run or {"source": "observed", "event": "announced"}.get(origin.kind, origin.note)]
    facts[0] += f" at {clock_text(origin.at, project)}"
    facts += [f"version {origin.version}"] if origin.version is not None else []
    facts += [f"code {origin.definition[:8]}"] if origin.definition else []
    facts += [origin.note] if origin.note and origin.note not in facts[0] else []
    facts += [f"changed by another writer since: {', '.join(origin.changed)}"] if origin.changed else []
    facts += ["as above"] if origin.again else []
    return ExplanationNode(
        f"{prefix}{', '.join(facts)}", None, tuple(_read_node(read, project) for read in origin.reads)
    )


def _read_node(read: InletRead, project: ProjectSpec) -> ExplanationNode:
    """The node of what a run read of one inlet, with the origins of that."""
    asset = project.assets.get(read.asset)
    text = f"read {name_partitions(read.asset, read.parts, asset.partitioning if asset is not None else UNPARTITIONED)}"
    text += f" at version {read.version}" if read.version is not None else ""
    text += f" from {read.low} on" if read.low is not None else ""
    return ExplanationNode(text, None, tuple(_origin_node(origin, project) for origin in read.origins))


_WORDS: Final[dict[UseKind, str]] = {
    "IDENTITY": "as it is",
    "TRANSFORMATION": "computed",
    "AGGREGATION": "aggregated",
    "CONDITIONAL": "in a condition",
    "WINDOW": "orders a window",
    "FILTER": "filters rows",
    "JOIN": "joins rows",
    "GROUP_BY": "groups rows",
    "SORT": "sorts rows",
}
_UNSURE: Final = "columns unknown"


def column_tree(lineage: ColumnLineage) -> ExplanationNode:
    """A column with what it is made of and what uses it."""
    return ExplanationNode(f"{lineage.asset}.{lineage.column}", None, tuple(_ways(lineage)))


def columns_tree(lineage: AssetColumnLineage) -> ExplanationNode:
    """The columns of an asset as a tree, each with the columns that it is made of."""
    if lineage.columns is None:
        return ExplanationNode(
            lineage.asset,
            None,
            (ExplanationNode("its columns are neither in its query nor declared", holds=False),),
        )
    below = [
        ExplanationNode(name, None, tuple(_back(each) for each in steps))
        if steps is not None
        else ExplanationNode(f"{name}: {_OPEN}", holds=False)
        for name, steps in lineage.columns.items()
    ]
    return ExplanationNode(lineage.asset, None, (*below, *_rows(lineage.rows)))


_OPEN: Final = "its query does not determine what it is computed from"


def _ways(lineage: ColumnLineage) -> Iterator[ExplanationNode]:
    """Nodes for what a column is made of and what uses it."""
    if not lineage.sure:
        yield ExplanationNode(_OPEN, holds=False)
    elif lineage.made_of:
        yield ExplanationNode("made of", None, tuple(_back(each) for each in lineage.made_of))
    yield from _rows(lineage.rows if lineage.sure else ())
    ahead = tuple(_ahead(each) for each in lineage.used_by)
    yield ExplanationNode("used by", None, ahead) if ahead else ExplanationNode("nothing reads it")


def _rows(steps: tuple[LineageStep, ...] | None) -> Iterator[ExplanationNode]:
    """A node for the columns that decide which rows there are, such as in a filter; None if the query hides them."""
    if steps is None:
        yield ExplanationNode("its query does not determine which rows it has", holds=False)
    elif steps:
        yield ExplanationNode("its rows depend on", None, tuple(_back(each) for each in steps))


def _back(step: LineageStep) -> ExplanationNode:
    """The node of a column that the one above it is made of, with what that is made of below."""
    text = f"{step.asset}.{step.column}: {_words(step)}{', as above' if step.is_repeated else ''}"
    below = tuple(_back(each) for each in step.next_steps)
    return ExplanationNode(text, None, below if step.is_certain else (ExplanationNode(_OPEN, holds=False),))


def _ahead(step: LineageStep) -> ExplanationNode:
    """The node of an asset or column that uses the one above it."""
    if not step.is_certain:
        return ExplanationNode(f"{step.asset}: {_UNSURE}", holds=False)
    name = f"{step.asset}.{step.column}" if step.column else f"rows of {step.asset}"
    text = f"{name}: {_words(step)}{', as above' if step.is_repeated else ''}"
    return ExplanationNode(text, None, tuple(_ahead(each) for each in step.next_steps))


def _words(step: LineageStep) -> str:
    return ", ".join([*(_WORDS[how] for how in step.how), *(["only a hash of it"] if step.masked else [])])
