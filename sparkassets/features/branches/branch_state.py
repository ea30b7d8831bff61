"""How a branch sees its base: it observes the base's journal like a source, and offers its own results to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sparkassets.app.adapters import Adapters
from sparkassets.core.instants import to_unix
from sparkassets.core.journal.codec import from_row
from sparkassets.core.journal.entries import Entry, NumberedEntry, SpecEntry, SuccessEntry
from sparkassets.core.journal.history import EVENT_KINDS
from sparkassets.core.journal.state import State
from sparkassets.core.planner.plan import AssetNote
from sparkassets.core.planner.planning_context import PlanningContext
from sparkassets.core.spec.column_changes import ColumnChanges
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import SourceError
from sparkassets.features.branches.branch_project import (
    branch_state_location,
    build_branch_project,
    has_missed_entries,
    mirror_updates,
    read_up_to,
)
from sparkassets.features.branches.branch_sample import BranchSample
from sparkassets.features.branches.promotion import PromotionOffer
from sparkassets.frozen import frozen
from sparkassets.ports import Clock, HistoryQuery, JournalStore, LastLook, Observation, SourceObserver
from sparkassets.runtime.ledger import JournalLedger
from sparkassets.runtime.observation import changed_spec_entries

MISSED = "; read again as a whole, because the base no longer keeps the changes (`retention`)"
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
        self._is_open = False

    def state(self) -> State:
        """The newest state; an empty one if there is no journal."""
        if self._is_open:
            return self._ledger.refresh()
        if not self._store.exists():
            return State()
        self._is_open = True
        return self._ledger.open()

    def entries_after(
        self, seq: int, *, uri: str | None = None, kinds: Sequence[str] = EVENT_KINDS
    ) -> list[NumberedEntry]:
        """Entries of these kinds after sequence number ``seq``; with ``uri`` only those of a dataset."""
        if not self._store.exists():
            return []
        return [from_row(row) for row in self._store.read_history(HistoryQuery(kinds=kinds, uri=uri, after_seq=seq))]

    def has_expired(self, seq: int) -> bool:
        """Whether entries after ``seq`` have expired.

        Call it after `entries_after`: entries may expire between the two calls, and then the answer covers what the
        other call missed.
        """
        return self._store.exists() and self._store.oldest_seq() > seq + 1  # the entry after `seq` is gone

    def assume(self, state: State, entries: Sequence[Entry]) -> State:
        """The state after these entries, which are not recorded; the reader's own state stays as it is."""
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
            raise SourceError(f"{asset.name} is no longer in the base", hint="run the branch with the base's code")
        is_shared = sum(each.uri == asset.uri for each in self._base.project.assets.values()) > 1
        read_seq = read_up_to(last.cursor, state)
        # of a dataset that several assets share, only its events count: what is known then equals what is present
        entry = mirror_updates(
            asset,
            state,
            self._base.entries_after(read_seq or 0, uri=asset.uri),
            version=last.version,
            cursor=last.cursor,
            known_partitions=state.dataset(asset.uri).coverage if is_shared and last.cursor else last.coverage,
            known_view_partitions=last.view_coverage,
            has_expired=read_seq is not None and self._base.has_expired(read_seq),
        )
        if entry is None:
            return None
        return Observation(
            asset.name,
            entry.changed,
            entry.removed,
            whole=entry.whole,
            table_id=entry.table_id,
            version=entry.version,
            cursor=entry.cursor,
            views=entry.views,
        )


@frozen
class _BranchResults:
    """What a branch has computed, as its journal says at one moment.

    Attributes:
        assumed_state: The state with the present specs of the assets.
        successes: Asset to the number and the entry of each of its successful runs.
        column_changes: Asset to the difference of its table's columns from the base, where there is one.
    """

    state: State
    assumed_state: State
    successes: Mapping[str, Sequence[tuple[int, SuccessEntry]]]
    column_changes: Mapping[str, ColumnChanges]


