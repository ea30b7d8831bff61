"""The driver: reads the journal, looks at sources, plans, claims, executes and records, until nothing is due.

One thread owns the journal and decides; every run has a thread of its own that executes the run protocol
(`sparkassets.runtime.execution`). A run that ends is recorded at once and its consumers are planned at once, so
independent branches never wait for each other.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import from_unix, to_unix
from sparkassets.core.journal import history
from sparkassets.core.journal.asset_records import LastRun
from sparkassets.core.journal.codec import to_row
from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    FailureEntry,
    NumberedEntry,
    RenewEntry,
    SkippedEntry,
    SuccessEntry,
)
from sparkassets.core.journal.known_segments import with_known_segments
from sparkassets.core.journal.state import AssetState, ClaimState, EventRef, State
from sparkassets.core.partitions import NOTHING
from sparkassets.core.planner.due.due_partitions import assets_with_idle_ticks, find_idle_ticks
from sparkassets.core.planner.due.unaffected_readers import find_unaffected_readers
from sparkassets.core.planner.plan import AssetLateness, Plan, PlannedRun
from sparkassets.core.planner.planning_context import CheckAvailability, EstimateVolume, PlanningContext
from sparkassets.core.results import RunResult, Status, Summary
from sparkassets.core.runs import RunRequest, app_id
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.spec.storage_overlaps import find_table_sharers
from sparkassets.errors import RunError, SourceError, StateError, describe_error
from sparkassets.frozen import frozen
from sparkassets.ports import (
    Clock,
    Engine,
    EngineLostError,
    IdGenerator,
    RunOrder,
    SourceObserver,
    TargetFactory,
    TargetObserver,
)
from sparkassets.runtime.commit_results import (
    UnsettledSources,
    claimed_and_discovered,
    find_unchanged,
    judgement_fields,
    learned_segments,
    observe_own_tables,
    outlet_entries,
    published_counts,
    resolve_discovered,
    settle_results,
    total_row_counts,
)
from sparkassets.runtime.driver_work import DriverWork
from sparkassets.runtime.execution import INTERRUPTED, RunExecution
from sparkassets.runtime.file_pins import changed_file_inlets, find_pinned_files, pin_files
from sparkassets.runtime.iterations import IterationRemovals, iteration_order_fields, with_iteration
from sparkassets.runtime.leases import LeaseMonitor
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import (
    ObservationReport,
    assets_with_losses,
    changed_spec_entries,
    look_at_targets,
    observe_sources,
)
from sparkassets.runtime.outcomes import CommittedRun, FailedRun, Outcome, SkippedRun, SupersededRun
from sparkassets.runtime.progress import FailureExplanation, GuardedProgress, Progress

if TYPE_CHECKING:
    from sparkassets.core.derivation.asset_columns import StoredColumns

POLL_SECONDS = 0.2
CLAIMS_PER_SLOT = 4
"""Claims held for each parallel run: enough to share a commit, few enough to leave work to other drivers."""
GATHER_SECONDS = 0.005
"""After a run that ended, how long another may take that is recorded with it."""
STOP_SECONDS = 40.0
"""How long an interrupted driver waits for its runs to be fenced and recorded."""

_SETTLED: Mapping[str, Status] = {"cancelled": "cancelled", "lost": "replanned"}
"""What a run is said to be that failed of one of these causes; one that had nothing to compute has not failed."""


_Ending = SuccessEntry | FailureEntry | SkippedEntry


@frozen
class DriverIdentity:
    """Who drives.

    Attributes:
        driver: Name in the journal, for people.
        invocation: Differs for every start of a driver; a failed partition is tried once per invocation.
    """

    driver: str
    invocation: str


@dataclass(slots=True, eq=False, repr=False)
class _ActiveRun:
    """A run with its claim, from the claim to its record."""

    run: PlannedRun
    claim: ClaimState
    execution: RunExecution
    since: float
    started: bool = False


@frozen
class _EndedRun:
    """A run that came to an end, which is not recorded yet."""

    active: _ActiveRun
    outcome: Outcome


@frozen
class _EnlistRequest:
    """A run that waits for the journal to say that the engine's processes may commit for it."""

    asset: str
    token: int
    answer: queue.SimpleQueue[str | None] = field(default_factory=queue.SimpleQueue)


