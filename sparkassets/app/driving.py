"""Doing: runs what is due, and computes a stretch of time again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self

from sparkassets.app.adapters import Adapters
from sparkassets.app.looking import Looking
from sparkassets.app.selection import Selection
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkassets.app.backfilling import BackfillRequest
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.journal.state import State
    from sparkassets.core.partitions import PartitionSet
    from sparkassets.core.results import Summary
    from sparkassets.ports import Engine, Outlets
    from sparkassets.runtime.driver import Driver
    from sparkassets.runtime.progress import Progress
    from sparkassets.runtime.watching import Watcher
    from sparkassets.runtime.work import Work


class Driving(Looking):
    """What a project can be told to compute.

    A Spark session that it starts is kept for the next run; `close`, or the end of a ``with``, stops it.
    """

    def __init__(self, spec: ProjectSpec, adapters: Adapters) -> None:
        super().__init__(spec, adapters)
        self._driver: Driver | None = None
        self._computing: tuple[Engine, Outlets] | None = None
        self._watchers: list[Watcher] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the Spark session that runs started; never one that was there before."""
        if self._computing is not None:
            self._computing[0].close()
            self._computing = None
        self._adapters.close()

    def connect(self, spark: SparkSession | None = None) -> Self:
        """Has a session look at the tables in catalogs from now on: this one, else the active one, else a new one.

        Raises:
            SparkUnavailableError: It cannot be started.
        """
        self._ready(spark)[0].start()
        return self

    def watch(self, watcher: Watcher) -> None:
        """Has a watcher told of all invocations from here on."""
        self._watchers.append(watcher)

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        at: datetime | str | None = None,
        select: Selection = None,
        progress: Progress | None = None,
        check: bool = True,
        over_budget: bool = False,
    ) -> Summary:
        """Runs what is due until nothing is.

        Args:
            spark: The session to run in; None takes the active one, else starts one when something is due.
            at: Fixes the planner's now.
            select: Assets that may run; None means all.
            progress: Is told what happens.
            check: Whether a failure is raised; without, look at the summary's ``ok``.
            over_budget: Also what is over its asset's budget.

        Raises:
            RunFailedError: A run failed, a source could not be looked at, or something waits for a person to act; it
                holds the summary.
            StateError: The state cannot be used.
            SparkUnavailableError: Something is due and Spark cannot be started.
        """
        from sparkassets.runtime.work import Tick

        return self._drive(
            [Tick(self.selected(select))], spark, at=at, progress=progress, check=check, over_budget=over_budget
        )

    def backfill(
        self,
        request: BackfillRequest,
        spark: SparkSession | None = None,
        *,
        at: datetime | str | None = None,
        progress: Progress | None = None,
        check: bool = True,
        over_budget: bool = False,
    ) -> Summary:
        """Computes what is missing or stale in a stretch of time, or all of it by force; or rebuilds the table.

        Raises:
            InputError: It makes no sense for the asset, or a rebuild would lose what cannot be computed again.
            RunFailedError: As of `run`.
        """
        from sparkassets.app.backfilling import backfill_of, refuse_without_run
        from sparkassets.core.spec.graph import descendants
        from sparkassets.runtime.work import Tick

        self._lend(spark)
        if request.rebuild:
            refuse_without_run(self.plan_backfill(request, at=at, over_budget=over_budget))
        asset = self.runnable(request.asset, "backfill")
        if asset.runs_elsewhere:
            hint = "start its job, which records itself by `project.run_of`"
            raise InputError(f"asset {asset.name!r} has no code here: its own job runs it", hint=hint)
        if asset.partitioning.is_open:
            asset = self._context(at=at).asset(asset.name)
        works: list[Work] = [backfill_of(asset, request)]
        if request.downstream:
            works.append(Tick(descendants(self.spec.assets, request.asset)))
        return self._drive(works, spark, at=at, progress=progress, check=check, over_budget=over_budget)

    def give_up(self, asset: str) -> PartitionSet:
        """Gives up what is left of the asset's forced backfills: nobody goes on with it; returns what that is.

        Raises:
            InputError: There is no such asset.
        """
        from sparkassets.core.journal.requests import BackfillEntry
        from sparkassets.core.partitions import NOTHING, PartitionSet

        self.runnable(asset, "backfill --give-up")
        given_up: list[PartitionSet] = []

        def decide(state: State) -> Sequence[Entry]:
            known = state.assets.get(asset)
            given_up[:] = [each.left for each in known.redo] if known is not None else []
            return [BackfillEntry(asset, NOTHING, PartitionSet.union(given_up))] if given_up else []

        with self._opened("backfill") as ledger:
            ledger.commit(decide)
        return PartitionSet.union(given_up)

    def stop(self) -> bool:
        """Asks a `run` in progress to cancel its runs, record that, and return; safe in a signal handler.

        Returns whether one was in progress.
        """
        driver = self._driver
        if driver is not None:
            driver.stop()
        return driver is not None

    def _drive(
        self,
        works: Sequence[Work],
        spark: SparkSession | None,
        *,
        at: datetime | str | None,
        progress: Progress | None,
        check: bool,
        over_budget: bool,
        computing: Callable[[], tuple[Engine, Outlets]] | None = None,
    ) -> Summary:
        """Does the works; what ``computing`` makes once something is due is started, Spark by default."""
        from sparkassets.app.keys import summary_with_keys
        from sparkassets.runtime.driver import Driver, DriverIdentity
        from sparkassets.runtime.progress import RunFailedError, Silent
        from sparkassets.runtime.watching import Watched

        for work in works:
            for name in work.select or ():
                self.asset(name)
        fixed, given = self._fixed(at), self._adapters
        self._volumes = self._feeds = None
        self._lend(spark)
        given.check_storage()  # links may have come since the project was loaded
        given.store.create(project=self.spec.name)
        watched = Watched(progress or Silent(), [*given.watchers(), *self._watchers])
        driver = Driver(
            project=self.spec,
            ledger=self._ledger("run"),
            computing=computing or (lambda: self._ready(spark)),
            observer=given.observer,
            targets=given.targets(),
            leases=given.leases(),
            clock=given.clock,
            ids=given.ids,
            identity=DriverIdentity(given.process(), given.ids.invocation_id()),
            progress=watched,
            explain_failure=given.explain_failure,
            at=fixed,
            weigh=self._weigh,
            told=self._told_changes,
            stored=given.stored,
            over_budget=over_budget,
        )
        self._driver = driver
        try:
            with self._telling(), watched.invocation() as ending:
                summary = ending.summary = summary_with_keys(driver.run(works), self.spec)
                ending.state = driver.ledger.state
        finally:
            self._driver = None
        if check and summary.failures:
            raise RunFailedError(summary)
        return summary

    def _lend(self, spark: SparkSession | None) -> None:
        """The session is the state's, too, where a session keeps it."""
        if spark is not None:
            self._adapters.lend(spark)

    def _ready(self, spark: SparkSession | None) -> tuple[Engine, Outlets]:
        if self._computing is None or spark is not None:
            self._computing = self._adapters.computing(spark)
        return self._computing

    def _unstarted(self, spark: SparkSession | None) -> tuple[Engine, Outlets]:
        """The same with an engine that is not started before it is used."""
        from sparkassets.runtime.lazy import LazyEngine

        engine, outlets = self._ready(spark)
        return LazyEngine(engine), outlets
