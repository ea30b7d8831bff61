"""The asset graph with conditions as gates, as nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from sparkassets.core.conditions import AllOf, AnyOf, Condition, Leaf, Time
from sparkassets.core.instants import Duration
from sparkassets.core.planner.wording import named
from sparkassets.core.spec.model import AssetSpec, InletSpec, ProjectSpec
from sparkassets.frozen import frozen

NodeKind = Literal["source", "asset", "dataset", "timetable", "all", "any"]
EdgeKind = Literal["reads", "waits", "triggers", "writes"]


@frozen
class Node:
    """An asset, or something that triggers one.

    Attributes:
        kind: ``dataset`` is one that no asset of the project writes; ``all`` and ``any`` are gates of a condition.
    """

    id: str
    label: str
    kind: NodeKind


@frozen
class Edge:
    """What leads where.

    Attributes:
        kind: ``reads`` also triggers where the schedule is the default; ``waits`` is listed but not read;
            ``triggers`` leads through the gates of a schedule that was written; ``writes`` from a multi-asset to its
            outlets.
        gates: What must hold of the inlet before the asset runs, in words; what is the default is left out.
    """

    start: str
    end: str
    kind: EdgeKind
    gates: tuple[str, ...] = ()


@frozen
class Graph:
    """Nodes upstream first, edges by the asset they lead to."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_document(graph: Graph) -> dict[str, Any]:
    """``{nodes: [{id, label, kind}], edges: [{from, to, kind, gates}]}``."""
    return {
        "nodes": [{"id": node.id, "label": node.label, "kind": node.kind} for node in graph.nodes],
        "edges": [
            {"from": edge.start, "to": edge.end, "kind": edge.kind, "gates": list(edge.gates)} for edge in graph.edges
        ],
    }


def graph_of(project: ProjectSpec) -> Graph:
    """The project's graph."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for asset in project.assets.values():
        nodes[asset.name] = Node(asset.name, asset.name, "source" if asset.source else "asset")
    for asset in project.assets.values():
        if asset.maker:
            edges.append(Edge(asset.maker, asset.name, "writes"))
            continue
        for inlet in asset.inlets.values():
            gates = tuple(inlet_gates(project, asset, inlet))
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
            label = condition.timetable.describe() if condition.without is None else named(condition)
            clock = Node(f"{path}timetable", label, "timetable")
            nodes[clock.id] = clock
            edges.append(Edge(clock.id, end, "triggers"))
            if condition.without is not None:
                _gates(condition.without, clock.id, f"{clock.id}/", project, nodes, edges)
        case AllOf() | AnyOf():
            gate = _gate(condition, path)
            nodes[gate.id] = gate
            edges.append(Edge(gate.id, end, "triggers"))
            for number, child in enumerate(condition.children, start=1):
                _gates(child, gate.id, f"{gate.id}/{number}/", project, nodes, edges)


def inlet_gates(project: ProjectSpec, asset: AssetSpec, inlet: InletSpec) -> Iterator[str]:
    """What must hold of an inlet before the asset runs, in words; what is the default is left out."""
    counts = asset.partitioning.is_partitioned or not project.assets[inlet.name].partitioning.is_partitioned
    if inlet.by_values is not None:
        yield f"the rows by their {inlet.by_values}"
    elif inlet.require.kind != ("all" if counts else "any"):
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
