"""The command line: parse, call, print, return; one file a command, loaded when it is invoked.

What a command was asked for goes to stdout, as a table for people (to be piped into `less`) or with ``--json`` as one
document. Everything else goes to stderr: progress, the summary of `run` and `backfill`, errors; stdout is then left to
what people's own functions print, and with ``--json`` even that is moved to stderr. Errors are a document, too:
``{"error": {"message", "hint"}}``.
"""

from __future__ import annotations

from sparkassets.cli.app import main

__all__ = ["main"]
