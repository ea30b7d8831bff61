"""Runs whose work is done by whoever asked for them, in code of their own: the driver claims, waits and records."""

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
"""Is told that a run has begun, and returns or raises once its work has ended."""


class AttendedEngine:
    """Has the work of runs done elsewhere; implements `ports.Engine`.

    Args:
        project: Whose runs.
        attend: Waits for the work.
        give_up: Is told that a run is cancelled.
        engine: Computes what else is to be computed, and is started with that only.
    """

    def __init__(self, project: ProjectSpec, attend: Attend, give_up: Callable[[], None], engine: Engine) -> None:
        self._project = project
        self._attend = attend
        self._give_up = give_up
        self._engine = engine

    def start(self) -> None:
        """Nothing: the work has what it needs."""

    def processes(self) -> Sequence[Process]:
        """Those of the engine."""
        return self._engine.processes()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """The run, with nothing done of it yet."""
        del attempt
        context = make_context(order, watermark=None, project=self._project)
        return SelfWritingComputation(order, context, ReadInlets(), partial(self._attend, context))

    def cancel(self, run: str) -> None:
        """Nobody waits for the work any more."""
        self._give_up()
        self._engine.cancel(run)

    def close(self) -> None:
        """As the engine does."""
        self._engine.close()
