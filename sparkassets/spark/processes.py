"""The processes that may write for this driver."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import psutil

from sparkassets.processes import Process, started, this_process


def writing_processes() -> Sequence[Process]:
    """This process first, then the JVMs below or above it.

    Spark's JVM is a child of Python, or under ``spark-submit`` its parent.
    """
    own = psutil.Process()
    related = [*own.children(recursive=True), *own.parents()]
    found = [this_process()]
    for process in related:
        with contextlib.suppress(psutil.Error):
            if process.name() in {"java", "java.exe"}:
                found.append((process.pid, started(process.pid)))
    return found
