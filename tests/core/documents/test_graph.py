"""The asset graph as nodes and edges."""

from dataclasses import replace

from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.documents.graph import GraphEdge, GraphNode, build_graph, graph_document
from sparkassets.core.spec.asset_graph import upstream_edges
from sparkassets.core.spec.model import Schedule
from sparkassets.core.timetables.parse import parse_timetable
from tests.builders import asset, clock, project, source


def gated():
    return project(
        source("a"),
        source("b"),
        asset("both", "a", "b", schedule="a & (b | x-drop://inbox)"),
        asset(
            "nightly",
            "both",
            schedule=Schedule(parse_timetable("0 6 * * *", timezone="UTC", start=None, end=None), text="0 6 * * *"),
        ),
        asset("last", "nightly"),
    )


def test_a_condition_becomes_gates_and_a_timetable_a_node():
    graph = build_graph(gated())
    assert graph.nodes == (
        GraphNode("a", "a", "source"),
        GraphNode("b", "b", "source"),
        GraphNode("both", "both", "asset"),
        GraphNode("nightly", "nightly", "asset"),
        GraphNode("last", "last", "asset"),
        GraphNode("both/all", "AND", "all"),
        GraphNode("both/all/2/any", "OR", "any"),
        GraphNode("x-drop://inbox", "x-drop://inbox", "dataset"),
        GraphNode("nightly/timetable", "0 6 * * * (UTC)", "timetable"),
    )
    assert graph.edges == (
        GraphEdge("a", "both", "reads"),
        GraphEdge("b", "both", "reads"),
        GraphEdge("both/all", "both", "triggers"),
        GraphEdge("a", "both/all", "triggers"),
        GraphEdge("both/all/2/any", "both/all", "triggers"),
        GraphEdge("b", "both/all/2/any", "triggers"),
        GraphEdge("x-drop://inbox", "both/all/2/any", "triggers"),
        GraphEdge("both", "nightly", "reads"),
        GraphEdge("nightly/timetable", "nightly", "triggers"),
        GraphEdge("nightly", "last", "reads"),
    )


def test_a_timer_leads_from_the_dataset_without_whose_update_it_passes():
    timer = parse_condition(
        {"any": ["a", {"without": "b", "for": "1d"}, {"without": "x-drop://c", "for": "2h"}]}, clock
    )
    spec = project(source("a"), source("b"), asset("c", "a", by=None, schedule=Schedule(None, timer, "…")))
    graph = build_graph(spec)
    assert {node.id: node.label for node in graph.nodes if node.kind == "timetable"} == {
        "c/any/2/timetable": "1d without b",
        "c/any/3/timetable": "2h without x-drop://c",
    }
    assert {(edge.start, edge.end) for edge in graph.edges if edge.end != "c"} == {
        ("a", "c/any"),
        ("c/any/2/timetable", "c/any"),
        ("b", "c/any/2/timetable"),
        ("c/any/3/timetable", "c/any"),
        ("x-drop://c", "c/any/3/timetable"),
    }
    assert upstream_edges(spec.assets)["c"] == ("a", "b")


def test_a_uri_that_an_asset_writes_is_that_asset():
    graph = build_graph(
        project(source("a"), asset("b", schedule=Schedule(None, parse_condition({"uri": "x-a"}, clock), "x-a")))
    )
    assert graph.edges == (GraphEdge("a", "b", "triggers"),)


def test_a_uri_that_two_assets_write_is_both():
    twin = replace(source("twin"), uri="x-a")
    both = asset("b", schedule=Schedule(None, parse_condition({"uri": "x-a"}, clock), "x-a"))
    assert build_graph(project(source("a"), twin, both)).edges == (
        GraphEdge("a", "b", "triggers"),
        GraphEdge("twin", "b", "triggers"),
    )


def test_a_graph_as_a_document():
    assert graph_document(build_graph(project(source("a"), asset("b", "a")))) == {
        "nodes": [{"id": "a", "label": "a", "kind": "source"}, {"id": "b", "label": "b", "kind": "asset"}],
        "edges": [{"from": "a", "to": "b", "kind": "reads", "gates": []}],
    }
