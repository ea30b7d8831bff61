"""The processes that may write for this driver."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import psutil


def writing_processes() -> Sequence[tuple[int, float]]:
    """This process first, then the JVMs below or above it, as (pid, creation time in seconds since 1970).

    Spark's JVM is a child of Python, or under ``spark-submit`` its parent.
    """
    own = psutil.Process()
    related = [*own.children(recursive=True), *own.parents()]
    found = [(own.pid, own.create_time())]
    for process in related:
        with contextlib.suppress(psutil.Error):
            if process.name() in {"java", "java.exe"}:
                found.append((process.pid, process.create_time()))
    return found
