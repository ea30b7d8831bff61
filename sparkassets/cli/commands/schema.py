"""``sparkassets schema``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.options import json_option
from sparkassets.cli.output import json_text, print_json
from sparkassets.errors import InputError


@click.command("schema")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file instead of stdout.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a reference of all keys in Markdown instead.")
@json_option
def command(out: Path | None, as_markdown: bool, as_json: bool) -> None:
    """Print the JSON Schema of a project's files, for use in editors.

    The output is JSON with or without --json.
    """
    from sparkassets.core.spec.file_schema import json_schema, render_markdown

    text = render_markdown() if as_markdown else json_text(json_schema())
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(out)!r}: {error.strerror}", topic="output-not-writable") from error
    if as_json:
        print_json({"out": str(out)})
    else:
        sys.stderr.write(f"wrote {out}\n")
