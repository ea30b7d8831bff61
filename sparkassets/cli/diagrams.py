"""The asset graph with conditions as gates: as nodes and edges, and drawn as text, Mermaid and DOT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sparkassets.core.conditions import AllOf, AnyOf, Condition, Leaf, Time
from sparkassets.core.instants import Duration
from sparkassets.core.partitions import Overlap, WindowMapping
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec

NodeKind = Literal["source", "asset", "dataset", "timetable", "all", "any"]
EdgeKind = Literal["reads", "waits", "triggers"]


@dataclass(frozen=True, slots=True)
class Node:
    """An asset, or something that triggers one.

    Attributes:
        kind: ``dataset`` is one that no asset of the project writes; ``all`` and ``any`` are gates of a condition.
    """

    id: str
    label: str
    kind: NodeKind


@dataclass(frozen=True, slots=True)
class Edge:
    """What leads where.

    Attributes:
        kind: ``reads`` also triggers where the schedule is the default; ``waits`` is listed but not read;
            ``triggers`` leads through the gates of a schedule that was written.
        gates: What must hold of the inlet before the asset runs, in words; what is the default is left out.
    """

    start: str
    end: str
    kind: EdgeKind
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes upstream first, edges by the asset they lead to."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(project: ProjectSpec) -> Graph:
    """The project's graph."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for asset in project.assets.values():
        nodes[asset.name] = Node(asset.name, asset.name, "source" if asset.source else "asset")
    for asset in project.assets.values():
        for inlet in asset.inlets.values():
            gates = tuple(_inlet_gates(project, asset, inlet))
            edges.append(Edge(inlet.name, asset.name, "waits" if inlet.waits_only else "reads", gates))
        schedule = asset.schedule
        if schedule.timetable is not None:
            clock = Node(f"{asset.name}/timetable", schedule.timetable.describe(), "timetable")
            nodes[clock.id] = clock
            edges.append(Edge(clock.id, asset.name, "triggers"))
        elif schedule.condition is not None and not schedule.default:
            _gates(schedule.condition, asset.name, f"{asset.name}/", project, nodes, edges)
    return Graph(tuple(nodes.values()), tuple(edges))


def _gates(
    condition: Condition, end: str, path: str, project: ProjectSpec, nodes: dict[str, Node], edges: list[Edge]
) -> None:
    """Adds what leads from the leaves of ``condition`` to the node ``end``; ``path`` begins the ids between."""
    match condition:
        case Leaf():
            for start in _datasets(condition, project):
                nodes.setdefault(start, Node(start, start, "dataset"))
                edges.append(Edge(start, end, "triggers"))
        case Time():
            clock = Node(f"{path}timetable", condition.timetable.describe(), "timetable")
            nodes[clock.id] = clock
            edges.append(Edge(clock.id, end, "triggers"))
        case AllOf() | AnyOf():
            gate = _gate(condition, path)
            nodes[gate.id] = gate
            edges.append(Edge(gate.id, end, "triggers"))
            for number, child in enumerate(condition.children, start=1):
                _gates(child, gate.id, f"{gate.id}/{number}/", project, nodes, edges)


def _inlet_gates(project: ProjectSpec, asset: AssetSpec, inlet: InletSpec) -> Iterator[str]:
    counts = asset.partition is not None or project.assets[inlet.name].partition is None
    if inlet.require.kind != ("all" if counts else "any"):
        yield f"require {inlet.require.kind}" + (f" {inlet.require.count}" if inlet.require.count else "")
    if inlet.aligned:
        yield "the run of the same tick or the last before"
    if inlet.fresh_within is not None:
        yield f"fresh within {inlet.fresh_within.text}"
    if inlet.tolerance is not None:
        yield f"waited for until {inlet.tolerance.text} past due"
    if inlet.settle_seconds:
        yield f"quiet for {Duration(seconds=inlet.settle_seconds).text}"


def _gate(condition: AllOf | AnyOf, path: str) -> Node:
    return Node(f"{path}all", "AND", "all") if isinstance(condition, AllOf) else Node(f"{path}any", "OR", "any")


def _datasets(leaf: Leaf, project: ProjectSpec) -> list[str]:
    """The assets whose data the leaf means, or the URI where the project has none."""
    if not leaf.is_uri:
        return [leaf.ref]
    return [asset.name for asset in project.assets.values() if asset.uri == leaf.ref] or [leaf.ref]


