"""The processes in which Spark may commit for this driver."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import psutil

from sparkassets.processes import Process, read_start_time


def find_jvms() -> Sequence[Process]:
    """The JVM processes below or above this process.

    Spark's is a child of Python, or under ``spark-submit`` its parent.
    """
    own = psutil.Process()
    found = []
    for process in [*own.children(recursive=True), *own.parents()]:
        with contextlib.suppress(psutil.Error):
            if process.name() in {"java", "java.exe"}:
                found.append((process.pid, read_start_time(process.pid)))
    return found
