"""The mutable working copy of the state during one call of the fold.

Additions to coverage, recent events and stale marks (partitions that became stale for an inlet, with the cause) are
buffered, because rebuilding these large values for each of many entries takes quadratic time. Read them by the methods,
which flush the buffers; not from `assets` or `datasets`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, TypeVar

from sparkassets.core.journal.fold_specs import FoldInlet
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef, State
from sparkassets.core.partitions import NOTHING, PartitionSet, StampedPartitions
from sparkassets.frozen import replace

Name = TypeVar("Name", str, tuple[str, str])
NO_STAMPS: Final = StampedPartitions()


class FoldWorkspace:
    """A state being changed; values that no entry touches are shared with the original.

    Attributes:
        assets: Without buffered stale marks; `flush_stale_marks` adds them.
        datasets: Without buffered coverage and events; `dataset` and `recent_events` add them.
        consumers, keepers: As in `State`.
    """

    def __init__(self, state: State) -> None:
        self.assets = dict(state.assets)
        self.datasets = dict(state.datasets)
        self.consumers = dict(state.consumers)
        self.keepers = dict(state.keepers)
        self._journal_id = state.journal_id
        self._fresh: dict[str, list[EventRef]] = {}
        self._added: dict[str, list[PartitionSet]] = {}
        self._marked: dict[str, dict[str, list[StampedPartitions]]] = {}

    def result(self, seq: int, commit: int) -> State:
        """Flushes all buffers and returns the new state."""
        for uri in [*self._fresh, *self._added]:
            self.dataset(uri)
        for name in list(self._marked):
            self.flush_stale_marks(name)
        return State(self._journal_id, seq, commit, self.assets, self.datasets, self.consumers, self.keepers)

    # ------------------------------------------------------------------ assets

    def flush_stale_marks(self, name: str) -> AssetState | None:
        """Adds the buffered stale marks to the asset and returns it; None where there is no such asset."""
        asset, marked = self.assets.get(name), self._marked.pop(name, {})
        if asset is not None and marked:
            unions = {inlet: StampedPartitions.union(marks) for inlet, marks in marked.items()}
            stale = {inlet: asset.stale.get(inlet, NO_STAMPS).merge(marks) for inlet, marks in unions.items()}
            asset = self.assets[name] = replace(asset, stale={**asset.stale, **stale})
        return asset

    def add_stale_mark(self, name: str, inlet: FoldInlet, partitions: PartitionSet, *, seq: int) -> None:
        """Buffers a stale mark: partitions of the asset that the cause ``seq`` makes stale for the inlet.

        For partitions that failed or are missing the mark is only a new cause to try them.
        """
        if partitions:
            marks = NO_STAMPS.overlay(partitions, seq)
            self._marked.setdefault(name, {}).setdefault(inlet.name, []).append(marks)

    def inlet_with_coverage(self, inlet: FoldInlet) -> FoldInlet:
        """The inlet, told which of its partitions are present, where its mapping goes by the newest of these."""
        return inlet.with_available(self.coverage(inlet.uri)) if inlet.needs.goes_by_newest else inlet

    def has_others(self, uri: str, name: str) -> bool:
        """Whether an asset other than ``name`` has the URI."""
        return any(asset.spec.uri == uri for asset in self.assets.values() if asset.name != name)

    # ------------------------------------------------------------------ datasets

    def dataset(self, uri: str) -> DatasetState:
        """Flushes the dataset's buffers and returns it; an empty one for an unknown URI."""
        self.recent_events(uri)
        self.coverage(uri)
        return self.datasets.get(uri) or DatasetState(uri)

    def newest_seq(self, uri: str) -> int:
        """The sequence number of the dataset's newest event; 0 before the first."""
        dataset = self.datasets.get(uri)
        return dataset.seq if dataset is not None else 0

    def recent_events(self, uri: str) -> RecentEvents[EventRef]:
        """The dataset's remembered events, with the buffered ones."""
        dataset, fresh = self.datasets.get(uri), self._fresh.pop(uri, None)
        if dataset is not None and fresh:
            dataset = self.datasets[uri] = replace(dataset, recent=dataset.recent.with_events(fresh))
        return dataset.recent if dataset is not None else RecentEvents()

    def coverage(self, uri: str) -> PartitionSet:
        """The dataset's present partitions, with the buffered ones."""
        dataset, added = self.datasets.get(uri), self._added.pop(uri, None)
        if added is not None:
            dataset = dataset or DatasetState(uri)
            dataset = self.datasets[uri] = replace(dataset, coverage=dataset.coverage | PartitionSet.union(added))
        return dataset.coverage if dataset is not None else NOTHING

    def add_coverage(self, uri: str, parts: PartitionSet) -> None:
        """Buffers partitions that are present in the dataset now."""
        self._added.setdefault(uri, []).append(parts)

    def remember_event(self, ref: EventRef, *, alone: bool) -> None:
        """Buffers an event of its dataset.

        ``alone`` means that no asset is triggered by the dataset: then only the newest event is remembered.
        """
        if alone:
            self._fresh[ref.uri] = [ref]
        else:
            self._fresh.setdefault(ref.uri, []).append(ref)

    # ------------------------------------------------------------------ dependents of a dataset

    def readers(self, uri: str) -> Iterator[tuple[str, FoldInlet]]:
        """Yields each asset that reads the dataset, with its inlet."""
        for name, inlet_name in self.consumers.get(uri, ()):
            inlet = self.assets[name].spec.inlet(inlet_name)
            if inlet is not None:
                yield name, inlet

    def triggered_assets(self, uri: str) -> list[AssetState]:
        """The assets that the dataset's events trigger, or triggered before their condition changed."""
        return [self.assets[name] for name in self.keepers.get(uri, ())]

    def dependent_assets(self, uri: str) -> set[str]:
        """The names of the assets that read the dataset or are triggered by it."""
        return {*self.keepers.get(uri, ()), *(name for name, _ in self.consumers.get(uri, ()))}

    def update_listeners(self, name: str, old: AssetState | None) -> None:
        """Updates `consumers` and `keepers` after the asset's spec changed from ``old``."""
        new = self.assets[name]
        before = old if old is not None else new
        for uri in {*before.spec.listens, *new.spec.listens}:
            own = [(name, inlet) for inlet in new.spec.readers(uri)] if uri in new.spec.listens else []
            known = self.consumers.get(uri, ())
            # ``known`` is sorted by (asset, inlet); no name sorts between ``name`` and ``name`` with a null character
            first, last = bisect_left(known, (name,)), bisect_left(known, (f"{name}\0",))
            _set_or_drop(self.consumers, uri, (*known[:first], *sorted(own), *known[last:]))
        for uri in before.triggers | new.triggers:
            keepers = self.keepers.get(uri, ())
            first, last = bisect_left(keepers, name), bisect_right(keepers, name)
            own_name = (name,) if uri in new.triggers else ()
            _set_or_drop(self.keepers, uri, (*keepers[:first], *own_name, *keepers[last:]))


def _set_or_drop(known: dict[str, tuple[Name, ...]], uri: str, values: tuple[Name, ...]) -> None:
    """Stores the values of a dataset; drops the dataset where there are none."""
    if values:
        known[uri] = values
    else:
        known.pop(uri, None)
