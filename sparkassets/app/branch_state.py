"""How a branch sees its base: it observes the base's journal like a source, and offers its own results to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sparkassets.app.adapters import Adapters
from sparkassets.core.branches.branch_project import (
    BranchProject,
    base_uri,
    branch_state_location,
    build_branch_project,
    has_missed_entries,
    mirror_updates,
    read_up_to,
)
from sparkassets.core.branches.promotion import PromotionOffer
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import Entry, EventEntry, NumberedEntry, SpecEntry, SuccessEntry
from sparkassets.core.journal.history import EVENT_KINDS
from sparkassets.core.journal.state import State
from sparkassets.core.planner.plan import AssetNote, Plan, PlannedRun, RunQueue
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.results import RunResult
from sparkassets.core.spec.column_changes import ColumnChanges
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.errors import SourceError
from sparkassets.ports import Clock, HistoryQuery, JournalStore, LastLook, Observation, SourceObserver
from sparkassets.runtime.driver_work import DriverWork
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import changed_spec_entries

MISSED = "; all of it counts as new, as the base does not keep what the branch has not read (`retention`)"
"""Added to the note of an asset whose entries in the base's journal expired before the branch read them."""


class JournalReader:
    """Reads a journal that this process does not write; follows what others commit.

    Attributes:
        project: The project of the journal, with its present code.
    """

    def __init__(self, store: JournalStore, project: ProjectSpec, clock: Clock) -> None:
        self.project = project
        self._store = store
        self._ledger = JournalLedger(store, project=project.name, driver="", clock=clock)
        self._opened = False

    def state(self) -> State:
        """The newest state; an empty one if there is no journal."""
        if self._opened:
            return self._ledger.refresh()
        if not self._store.exists():
            return State()
        self._opened = True
        return self._ledger.open()

    def since(self, seq: int, *, uri: str | None = None, kinds: Sequence[str] = EVENT_KINDS) -> list[NumberedEntry]:
        """Entries of these kinds after sequence number ``seq``; with ``uri`` only those of a dataset."""
        if not self._store.exists():
            return []
        return [from_row(row) for row in self._store.read_history(HistoryQuery(kinds=kinds, uri=uri, after_seq=seq))]

    def is_cut(self, seq: int) -> bool:
        """Whether entries after ``seq`` have expired.

        Call it after `since`: entries may expire between the two calls, and then the answer covers what `since` missed.
        """
        return self._store.exists() and self._store.oldest_seq() > seq + 1

    def assume(self, state: State, entries: Sequence[Entry]) -> State:
        """The state after these entries, which are not recorded."""
        ledger = self._ledger
        before, ledger.state = ledger.state, state
        try:
            return ledger.assume(entries)
        finally:
            ledger.state = before


class BaseObserver:
    """Observes an asset of the base in the base's journal, not in its table; implements `ports.SourceObserver`."""

    def __init__(self, base: JournalReader) -> None:
        self._base = base

    def observe(self, asset: AssetSpec, last: LastLook, *, now: datetime) -> Observation | None:
        """What the base has recorded of the asset since the last look; None if nothing changed.

        Raises:
            SourceError: The base does not have the asset any more.
        """
        del now
        state = self._base.state()
        if asset.name not in state.assets:
            raise SourceError(f"{asset.name} is not in the base any more", hint="run the branch with the base's code")
        shared = sum(each.uri == asset.uri for each in self._base.project.assets.values()) > 1
        read = read_up_to(last.cursor, state)
        found = mirror_updates(
            asset,
            state,
            self._base.since(read or 0, uri=asset.uri),
            version=last.version,
            cursor=last.cursor,
            coverage=state.dataset(asset.uri).coverage if shared and last.cursor else last.coverage,
            viewed=last.view_coverage,
            cut=read is not None and self._base.is_cut(read),
        )
        if found is None:
            return None
        return Observation(
            asset.name,
            found.changed,
            found.removed,
            whole=found.whole,
            table_id=found.table_id,
            version=found.version,
            cursor=found.cursor,
            views=found.views,
        )


class BranchWork(DriverWork):
    """A driver's work in a branch, which first records how far the branch knew its base.

    From that point on, a promotion can tell the branch's changes from those that the base made since.
    """

    def __init__(self, work: DriverWork, fork: BranchProject, base: State) -> None:
        self.select = work.select
        self._work = work
        self._fork = fork
        self._base = base

    def begin(self, context: PlanningContext) -> Sequence[Entry]:
        """For each computed asset without one, an event with the base's sequence number; then the work's entries."""
        known, extra = context.state, {"seq": self._base.seq, "journal": self._base.journal_id}
        began = [name for name in self._fork.computed_assets if not known.dataset(base_uri(name)).seq]
        return [*(EventEntry(base_uri(name), extra=extra) for name in began), *self._work.begin(context)]

    def plan(self, context: PlanningContext) -> Plan:
        """The plan of the wrapped work."""
        return self._work.plan(context)

    def queue_runs(self, context: PlanningContext) -> RunQueue:
        """The runs of the wrapped work."""
        return self._work.queue_runs(context)

    def record_result(self, run: PlannedRun, result: RunResult) -> None:
        """Passes the result on to the wrapped work."""
        self._work.record_result(run, result)


