"""The driver: looks, plans, claims, waits and records, until nothing is due.

One thread owns the journal and decides; every run has a thread of its own that executes the run protocol
(`sparkassets.runtime.execution`). A run that ends is recorded at once and its consumers are planned at once, so
independent branches never wait for each other. The parts of a decision are apart:

- `sparkassets.runtime.invocation_observer`: what changed in sources and tables;
- `sparkassets.runtime.driver_work`: which runs are due; `sparkassets.runtime.requested_works`: those asked for;
- `sparkassets.runtime.claims`: which of them are claimed, and `sparkassets.runtime.run_orders`: what they compute;
- `sparkassets.runtime.active_runs`: how many of a wave run at once, and which share a commit;
- `sparkassets.runtime.recovery`: what becomes of runs whose driver is gone;
- `sparkassets.runtime.run_recorder`: what is recorded of those that ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.state import State
from sparkassets.core.planner.due.idle_ticks import assets_with_idle_ticks, find_idle_ticks
from sparkassets.core.planner.plan import AssetLateness, Plan
from sparkassets.core.planner.planning_context import CheckAvailability, EstimateVolume, PlanningContext
from sparkassets.core.results import Summary
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.frozen import frozen, mutable
from sparkassets.ports import Clock, Engine, IdGenerator, SourceObserver, TargetFactory, TargetObserver
from sparkassets.runtime.active_runs import ActiveRuns
from sparkassets.runtime.invocation import EngineStarter, Invocation
from sparkassets.runtime.invocation_observer import InvocationObserver
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import changed_spec_entries
from sparkassets.runtime.progress import GuardedProgress, Progress

if TYPE_CHECKING:
    from sparkassets.core.derivation.asset_columns import StoredColumns
    from sparkassets.core.journal.entries import Entry
    from sparkassets.core.results import RunResult
    from sparkassets.runtime.claimed_runs import ClaimedRuns
    from sparkassets.runtime.driver_work import DriverWork
    from sparkassets.runtime.run_recorder import ExplainFailure


@frozen
class DriverIdentity:
    """Who drives.

    Attributes:
        driver: Name in the journal, for people.
        invocation: Differs for every start of a driver; a failed partition is tried once per invocation.
        requested_by: Who asked for its runs and why, as ``ann: a bad load``; empty where no reason was given.
    """

    driver: str
    invocation: str
    requested_by: str = ""


@mutable
class Driver:
    """One invocation of the runtime.

    Attributes:
        open_engine: Makes the engine, and the factory of the targets that it writes, once something is due.
        find_observer: Returns what looks at an asset's source; None for an asset without one.
        targets: Looks at the assets' own tables.
        explain_failure: Stores the whole error of a run, and returns what people are shown.
        fixed_now: The planner's now (``--at``); leases and ``settle`` keep the real clock.
        estimate_volume: As of `PlanningContext`.
        check_availability: Says whether the changes that a run would read are available.
        stored_columns: Reads the columns of an asset's table.
        max_parallel: How many run at the same time; None takes the project's ``max_parallel_runs``.
    """

    project: ProjectSpec
    ledger: JournalLedger
    open_engine: Callable[[], tuple[Engine, TargetFactory]]
    find_observer: Callable[[AssetSpec], SourceObserver | None]
    targets: TargetObserver
    leases: LeaseMonitor
    clock: Clock
    ids: IdGenerator
    identity: DriverIdentity
    progress: Progress
    explain_failure: ExplainFailure
    fixed_now: datetime | None = None
    estimate_volume: EstimateVolume | None = None
    check_availability: CheckAvailability | None = None
    stored_columns: StoredColumns | None = None
    max_parallel: int | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _active: ActiveRuns = field(init=False)
    _engine: EngineStarter = field(init=False)
    _observer: InvocationObserver = field(init=False)
    _invocation: Invocation = field(init=False)
    _runs: ClaimedRuns | None = None
    _has_idle_ticks: bool = field(init=False)

    def __post_init__(self) -> None:
        self.progress = GuardedProgress(self.progress)
        invocation = self._invocation = Invocation(
            name=self.identity.invocation,
            requested_by=self.identity.requested_by,
            project=self.project,
            ledger=self.ledger,
            leases=self.leases,
            active=ActiveRuns(
                self.max_parallel or self.project.max_parallel_runs,
                clock=self.clock,
                progress=self.progress,
                stopping=self._stopping,
            ),
            engine=EngineStarter(
                self.open_engine, name=(self.project.engine or "spark").capitalize(), progress=self.progress
            ),
            clock=self.clock,
            progress=self.progress,
        )
        self._active, self._engine = invocation.active, invocation.engine
        self._observer = InvocationObserver(invocation, find_observer=self.find_observer, targets=self.targets)
        self._has_idle_ticks = bool(assets_with_idle_ticks(self.project))

    def stop(self) -> None:
        """Asks the driver to cancel its runs, record that, and end; safe in a signal handler."""
        self._stopping.set()

    def run_works(self, works: Sequence[DriverWork]) -> Summary:
        """Does ``works`` one after the other.

        Raises:
            StateError: The state cannot be used.
            SparkUnavailableError: Something is due and Spark cannot be started; nothing was claimed.
        """
        with self.leases.invocations.register(self.identity.invocation):
            return self._run_works(works)

    def _run_works(self, works: Sequence[DriverWork]) -> Summary:
        """Does the works, then records what only the end of an invocation shows, and makes the summary."""
        self.ledger.open()
        self.ledger.commit(lambda state: changed_spec_entries(self.project, state))
        if self.project.is_in_catalogs:
            self._engine.start()  # only the engine's session sees the tables of a catalog
        plan = Plan(to_unix(self._now()))
        try:
            for work in works:
                if not self._active.is_engine_lost:
                    plan = self._run_until_idle(work)
        finally:
            if self._runs is not None:
                self._runs.shut_down()
        self._record_person_waits(plan)
        late = self._record_lateness()
        self.ledger.maintain(ending=True)
        return self._summarize(plan, late, results=self._runs.finish() if self._runs is not None else ())

    def _summarize(self, plan: Plan, late: tuple[AssetLateness, ...], *, results: tuple[RunResult, ...]) -> Summary:
        """The summary; after an interruption the last plan says nothing about what waits."""
        interrupted = self._stopping.is_set()
        ran = {result.asset for result in results}
        return Summary(
            results,
            waiting=() if interrupted else plan.waiting,
            faults=tuple(self._observer.faults.items()),
            interrupted=interrupted,
            lost=self._active.is_engine_lost,
            notes=() if interrupted else tuple(note for note in plan.notes if note.asset in ran),
            late=late,
        )

    def _record_person_waits(self, plan: Plan) -> None:
        """Records which assets have begun or ceased to wait for a person; sinks notify people of it."""
        is_known = any(known.person_wait for known in self.ledger.state.assets.values())
        has_rules = any(asset.notify for asset in self.project.assets.values())
        if self._stopping.is_set() or not (is_known or has_rules):
            return
        from sparkassets.core.planner.explain.person_waits import find_person_waits, person_wait_changes

        if is_known or find_person_waits(plan):
            self.ledger.refresh()
            self.ledger.commit(lambda state: [*person_wait_changes(self._context(None, state))])

    def _record_lateness(self) -> tuple[AssetLateness, ...]:
        """Returns the assets that are late at the end; records which of them are newly late, or no longer."""
        has_deadlines = any(asset.deadlines is not None for asset in self.project.assets.values())
        if not has_deadlines and not any(known.late for known in self.ledger.state.assets.values()):
            return ()
        from sparkassets.core.planner.explain.lateness import find_all_lateness, lateness_changes

        self.ledger.refresh()
        self.ledger.commit(lambda state: [*lateness_changes(self._context(None, state))])
        return find_all_lateness(self._context(None, self.ledger.state))

    def _run_until_idle(self, work: DriverWork) -> Plan:
        """Runs what is due for the work until nothing is, and nothing new arrives; returns the last plan.

        Sources are looked at again only after runs were claimed: while they ran, others may have written.
        """
        self._observer.observe(work.select)
        self.ledger.commit(lambda state: work.begin(self._context(work, state)))
        progressed = False
        while not self._stopping.is_set() and not self._active.is_engine_lost:
            if not self._active.claimable_count:
                self._claimed_runs().await_ends(work)
                continue
            progressed |= self._claim_due(work)
            if self._active:
                self._claimed_runs().await_ends(work)
            elif progressed:
                self._observer.observe(work.select)  # what landed meanwhile is part of this invocation
                progressed = False
            elif not self._wait_for_lease():
                plan = self._plan(work)
                self._pass_idle_ticks(work)
                return plan
        while self._active.is_engine_lost and self._active.started_count and not self._stopping.is_set():
            self._claimed_runs().await_ends(None)  # what needs no Spark may end well, and the rest fails by itself
        return self._plan(work)

    def _pass_idle_ticks(self, work: DriverWork) -> None:
        """Records the ticks at which nothing was out of date."""
        if not self._has_idle_ticks:
            return

        def decide(state: State) -> Sequence[Entry]:
            context = self._context(work, state)
            work.plan(context)  # fills the context's decisions, which find_idle_ticks reads
            return [*find_idle_ticks(context)]

        self.ledger.commit(decide)

    def _plan(self, work: DriverWork) -> Plan:
        return work.plan(self._context(work, self.ledger.state))

    def _context(self, work: DriverWork | None, state: State) -> PlanningContext:
        """What a plan is made with at ``state``; without a work all assets are selected."""
        return PlanningContext(
            project=self.project,
            state=state,
            now=to_unix(self._now()),
            clock=to_unix(self.clock.now()),
            invocation=self.identity.invocation,
            gone_claims=self.leases.expired_claims(state, mine=self._active.tokens),
            select=work.select if work is not None else None,
            faults=self._observer.faults,
            notes=self._observer.notes,
            estimate_volume=self.estimate_volume,
            check_availability=self.check_availability,
            stored_columns=self.stored_columns,
        )

    def _now(self) -> datetime:
        return self.fixed_now or self.clock.now()

    def _wait_for_lease(self) -> bool:
        """Waits while it is in doubt whether a claim's driver is alive; returns whether to look again."""
        seconds = self.leases.seconds_until_expiry(self.ledger.state, mine=self._active.tokens)
        if seconds is None:
            return False
        # past the expiry, not on it; at most 5 s, as the other driver may end its claim or renew it before
        self._stopping.wait(min(seconds + 0.1, 5.0))
        self.ledger.refresh()
        return True

    def _claim_due(self, work: DriverWork) -> bool:
        """Claims as many runs as may be, and starts them; returns whether any was due."""
        due = work.queue_runs(self._context(work, self.ledger.state))
        if not due.count:
            return False
        self._engine.start()
        self.progress.planned(due.count, due.waiting)
        self._claimed_runs().claim_and_start(work.queue_runs, partial(self._context, work))
        return True

    def _claimed_runs(self) -> ClaimedRuns:
        """What claims, renews and records; loaded once something is due."""
        from sparkassets.runtime.claimed_runs import ClaimedRuns

        if self._runs is None:
            self._runs = ClaimedRuns(
                self._invocation,
                observer=self._observer,
                targets=self.targets,
                ids=self.ids,
                explain_failure=self.explain_failure,
                stopping=self._stopping,
            )
        return self._runs
