"""Runs whose work the caller does in its own code; the driver only claims, waits and records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sparkassets.core.spec.model import ProjectSpec
from sparkassets.ports import Engine, RunComputation, RunOrder
from sparkassets.processes import Process
from sparkassets.spark.context import Context, make_context
from sparkassets.spark.inlet_reader import ReadInlets
from sparkassets.spark.self_writing import SelfWritingComputation

Attend = Callable[[Context], None]
"""Called when a run has begun; returns, or raises, when its work has ended."""


class AttendedEngine:
    """Waits for work that is done elsewhere; implements `ports.Engine`.

    Args:
        project: The project of the runs.
        attend: Waits for the work.
        give_up: Called when a run is cancelled.
        engine: Computes everything else; started only if needed.
    """

    def __init__(self, project: ProjectSpec, attend: Attend, give_up: Callable[[], None], engine: Engine) -> None:
        self._project = project
        self._attend = attend
        self._give_up = give_up
        self._engine = engine

    def start(self) -> None:
        """Does nothing: the work brings what it needs."""

    def processes(self) -> Sequence[Process]:
        """The processes of the engine."""
        return self._engine.processes()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Returns the run with no work done yet."""
        del attempt
        context = make_context(order, watermark=None, project=self._project)
        return SelfWritingComputation(order, context, ReadInlets(), partial(self._attend, context))

    def cancel(self, run: str) -> None:
        """Stops waiting for the work."""
        self._give_up()
        self._engine.cancel(run)

    def close(self) -> None:
        """Closes the engine."""
        self._engine.close()
