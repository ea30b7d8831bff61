"""An engine that is started by whoever uses it: what needs none of it goes without."""

from __future__ import annotations

from collections.abc import Sequence

from sparkassets.ports import Engine, RunComputation, RunOrder
from sparkassets.processes import Process


class LazyEngine:
    """Another engine, which is not started before it computes; implements `ports.Engine`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(self) -> None:
        """Nothing yet."""

    def processes(self) -> Sequence[Process]:
        """Those of the engine."""
        return self._engine.processes()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """As the engine does, which starts itself where it needs to."""
        return self._engine.compute(order, attempt=attempt)

    def cancel(self, run: str) -> None:
        """As the engine does."""
        self._engine.cancel(run)

    def close(self) -> None:
        """As the engine does."""
        self._engine.close()