class Branch:
    """A branch with the journal of its base and its own, both as they are now; of a ``sample`` if there is one.

    Attributes:
        branch_project: Its assets, and which of them it computes itself.
        base, journal: Readers of the journals of its base and of its own.
        adapters: What reaches the branch.
        is_sample: Whether only a sample of it is computed.
    """

    def __init__(
        self,
        name: str,
        base: JournalReader,
        make_adapters: Callable[[ProjectSpec], Adapters],
        *,
        clock: Clock,
        sample: BranchSample | None = None,
    ) -> None:
        stored_in_branch = replace(base.project, state=branch_state_location(base.project, name))
        state = JournalReader(make_adapters(stored_in_branch).store, base.project, clock).state()
        branch_project = build_branch_project(base.project, name, base.state(), state)
        self.branch_project = branch_project if sample is None else sample.limit(branch_project)
        self.is_sample = sample is not None
        self.base = base
        adapters = make_adapters(self.branch_project.spec)
        self.adapters = replace(adapters, find_observer=self._observe_base(adapters.find_observer))
        self.journal = JournalReader(self.adapters.store, self.branch_project.spec, clock)
        self._clock = clock
        self._offers: dict[int, PromotionOffer] = {}
        self._results: _BranchResults | None = None

    def _observe_base(
        self, find_observer: Callable[[AssetSpec], SourceObserver | None]
    ) -> Callable[[AssetSpec], SourceObserver | None]:
        """Finds observers as ``find_observer``, but for assets that the branch reads from the base."""
        base_observer = BaseObserver(self.base)
        return lambda asset: base_observer if asset.name in self.branch_project.reused_assets else find_observer(asset)

    def assets_not_run(self) -> list[str]:
        """Assets that the branch computes and that did not run with their present code yet."""
        changed = {
            each.asset
            for each in changed_spec_entries(self.branch_project.spec, self.journal.state())
            if isinstance(each, SpecEntry)
        }
        return [name for name in self.branch_project.assets_to_compute if name in changed]

    def notes(self, context: PlanningContext) -> tuple[AssetNote, ...]:
        """A note for each asset: computed in the branch and why, or read from the base and how far."""
        branch_project, state = self.branch_project, context.state
        computed = (
            AssetNote(name, f"computed in branch {branch_project.name}: {why}")
            for name, why in branch_project.assets_to_compute.items()
        )
        observed = (
            AssetNote(name, f"observed by branch {branch_project.name} itself: {why}")
            for name, why in branch_project.changed_sources.items()
        )
        reused = (AssetNote(name, self._reuse_note(name, state)) for name in branch_project.reused_assets)
        return (*computed, *observed, *reused)

    def _reuse_note(self, name: str, state: State) -> str:
        """The note for an asset that the branch reads from the base."""
        asset_state = state.assets.get(name)
        if asset_state is None or (asset_state.version is None and not state.dataset(asset_state.spec.uri).seq):
            return "reused: the base has no data of it yet"
        at = "" if asset_state.version is None else f" at version {asset_state.version}"
        return f"reused from the base{at}{MISSED if self._has_missed(name) else ''}"

    def _has_missed(self, name: str) -> bool:
        """Whether changes of an asset that the branch has not read have expired in the base's journal."""
        asset = self.branch_project.spec.assets[name]
        asset_state = self.journal.state().assets.get(name)
        base = self.base.state()
        read_seq = read_up_to(asset_state.position, base) if asset_state is not None else None
        if read_seq is None or not self.base.has_expired(read_seq):
            return False
        return any(has_missed_entries(uri, read_seq, base, has_expired=True) for uri in (asset.uri, *asset.views))

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
        branch_project = self.branch_project
        if self._results is None:
            self._results = self._read_results()
        results = self._results
        news = [
            entry
            for name in branch_project.reused_assets
            if (entry := self._base_news(name, results.assumed_state, context.state)) is not None
        ]
        state = self.journal.assume(results.assumed_state, news)
        return PromotionOffer(
            branch_project.name,
            PlanningContext(branch_project.spec, state, context.now, to_unix(self._clock.now())),
            tuple(branch_project.assets_to_compute),
            results.state.journal_id,
            results.state.seq,
            results.successes,
            tuple(branch_project.changed_sources),
            results.column_changes,
        )

    def _read_results(self) -> _BranchResults:
        """Reads what the branch has computed up to now."""
        state, branch_project = self.journal.state(), self.branch_project
        successes: dict[str, list[tuple[int, SuccessEntry]]] = {}
        for numbered in self.journal.entries_after(0, kinds=("success",)):
            if isinstance(numbered.entry, SuccessEntry) and numbered.seq <= state.seq:
                successes.setdefault(numbered.entry.asset, []).append((numbered.seq, numbered.entry))
        changes = {name: self._column_changes(name) for name in branch_project.assets_to_compute}
        return _BranchResults(
            state,
            self.journal.assume(state, changed_spec_entries(branch_project.spec, state)),
            successes,
            {name: change for name, change in changes.items() if change},
        )

    def _column_changes(self, name: str) -> ColumnChanges:
        """Difference of the columns of an asset's table from base to branch; empty if either table's are not known."""
        assets = (self.base.project.assets[name], self.branch_project.spec.assets[name])
        stored = (self.adapters.read_columns(each) if each.storage is not None else None for each in assets)
        before, after = (each or {} for each in stored)
        return ColumnChanges.from_types(before, after) if before and after else ColumnChanges()

    def _base_news(self, name: str, branch: State, base: State) -> Entry | None:
        """The entry for what the base has recorded of an asset and the branch has not seen; None without news."""
        asset, asset_state = self.branch_project.spec.assets[name], branch.assets[name]
        read_seq = read_up_to(asset_state.position, base)
        entries = self.base.entries_after(read_seq or 0, uri=asset.uri)
        is_shared = sum(each.uri == asset.uri for each in self.base.project.assets.values()) > 1
        return mirror_updates(
            asset,
            base,
            [entry for entry in entries if entry.seq <= base.seq],
            version=asset_state.version,
            cursor=asset_state.position,
            known_partitions=(base if is_shared and asset_state.position else branch).dataset(asset.uri).coverage,
            known_view_partitions={uri: branch.dataset(uri).coverage for uri in asset.views},
            has_expired=read_seq is not None and self.base.has_expired(read_seq),
        )
