"""The mutable working copy of the state during one call of the fold.

Additions to coverage, recent events and staleness (partitions that became stale for an inlet, with the cause) are
buffered, because rebuilding these large values for each of many entries takes quadratic time. Read them by the methods,
which flush the buffers; not from `assets` or `datasets`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
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
        assets: Without buffered staleness; `flush_staleness` adds them.
        datasets: Without buffered coverage and events; `dataset` and `recent_events` add them.
        consumers, triggered, digests: As in `State`, in lists where they changed.
    """

    def __init__(self, state: State) -> None:
        self.assets = dict(state.assets)
        self.datasets = dict(state.datasets)
        self.consumers = dict(state.consumers)
        self.triggered = dict(state.triggered)
        self.digests = dict(state.digests)
        self._changed_listeners: set[str] = set()
        self._journal_id = state.journal_id
        self._new_events: dict[str, list[EventRef]] = {}
        self._new_coverage: dict[str, list[PartitionSet]] = {}
        self._new_staleness: dict[str, dict[str, list[StampedPartitions]]] = {}

    def result(self, seq: int, commit: int) -> State:
        """Flushes all buffers and returns the new state."""
        for uri in [*self._new_events, *self._new_coverage]:
            self.dataset(uri)
        for name in list(self._new_staleness):
            self.flush_staleness(name)
        for uri in self._changed_listeners:  # these were lists while they changed
            _freeze(self.consumers, uri)
            _freeze(self.triggered, uri)
        return State(
            self._journal_id, seq, commit, self.assets, self.datasets, self.consumers, self.triggered, self.digests
        )

    # ------------------------------------------------------------------ assets

    def flush_staleness(self, name: str) -> AssetState | None:
        """Adds the buffered staleness to the asset and returns it; None where there is no such asset."""
        asset, buffered = self.assets.get(name), self._new_staleness.pop(name, {})
        if asset is not None and buffered:
            unions = {inlet: StampedPartitions.union(stamps) for inlet, stamps in buffered.items()}
            stale = {inlet: asset.stale.get(inlet, NO_STAMPS).merge(stamps) for inlet, stamps in unions.items()}
            asset = self.assets[name] = replace(asset, stale={**asset.stale, **stale})
        return asset

    def add_staleness(self, name: str, inlet: FoldInlet, partitions: PartitionSet, *, seq: int) -> None:
        """Buffers staleness: partitions of the asset that the cause ``seq`` makes stale for the inlet.

        For partitions that failed or are missing it is only a new cause to try them.
        """
        if partitions:
            stamps = NO_STAMPS.overlay(partitions, seq)
            self._new_staleness.setdefault(name, {}).setdefault(inlet.name, []).append(stamps)

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
        dataset, buffered = self.datasets.get(uri), self._new_events.pop(uri, None)
        if dataset is not None and buffered:
            dataset = self.datasets[uri] = replace(dataset, recent=dataset.recent.with_events(buffered))
        return dataset.recent if dataset is not None else RecentEvents()

    def coverage(self, uri: str) -> PartitionSet:
        """The dataset's present partitions, with the buffered ones."""
        dataset, buffered = self.datasets.get(uri), self._new_coverage.pop(uri, None)
        if buffered is not None:
            dataset = dataset or DatasetState(uri)
            dataset = self.datasets[uri] = replace(dataset, coverage=dataset.coverage | PartitionSet.union(buffered))
        return dataset.coverage if dataset is not None else NOTHING

    def add_coverage(self, uri: str, parts: PartitionSet) -> None:
        """Buffers partitions that are present in the dataset now."""
        self._new_coverage.setdefault(uri, []).append(parts)

    def remember_event(self, ref: EventRef, *, keeps_only_newest: bool) -> None:
        """Buffers an event of its dataset.

        ``keeps_only_newest`` means that no asset is triggered by the dataset: then only the newest event is remembered.
        """
        if keeps_only_newest:
            self._new_events[ref.uri] = [ref]
        else:
            self._new_events.setdefault(ref.uri, []).append(ref)

    # ------------------------------------------------------------------ dependents of a dataset

    def readers(self, uri: str) -> Iterator[tuple[str, FoldInlet]]:
        """Yields each asset that reads the dataset, with its inlet."""
        for name, inlet_name in self.consumers.get(uri, ()):
            inlet = self.assets[name].spec.inlet(inlet_name)
            if inlet is not None:  # a leaf of the condition has an empty name and is no inlet
                yield name, inlet

    def triggered_assets(self, uri: str) -> list[AssetState]:
        """The assets that the dataset's events trigger, or triggered before their condition changed."""
        return [self.assets[name] for name in self.triggered.get(uri, ())]

    def dependent_assets(self, uri: str) -> set[str]:
        """The names of the assets that read the dataset or are triggered by it."""
        return {*self.triggered.get(uri, ()), *(name for name, _ in self.consumers.get(uri, ()))}

    def update_listeners(self, name: str, old: AssetState | None) -> None:
        """Updates `consumers` and `triggered` after the asset's spec changed from ``old``."""
        new = self.assets[name]
        former = old if old is not None else new  # a new asset has nothing to take out
        for uri in {*former.spec.listens, *new.spec.listens}:
            inlet_pairs = [(name, inlet) for inlet in new.spec.readers(uri)] if uri in new.spec.listens else []
            consumers = _thaw(self.consumers, uri)
            # they are sorted by (asset, inlet); no name sorts between ``name`` and ``name`` with a null character
            low, high = bisect_left(consumers, (name,)), bisect_left(consumers, (f"{name}\0",))
            consumers[low:high] = sorted(inlet_pairs)
        for uri in former.triggers | new.triggers:
            triggered = _thaw(self.triggered, uri)
            low, high = bisect_left(triggered, name), bisect_right(triggered, name)
            triggered[low:high] = [name] if uri in new.triggers else []
        self._changed_listeners |= {*former.spec.listens, *new.spec.listens, *former.triggers, *new.triggers}


def _thaw(values_by_uri: dict[str, Sequence[Name]], uri: str) -> list[Name]:
    """The values of a dataset, as a list that takes their place and can change."""
    values = values_by_uri.get(uri, ())
    if not isinstance(values, list):
        values = values_by_uri[uri] = list(values)
    return values


def _freeze(values_by_uri: dict[str, Sequence[Name]], uri: str) -> None:
    """Turns such a list into a tuple again; drops the dataset where it is empty."""
    if values := values_by_uri.get(uri):
        values_by_uri[uri] = tuple(values)
    else:
        values_by_uri.pop(uri, None)
