"""``sparkassets graph``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli import diagrams
from sparkassets.cli.json_output import print_json
from sparkassets.cli.options import json_option, open_project, project_option
from sparkassets.cli.terminal import Terminal
from sparkassets.core.documents.graph import build_graph, graph_document


@click.command("graph")
@project_option
@click.option(
    "--format", "form", type=click.Choice(["text", "mermaid", "dot"]), default="text", show_default=True, help="How."
)
@json_option
def command(folder: Path, form: str, as_json: bool) -> int:
    """Show assets, what they read and what triggers them, with conditions and what holds of inlets as gates.

    With --json: {nodes: [{id, label, kind}], edges: [{from, to, kind, gates}]}.
    """
    project = open_project(folder).spec
    if as_json:
        print_json(graph_document(build_graph(project)))
        return 0
    match form:
        case "mermaid":
            lines = diagrams.render_mermaid(build_graph(project))
        case "dot":
            lines = diagrams.render_dot(build_graph(project))
        case _:
            lines = diagrams.render_text(project)
    Terminal.from_stream(sys.stdout).print(*lines)
    return 0
