"""The driver: reads the journal, looks at sources, plans, claims, executes and records, until nothing is due.

One thread owns the journal and decides; every run has a thread of its own that executes the run protocol
(`sparkassets.runtime.execution`). A run that ends is recorded at once and its consumers are planned at once, so
independent branches never wait for each other.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkassets.core.instants import instant, unix
from sparkassets.core.journal import events
from sparkassets.core.journal.codec import to_row
from sparkassets.core.journal.entries import (
    ClaimEntry,
    Entry,
    FailureEntry,
    Numbered,
    RenewEntry,
    SkippedEntry,
    SuccessEntry,
)
from sparkassets.core.journal.learned import knowing
from sparkassets.core.journal.state import AssetState, ClaimState, EventRef, LastRun, State
from sparkassets.core.partitions import NOTHING
from sparkassets.core.planner.context import PlanningContext, Told, Weigh
from sparkassets.core.planner.idle_ticks import idle_ticks, may_be_idle
from sparkassets.core.planner.lateness import Lateness
from sparkassets.core.planner.plan import Plan, PlannedRun
from sparkassets.core.planner.unread import unread_by
from sparkassets.core.results import RunResult, Status, Summary
from sparkassets.core.runs import RunRequest, app_id
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.core.spec.storage import sharing
from sparkassets.errors import RunError, SourceError, StateError, said
from sparkassets.frozen import frozen
from sparkassets.ports import (
    Clock,
    Engine,
    EngineLostError,
    Ids,
    Outlets,
    RunOrder,
    SourceObserver,
    TargetObserver,
)
from sparkassets.runtime.execution import INTERRUPTED, Done, Execution, Failed, Outcome, Skipped, Superseded
from sparkassets.runtime.judged import came_out, judged, learned, past_of, with_found
from sparkassets.runtime.leases import Leases
from sparkassets.runtime.ledger import Ledger
from sparkassets.runtime.made_good import settled
from sparkassets.runtime.news import News, changed_specs, observe
from sparkassets.runtime.outlets import outlet_entries, rows_of, unchanged
from sparkassets.runtime.pinned import others, pinned_files, with_files
from sparkassets.runtime.progress import Explained, Progress, Unbroken
from sparkassets.runtime.publishing import Removals, of_order, with_iteration
from sparkassets.runtime.restless import Restless
from sparkassets.runtime.self_written import observed
from sparkassets.runtime.targets import look_at_targets, losses_in
from sparkassets.runtime.work import Work

if TYPE_CHECKING:
    from sparkassets.core.derivation.assets import Stored

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
        invocation: Differs for every start of a driver; a failed block is tried once per invocation.
    """

    driver: str
    invocation: str


@dataclass(slots=True, eq=False, repr=False)
class _Active:
    """A run with its claim, from the claim to its record."""

    run: PlannedRun
    claim: ClaimState
    execution: Execution
    since: float
    started: bool = False


@frozen
class _Ended:
    """A run that came to an end, which is not recorded yet."""

    active: _Active
    outcome: Outcome


