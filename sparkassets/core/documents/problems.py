"""The problems of a project's files, as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkassets.errors import SpecProblem


def problems_document(problems: Sequence[SpecProblem]) -> list[dict[str, Any]]:
    """One object a problem; line and column count from 1, 0 means the whole file."""
    return [
        {
            "file": problem.location.file,
            "line": problem.location.line,
            "column": problem.location.column,
            "message": problem.message,
            "hint": problem.hint,
        }
        for problem in problems
    ]
