"""The output of ``--json``: one document, made of plain values."""

from __future__ import annotations

import json
import sys

from sparkassets.core.phrases import escape_invisible


def print_json(document: object) -> None:
    """Prints one document and a line end on stdout."""
    sys.stdout.write(json_text(document))


def json_text(document: object) -> str:
    """One document and a line end."""
    return escape_invisible(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"