@dataclass(slots=True, eq=False, repr=False)
class Driver:
    """One invocation of the runtime.

    Attributes:
        computing: Makes what computes, and what is written to with it, once something is due.
        at: Fixes the planner's now (``--at``); leases and ``settle`` keep the real clock.
        weigh: Tells how much a run reads, by which budgets go.
        told: Tells whether the changes that a run would read are told.
        stored: Tells the columns of an asset's table as it is.
        over_budget: Whether runs that are over their budget run.
        explain_failure: Tells of a run what it failed of, and writes down the whole of it; never raises.
    """

    project: ProjectSpec
    ledger: JournalLedger
    computing: Callable[[], tuple[Engine, TargetFactory]]
    observer: Callable[[AssetSpec], SourceObserver | None]
    targets: TargetObserver
    leases: LeaseMonitor
    clock: Clock
    ids: IdGenerator
    identity: DriverIdentity
    progress: Progress
    explain_failure: Callable[[str, BaseException], FailureExplanation]
    at: datetime | None = None
    weigh: EstimateVolume | None = None
    told: CheckAvailability | None = None
    stored: StoredColumns | None = None
    over_budget: bool = False
    _active: dict[int, _ActiveRun] = field(default_factory=dict)
    _messages: queue.SimpleQueue[_EndedRun | _EnlistRequest] = field(default_factory=queue.SimpleQueue)
    _unrecorded: list[_EndedRun] = field(default_factory=list)
    _results: list[RunResult] = field(default_factory=list)
    _faults: dict[str, str] = field(default_factory=dict)
    _notes: dict[str, str] = field(default_factory=dict)
    _unsettled_sources: UnsettledSources = field(default_factory=UnsettledSources)
    _assets_with_losses: set[str] = field(default_factory=set)
    _computing: tuple[Engine, TargetFactory] | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _shut: threading.Event = field(default_factory=threading.Event)
    _renewed: float = 0.0
    _broken: bool = False
    _writers: dict[str, list[str]] = field(default_factory=dict)
    _removals: IterationRemovals = field(default_factory=IterationRemovals)
    _may_be_idle: bool = False

    def __post_init__(self) -> None:
        self.progress = GuardedProgress(self.progress)
        self._may_be_idle = bool(assets_with_idle_ticks(self.project))
        for asset in self.project.assets.values():
            self._writers.setdefault(asset.uri, []).append(asset.name)

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
        self.ledger.open()
        self.ledger.commit(lambda state: changed_spec_entries(self.project, state))
        if self.project.is_in_catalogs:
            self._start_engine()  # nobody else looks into them
        plan = Plan(to_unix(self._now()))
        try:
            for work in works:
                if not self._broken:
                    plan = self._run_until_idle(work)
        finally:
            self._shut_down()
        late = self._look_for_lateness()
        self.ledger.maintain(ending=True)
        self._removals.finish()
        interrupted = self._stopping.is_set()
        waiting = () if interrupted else plan.waiting  # what was planned before says nothing about afterwards
        ran = {result.asset for result in self._results}
        notes = () if interrupted else tuple(note for note in plan.notes if note.asset in ran)
        return Summary(
            settle_results(self._results), waiting, tuple(self._faults.items()), interrupted, self._broken, notes, late
        )

    def _look_for_lateness(self) -> tuple[AssetLateness, ...]:
        """What is late in the end; what people are to be told of that for the first time is recorded."""
        if all(asset.deadlines is None for asset in self.project.assets.values()) and not any(
            known.late for known in self.ledger.state.assets.values()
        ):
            return ()
        from sparkassets.core.planner.explain.lateness import find_all_lateness, lateness_changes

        self.ledger.refresh()
        self.ledger.commit(lambda state: [*lateness_changes(self._context(None, state))])
        return find_all_lateness(self._context(None, self.ledger.state))

    # ------------------------------------------------------------------ the loop

    def _run_until_idle(self, work: DriverWork) -> Plan:
        self._observe(work.select)
        self.ledger.commit(lambda state: work.begin(self._context(work, state)))
        progressed = False
        while not self._stopping.is_set() and not self._broken:
            if not self._claimable_count():
                self._wait(work)
                continue
            found = self._claim_due(work)
            progressed |= found
            if self._active:
                self._wait(work)
            elif progressed:
                self._observe(work.select)  # what landed meanwhile is part of this invocation
                progressed = False
            elif not self._wait_for_lease():
                plan = self._plan(work, self.ledger.state)
                self._pass_idle_ticks(work)
                return plan
        while self._broken and any(active.started for active in self._active.values()) and not self._stopping.is_set():
            self._wait(None)  # what needs no Spark may end well, and the rest fails by itself
        return self._plan(work, self.ledger.state)

    def _pass_idle_ticks(self, work: DriverWork) -> None:
        """Records the ticks at which nothing was out of date."""
        if not self._may_be_idle:
            return

        def decide(state: State) -> Sequence[Entry]:
            context = self._context(work, state)
            work.plan(context)
            return [*find_idle_ticks(context)]

        self.ledger.commit(decide)

    def _plan(self, work: DriverWork, state: State) -> Plan:
        return work.plan(self._context(work, state))

    def _context(self, work: DriverWork | None, state: State) -> PlanningContext:
        return PlanningContext(
            project=self.project,
            state=state,
            now=to_unix(self._now()),
            clock=to_unix(self.clock.now()),
            invocation=self.identity.invocation,
            gone_claims=self.leases.expired_claims(state, mine=frozenset(self._active)),
            select=work.select if work is not None else None,
            faults=self._faults,
            notes=self._notes,
            estimate_volume=self.weigh,
            check_availability=self.told,
            stored_columns=self.stored,
            over_budget=self.over_budget,
        )

    def _now(self) -> datetime:
        return self.at or self.clock.now()

    def _claimable_count(self) -> int:
        """How many runs may be claimed; none while those that are wait for a slot: many share a commit later."""
        slots = self.project.max_parallel_runs
        waiting = sum(not active.started for active in self._active.values())
        return 0 if waiting > slots else max(0, CLAIMS_PER_SLOT * slots - len(self._active))

    def _observe(self, select: Collection[str] | None) -> None:
        def decide(state: State) -> Sequence[Entry]:
            news = self._observe_sources(state)
            if news.session_needed and self._computing is None:
                self._start_engine()
                news = self._observe_sources(state)
            gone = self.leases.expired_claims(state, mine=frozenset(self._active))
            knows, lost = self.ledger.knows_run, self._assets_with_losses
            found = look_at_targets(
                self.project, state, self.targets, gone=gone, knows=knows, select=select, lost_before=lost
            )
            self._faults, self._notes = news.faults | found.faults, news.notes
            return [*news.entries, *found.entries]

        self.ledger.refresh()
        self._assets_with_losses |= assets_with_losses(self.ledger.commit(decide))

    def _observe_sources(self, state: State) -> ObservationReport:
        return observe_sources(
            self.project,
            state,
            self.observer,
            now=self.clock.now(),
            leaving=self._unsettled_sources.abandoned_sources(),
        )

    def _wait_for_lease(self) -> bool:
        """Waits while it is in doubt whether a claim's driver is alive; returns whether to look again."""
        patience = self.leases.seconds_until_expiry(self.ledger.state, mine=frozenset(self._active))
        if patience is None:
            return False
        self._stopping.wait(min(patience + 0.1, 5.0))
        self.ledger.refresh()
        return True

    # ------------------------------------------------------------------ claiming

    def _claim_due(self, work: DriverWork) -> bool:
        """Claims as many runs as may be, and starts them; returns whether any was due."""
        found = work.queue_runs(self._context(work, self.ledger.state))
        if not found.count:
            return False
        engine, outlets = self._start_engine()
        claimed: list[tuple[PlannedRun, ClaimEntry]] = []

        def decide(state: State) -> Sequence[Entry]:
            context = self._context(work, state)
            runs = self._claimable_runs(work.queue_runs(context).runs)
            claimed[:] = [(run, self._build_claim(run, context)) for run in runs]
            return [entry for _, entry in claimed]

        self.progress.planned(found.count, found.waiting)
        self.ledger.commit(decide)
        self._renewed = self.clock.monotonic()
        for run, entry in claimed:
            chain = self.ledger.state.assets[entry.asset].chains[entry.slot]
            claim, older = chain[-1], chain[:-1]
            order = self._build_order(run, claim)
            enlist = partial(self._enlist, entry.asset, claim.token)
            targets = [
                outlets.open_target(each.asset, app_id=order.app_id, enlist=enlist) for each in order.table_orders
            ]
            execution = RunExecution(engine, targets, order, older=older, reorder=partial(self._build_order, run))
            self._active[claim.token] = _ActiveRun(run, claim, execution, self.clock.monotonic())
        self._start_runs()
        return True

    def _claimable_runs(self, due: Iterable[PlannedRun]) -> Iterator[PlannedRun]:
        """Yields the first runs that can be claimed beside those that are, as many as may be."""
        taken, room = [active.run for active in self._active.values()], self._claimable_count()
        for run in due:
            if not any(_excludes(other, run) for other in taken):
                yield run
                taken.append(run)
                room -= 1
                if not room:
                    return

    def _start_engine(self) -> tuple[Engine, TargetFactory]:
        if self._computing is None:
            self.progress.starting("Spark")
            engine, outlets = self.computing()
            engine.start()
            self._computing = engine, outlets
        return self._computing

    def _start_runs(self) -> None:
        running = sum(active.started for active in self._active.values()) - len(self._unrecorded)
        for active in self._active.values():
            if running >= self.project.max_parallel_runs:
                return
            if not active.started:
                active.started = True
                active.since = self.clock.monotonic()
                running += 1
                self.progress.started(active.run, active.claim.entry.run)
                name = active.claim.entry.run
                try:
                    threading.Thread(target=self._execute, args=(active,), name=name, daemon=True).start()
                except RuntimeError as error:  # no more threads
                    self._messages.put(
                        _EndedRun(active, FailedRun("error", error, fenced=_leaves_nothing(active), attempts=0))
                    )

    def _execute(self, active: _ActiveRun) -> None:
        outcome: Outcome
        try:
            outcome = active.execution.execute()
        except BaseException as error:  # noqa: BLE001  the driver waits for this thread's word
            outcome = FailedRun("error", error, fenced=False, attempts=0)
        self._messages.put(_EndedRun(active, outcome))

    def _build_claim(self, run: PlannedRun, context: PlanningContext) -> ClaimEntry:
        asset = self.project.assets[run.asset]
        request = replace(
            pin_files(context.project, context.state, run.request),
            judge=self.project.judge_of(asset) if asset.rules or asset.outlets else "",
            unread_by=find_unaffected_readers(context, context.asset(asset.name), run.partitions),
        )
        return ClaimEntry(
            request=request,
            run=self.ids.run_id(run.asset, self.clock.now()),
            lease_seconds=asset.lease_seconds,
            invocation=self.identity.invocation,
            host=self.leases.host,
            planned=context.now,
            processes=(self.leases.process,),
        )

    def _build_order(self, run: PlannedRun, claim: ClaimState) -> RunOrder:
        """What is to be computed for a claim: that of the run, or an older one of its chain."""
        state, request = self.ledger.state, claim.entry.request
        project = with_known_segments(self.project, state)
        asset, caused = project.assets[run.asset], frozenset(request.events)
        inlets = {name: project.inlet_with_mapping(asset, name) for name in request.pins}
        files = find_pinned_files(project, state, asset, request.pins)
        order = RunOrder(
            asset=asset,
            run=claim.entry.run,
            app_id=app_id(state.journal_id, asset.name, request.slot),
            token=claim.token,
            partitions=request.partitions,
            pins=request.pins,
            inlets=inlets,
            interval=(from_unix(request.interval[0]), from_unix(request.interval[1])) if request.interval else None,
            schedule_date=from_unix(request.schedule_date),
            events=self._triggering_events([ref for ref in run.events if ref.seq in caused]),
            previous_interval=_previous_interval(state.assets[asset.name].last, request.interval),
            rebuilds=request.rebuilds,
            **iteration_order_fields(asset, state, request),
            known_position=_known_position(state.assets[asset.name]),
            past=published_counts(self.ledger, asset),
            accepted_partitions=request.accepted,
            promotes=request.promotes,
            computed_partitions=state.assets[asset.name].coverage if asset.partitioning.is_partitioned else NOTHING,
            removed_segments={
                column: own.removed for column, own in state.assets[asset.name].keys.items() if own.removed
            },
            files=files,
            changed_file_inlets=changed_file_inlets(files, request.pins),
        )
        outlets = (_outlet_order(order, project.assets[name], state, request) for name in asset.outlets)
        return replace(
            order, outlets=tuple(replace(each, past=published_counts(self.ledger, each.asset)) for each in outlets)
        )

    def _triggering_events(self, refs: Sequence[EventRef]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The events under every name of their dataset, the name of an asset first."""
        from sparkassets.core.journal.announcements import event_partitioning

        found: dict[str, list[Mapping[str, Any]]] = {}
        for ref in refs:
            event = history.event_with_source_run(ref, event_partitioning(self.project, asset=ref.asset, uri=ref.uri))
            for key in dict.fromkeys([*filter(None, [ref.asset]), *self._writers.get(ref.uri, ()), ref.uri]):
                found.setdefault(key, []).append(event)
        return found

    # ------------------------------------------------------------------ recording

    def _wait(self, work: DriverWork | None) -> None:
        """Waits for a run to end, and records all that have; keeps leases alive meanwhile.

        Without ``work`` the invocation is at its end, and nothing is started any more.
        """
        with suppress(queue.Empty):
            self._receive(self._messages.get(timeout=POLL_SECONDS))
            for _ in self._active:  # those that end together are recorded together, while the next ones run
                if work is not None:
                    self._start_runs()
                self._receive(self._messages.get(timeout=GATHER_SECONDS if self._is_more_to_come() else 0.0))
        if self._unrecorded:
            self._record(work)
            if work is not None:
                self._start_runs()
        self._renew()

    def _is_more_to_come(self) -> bool:
        """Whether runs are under way besides those that have ended."""
        return sum(active.started for active in self._active.values()) > len(self._unrecorded)

    def _receive(self, said: _EndedRun | _EnlistRequest) -> None:
        if isinstance(said, _EndedRun):
            self._unrecorded.append(said)
            return
        refused: str | None = "the journal cannot be written"
        try:
            refused = self._enlist_refusal(said.asset, said.token)
        finally:
            said.answer.put(refused)

    def _enlist(self, asset: str, token: int) -> None:
        """For a run's thread, as `ports.Enlist` has it."""
        waiting = _EnlistRequest(asset, token)
        self._messages.put(waiting)
        while True:
            with suppress(queue.Empty):
                refused = waiting.answer.get(timeout=POLL_SECONDS)
                break
            if self._shut.is_set():  # a run that was left behind: nobody answers any more
                refused = "its driver has ended"
                break
        if refused:
            raise RunError(f"{asset}: nothing may be committed for its run: {refused}")

    def _enlist_refusal(self, asset: str, token: int) -> str | None:
        """Why the engine's processes may not commit for a claim; None where the claim names them now."""
        engine, _ = self._start_engine()
        processes = engine.processes()
        beside: list[str] = []

        def decide(state: State) -> Sequence[Entry]:
            beside[:] = self._foreign_spark_runs(state, asset, token)
            if beside or not _is_newest_claim(state, asset, token):
                return []
            claim = state.assets[asset].claim_entry(token)
            known = claim.processes if claim is not None else ()
            new = tuple(process for process in processes if process not in known)
            return [RenewEntry(((asset, token),), new)] if new else []

        self.ledger.commit(decide)
        if beside:
            return f"Spark of another driver commits to the table, for {beside[0]}"
        return None if _is_newest_claim(self.ledger.state, asset, token) else "its claim is over"

    def _foreign_spark_runs(self, state: State, asset: str, token: int) -> list[str]:
        """Live runs for which the Spark of another driver may commit to the asset's table.

        They are runs of the asset's other slots, and of other assets that append to the table. On a store without
        put-if-absent, two Sparks that commit at once lose rows.
        """
        over = self.leases.expired_claims(state, mine=frozenset(self._active))
        known = (state.assets[name] for name in find_table_sharers(self.project, asset) if name in state.assets)
        newest = (chain[-1] for each in known for chain in each.chains.values())
        others = (link for link in newest if link.status == "open" and link.token not in {token, *over, *self._active})
        return [link.entry.run for link in others if len(link.entry.processes) > 1]

    def _renew(self) -> None:
        """Renews the leases of this driver's claims in time, and cancels runs whose claim was taken over."""
        leases = [self.project.assets[active.run.asset].lease_seconds for active in self._active.values()]
        waited = self.clock.monotonic() - self._renewed
        if not leases or waited < min(leases) / 3:
            return
        held = [(active.run.asset, claim) for claim, active in self._active.items()]
        try:
            self.ledger.refresh()
            self.ledger.commit(lambda state: _renewal([pair for pair in held if _is_newest_claim(state, *pair)]))
        except StateError:
            if waited < min(leases) * 2 / 3:
                return  # there is time to try again
            raise
        self._renewed = self.clock.monotonic()
        for name, claim in held:
            if not _is_newest_claim(self.ledger.state, name, claim):
                self._active[claim].execution.supersede()

    def _record(self, work: DriverWork | None) -> None:
        self._unrecorded = [self._recordable(self._with_observed_changes(end)) for end in self._unrecorded]
        ended = tuple(self._unrecorded)
        changed = [self._unsettled_sources.count_change(end.active.run.asset, end.outcome) for end in ended]
        if work is not None and any(changed):
            self._observe(work.select)  # what it is now, before anything is planned with what it was
        failures = {end.active.claim.token: self._explain_failure(end) for end in ended}

        def decide(state: State) -> Sequence[Entry]:
            entries: list[Entry] = []
            for end in ended:
                claim = end.active.claim
                if _is_newest_claim(state, end.active.run.asset, claim.token):
                    entries += self._entries_of(end, state, failures[claim.token])
            return entries

        entries = (each.entry for each in self.ledger.commit(decide))
        recorded = {_recorder_token(entry): entry for entry in entries if isinstance(entry, _Ending)}
        for end in ended:
            self._broken |= isinstance(end.outcome, FailedRun) and issubclass(type(end.outcome.error), EngineLostError)
            del self._active[end.active.claim.token]
            self._unrecorded.remove(end)
            token = end.active.claim.token
            result = self._build_result(end, failures[token], recorded.get(token))
            self._results.append(result)
            if work is not None and not self._is_replanned(end, self.ledger.state):
                work.record_result(end.active.run, result)
            self.progress.finished(result)
            if isinstance(recorded.get(token), SuccessEntry):
                self._removals.start_removal(self.ledger, self.project.assets[result.asset], end.active.execution)
        self.ledger.maintain()

    def _with_observed_changes(self, end: _EndedRun) -> _EndedRun:
        """With what a run changed that wrote its target itself; it failed where its table cannot be looked at."""
        asset = self.project.assets[end.active.run.asset]
        if not isinstance(end.outcome, CommittedRun) or not asset.writes_itself:
            return end
        partitions, state = end.active.claim.entry.partitions, self.ledger.state
        try:
            assets = self.project.assets
            done = observe_own_tables(
                end.outcome, asset, assets, partitions=partitions, state=state, targets=self.targets
            )
        except (RunError, SourceError) as error:
            failed = FailedRun("error", error, fenced=True, attempts=end.outcome.attempts)
            return _EndedRun(end.active, failed)
        return _EndedRun(end.active, done)

    def _recordable(self, end: _EndedRun) -> _EndedRun:
        """As it ended, or else a failure: what a run told of itself may not fit into the journal.

        Such a run is in its target, so that its chain stays; nothing of it is lost, and the others are recorded. What
        fails once the driver was asked to stop is cancelled: a signal to all processes may reach Spark's first.
        """
        if isinstance(end.outcome, FailedRun) and end.outcome.cause == "error" and self._stopping.is_set():
            return _EndedRun(end.active, replace(end.outcome, cause="cancelled"))
        if not isinstance(end.outcome, CommittedRun):
            return end
        try:
            for each in self._entries_of(end, self.ledger.state, FailureExplanation()):
                to_row(NumberedEntry(each, 0, self.clock.now(), ""))
        except Exception as error:  # noqa: BLE001  whatever its measures hold
            lost = RunError(
                f"{end.active.run.asset}: what the run told of itself cannot be recorded: {describe_error(error)}"
            )
            return _EndedRun(end.active, FailedRun("error", lost, fenced=False, attempts=end.outcome.attempts))
        return end

    def _explain_failure(self, end: _EndedRun) -> FailureExplanation:
        """What a run failed of; nothing of one that did not."""
        match end.outcome:
            case FailedRun("cancelled"):
                return FailureExplanation(INTERRUPTED)
            case FailedRun(_, error):
                return self.explain_failure(end.active.claim.entry.run, error)
        return FailureExplanation()

    def _entries_of(self, end: _EndedRun, state: State, failure: FailureExplanation) -> list[Entry]:
        """What is recorded of how a run ended: of what it left in each outlet first, then of itself."""
        entry = self._outcome_entry(end, state, failure)
        if not isinstance(entry, SuccessEntry) or not isinstance(end.outcome, CommittedRun):
            return [entry] if entry is not None else []
        return [*outlet_entries(self.project, state, entry, end.outcome), entry, *_emitted_events(entry, end.outcome)]

    def _outcome_entry(self, end: _EndedRun, state: State, failure: FailureExplanation) -> Entry | None:
        claim, asset = end.active.claim, self.project.assets[end.active.run.asset]
        seconds = self.clock.monotonic() - end.active.since
        match end.outcome:
            case CommittedRun():
                return self._success_entry(end.active, end.outcome, state, seconds)
            case FailedRun(cause, _, fenced, attempts, parts, bad, asks, watermarks):
                return FailureEntry(
                    asset=asset.name,
                    run=claim.entry.run,
                    token=claim.token,
                    partitions=claim.entry.partitions,
                    cause="changed" if self._is_replanned(end, state) else cause,
                    error=failure.error,
                    invocation=self.identity.invocation,
                    fenced=fenced,
                    attempts=attempts,
                    details=failure.details,
                    hint=failure.hint,
                    seconds=seconds,
                    divisions=parts,
                    bad=bad,
                    asks=asks,
                    watermarks=watermarks,
                )
            case SkippedRun(reason, attempts):
                return SkippedEntry(
                    asset=asset.name,
                    run=claim.entry.run,
                    token=claim.token,
                    partitions=claim.entry.partitions,
                    reason=reason,
                    invocation=self.identity.invocation,
                    attempts=attempts,
                    seconds=seconds,
                )
            case SupersededRun():
                return None

    def _success_entry(self, active: _ActiveRun, done: CommittedRun, state: State, seconds: float) -> SuccessEntry:
        claim, asset = active.claim, self.project.assets[active.run.asset]
        committed, chain = done.first_commit, state.assets[asset.name].chain
        found = next((link for link in chain if link.entry.run == committed.run), claim)
        request, partitions = found.entry.request, claimed_and_discovered(asset, done, found.entry.partitions)
        keys = learned_segments(asset, done, partitions)
        entry = SuccessEntry(
            asset=asset.name,
            uri=asset.uri,
            run=found.entry.run,
            token=found.token,
            recorder=claim.token,
            partitions=resolve_discovered(asset, committed, partitions, keys),
            table_id=None if asset.outlets else committed.table_id,
            version=None if asset.outlets else committed.version,
            interval=found.entry.interval,
            pins=request.pins,
            events=request.events,
            watermarks=committed.measures.get("watermarks", {}),
            extra={**total_row_counts(done.commits), **committed.measures.get("extra", {})},
            attempt=committed.attempt or done.attempts,
            seconds=seconds,
            definition=request.definition,
            keys=keys,
            unchanged=find_unchanged(state, asset, done, partitions - committed.withheld),
            mark="" if asset.outlets else committed.mark,
            besides=committed.besides,
            outlets=asset.outlets,
            **judgement_fields(committed, partitions),
        )
        return with_iteration(entry, asset, state, request, committed)

    def _is_replanned(self, end: _EndedRun, state: State) -> bool:
        """Whether the run has tried nothing, as its source was another one by then."""
        return self._unsettled_sources.is_change_recorded(end.outcome, end.active.claim.entry.request.pins, state)

    def _build_result(self, end: _EndedRun, failure: FailureExplanation, recorded: _Ending | None) -> RunResult:
        head = self._result_head(end.active)
        match end.outcome:
            case CommittedRun(attempts=attempts) if recorded is not None:
                committed = end.outcome.first_commit
                adopted = committed.run if committed.run != head.run else None
                found = recorded.partitions & committed.discovered_partitions
                return replace(
                    head,
                    request=replace(head.request, partitions=head.request.partitions | found),
                    status="withheld" if _publishes_nothing(recorded) else "success",
                    attempts=attempts,
                    rows=total_row_counts(end.outcome.commits).get("rows"),
                    version=None if self.project.assets[head.asset].outlets else committed.version,
                    adopted=adopted,
                    unchanged=recorded.unchanged if isinstance(recorded, SuccessEntry) else NOTHING,
                    withheld=recorded.withheld if isinstance(recorded, SuccessEntry) else NOTHING,
                    verdicts=recorded.verdicts if isinstance(recorded, SuccessEntry) else (),
                )
            case SkippedRun(reason, attempts) if recorded is not None:
                return replace(head, status="skipped", attempts=attempts, skipped=reason)
            case FailedRun(cause, _, _, attempts) if recorded is not None:
                status: Status = _SETTLED.get(cause, "failed")
                return replace(
                    head,
                    status=status,
                    attempts=attempts,
                    error=failure.error,
                    hint=failure.hint,
                    details=failure.details,
                )
        return head

    def _result_head(self, active: _ActiveRun) -> RunResult:
        """What is known of a run without its outcome."""
        return RunResult(
            active.claim.entry.request,
            run=active.claim.entry.run,
            status="superseded",
            seconds=self.clock.monotonic() - active.since,
        )

    # ------------------------------------------------------------------ the end

    def _shut_down(self) -> None:
        """Cancels what still runs and records how it ended."""
        for active in list(self._active.values()):
            if active.started:
                active.execution.cancel()
            else:
                self._messages.put(
                    _EndedRun(
                        active, FailedRun("cancelled", InterruptedError("not started"), _leaves_nothing(active), 0)
                    )
                )
        deadline = self.clock.monotonic() + STOP_SECONDS
        while self._active and self.clock.monotonic() < deadline:
            self._wait(None)
        self._shut.set()
        for active in self._active.values():
            result = replace(
                self._result_head(active), status="cancelled", error=f"{INTERRUPTED}; the next start settles it"
            )
            self._results.append(result)
            self.progress.finished(result)


def _renewal(claims: Sequence[tuple[str, int]]) -> Sequence[Entry]:
    return [RenewEntry(tuple(claims))] if claims else []


def _emitted_events(entry: SuccessEntry, outcome: CommittedRun) -> list[Entry]:
    """The events that the run announced, which its commit in the target has kept."""
    from sparkassets.core.journal.announcements import decode_announcement

    announced = outcome.first_commit.measures.get("events", ())
    return [decode_announcement(each, run=entry.run, interval=entry.interval) for each in announced]


def _outlet_order(order: RunOrder, outlet: AssetSpec, state: State, request: RunRequest) -> RunOrder:
    """What the run writes of one of its outlets."""
    own: dict[str, Any] = {
        **iteration_order_fields(outlet, state, request),
        "known_position": _known_position(state.assets[outlet.name]),
    }
    return replace(order, asset=outlet, **own)


def _known_position(asset: AssetState) -> tuple[str, int] | None:
    """The table, and the version of it, that whoever reads the asset knows of."""
    return None if asset.table_id is None or asset.seen is None else (asset.table_id, asset.seen)


def _recorder_token(entry: _Ending) -> int:
    """The fence token of the claim that an end is recorded for."""
    return entry.recorder if isinstance(entry, SuccessEntry) else entry.token


def _publishes_nothing(recorded: _Ending) -> bool:
    """Whether validations withheld all of a run."""
    return isinstance(recorded, SuccessEntry) and recorded.publishes_nothing


def _is_newest_claim(state: State, asset: str, claim: int) -> bool:
    """Whether ``claim`` is the newest claim of its slot, and open."""
    return state.assets[asset].is_newest(claim)


def _excludes(other: PlannedRun, run: PlannedRun) -> bool:
    """Whether two runs cannot be claimed at once: of one asset, but for runs that the plan has side by side."""
    return other.asset == run.asset and (other.slot == run.slot or not other.slot or not run.slot)


def _leaves_nothing(active: _ActiveRun) -> bool:
    """A claim that was never started leaves nothing to fence, unless it was to recover older ones."""
    return not active.run.recovers


def _previous_interval(last: LastRun | None, interval: tuple[int, int] | None) -> tuple[datetime, datetime] | None:
    """The interval of the last success, unless the run's own is as early: a backfill has nothing before it."""
    if last is None or last.interval is None or (interval is not None and last.interval[0] >= interval[0]):
        return None
    return from_unix(last.interval[0]), from_unix(last.interval[1])
