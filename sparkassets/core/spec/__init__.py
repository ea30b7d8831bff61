"""From the text of a project's files to its compiled model, with every problem at its place."""

from __future__ import annotations

from typing import Any


def json_schema() -> dict[str, Any]:
    """The JSON Schema of project.yml and asset files, told apart by the key ``project``; see `editors`."""
    from sparkassets.core.spec.editor_schema import json_schema

    return json_schema()


def markdown() -> str:
    """Every key of these files as Markdown; see `reference`."""
    from sparkassets.core.spec.key_reference import render_markdown

    return render_markdown()
