"""The asset graph as text, Mermaid and DOT."""

from dataclasses import replace

import pytest

from sparkassets.cli.commands.graph import render_dot, render_mermaid, render_text
from sparkassets.core.conditions.parsing import parse_condition
from sparkassets.core.documents.graph import GraphEdge, GraphNode, build_graph
from sparkassets.core.instants import Duration
from sparkassets.core.partitions import WindowMapping
from sparkassets.core.spec.model import InletSpec, PartitionRequirement, ReadAfter, Schedule, SourceSpec
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


def test_a_time_in_a_condition_is_a_node_before_its_gate():
    condition = parse_condition({"any": ["0 6 * * *", {"all": ["@hourly", "a"]}]}, clock)
    found = project(source("a"), asset("b", by=None, schedule=Schedule(None, condition, condition.text())))
    graph = build_graph(found)
    assert graph.nodes[2:] == (
        GraphNode("b/any", "OR", "any"),
        GraphNode("b/any/1/timetable", "0 6 * * * (UTC)", "timetable"),
        GraphNode("b/any/2/all", "AND", "all"),
        GraphNode("b/any/2/all/1/timetable", "@hourly (UTC)", "timetable"),
    )
    assert graph.edges == (
        GraphEdge("b/any", "b", "triggers"),
        GraphEdge("b/any/1/timetable", "b/any", "triggers"),
        GraphEdge("b/any/2/all", "b/any", "triggers"),
        GraphEdge("b/any/2/all/1/timetable", "b/any/2/all", "triggers"),
        GraphEdge("a", "b/any/2/all", "triggers"),
    )
    assert list(render_text(found))[2:] == [
        "  runs when",
        "    any of",
        "      a tick has passed of 0 6 * * * (UTC)",
        "      all of",
        "        a tick has passed of @hourly (UTC)",
        "        a was updated",
    ]
    assert '  "b/any/1/timetable" [label="0 6 * * * (UTC)", shape=oval];' in render_dot(graph)
    assert '  n3(["0 6 * * * (UTC)"])' in render_mermaid(graph)


def test_mermaid():
    assert list(render_mermaid(build_graph(gated()))) == [
        "flowchart LR",
        '  n0[("a")]',
        '  n1[("b")]',
        '  n2["both"]',
        '  n3["nightly"]',
        '  n4["last"]',
        '  n5{{"AND"}}',
        '  n6{{"OR"}}',
        '  n7[/"x-drop://inbox"/]',
        '  n8(["0 6 * * * (UTC)"])',
        "  n0 --> n2",
        "  n1 --> n2",
        "  n5 -.-> n2",
        "  n0 -.-> n5",
        "  n6 -.-> n5",
        "  n1 -.-> n6",
        "  n7 -.-> n6",
        "  n2 --> n3",
        "  n8 -.-> n3",
        "  n3 --> n4",
    ]


def test_dot():
    graph = build_graph(project(source("a"), asset("b", InletSpec("a", "", None, waits_only=True))))
    assert list(render_dot(graph)) == [
        "digraph assets {",
        "  rankdir=LR;",
        '  "a" [label="a", shape=cylinder];',
        '  "b" [label="b", shape=box];',
        '  "a" -> "b" [style=dashed];',
        "}",
    ]


def test_text_tells_what_is_read_how_and_when():
    lines = list(render_text(gated()))
    assert lines[:2] == ["a  (delta source, by day in UTC)", "b  (delta source, by day in UTC)"]
    assert lines[2:11] == [
        "both  (by day in UTC, date_range, replace)",
        "  reads a",
        "  reads b",
        "  runs when",
        "    all of",
        "      a was updated",
        "      any of",
        "        b was updated",
        "        x-drop://inbox was updated",
    ]
    assert lines[11:13] == ["nightly  (by day in UTC, date_range, replace)", "  reads both"]
    assert lines[13] == "  runs by the timetable 0 6 * * * (UTC)"


def test_text_tells_the_options_of_inlets():
    week = WindowMapping.trailing(Duration(days=7))
    around = WindowMapping(Duration(days=-6), Duration())
    found = project(
        source("a"),
        asset("trailing", InletSpec("a", "", week)),
        asset("around", InletSpec("a", "", around, on_update="ignore")),
        asset(
            "after",
            InletSpec("a", "", None, PartitionRequirement("any"), read=ReadAfter("seen_at"), waits_only=True),
            by=None,
        ),
        replace(asset("manual"), paused=True),
    )
    assert list(render_text(found))[1:] == [
        "trailing  (by day in UTC, date_range, replace)",
        "  reads a (window 7d)",
        "around  (by day in UTC, date_range, replace)",
        "  reads a (window [-6d, 0s], its updates make nothing stale)",
        "  runs only by hand",
        "after  (full_refresh, replace)",
        "  waits for a (only after the highest seen_at)",
        "manual  (by day in UTC, date_range, replace, paused)",
        "  runs only by hand",
    ]


@pytest.mark.parametrize(
    ("of", "by", "options", "gates"),
    [
        ("daily", "day", {"require": PartitionRequirement("at_least", 5)}, ["require at_least 5"]),
        ("daily", "day", {"require": PartitionRequirement("any")}, ["require any"]),
        ("daily", None, {"require": PartitionRequirement("none")}, ["require none"]),
        ("daily", None, {"require": PartitionRequirement("any")}, []),
        ("whole", None, {}, []),
        (
            "daily",
            "day",
            {
                "aligned": True,
                "fresh_within": Duration(days=30),
                "tolerance": Duration(seconds=6 * 3600),
                "settle_seconds": 900,
            },
            [
                "the run of the same tick, or the last one before it",
                "fresh within 30d",
                "waited for at most 6h past due",
                "quiet for 15m",
            ],
        ),
    ],
)
def test_gates_of_inlets_are_in_each_form(of, by, options, gates):
    def gates_in_each_form(*, waits_only: bool) -> tuple[str, str, str]:
        upstream = source(of, by="day" if of == "daily" else None)
        found = project(upstream, asset("x", InletSpec(of, "", None, waits_only=waits_only, **options), by=by))
        graph = build_graph(found)
        assert [edge.gates for edge in graph.edges] == [tuple(gates)]
        return list(render_text(found))[2], list(render_mermaid(graph))[-1], list(render_dot(graph))[-2]

    label = f'"{"<br/>".join(gates)}"'
    said = ", label=" + '"' + "\\n".join(gates) + '"' if gates else ""
    assert gates_in_each_form(waits_only=False) == (
        f"  reads {of} ({', '.join(gates)})" if gates else f"  reads {of}",
        f"  n0 -->|{label}| n1" if gates else "  n0 --> n1",
        f'  "{of}" -> "x" [style=solid{said}];',
    )
    waits = f'"{"<br/>".join(["waits", *gates])}"'
    assert gates_in_each_form(waits_only=True)[1:] == (
        f"  n0 -->|{waits}| n1",
        f'  "{of}" -> "x" [style=dashed{said}];',
    )


def test_a_source_that_only_events_tell_of():
    told = replace(source("a", by=None), source=SourceSpec("events"))
    assert list(render_text(project(told))) == ["a  (source)"]
