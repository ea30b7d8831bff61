"""`WorkRunner`: runs the works of one project, each invocation by a new driver, all in one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sparkassets.app.context import ProjectContext
from sparkassets.frozen import frozen
from sparkassets.ports import Engine, RunComputation, RunOrder
from sparkassets.processes import Process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.core.results import Summary
    from sparkassets.ports import TargetFactory
    from sparkassets.runtime.driver import Driver
    from sparkassets.runtime.driver_work import DriverWork
    from sparkassets.runtime.progress import InvocationWatcher, Progress


@frozen
class RunOptions:
    """What a person asks for besides the work of an invocation.

    Attributes:
        over_budget: Whether runs may exceed their asset's budget.
        max_parallel: How many run at the same time; None takes the project's ``max_parallel_runs``.
        reason: Why; follows the reason of each run, with the person's name.
    """

    over_budget: bool = False
    max_parallel: int | None = None
    reason: str = ""


USUAL_OPTIONS = RunOptions()


class WorkRunner:
    """Runs the works of a project.

    Attributes:
        watchers: Are told of all invocations, besides those that the project asks for.
    """

    def __init__(self, context: ProjectContext) -> None:
        self.watchers: list[InvocationWatcher] = []
        self._context = context
        self._driver: Driver | None = None
        self._engine: tuple[Engine, TargetFactory] | None = None

    def run(
        self,
        works: Sequence[DriverWork],
        spark: SparkSession | None,
        *,
        at: datetime | str | None = None,
        progress: Progress | None = None,
        check: bool = True,
        options: RunOptions = USUAL_OPTIONS,
        open_engine: Callable[[], tuple[Engine, TargetFactory]] | None = None,
    ) -> Summary:
        """Runs the works in one invocation.

        Args:
            works: What to do, in order.
            spark: The session; None takes the active one, else starts one when something is due.
            at: Fixes the planner's now.
            progress: Called at plans, starts and ends of runs.
            check: Whether a failure is raised.
            options: What a person asks for besides.
            open_engine: Makes the engine and the targets once something is due; Spark by default.

        Raises:
            RunFailedError: Something failed, and ``check`` is on; it holds the summary.
        """
        from sparkassets.app.context import summary_with_keys
        from sparkassets.runtime.driver import Driver, DriverIdentity
        from sparkassets.runtime.progress import RunFailedError, SilentProgress, WatchedProgress

        context, adapters = self._context, self._context.adapters
        if context.scope is not None:
            works = context.scope.begin(works)
        self._check_selection(works)
        fixed_now = context.parse_time(at)
        context.forget_volumes()
        self.lend(spark)
        adapters.check_storage()  # links may have come since the project was loaded
        adapters.store.create(project=context.spec.name)
        watched = WatchedProgress(progress or SilentProgress(), [*adapters.make_watchers(), *self.watchers])
        driver = Driver(
            project=context.spec,
            ledger=context.make_ledger("run"),
            open_engine=open_engine or (lambda: self.open_engine(spark)),
            find_observer=adapters.find_observer,
            targets=adapters.make_target_observer(),
            leases=adapters.make_lease_monitor(),
            clock=adapters.clock,
            ids=adapters.ids,
            identity=DriverIdentity(
                adapters.process_name(), adapters.ids.invocation_id(), context.sign_reason(options.reason)
            ),
            progress=watched,
            explain_failure=adapters.explain_failure,
            fixed_now=fixed_now,
            estimate_volume=None if options.over_budget else context.estimate_volume,
            check_availability=context.check_changes,
            stored_columns=adapters.read_columns,
            max_parallel=options.max_parallel,
        )
        self._driver = driver
        try:
            with context.wait_for_sinks(), watched.watch_invocation() as ending:
                summary = ending.summary = summary_with_keys(driver.run_works(works), context.spec)
                adapters.end_invocation(driver.ledger)
                ending.state = driver.ledger.state
            if context.scope is not None:
                context.scope.end(summary)
        finally:
            self._driver = None
        if check and summary.failures:
            raise RunFailedError(summary)
        return summary

    def _check_selection(self, works: Sequence[DriverWork]) -> None:
        """Raises for a selected asset that the project does not have."""
        for work in works:
            for name in work.select or ():
                self._context.spec.asset(name)

    def stop(self) -> bool:
        """Asks an invocation in progress to end; returns whether one was."""
        driver = self._driver
        if driver is not None:
            driver.stop()
        return driver is not None

    def lend(self, spark: SparkSession | None) -> None:
        """Makes this session the state's as well, if the state needs one; does nothing without a session."""
        if spark is not None:
            self._context.adapters.lend_session(spark)

    def open_engine(self, spark: SparkSession | None) -> tuple[Engine, TargetFactory]:
        """The engine for this session, and the factory of targets; without a session, those of the last call."""
        if self._engine is None or spark is not None:
            self._engine = self._context.adapters.open_engine(spark)
        return self._engine

    def open_lazy_engine(self, spark: SparkSession | None) -> tuple[Engine, TargetFactory]:
        """As `open_engine`, but the engine starts only when it computes: some runs only commit."""
        engine, targets = self.open_engine(spark)
        return LazyEngine(engine), targets

    def close(self) -> None:
        """Stops the Spark session that runs started; never one that was there before."""
        if self._engine is not None:
            self._engine[0].close()
            self._engine = None
        self._context.adapters.close()


class LazyEngine:
    """Wraps an engine so that it starts only when it computes; implements `ports.Engine`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(self) -> None:
        """Does nothing: the engine starts when it computes."""

    def processes(self) -> Sequence[Process]:
        """The processes of the wrapped engine."""
        return self._engine.processes()

    def compute(self, order: RunOrder, *, attempt: int) -> RunComputation:
        """Computes by the engine, which starts if it has not."""
        return self._engine.compute(order, attempt=attempt)

    def cancel(self, run: str) -> None:
        """Cancels by the engine."""
        self._engine.cancel(run)

    def close(self) -> None:
        """Closes the engine."""
        self._engine.close()
