"""The asset graph with conditions as gates, as nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from sparkassets.core.conditions import AllOf, AnyOf, Condition, TimeLeaf, UpdateLeaf
from sparkassets.core.instants import Duration
from sparkassets.core.planner.wording import leaf_name
from sparkassets.core.spec.model import AssetSpec, InletSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen

NodeKind = Literal["source", "asset", "dataset", "timetable", "all", "any"]
EdgeKind = Literal["reads", "waits", "triggers", "writes"]


@frozen
class GraphNode:
    """An asset, or something that triggers one.

    Attributes:
        kind: ``dataset`` is one that no asset of the project writes; ``all`` and ``any`` are gates of a condition.
    """

    id: str
    label: str
    kind: NodeKind


@frozen
class GraphEdge:
    """An arrow between two nodes.

    Attributes:
        kind: ``reads`` also triggers where the schedule is the default; ``waits`` is listed but not read;
            ``triggers`` leads through the gates of a schedule that was written; ``writes`` from a multi-asset to its
            outlets.
        gates: Conditions on the inlet before the asset runs, in words, without defaults.
    """

    start: str
    end: str
    kind: EdgeKind
    gates: tuple[str, ...] = ()


@frozen
class AssetGraph:
    """Nodes in the order of the project, upstream first; edges in the order of the assets that they lead to."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def graph_document(graph: AssetGraph) -> dict[str, Any]:
    """``{nodes: [{id, label, kind}], edges: [{from, to, kind, gates}]}``."""
    return {
        "nodes": [{"id": node.id, "label": node.label, "kind": node.kind} for node in graph.nodes],
        "edges": [
            {"from": edge.start, "to": edge.end, "kind": edge.kind, "gates": list(edge.gates)} for edge in graph.edges
        ],
    }


def build_graph(project: ProjectSpec) -> AssetGraph:
    """The project's graph."""
    nodes: dict[str, GraphNode] = {}
    edges: list[GraphEdge] = []
    for asset in project.assets.values():
        nodes[asset.name] = GraphNode(asset.name, asset.name, "source" if asset.source else "asset")
    for asset in project.assets.values():
        if asset.written_by:
            edges.append(GraphEdge(asset.written_by, asset.name, "writes"))
            continue
        for inlet in asset.inlets.values():
            gates = tuple(inlet_gates(project, asset, inlet))
            edges.append(GraphEdge(inlet.name, asset.name, "waits" if inlet.waits_only else "reads", gates))
        schedule = asset.schedule
        if schedule.timetable is not None:
            clock = GraphNode(f"{asset.name}/timetable", schedule.timetable.describe(), "timetable")
            nodes[clock.id] = clock
            edges.append(GraphEdge(clock.id, asset.name, "triggers"))
        elif schedule.condition is not None and not schedule.default:
            _add_gates(schedule.condition, asset.name, f"{asset.name}/", project, nodes, edges)
    return AssetGraph(tuple(nodes.values()), tuple(edges))


def _add_gates(
    condition: Condition, end: str, path: str, project: ProjectSpec, nodes: dict[str, GraphNode], edges: list[GraphEdge]
) -> None:
    """Adds nodes and edges from the leaves of ``condition`` to the node ``end``; ``path`` is a prefix of new ids."""
    match condition:
        case UpdateLeaf():
            for start in _find_update_nodes(condition, project):
                nodes.setdefault(start, GraphNode(start, start, "dataset"))
                edges.append(GraphEdge(start, end, "triggers"))
        case TimeLeaf():
            label = condition.timetable.describe() if condition.without is None else leaf_name(condition)
            clock = GraphNode(f"{path}timetable", label, "timetable")
            nodes[clock.id] = clock
            edges.append(GraphEdge(clock.id, end, "triggers"))
            if condition.without is not None:  # a timer, which an update of that dataset starts anew
                _add_gates(condition.without, clock.id, f"{clock.id}/", project, nodes, edges)
        case AllOf() | AnyOf():
            gate = _make_gate(condition, path)
            nodes[gate.id] = gate
            edges.append(GraphEdge(gate.id, end, "triggers"))
            for number, child in enumerate(condition.children, start=1):
                _add_gates(child, gate.id, f"{gate.id}/{number}/", project, nodes, edges)


def inlet_gates(project: ProjectSpec, asset: AssetSpec, inlet: InletSpec) -> Iterator[str]:
    """Conditions on an inlet before the asset runs, in words, without defaults."""
    needs_all = asset.partitioning.is_partitioned or not project.assets[inlet.name].partitioning.is_partitioned
    if inlet.by_values is not None:
        yield f"the rows by their {inlet.by_values}"
    elif inlet.require.kind != ("all" if needs_all else "any"):
        yield f"require {inlet.require.kind}" + (f" {inlet.require.count}" if inlet.require.count else "")
    if inlet.aligned:
        yield "the run of the same tick, or the last one before it"
    if inlet.fresh_within is not None:
        yield f"fresh within {inlet.fresh_within.text}"
    if inlet.tolerance is not None:
        yield f"waited for at most {inlet.tolerance.text} past due"
    if inlet.settle_seconds:
        yield f"quiet for {Duration(seconds=inlet.settle_seconds).text}"


def _make_gate(condition: AllOf | AnyOf, path: str) -> GraphNode:
    """The node of a condition that needs all, or any, of its parts."""
    return (
        GraphNode(f"{path}all", "AND", "all") if isinstance(condition, AllOf) else GraphNode(f"{path}any", "OR", "any")
    )


def _find_update_nodes(leaf: UpdateLeaf, project: ProjectSpec) -> list[str]:
    """The assets whose dataset the leaf names; its URI if no asset of the project writes it."""
    if not leaf.is_uri:
        return [leaf.ref]
    return [asset.name for asset in project.assets.values() if asset.uri == leaf.ref] or [leaf.ref]
