"""A driver as a process of its own that stops at one moment of its run: ``crashing.py PROJECT ASSET MOMENT MARKER``.

The project, its journal, Spark and the target are real. When the moment has come the process writes the file MARKER and
does nothing more, so that whoever waits for that file can kill it there. (For ``writing`` the marker is a file
``writing-*`` in the JVM's folder for temporary files, as a task has no other means.)
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import sparkassets.spark
from sparkassets import Project
from sparkassets.core.results import RunResult
from sparkassets.ports import CommitMarker, Computation, RunOrder
from sparkassets.runtime.progress import Silent
from sparkassets.spark import SparkEngine
from sparkassets.spark.computation import SparkComputation

Moment = Literal["claimed", "fenced", "computed", "writing", "written", "recorded"]
"""``writing``: a task of Spark's job does not end, while others write their files; ``written``: the commit is in the
target, not in the journal; ``recorded``: it is in both, and the process did not get to its end."""

IN_A_TASK = "java_method('java.io.File', 'createTempFile', 'writing-', '.txt') IS NOT NULL"
"""For every row a file in the JVM's folder for temporary files."""

FOR_EVER = "java_method('java.lang.Thread', 'sleep', 600000L) IS NOT NULL"


def stop_here(marker: str) -> None:
    """Says that the moment has come, and waits to be killed."""
    Path(marker).touch()
    time.sleep(600)


class StoppingEngine(SparkEngine):
    """The real engine, which stops at one moment."""

    def __init__(self, *given: Any, moment: Moment, marker: str) -> None:
        super().__init__(*given)
        self._moment = moment
        self._marker = marker

    def compute(self, order: RunOrder, *, attempt: int) -> Computation:
        self._at("claimed")
        return super().compute(order, attempt=attempt)

    def write(self, order: RunOrder, computation: Computation, *, marker: CommitMarker) -> None:
        self._at("computed")
        if self._moment == "writing" and isinstance(computation, SparkComputation):
            endless = computation.frame.where(f"{IN_A_TASK} AND {FOR_EVER}")
            computation = replace(computation, frame=computation.frame.union(endless))
        super().write(order, computation, marker=marker)
        self._at("written")

    def fence(self, order: RunOrder, computation: Computation | None, *, marker: CommitMarker) -> None:
        super().fence(order, computation, marker=marker)
        self._at("fenced")

    def _at(self, moment: Moment) -> None:
        if moment == self._moment:
            stop_here(self._marker)


class StoppingProgress(Silent):
    """Stops when a run has been recorded."""

    def __init__(self, marker: str) -> None:
        self._marker = marker

    def finished(self, result: RunResult) -> None:
        del result
        stop_here(self._marker)


def main(folder: str, asset: str, moment: Moment, marker: str) -> None:
    sparkassets.spark.SparkEngine = partial(StoppingEngine, moment=moment, marker=marker)  # type: ignore[misc,assignment]
    progress = StoppingProgress(marker) if moment == "recorded" else Silent()
    Project.load(folder).run(select=[asset], progress=progress)


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
