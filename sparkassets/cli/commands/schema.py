"""``sparkassets schema``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sparkassets.cli.documents import print_json
from sparkassets.cli.options import json_option
from sparkassets.errors import InputError


@click.command("schema")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write it there instead of to stdout.")
@json_option
def command(out: Path | None, as_json: bool) -> int:
    """Print the JSON Schema of a project's files, for editors.

    It is JSON with or without --json.
    """
    from sparkassets.core.spec import json_schema

    schema = json_schema()
    if out is None:
        print_json(schema)
        return 0
    try:
        with out.open("w", encoding="utf-8") as file:
            print_json(schema, file)
    except OSError as error:
        raise InputError(f"cannot write {str(out)!r}: {error.strerror}") from error
    if as_json:
        print_json({"out": str(out)})
    else:
        sys.stderr.write(f"wrote {out}\n")
    return 0
