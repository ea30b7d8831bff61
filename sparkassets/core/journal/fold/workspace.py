"""What one call of the fold works on: a state that is written in place, and that grows without being copied."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TypeVar

from sparkassets.core.journal.fold_specs import FoldInlet
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef, State
from sparkassets.core.partitions import NOTHING, PartitionSet, StampedPartitions
from sparkassets.core.partitions.growing_sets import GrowingPartitions, GrowingStampedPartitions

Name = TypeVar("Name", str, tuple[str, str])


class FoldWorkspace:
    """A state on its way; what no entry touches is the state's own.

    Attributes:
        assets: Without the marks of what is stale that came since; `marked` has them.
        datasets: Without the coverage and the events that came since; `dataset` and `recent` have them.
        consumers, keepers: As in `State`.
    """

    def __init__(self, state: State) -> None:
        self.assets = dict(state.assets)
        self.datasets = dict(state.datasets)
        self.consumers = dict(state.consumers)
        self.keepers = dict(state.keepers)
        self._journal_id = state.journal_id
        self._fresh: dict[str, list[EventRef]] = {}
        self._growing: dict[str, GrowingPartitions] = {}
        self._marking: dict[str, dict[str, GrowingStampedPartitions]] = {}

    def result(self, seq: int, commit: int) -> State:
        """The state with all that came."""
        for uri in [*self._fresh, *self._growing]:
            self.dataset(uri)
        for name in list(self._marking):
            self.flush_stale_marks(name)
        return State(self._journal_id, seq, commit, self.assets, self.datasets, self.consumers, self.keepers)

    # ------------------------------------------------------------------ assets

    def flush_stale_marks(self, name: str) -> AssetState | None:
        """The asset with all marks of what is stale; None where there is no such asset."""
        asset, marking = self.assets.get(name), self._marking.pop(name, {})
        if asset is not None and marking:
            stale = {**asset.stale, **{inlet: marks.result() for inlet, marks in marking.items()}}
            asset = self.assets[name] = replace(asset, stale=stale)
        return asset

    def add_stale_mark(self, name: str, inlet: FoldInlet, blocks: PartitionSet, *, seq: int) -> None:
        """Marks blocks of the asset as stale, or as having a new cause, because of that inlet."""
        if blocks:
            marking = self._marking.setdefault(name, {})
            if inlet.name not in marking:
                marking[inlet.name] = GrowingStampedPartitions(
                    self.assets[name].stale.get(inlet.name, StampedPartitions())
                )
            marking[inlet.name].overlay(blocks, seq)

    def inlet_with_coverage(self, inlet: FoldInlet) -> FoldInlet:
        """The inlet with what it has, where that tells what is needed of it."""
        return inlet.with_available(self.dataset(inlet.uri).coverage) if inlet.needs.goes_by_newest else inlet

    def has_others(self, uri: str, name: str) -> bool:
        """Whether an asset other than ``name`` has the URI."""
        return any(asset.spec.uri == uri for asset in self.assets.values() if asset.name != name)

    # ------------------------------------------------------------------ datasets

    def dataset(self, uri: str) -> DatasetState:
        """The dataset with all that came, also when nothing is known of it."""
        self.recent_events(uri)
        growing = self._growing.pop(uri, None)
        dataset = self.datasets.get(uri) or DatasetState(uri)
        if growing is not None:
            dataset = self.datasets[uri] = replace(dataset, coverage=growing.result())
        return dataset

    def newest_seq(self, uri: str) -> int:
        """The number of the dataset's newest event; 0 before the first."""
        dataset = self.datasets.get(uri)
        return dataset.seq if dataset is not None else 0

    def recent_events(self, uri: str) -> RecentEvents[EventRef]:
        """The dataset's events that are remembered, with those that came."""
        dataset, fresh = self.datasets.get(uri), self._fresh.pop(uri, None)
        if dataset is not None and fresh:
            dataset = self.datasets[uri] = replace(dataset, recent=dataset.recent.with_events(fresh))
        return dataset.recent if dataset is not None else RecentEvents()

    def growing_coverage(self, uri: str) -> GrowingPartitions:
        """The coverage of the dataset, to be added to."""
        if uri not in self._growing:
            dataset = self.datasets.get(uri)
            self._growing[uri] = GrowingPartitions(dataset.coverage if dataset is not None else NOTHING)
        return self._growing[uri]

    def remember_event(self, ref: EventRef, *, alone: bool) -> None:
        """Adds an event to its dataset; ``alone`` when all before it are forgotten."""
        if alone:
            self._fresh[ref.uri] = [ref]
        else:
            self._fresh.setdefault(ref.uri, []).append(ref)

    # ------------------------------------------------------------------ who goes by a dataset

    def readers(self, uri: str) -> Iterator[tuple[str, FoldInlet]]:
        """The assets that read the dataset, with the inlet by which they do."""
        for name, inlet_name in self.consumers.get(uri, ()):
            inlet = self.assets[name].spec.inlet(inlet_name)
            if inlet is not None:
                yield name, inlet

    def triggered_assets(self, uri: str) -> list[AssetState]:
        """The assets that the dataset's events trigger, or triggered before their condition changed."""
        return [self.assets[name] for name in self.keepers.get(uri, ())]

    def dependent_assets(self, uri: str) -> set[str]:
        """The assets that the dataset matters to, as an input or as a cause."""
        return {*self.keepers.get(uri, ()), *(name for name, _ in self.consumers.get(uri, ()))}

    def update_listeners(self, name: str, old: AssetState | None) -> None:
        """Notes who goes by which dataset, now that the asset's spec changed."""
        new = self.assets[name]
        before = old if old is not None else new
        for uri in {*before.spec.listens, *new.spec.listens}:
            own = [(name, inlet) for inlet in new.spec.readers(uri)] if uri in new.spec.listens else []
            others = (pair for pair in self.consumers.get(uri, ()) if pair[0] != name)
            _set_or_drop(self.consumers, uri, [*others, *own])
        for uri in before.triggers | new.triggers:
            rest = {*self.keepers.get(uri, ())} - {name}
            _set_or_drop(self.keepers, uri, rest | {name} if uri in new.triggers else rest)


def _set_or_drop(known: dict[str, tuple[Name, ...]], uri: str, values: Collection[Name]) -> None:
    """Keeps no dataset with nobody."""
    if values:
        known[uri] = tuple(sorted(values))
    else:
        known.pop(uri, None)
