"""The asset graph as nodes and edges."""

from dataclasses import replace

from sparkassets.core.conditions.parse import parse_condition
from sparkassets.core.documents.graph import Edge, Node, graph_document, graph_of
from sparkassets.core.spec.graph import upstream
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
    graph = graph_of(gated())
    assert graph.nodes == (
        Node("a", "a", "source"),
        Node("b", "b", "source"),
        Node("both", "both", "asset"),
        Node("nightly", "nightly", "asset"),
        Node("last", "last", "asset"),
        Node("both/all", "AND", "all"),
        Node("both/all/2/any", "OR", "any"),
        Node("x-drop://inbox", "x-drop://inbox", "dataset"),
        Node("nightly/timetable", "0 6 * * * (UTC)", "timetable"),
    )
    assert graph.edges == (
        Edge("a", "both", "reads"),
        Edge("b", "both", "reads"),
        Edge("both/all", "both", "triggers"),
        Edge("a", "both/all", "triggers"),
        Edge("both/all/2/any", "both/all", "triggers"),
        Edge("b", "both/all/2/any", "triggers"),
        Edge("x-drop://inbox", "both/all/2/any", "triggers"),
        Edge("both", "nightly", "reads"),
        Edge("nightly/timetable", "nightly", "triggers"),
        Edge("nightly", "last", "reads"),
    )


def test_a_timer_leads_from_the_dataset_without_whose_update_it_passes():
    timer = parse_condition(
        {"any": ["a", {"without": "b", "for": "1d"}, {"without": "x-drop://c", "for": "2h"}]}, clock
    )
    spec = project(source("a"), source("b"), asset("c", "a", by=None, schedule=Schedule(None, timer, "…")))
    graph = graph_of(spec)
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
    assert upstream(spec.assets)["c"] == ("a", "b")


def test_a_uri_that_an_asset_writes_is_that_asset():
    graph = graph_of(
        project(source("a"), asset("b", schedule=Schedule(None, parse_condition({"uri": "x-a"}, clock), "x-a")))
    )
    assert graph.edges == (Edge("a", "b", "triggers"),)


def test_a_uri_that_two_assets_write_is_both():
    twin = replace(source("twin"), uri="x-a")
    both = asset("b", schedule=Schedule(None, parse_condition({"uri": "x-a"}, clock), "x-a"))
    assert graph_of(project(source("a"), twin, both)).edges == (
        Edge("a", "b", "triggers"),
        Edge("twin", "b", "triggers"),
    )


def test_a_graph_as_a_document():
    assert graph_document(graph_of(project(source("a"), asset("b", "a")))) == {
        "nodes": [{"id": "a", "label": "a", "kind": "source"}, {"id": "b", "label": "b", "kind": "asset"}],
        "edges": [{"from": "a", "to": "b", "kind": "reads", "gates": []}],
    }
