"""The tree that `explain` draws."""

import io

from sparkassets.cli.output import Terminal, render_tree
from sparkassets.core.planner.explain.explanation_nodes import ExplanationNode

NODE = ExplanationNode(
    "delays",
    holds=True,
    children=(
        ExplanationNode("runs now 2025-01-01..2025-01-07: 7 partitions missing", holds=True),
        ExplanationNode(
            "schedule: flights",
            children=(ExplanationNode("flights: event 4 at 2025-01-08T00:00Z, not used yet", holds=False),),
        ),
        ExplanationNode("never ran"),
    ),
)


def drawn(**terminal):
    return list(render_tree(NODE, Terminal(io.StringIO(), **terminal)))


def test_ticks_speak_for_running_and_crosses_against():
    assert drawn() == [
        "✓ delays",
        "├─ ✓ runs now 2025-01-01..2025-01-07: 7 partitions missing",
        "├─ schedule: flights",
        "│  └─ ✗ flights: event 4 at 2025-01-08T00:00Z, not used yet",
        "└─ never ran",
    ]


def test_a_long_line_goes_on_under_its_branch():
    assert drawn(width=44) == [
        "✓ delays",
        "├─ ✓ runs now 2025-01-01..2025-01-07: 7",
        "│    partitions missing",
        "├─ schedule: flights",
        "│  └─ ✗ flights: event 4 at",
        "│       2025-01-08T00:00Z, not used yet",
        "└─ never ran",
    ]


def test_an_encoding_without_lines_gets_letters():
    assert drawn(unicode=False)[1:4] == [
        "|- + runs now 2025-01-01..2025-01-07: 7 partitions missing",
        "|- schedule: flights",
        "|  `- - flights: event 4 at 2025-01-08T00:00Z, not used yet",
    ]


def test_colour():
    assert drawn(colour=True)[0] == "\x1b[32m✓ \x1b[0mdelays"
    assert (
        drawn(colour=True)[3]
        == "\x1b[2m│  └─ \x1b[0m\x1b[31m✗ \x1b[0mflights: event 4 at 2025-01-08T00:00Z, not used yet"
    )
