"""The command line: parses, calls, prints, returns; one file a command, loaded when it is invoked.

The result of a command goes to stdout, as a table for people (to be piped into `less`) or with ``--json`` as one
document. Everything else goes to stderr: progress, the summary of `run` and `backfill`, errors; stdout is then left to
the output of people's own functions, which with ``--json`` goes to stderr as well. Errors are a document, too:
``{"error": {"message", "hint"}}``.
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading
from collections.abc import Sequence

OBJECTS_BETWEEN_LOOKS = 300_000
"""After so many new objects Python looks for garbage, where the process is ours: what a start loads all stays, and
looking through it after every 700 takes some hundredths of the time."""


def main(args: Sequence[str] | None = None) -> int:
    """Runs one command.

    Called without arguments it is the process's entry point: it takes the process's arguments, and leaves by
    `SystemExit` when the exit code is not 0 (a Databricks wheel task ignores what an entry point returns, and takes
    ``SystemExit(0)`` for a failure).

    Args:
        args: What follows the program's name, such as ``["run", "--project", "conf"]``.

    Returns:
        The exit code (docs/operations.md#exit-codes).
    """
    if args is None:
        gc.set_threshold(OBJECTS_BETWEEN_LOOKS)
        atexit.register(gc.freeze)  # or Python would search everything for garbage once more, only to end
    from sparkassets.cli.app import run_command  # after the lines above, as it loads most modules

    before = threading.enumerate()  # threads of the caller, which the end does not wait for
    code = run_command(sys.argv[1:] if args is None else args)
    if args is None:
        if threading.active_count() > 1:
            from sparkassets.cli.app import end_in_time

            end_in_time(code, before=before)
        if code:
            raise SystemExit(code)
    return code
