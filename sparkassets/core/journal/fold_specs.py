"""What the fold must know of an asset, kept in the journal so that drivers on different checkouts fold alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import is_

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.partitions import UNPARTITIONED, Dependency, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec, OnRemoved, OnUpdate, ProjectSpec
from sparkassets.core.strategies import FullRefresh
from sparkassets.frozen import frozen


@frozen
class FoldInlet:
    """An inlet as the fold sees it.

    Attributes:
        needs: Which of its partitions a block needs.
        settle: Seconds that it must have been quiet.
        aligned: Whether it is read as of the run of its own timetable.
        on_removed: What becomes of time that lost its input.
    """

    name: str
    uri: str
    needs: Dependency
    on_update: OnUpdate
    settle: int = 0
    aligned: bool = False
    on_removed: OnRemoved = "rerun"

    def with_consumer_partitioning(self, consumer: Partitioning) -> FoldInlet:
        """The same, of a consumer in these partitions."""
        if self.needs.consumer is consumer:
            return self
        return replace(self, needs=replace(self.needs, consumer=consumer))

    def with_inlet_partitioning(self, inlet: Partitioning) -> FoldInlet:
        """The same, of an inlet in these partitions."""
        return self if self.needs.inlet is inlet else replace(self, needs=replace(self.needs, inlet=inlet))

    def with_available(self, there: PartitionSet) -> FoldInlet:
        """The same where this is what it has."""
        return replace(self, needs=self.needs.with_available(there))


@frozen
class FoldSpec:
    """An asset as the fold sees it.

    Attributes:
        storage: Where the asset is, as its YAML says; what was computed stands there.
        appends: Whether its runs only append to its table.
        learns: Whether the segments of its open dimensions are those that its events name: others write it.
        listens: Datasets whose events the asset consumes: its inlets' and its condition's.
        named: Those of its condition, whose events trigger it.
        definition: What it is computed by.
        outlets: Of a multi-asset, what its runs write, with where each is.
        maker: Of an outlet, whose runs write it.
        refreshes: Whether any update of an inlet makes all of it stale: ``full_refresh``.
    """

    uri: str
    partitioning: Partitioning = UNPARTITIONED
    inlets: tuple[FoldInlet, ...] = ()
    listens: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    storage: str | None = None
    appends: bool = False
    definition: AssetDefinition | None = None
    learns: bool = False
    outlets: tuple[tuple[str, str], ...] = ()
    maker: str = ""
    refreshes: bool = False

    def stands_elsewhere(self, before: FoldSpec) -> bool:
        """Whether what was computed is not where it would be looked for: it moved, or more is written than was."""
        if self.outlets:
            return not before.outlets or bool(set(self.outlets) - set(before.outlets))
        return self.storage != before.storage or (self.storage is None and self.uri != before.uri)

    @property
    def as_declared(self) -> FoldSpec:
        """The same, before any segment of an open dimension is known: as the files of a project say it."""
        own = self.partitioning.as_declared
        inlets = tuple(
            inlet.with_inlet_partitioning(inlet.needs.inlet.as_declared).with_consumer_partitioning(own)
            for inlet in self.inlets
        )
        same = own is self.partitioning and all(map(is_, inlets, self.inlets))
        return self if same else replace(self, partitioning=own, inlets=inlets)

    def with_partitioning(self, partitioning: Partitioning) -> FoldSpec:
        """The same, in these partitions."""
        if partitioning is self.partitioning:
            return self
        return replace(
            self,
            partitioning=partitioning,
            inlets=tuple(inlet.with_consumer_partitioning(partitioning) for inlet in self.inlets),
        )

    def inlet(self, name: str) -> FoldInlet | None:
        """The inlet of that name."""
        return next((inlet for inlet in self.inlets if inlet.name == name), None)

    def readers(self, uri: str) -> tuple[str, ...]:
        """The inlets that read the dataset; one empty name where only the condition names it."""
        return tuple(inlet.name for inlet in self.inlets if inlet.uri == uri) or ("",)


def build_fold_spec(asset: AssetSpec, project: ProjectSpec) -> FoldSpec:
    """What the fold must know of ``asset``."""
    if asset.maker:
        return _outlet_fold_spec(asset)
    inlets = tuple(
        FoldInlet(
            inlet.name,
            inlet.uri,
            project.dependency(asset, inlet),
            inlet.on_update,
            inlet.settle_seconds,
            inlet.aligned,
            inlet.on_removed,
        )
        for inlet in asset.inlets.values()
    )
    condition = asset.schedule.condition
    leaves = condition.leaves() if condition is not None else ()
    named = dict.fromkeys(project.listened_uri(asset.name, leaf) for leaf in leaves)
    listens = dict.fromkeys([*named, *(inlet.uri for inlet in inlets)])
    storage = _storage_location(asset)
    appends = asset.write is not None and asset.write.only_adds
    learns = asset.source is not None and asset.partitioning.is_open
    head = (asset.uri, asset.partitioning, inlets, tuple(listens), tuple(named), storage, appends)
    refreshes = isinstance(asset.strategy, FullRefresh) and asset.partitioning.is_partitioned
    return FoldSpec(*head, asset.definition, learns, tuple(_outlet_locations(asset, project)), refreshes=refreshes)


def _outlet_fold_spec(asset: AssetSpec) -> FoldSpec:
    """An outlet is written by the runs of its maker, and goes by nothing itself."""
    return FoldSpec(
        asset.uri,
        asset.partitioning,
        storage=_storage_location(asset),
        appends=asset.write is not None and asset.write.only_adds,
        maker=asset.maker,
    )


def _outlet_locations(asset: AssetSpec, project: ProjectSpec) -> Iterator[tuple[str, str]]:
    for name in asset.outlets:
        yield name, _storage_location(project.assets[name]) or ""


def _storage_location(asset: AssetSpec) -> str | None:
    return asset.storage.journal_identity if asset.storage is not None else None
