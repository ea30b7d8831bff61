"""``sparkassets graph``: the asset graph as text, Mermaid or DOT."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sparkassets.cli.options import json_option, open_project, project_option
from sparkassets.cli.output import Terminal, print_json
from sparkassets.core.conditions import AllOf, AnyOf, Condition, TimeLeaf, UpdateLeaf
from sparkassets.core.documents.graph import AssetGraph, build_graph, graph_document, inlet_gates
from sparkassets.core.partitions import OverlapMapping, WindowMapping
from sparkassets.core.spec.model import AssetSpec, InletSpec, ReadAfter, ReadChanges
from sparkassets.core.spec.project_spec import ProjectSpec


def render_mermaid(graph: AssetGraph) -> Iterator[str]:
    """Lines of a Mermaid flowchart."""
    shapes = {
        "source": ('[("', '")]'),
        "asset": ('["', '"]'),
        "dataset": ('[/"', '"/]'),
        "timetable": ('(["', '"])'),
        "all": ('{{"', '"}}'),
        "any": ('{{"', '"}}'),
    }
    arrows = {"reads": "-->", "waits": "-->", "triggers": "-.->", "writes": "==>"}
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    yield "flowchart LR"
    for node in graph.nodes:
        opening, closing = shapes[node.kind]
        label = node.label.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
        yield f"  {names[node.id]}{opening}{label}{closing}"
    for edge in graph.edges:
        edge_labels = [*(["waits"] if edge.kind == "waits" else []), *edge.gates]
        label = f'|"{"<br/>".join(edge_labels)}"|' if edge_labels else ""
        yield f"  {names[edge.start]} {arrows[edge.kind]}{label} {names[edge.end]}"


def render_dot(graph: AssetGraph) -> Iterator[str]:
    """Lines of a Graphviz digraph."""
    shapes = {
        "source": "cylinder",
        "asset": "box",
        "dataset": "parallelogram",
        "timetable": "oval",
        "all": "diamond",
        "any": "diamond",
    }
    styles = {"reads": "solid", "waits": "dashed", "triggers": "dotted", "writes": "bold"}
    yield "digraph assets {"
    yield "  rankdir=LR;"
    for node in graph.nodes:
        yield f"  {_quote_dot(node.id)} [label={_quote_dot(node.label)}, shape={shapes[node.kind]}];"
    for edge in graph.edges:
        label = ", label=" + _quote_dot("\n".join(edge.gates)) if edge.gates else ""
        yield f"  {_quote_dot(edge.start)} -> {_quote_dot(edge.end)} [style={styles[edge.kind]}{label}];"
    yield "}"


def _quote_dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def render_text(project: ProjectSpec) -> Iterator[str]:
    """Lines for people: each asset with its inlets and triggers, upstream first."""
    for asset in project.assets.values():
        if asset.written_by:
            yield f"{asset.name}  (outlet of {asset.written_by})"
            continue
        yield f"{asset.name}  ({', '.join(_facts(asset))})"
        for inlet in asset.inlets.values():
            options = ", ".join(_options(project, asset, inlet))
            yield f"  {'waits for' if inlet.waits_only else 'reads'} {inlet.name}" + (
                f" ({options})" if options else ""
            )
        if asset.outlets:
            yield f"  writes {', '.join(asset.outlets)}"
        yield from _when(asset)


def _facts(asset: AssetSpec) -> Iterator[str]:
    """What an asset is: the kind of source, partitioning, strategy and write mode."""
    if asset.source is not None:
        yield "source" if asset.source.kind == "events" else f"{asset.source.kind} source"
    if asset.partitioning.is_partitioned:
        yield asset.partitioning.description
    if asset.strategy is not None:
        yield asset.strategy.name
    if asset.write is not None:
        yield asset.write.name
    if asset.paused:
        yield "paused"


def _options(project: ProjectSpec, asset: AssetSpec, inlet: InletSpec) -> Iterator[str]:
    """The options of an inlet that differ from the defaults."""
    match inlet.mapping:
        case WindowMapping(low, _, True):
            yield f"window {low.text.removeprefix('-')}"
        case WindowMapping(low, high, _):
            yield f"window [{low.text}, {high.text}]"
        case OverlapMapping() | None:
            pass
    match inlet.read:
        case ReadAfter(column, None):
            yield f"only after the highest {column}"
        case ReadAfter(column, overlap):
            yield f"only from {overlap.text if overlap else ''} before the highest {column} on"
        case ReadChanges():
            yield "only its changes"
    yield from inlet_gates(project, asset, inlet)
    if inlet.on_update == "ignore":
        yield "its updates make nothing stale"


def _when(asset: AssetSpec) -> Iterator[str]:
    """Lines on what starts runs of the asset."""
    schedule = asset.schedule
    if asset.source is not None:
        return
    if schedule.timetable is not None:
        yield f"  runs by the timetable {schedule.timetable.describe()}"
    elif schedule.condition is None:
        yield "  runs only by hand"
    elif not schedule.default:
        yield "  runs when"
        yield from _condition(schedule.condition, "    ")


def _condition(condition: Condition, indent: str) -> Iterator[str]:
    """Lines of a condition, one for each part, indented by depth."""
    match condition:
        case UpdateLeaf():
            yield f"{indent}{condition.ref} was updated"
        case TimeLeaf():
            yield f"{indent}a tick has passed of {condition.timetable.describe()}"
        case AllOf() | AnyOf():
            yield f"{indent}{'all' if isinstance(condition, AllOf) else 'any'} of"
            for child in condition.children:
                yield from _condition(child, indent + "  ")


@click.command("graph")
@project_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "mermaid", "dot"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@json_option
def command(folder: Path, form: str, as_json: bool) -> None:
    """Show assets, what they read, and what triggers them, including conditions and the gates of inlets.

    With --json: {nodes: [{id, label, kind}], edges: [{from, to, kind, gates}]}.
    """
    project = open_project(folder).spec
    if as_json:
        print_json(graph_document(build_graph(project)))
        return
    match form:
        case "mermaid":
            lines = render_mermaid(build_graph(project))
        case "dot":
            lines = render_dot(build_graph(project))
        case _:
            lines = render_text(project)
    Terminal.from_stream(sys.stdout).print(*lines)