class Branch:
    """A branch with the journal of its base and its own, both as they are now.

    Attributes:
        fork: Which project it is.
        base, own: Their journals.
        adapters: What reaches the branch.
    """

    def __init__(
        self, name: str, base: JournalReader, beside: Callable[[ProjectSpec], Adapters], *, clock: Clock
    ) -> None:
        at = replace(base.project, state=branch_state_location(base.project, name))
        state = JournalReader(beside(at).store, base.project, clock).state()
        self.fork = build_branch_project(base.project, name, base.state(), state)
        self.base = base
        found = beside(self.fork.project)
        self.adapters = replace(found, find_observer=self._observer(found.find_observer))
        self.own = JournalReader(self.adapters.store, self.fork.project, clock)
        self._clock = clock
        self._offers: dict[int, PromotionOffer] = {}
        self._successes: dict[str, list[tuple[int, SuccessEntry]]] | None = None

    def _observer(
        self, observer: Callable[[AssetSpec], SourceObserver | None]
    ) -> Callable[[AssetSpec], SourceObserver | None]:
        of_base = BaseObserver(self.base)
        return lambda asset: of_base if asset.name in self.fork.reused_assets else observer(asset)

    def unknown(self) -> list[str]:
        """Assets that the branch computes and that did not run with their present code yet."""
        changed = {
            each.asset
            for each in changed_spec_entries(self.fork.project, self.own.state())
            if isinstance(each, SpecEntry)
        }
        return [name for name in self.fork.computed_assets if name in changed]

    def notes(self, context: PlanningContext) -> tuple[AssetNote, ...]:
        """A note for each asset: computed in the branch and why, or read from the base and how far."""
        fork, state = self.fork, context.state
        own = (AssetNote(name, f"computed in branch {fork.name}: {why}") for name, why in fork.computed_assets.items())
        fresh = (
            AssetNote(name, f"looked at by branch {fork.name} itself: {why}")
            for name, why in fork.changed_sources.items()
        )
        return (*own, *fresh, *(AssetNote(name, self._reuse_note(name, state)) for name in fork.reused_assets))

    def _reuse_note(self, name: str, state: State) -> str:
        """The note for an asset that the branch reads from the base."""
        known = state.assets.get(name)
        if known is None or (known.version is None and not state.dataset(known.spec.uri).seq):
            return "reused: the base has nothing of it yet"
        at = "" if known.version is None else f" at version {known.version}"
        return f"reused, as the base has recorded it{at}{MISSED if self._has_missed(name) else ''}"

    def _has_missed(self, name: str) -> bool:
        """Whether changes of an asset that the branch has not read have expired in the base's journal."""
        asset, known, base = self.fork.project.assets[name], self.own.state().assets.get(name), self.base.state()
        read = read_up_to(known.position, base) if known is not None else None
        if read is None or not self.base.is_cut(read):
            return False
        return any(has_missed_entries(uri, read, base, cut=True) for uri in (asset.uri, *asset.views))

    def offer(self, context: PlanningContext) -> PromotionOffer:
        """What the branch offers for promotion, given what the base has recorded up to the state of ``context``.

        Kept until that state changes.
        """
        seq = context.state.seq
        if seq not in self._offers:
            self._offers = {seq: self._offer(context)}
        return self._offers[seq]

    def _offer(self, context: PlanningContext) -> PromotionOffer:
        """The offer: the branch's successes and columns, and its state with the base's news applied.

        The branch is read once, at the first call, so that all plans of a promotion offer the same results.
        """
        fork = self.fork
        if self._successes is None:  # read once: every plan of a promotion offers this state
            state = self.own.state()
            self._successes = {}
            for each in self.own.since(0, kinds=("success",)):
                if isinstance(each.entry, SuccessEntry) and each.seq <= state.seq:
                    self._successes.setdefault(each.entry.asset, []).append((each.seq, each.entry))
            self._known = self.own.assume(state, changed_spec_entries(fork.project, state))
            self._read = state
            reshaped = ((name, self._reshaping(name)) for name in fork.computed_assets)
            self._reshaped = {name: found for name, found in reshaped if found}
        news = [entry for name in fork.reused_assets if (entry := self._news(name, context.state)) is not None]
        state = self.own.assume(self._known, news)
        beside = PlanningContext(fork.project, state, context.now, to_unix(self._clock.now()))
        own, fresh, read = tuple(fork.computed_assets), tuple(fork.changed_sources), self._read
        more = (self._successes, fresh, self._reshaped)
        return PromotionOffer(fork.name, beside, own, read.journal_id, read.seq, *more)

    def _reshaping(self, name: str) -> ColumnChanges:
        """Difference of the columns of an asset's table from base to branch; empty if either table's are not known."""
        assets = (self.base.project.assets[name], self.fork.project.assets[name])
        stored = (self.adapters.read_columns(each) if each.storage is not None else None for each in assets)
        before, after = (each or () for each in stored)
        return ColumnChanges.from_columns(before, after) if before and after else ColumnChanges()

    def _news(self, name: str, base: State) -> Entry | None:
        """The entry for what the base has recorded of an asset and the branch has not seen; None without news."""
        asset, known = self.fork.project.assets[name], self._known.assets[name]
        read = read_up_to(known.position, base)
        since = self.base.since(read or 0, uri=asset.uri)
        shared = sum(each.uri == asset.uri for each in self.base.project.assets.values()) > 1
        return mirror_updates(
            asset,
            base,
            [each for each in since if each.seq <= base.seq],
            version=known.version,
            cursor=known.position,
            coverage=(base if shared and known.position else self._known).dataset(asset.uri).coverage,
            viewed={uri: self._known.dataset(uri).coverage for uri in asset.views},
            cut=read is not None and self.base.is_cut(read),
        )
