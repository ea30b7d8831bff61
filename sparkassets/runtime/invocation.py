"""What the parts of one driver share, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable

from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen
from sparkassets.ports import Clock, Engine, TargetFactory
from sparkassets.runtime.active_runs import ActiveRuns
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.progress import Progress


class EngineStarter:
    """Starts the engine at the first call of `start`.

    Args:
        open_engine: Makes the engine, and the factory of the targets that it writes.
        name: The engine's, for people.
        progress: Is called before the engine starts, because that takes seconds.
    """

    def __init__(
        self, open_engine: Callable[[], tuple[Engine, TargetFactory]], *, name: str, progress: Progress
    ) -> None:
        self._open_engine = open_engine
        self._name = name
        self._progress = progress
        self._started: tuple[Engine, TargetFactory] | None = None

    @property
    def is_started(self) -> bool:
        """Whether the engine was started in this invocation."""
        return self._started is not None

    def start(self) -> tuple[Engine, TargetFactory]:
        """The started engine, and the factory of the targets that it writes.

        Raises:
            SparkUnavailableError: Spark cannot be started.
        """
        if self._started is None:
            self._progress.starting(self._name)
            engine, targets = self._open_engine()
            engine.start()
            self._started = engine, targets
        return self._started


@frozen
class Invocation:
    """One start of a driver.

    Attributes:
        name: Differs for every start of a driver; a failed partition is tried once per invocation.
        requested_by: Who asked for its runs and why, as ``ann: a bad load``; empty where no reason was given.
        active: Its claimed runs.
        engine: Starts Spark once something needs it.
    """

    name: str
    project: ProjectSpec
    ledger: JournalLedger
    leases: LeaseMonitor
    active: ActiveRuns
    engine: EngineStarter
    clock: Clock
    progress: Progress
    requested_by: str = ""