# --------------------------------------------------------------------------- drawings


def mermaid(graph: Graph) -> Iterator[str]:
    """Lines of a Mermaid flowchart."""
    shapes = {
        "source": ('[("', '")]'),
        "asset": ('["', '"]'),
        "dataset": ('[/"', '"/]'),
        "timetable": ('(["', '"])'),
        "all": ('{{"', '"}}'),
        "any": ('{{"', '"}}'),
    }
    arrows = {"reads": "-->", "waits": "-->", "triggers": "-.->"}
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    yield "flowchart LR"
    for node in graph.nodes:
        opening, closing = shapes[node.kind]
        label = node.label.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
        yield f"  {names[node.id]}{opening}{label}{closing}"
    for edge in graph.edges:
        said = [*(["waits"] if edge.kind == "waits" else []), *edge.gates]
        label = f'|"{"<br/>".join(said)}"|' if said else ""
        yield f"  {names[edge.start]} {arrows[edge.kind]}{label} {names[edge.end]}"


def dot(graph: Graph) -> Iterator[str]:
    """Lines of a Graphviz digraph."""
    shapes = {
        "source": "cylinder",
        "asset": "box",
        "dataset": "parallelogram",
        "timetable": "oval",
        "all": "diamond",
        "any": "diamond",
    }
    styles = {"reads": "solid", "waits": "dashed", "triggers": "dotted"}
    yield "digraph assets {"
    yield "  rankdir=LR;"
    for node in graph.nodes:
        yield f"  {_quoted(node.id)} [label={_quoted(node.label)}, shape={shapes[node.kind]}];"
    for edge in graph.edges:
        label = ", label=" + _quoted("\n".join(edge.gates)) if edge.gates else ""
        yield f"  {_quoted(edge.start)} -> {_quoted(edge.end)} [style={styles[edge.kind]}{label}];"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def text(project: ProjectSpec) -> Iterator[str]:
    """Lines for people: every asset, what it reads and what triggers it, upstream first."""
    for asset in project.assets.values():
        yield f"{asset.name}  ({', '.join(_facts(asset))})"
        for inlet in asset.inlets.values():
            options = ", ".join(_options(project, asset, inlet))
            yield f"  {'waits for' if inlet.waits_only else 'reads'} {inlet.name}" + (
                f" ({options})" if options else ""
            )
        yield from _when(asset)


def _facts(asset: AssetSpec) -> Iterator[str]:
    if asset.source is not None:
        yield "source" if asset.source.kind == "events" else f"{asset.source.kind} source"
    if asset.partition is not None:
        yield f"by {asset.partition.by} in {asset.partition.timezone}"
    if asset.strategy is not None:
        yield asset.strategy.name
    if asset.write is not None:
        yield asset.write
    if asset.paused:
        yield "paused"


def _options(project: ProjectSpec, asset: AssetSpec, inlet: InletSpec) -> Iterator[str]:
    """What is not the default."""
    match inlet.mapping:
        case WindowMapping(low, _, True):
            yield f"window {low.text.removeprefix('-')}"
        case WindowMapping(low, high, _):
            yield f"window [{low.text}, {high.text}]"
        case Overlap() | None:
            pass
    if inlet.read is not None:
        yield f"only after the highest {inlet.read.column}"
    yield from _inlet_gates(project, asset, inlet)
    if inlet.on_update == "ignore":
        yield "its updates make nothing stale"


def _when(asset: AssetSpec) -> Iterator[str]:
    schedule = asset.schedule
    if asset.source is not None:
        return
    if schedule.timetable is not None:
        yield f"  runs by the timetable {schedule.timetable.describe()}"
    elif schedule.condition is None:
        yield "  runs by hand only"
    elif not schedule.default:
        yield "  runs when"
        yield from _condition(schedule.condition, "    ")


def _condition(condition: Condition, indent: str) -> Iterator[str]:
    match condition:
        case Leaf():
            yield f"{indent}{condition.ref} was updated"
        case Time():
            yield f"{indent}a tick has passed of {condition.timetable.describe()}"
        case AllOf() | AnyOf():
            yield f"{indent}{'all' if isinstance(condition, AllOf) else 'any'} of"
            for child in condition.children:
                yield from _condition(child, indent + "  ")