@frozen
class _Enlisting:
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
    ledger: Ledger
    computing: Callable[[], tuple[Engine, Outlets]]
    observer: Callable[[AssetSpec], SourceObserver | None]
    targets: TargetObserver
    leases: Leases
    clock: Clock
    ids: Ids
    identity: DriverIdentity
    progress: Progress
    explain_failure: Callable[[str, BaseException], Explained]
    at: datetime | None = None
    weigh: Weigh | None = None
    told: Told | None = None
    stored: Stored | None = None
    over_budget: bool = False
    _active: dict[int, _Active] = field(default_factory=dict)
    _heard: queue.SimpleQueue[_Ended | _Enlisting] = field(default_factory=queue.SimpleQueue)
    _unrecorded: list[_Ended] = field(default_factory=list)
    _results: list[RunResult] = field(default_factory=list)
    _faults: dict[str, str] = field(default_factory=dict)
    _notes: dict[str, str] = field(default_factory=dict)
    _restless: Restless = field(default_factory=Restless)
    _lost: set[str] = field(default_factory=set)
    _computing: tuple[Engine, Outlets] | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _renewed: float = 0.0
    _broken: bool = False
    _writers: dict[str, list[str]] = field(default_factory=dict)
    _removals: Removals = field(default_factory=Removals)
    _may_be_idle: bool = False

    def __post_init__(self) -> None:
        self.progress = Unbroken(self.progress)
        self._may_be_idle = bool(may_be_idle(self.project))
        for asset in self.project.assets.values():
            self._writers.setdefault(asset.uri, []).append(asset.name)

    def stop(self) -> None:
        """Asks the driver to cancel its runs, record that, and end; safe in a signal handler."""
        self._stopping.set()

    def run(self, works: Sequence[Work]) -> Summary:
        """Does ``works`` one after the other.

        Raises:
            StateError: The state cannot be used.
            SparkUnavailableError: Something is due and Spark cannot be started; nothing was claimed.
        """
        with self.leases.invocations.under_way(self.identity.invocation):
            return self._run(works)

    def _run(self, works: Sequence[Work]) -> Summary:
        self.ledger.open()
        self.ledger.commit(lambda state: changed_specs(self.project, state))
        if self.project.is_in_catalogs:
            self._start_engine()  # nobody else looks into them
        plan = Plan(unix(self._now()))
        try:
            for work in works:
                if not self._broken:
                    plan = self._until_idle(work)
        finally:
            self._shut_down()
        late = self._look_for_lateness()
        self.ledger.tidy(ending=True)
        self._removals.finish()
        interrupted = self._stopping.is_set()
        waiting = () if interrupted else plan.waiting  # what was planned before says nothing about afterwards
        ran = {result.asset for result in self._results}
        notes = () if interrupted else tuple(note for note in plan.notes if note.asset in ran)
        return Summary(
            settled(self._results), waiting, tuple(self._faults.items()), interrupted, self._broken, notes, late
        )

    def _look_for_lateness(self) -> tuple[Lateness, ...]:
        """What is late in the end; what people are to be told of that for the first time is recorded."""
        if all(asset.expect is None for asset in self.project.assets.values()) and not any(
            known.late for known in self.ledger.state.assets.values()
        ):
            return ()
        from sparkassets.core.planner.lateness import all_late, changed

        self.ledger.refresh()
        self.ledger.commit(lambda state: [*changed(self._context(None, state))])
        return all_late(self._context(None, self.ledger.state))

    # ------------------------------------------------------------------ the loop

    def _until_idle(self, work: Work) -> Plan:
        self._observe(work.select)
        self.ledger.commit(lambda state: work.begin(self._context(work, state)))
        progressed = False
        while not self._stopping.is_set() and not self._broken:
            if not self._room():
                self._wait(work)
                continue
            plan = self._plan(work, self.ledger.state)
            fresh = plan.runs[: self._room()]
            if fresh:
                self._claim(work)
                progressed = True
            if self._active:
                self._wait(work)
            elif progressed:
                self._observe(work.select)  # what landed meanwhile is part of this invocation
                progressed = False
            elif not fresh and not self._wait_for_lease():
                self._pass_idle_ticks(work)
                return plan
        while self._broken and any(active.started for active in self._active.values()) and not self._stopping.is_set():
            self._wait(None)  # what needs no Spark may end well, and the rest fails by itself
        return self._plan(work, self.ledger.state)

    def _pass_idle_ticks(self, work: Work) -> None:
        """Records the ticks at which nothing was out of date."""
        if not self._may_be_idle:
            return

        def decide(state: State) -> Sequence[Entry]:
            context = self._context(work, state)
            work.plan(context)
            return [*idle_ticks(context)]

        self.ledger.commit(decide)

    def _plan(self, work: Work, state: State) -> Plan:
        return work.plan(self._context(work, state))

    def _context(self, work: Work | None, state: State) -> PlanningContext:
        return PlanningContext(
            project=self.project,
            state=state,
            now=unix(self._now()),
            clock=unix(self.clock.now()),
            invocation=self.identity.invocation,
            gone=self.leases.over(state, mine=frozenset(self._active)),
            select=work.select if work is not None else None,
            faults=self._faults,
            notes=self._notes,
            weigh=self.weigh,
            told=self.told,
            stored=self.stored,
            over_budget=self.over_budget,
        )

    def _now(self) -> datetime:
        return self.at or self.clock.now()

    def _room(self) -> int:
        """How many runs may be claimed; none while those that are wait for a slot: many share a commit later."""
        slots = self.project.max_parallel_runs
        waiting = sum(not active.started for active in self._active.values())
        return 0 if waiting > slots else max(0, CLAIMS_PER_SLOT * slots - len(self._active))

    def _observe(self, select: Collection[str] | None) -> None:
        def decide(state: State) -> Sequence[Entry]:
            news = self._news(state)
            if news.unseen and self._computing is None:
                self._start_engine()
                news = self._news(state)
            gone = self.leases.over(state, mine=frozenset(self._active))
            knows, lost = self.ledger.knows, self._lost
            found = look_at_targets(
                self.project, state, self.targets, gone=gone, knows=knows, select=select, lost_before=lost
            )
            self._faults, self._notes = news.faults | found.faults, news.notes
            return [*news.entries, *found.entries]

        self.ledger.refresh()
        self._lost |= losses_in(self.ledger.commit(decide))

    def _news(self, state: State) -> News:
        return observe(self.project, state, self.observer, now=self.clock.now(), leaving=self._restless.left())

    def _wait_for_lease(self) -> bool:
        """Waits while it is in doubt whether a claim's driver is alive; returns whether to look again."""
        patience = self.leases.patience(self.ledger.state, mine=frozenset(self._active))
        if patience is None:
            return False
        self._stopping.wait(min(patience + 0.1, 5.0))
        self.ledger.refresh()
        return True

    # ------------------------------------------------------------------ claiming

    def _claim(self, work: Work) -> None:
        engine, outlets = self._start_engine()
        claimed: list[tuple[PlannedRun, ClaimEntry]] = []

        def decide(state: State) -> Sequence[Entry]:
            claimed.clear()
            plan = self._plan(work, state)
            taken = [active.run for active in self._active.values()]
            for run in plan.runs:
                if len(claimed) < self._room() and not any(_excludes(other, run) for other in taken):
                    claimed.append((run, self._entry(run, state)))
                    taken.append(run)
            return [entry for _, entry in claimed]

        self.progress.planned(self._plan(work, self.ledger.state))
        self.ledger.commit(decide)
        self._renewed = self.clock.monotonic()
        for run, entry in claimed:
            chain = self.ledger.state.assets[entry.asset].chains[entry.slot]
            claim, older = chain[-1], chain[:-1]
            order = self._order(run, claim)
            enlist = partial(self._enlist, entry.asset, claim.token)
            targets = [outlets.of(each.asset, app_id=order.app_id, enlist=enlist) for each in order.written]
            execution = Execution(engine, targets, order, older=older, reorder=partial(self._order, run))
            self._active[claim.token] = _Active(run, claim, execution, self.clock.monotonic())
        self._start_runs()

    def _start_engine(self) -> tuple[Engine, Outlets]:
        if self._computing is None:
            self.progress.starting("Spark")
            engine, outlets = self.computing()
            engine.start()
            self._computing = engine, outlets
        return self._computing

    def _start_runs(self) -> None:
        running = sum(active.started for active in self._active.values())
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
                    self._heard.put(_Ended(active, Failed("error", error, fenced=_clean(active), attempts=0)))

    def _execute(self, active: _Active) -> None:
        outcome: Outcome
        try:
            outcome = active.execution.run()
        except BaseException as error:  # noqa: BLE001  the driver waits for this thread's word
            outcome = Failed("error", error, fenced=False, attempts=0)
        self._heard.put(_Ended(active, outcome))

    def _entry(self, run: PlannedRun, state: State) -> ClaimEntry:
        asset = self.project.assets[run.asset]
        context = PlanningContext(self.project, state, unix(self._now()), unix(self.clock.now()))
        request = replace(
            with_files(context.project, state, run.request),
            judge=self.project.judge_of(asset) if asset.rules or asset.outlets else "",
            unread_by=unread_by(context, context.asset(asset.name), run.blocks),
        )
        return ClaimEntry(
            request=request,
            run=self.ids.run_id(run.asset, self.clock.now()),
            lease_seconds=asset.lease_seconds,
            invocation=self.identity.invocation,
            host=self.leases.host,
            planned=unix(self._now()),
            processes=(self.leases.process,),
        )

    def _order(self, run: PlannedRun, claim: ClaimState) -> RunOrder:
        """What is to be computed for a claim: that of the run, or an older one of its chain."""
        state, request = self.ledger.state, claim.entry.request
        project = knowing(self.project, state)
        asset, caused = project.assets[run.asset], frozenset(request.events)
        inlets = {name: project.as_read(asset, name) for name in request.pins}
        files = pinned_files(project, state, asset, request.pins)
        order = RunOrder(
            asset=asset,
            run=claim.entry.run,
            app_id=app_id(state.journal_id, asset.name, request.slot),
            token=claim.token,
            blocks=request.blocks,
            pins=request.pins,
            inlets=inlets,
            interval=(instant(request.interval[0]), instant(request.interval[1])) if request.interval else None,
            schedule_date=instant(request.schedule_date),
            events=self._triggering([ref for ref in run.events if ref.seq in caused]),
            previous_interval=_previous(state.assets[asset.name].last, request.interval),
            rebuilds=request.rebuilds,
            **of_order(asset, state, request),
            told=_told_up_to(state.assets[asset.name]),
            past=past_of(self.ledger, asset),
            accepted=request.accepted,
            promotes=request.promotes,
            computed=state.assets[asset.name].coverage if asset.partitioning.is_partitioned else NOTHING,
            removed={column: own.removed for column, own in state.assets[asset.name].keys.items() if own.removed},
            files=files,
            gone=others(files, request.pins),
        )
        outlets = (_of_outlet(order, project.assets[name], state, request) for name in asset.outlets)
        return replace(order, outlets=tuple(replace(each, past=past_of(self.ledger, each.asset)) for each in outlets))

    def _triggering(self, refs: Sequence[EventRef]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The events under every name of their dataset, the name of an asset first."""
        from sparkassets.core.journal.announce import partition_of

        found: dict[str, list[Mapping[str, Any]]] = {}
        for ref in refs:
            event = events.with_source_run(ref, partition_of(self.project, asset=ref.asset, uri=ref.uri))
            for key in dict.fromkeys([*filter(None, [ref.asset]), *self._writers.get(ref.uri, ()), ref.uri]):
                found.setdefault(key, []).append(event)
        return found

    # ------------------------------------------------------------------ recording

    def _wait(self, work: Work | None) -> None:
        """Waits for a run to end, and records all that have; keeps leases alive meanwhile.

        Without ``work`` the invocation is at its end, and nothing is started any more.
        """
        with suppress(queue.Empty):
            self._hear(self._heard.get(timeout=POLL_SECONDS))
            for _ in self._active:  # those that end together are recorded together
                self._hear(self._heard.get(timeout=GATHER_SECONDS if self._is_more_to_come() else 0.0))
        if self._unrecorded:
            self._record(work)
            if work is not None:
                self._start_runs()
        self._renew()

    def _is_more_to_come(self) -> bool:
        """Whether runs are under way besides those that have ended."""
        return sum(active.started for active in self._active.values()) > len(self._unrecorded)

    def _hear(self, said: _Ended | _Enlisting) -> None:
        if isinstance(said, _Ended):
            self._unrecorded.append(said)
            return
        refused: str | None = "the journal cannot be written"
        try:
            refused = self._refused(said.asset, said.token)
        finally:
            said.answer.put(refused)

    def _enlist(self, asset: str, token: int) -> None:
        """For a run's thread, as `ports.Enlist` has it."""
        waiting = _Enlisting(asset, token)
        self._heard.put(waiting)
        if refused := waiting.answer.get():
            raise RunError(f"{asset}: nothing may be committed for its run: {refused}")

    def _refused(self, asset: str, token: int) -> str | None:
        """Why the engine's processes may not commit for a claim; None where the claim names them now."""
        engine, _ = self._start_engine()
        processes = engine.processes()
        beside: list[str] = []

        def decide(state: State) -> Sequence[Entry]:
            beside[:] = self._beside(state, asset, token)
            if beside or not _newest(state, asset, token):
                return []
            claim = state.assets[asset].claim(token)
            known = claim.processes if claim is not None else ()
            new = tuple(process for process in processes if process not in known)
            return [RenewEntry(((asset, token),), new)] if new else []

        self.ledger.commit(decide)
        if beside:
            return f"Spark of another driver commits to the table, for {beside[0]}"
        return None if _newest(self.ledger.state, asset, token) else "its claim is over"

    def _beside(self, state: State, asset: str, token: int) -> list[str]:
        """Live runs for which another driver's Spark may commit to the table: without put-if-absent two lose rows.

        Those of the asset's other slots, and of other assets that append to the same table.
        """
        over = self.leases.over(state, mine=frozenset(self._active))
        known = (state.assets[name] for name in sharing(self.project, asset) if name in state.assets)
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
            self.ledger.commit(lambda state: _renewal([pair for pair in held if _newest(state, *pair)]))
        except StateError:
            if waited < min(leases) * 2 / 3:
                return  # there is time to try again
            raise
        self._renewed = self.clock.monotonic()
        for name, claim in held:
            if not _newest(self.ledger.state, name, claim):
                self._active[claim].execution.supersede()

    def _record(self, work: Work | None) -> None:
        self._unrecorded = [self._recordable(self._observed(end)) for end in self._unrecorded]
        ended = tuple(self._unrecorded)
        changed = [self._restless.note(end.active.run.asset, end.outcome) for end in ended]
        if work is not None and any(changed):
            self._observe(work.select)  # what it is now, before anything is planned with what it was
        failures = {end.active.claim.token: self._told(end) for end in ended}

        def decide(state: State) -> Sequence[Entry]:
            entries: list[Entry] = []
            for end in ended:
                claim = end.active.claim
                if _newest(state, end.active.run.asset, claim.token):
                    entries += self._entries_of(end, state, failures[claim.token])
            return entries

        entries = (each.entry for each in self.ledger.commit(decide))
        recorded = {_recorder(entry): entry for entry in entries if isinstance(entry, _Ending)}
        for end in ended:
            self._broken |= isinstance(end.outcome, Failed) and issubclass(type(end.outcome.error), EngineLostError)
            del self._active[end.active.claim.token]
            self._unrecorded.remove(end)
            token = end.active.claim.token
            result = self._result(end, failures[token], recorded.get(token))
            self._results.append(result)
            if work is not None and not self._is_anew(end, self.ledger.state):
                work.ended(end.active.run, result)
            self.progress.finished(result)
            if isinstance(recorded.get(token), SuccessEntry):
                self._removals.after(self.ledger, self.project.assets[result.asset], end.active.execution)
        self.ledger.tidy()

    def _observed(self, end: _Ended) -> _Ended:
        """With what a run changed that wrote its target itself; it failed where its table cannot be looked at."""
        asset = self.project.assets[end.active.run.asset]
        if not isinstance(end.outcome, Done) or not asset.writes_itself:
            return end
        blocks, state = end.active.claim.entry.blocks, self.ledger.state
        try:
            assets = self.project.assets
            done = observed(end.outcome, asset, assets, blocks=blocks, state=state, targets=self.targets)
        except (RunError, SourceError) as error:
            failed = Failed("error", error, fenced=True, attempts=end.outcome.attempts)
            return _Ended(end.active, failed)
        return _Ended(end.active, done)

    def _recordable(self, end: _Ended) -> _Ended:
        """As it ended, or else a failure: what a run told of itself may not fit into the journal.

        Such a run is in its target, so that its chain stays; nothing of it is lost, and the others are recorded. What
        fails once the driver was asked to stop is cancelled: a signal to all processes may reach Spark's first.
        """
        if isinstance(end.outcome, Failed) and end.outcome.cause == "error" and self._stopping.is_set():
            return _Ended(end.active, replace(end.outcome, cause="cancelled"))
        if not isinstance(end.outcome, Done):
            return end
        try:
            for each in self._entries_of(end, self.ledger.state, Explained()):
                to_row(Numbered(each, 0, self.clock.now(), ""))
        except Exception as error:  # noqa: BLE001  whatever its measures hold
            lost = RunError(f"{end.active.run.asset}: what the run told of itself cannot be recorded: {said(error)}")
            return _Ended(end.active, Failed("error", lost, fenced=False, attempts=end.outcome.attempts))
        return end

    def _told(self, end: _Ended) -> Explained:
        """What a run failed of; nothing of one that did not."""
        match end.outcome:
            case Failed("cancelled"):
                return Explained(INTERRUPTED)
            case Failed(_, error):
                return self.explain_failure(end.active.claim.entry.run, error)
        return Explained()

    def _entries_of(self, end: _Ended, state: State, failure: Explained) -> list[Entry]:
        """What is recorded of how a run ended: of what it left in each outlet first, then of itself."""
        entry = self._outcome_entry(end, state, failure)
        if not isinstance(entry, SuccessEntry) or not isinstance(end.outcome, Done):
            return [entry] if entry is not None else []
        return [*outlet_entries(self.project, state, entry, end.outcome), entry, *_emitted(entry, end.outcome)]

    def _outcome_entry(self, end: _Ended, state: State, failure: Explained) -> Entry | None:
        claim, asset = end.active.claim, self.project.assets[end.active.run.asset]
        seconds = self.clock.monotonic() - end.active.since
        match end.outcome:
            case Done():
                return self._success_entry(end.active, end.outcome, state, seconds)
            case Failed(cause, _, fenced, attempts, parts, bad, asks, watermarks):
                return FailureEntry(
                    asset=asset.name,
                    run=claim.entry.run,
                    token=claim.token,
                    blocks=claim.entry.blocks,
                    cause="changed" if self._is_anew(end, state) else cause,
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
            case Skipped(reason, attempts):
                return SkippedEntry(
                    asset=asset.name,
                    run=claim.entry.run,
                    token=claim.token,
                    blocks=claim.entry.blocks,
                    reason=reason,
                    invocation=self.identity.invocation,
                    attempts=attempts,
                    seconds=seconds,
                )
            case Superseded():
                return None

    def _success_entry(self, active: _Active, done: Done, state: State, seconds: float) -> SuccessEntry:
        claim, asset = active.claim, self.project.assets[active.run.asset]
        committed, chain = done.committed, state.assets[asset.name].chain
        found = next((link for link in chain if link.entry.run == committed.run), claim)
        request, blocks = found.entry.request, with_found(asset, done, found.entry.blocks)
        keys = learned(asset, done, blocks)
        entry = SuccessEntry(
            asset=asset.name,
            uri=asset.uri,
            run=found.entry.run,
            token=found.token,
            recorder=claim.token,
            blocks=came_out(asset, committed, blocks, keys),
            table_id=None if asset.outlets else committed.table_id,
            version=None if asset.outlets else committed.version,
            interval=found.entry.interval,
            pins=request.pins,
            events=request.events,
            watermarks=committed.measures.get("watermarks", {}),
            extra={**rows_of(done.commits), **committed.measures.get("extra", {})},
            attempt=committed.attempt or done.attempts,
            seconds=seconds,
            definition=request.definition,
            keys=keys,
            unchanged=unchanged(state, asset, done, blocks - committed.withheld),
            mark="" if asset.outlets else committed.mark,
            besides=committed.besides,
            outlets=asset.outlets,
            **judged(committed, blocks),
        )
        return with_iteration(entry, asset, state, request, committed)

    def _is_anew(self, end: _Ended, state: State) -> bool:
        """Whether the run has tried nothing, as its source was another one by then."""
        return self._restless.is_known(end.outcome, end.active.claim.entry.request.pins, state)

    def _result(self, end: _Ended, failure: Explained, recorded: _Ending | None) -> RunResult:
        head = self._head(end.active)
        match end.outcome:
            case Done(attempts=attempts) if recorded is not None:
                committed = end.outcome.committed
                adopted = committed.run if committed.run != head.run else None
                found = recorded.blocks & committed.found
                return replace(
                    head,
                    request=replace(head.request, blocks=head.request.blocks | found),
                    status="withheld" if _publishes_nothing(recorded) else "success",
                    attempts=attempts,
                    rows=rows_of(end.outcome.commits).get("rows"),
                    version=None if self.project.assets[head.asset].outlets else committed.version,
                    adopted=adopted,
                    unchanged=recorded.unchanged if isinstance(recorded, SuccessEntry) else NOTHING,
                    withheld=recorded.withheld if isinstance(recorded, SuccessEntry) else NOTHING,
                    verdicts=recorded.verdicts if isinstance(recorded, SuccessEntry) else (),
                )
            case Skipped(reason, attempts) if recorded is not None:
                return replace(head, status="skipped", attempts=attempts, skipped=reason)
            case Failed(cause, _, _, attempts) if recorded is not None:
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

    def _head(self, active: _Active) -> RunResult:
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
                self._heard.put(_Ended(active, Failed("cancelled", InterruptedError("not started"), _clean(active), 0)))
        deadline = self.clock.monotonic() + STOP_SECONDS
        while self._active and self.clock.monotonic() < deadline:
            self._wait(None)
        for active in self._active.values():
            result = replace(self._head(active), status="cancelled", error=f"{INTERRUPTED}; the next start settles it")
            self._results.append(result)
            self.progress.finished(result)


def _renewal(claims: Sequence[tuple[str, int]]) -> Sequence[Entry]:
    return [RenewEntry(tuple(claims))] if claims else []


def _emitted(entry: SuccessEntry, outcome: Done) -> list[Entry]:
    """The events that the run announced, which its commit in the target has kept."""
    from sparkassets.core.journal.announce import of_run

    told = outcome.committed.measures.get("events", ())
    return [of_run(each, run=entry.run, interval=entry.interval) for each in told]


def _of_outlet(order: RunOrder, outlet: AssetSpec, state: State, request: RunRequest) -> RunOrder:
    """What the run writes of one of its outlets."""
    own: dict[str, Any] = {**of_order(outlet, state, request), "told": _told_up_to(state.assets[outlet.name])}
    return replace(order, asset=outlet, **own)


def _told_up_to(asset: AssetState) -> tuple[str, int] | None:
    """The table, and the version of it, that whoever reads the asset knows of."""
    return None if asset.table_id is None or asset.seen is None else (asset.table_id, asset.seen)


def _recorder(entry: _Ending) -> int:
    """The fence token of the claim that an end is recorded for."""
    return entry.recorder if isinstance(entry, SuccessEntry) else entry.token


def _publishes_nothing(recorded: _Ending) -> bool:
    """Whether validations withheld all of a run."""
    return isinstance(recorded, SuccessEntry) and recorded.publishes_nothing


def _newest(state: State, asset: str, claim: int) -> bool:
    """Whether ``claim`` is the newest claim of its slot, and open."""
    return state.assets[asset].is_newest(claim)


def _excludes(other: PlannedRun, run: PlannedRun) -> bool:
    """Whether two runs cannot be claimed at once: of one asset, but for runs that the plan has side by side."""
    return other.asset == run.asset and (other.slot == run.slot or not other.slot or not run.slot)


def _clean(active: _Active) -> bool:
    """A claim that was never started leaves nothing to fence, unless it was to recover older ones."""
    return not active.run.recovers


def _previous(last: LastRun | None, interval: tuple[int, int] | None) -> tuple[datetime, datetime] | None:
    """The interval of the last success, unless the run's own is as early: a backfill has nothing before it."""
    if last is None or last.interval is None or (interval is not None and last.interval[0] >= interval[0]):
        return None
    return instant(last.interval[0]), instant(last.interval[1])
