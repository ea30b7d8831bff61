"""The part of a compiled asset that the fold needs; it is in the journal, so drivers on different checkouts agree."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.partitions import UNPARTITIONED, Dependency, Partitioning, PartitionSet
from sparkassets.core.spec.model import AssetSpec, OnRemoved, OnUpdate
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.strategies import FullRefresh
from sparkassets.frozen import frozen, replace


@frozen
class FoldInlet:
    """An inlet as the fold sees it.

    Attributes:
        needs: The dependency: which inlet partitions a consumer partition needs; named as it is stored.
        settle: Seconds for which it must not have been updated.
        aligned: Whether a run reads the inlet's run of the same tick.
        on_removed: Whether consumer partitions are computed again or keep their rows when their input is removed.
    """

    name: str
    uri: str
    needs: Dependency
    on_update: OnUpdate
    settle: int = 0
    aligned: bool = False
    on_removed: OnRemoved = "rerun"

    def with_consumer_partitioning(self, consumer: Partitioning) -> FoldInlet:
        """The inlet of a consumer with this partitioning."""
        if self.needs.consumer is consumer:
            return self
        return replace(self, needs=replace(self.needs, consumer=consumer))

    def with_inlet_partitioning(self, inlet: Partitioning) -> FoldInlet:
        """The inlet with this partitioning of its own."""
        return self if self.needs.inlet is inlet else replace(self, needs=replace(self.needs, inlet=inlet))

    def with_available(self, available: PartitionSet) -> FoldInlet:
        """The inlet with these present partitions, for a mapping to the newest of them."""
        return replace(self, needs=self.needs.with_available(available))


@frozen(stored_names={"written_by": "maker"})
class FoldSpec:
    """An asset as the fold sees it.

    Attributes:
        storage: Declared place of the asset's rows.
        appends: Whether its runs only append to its table.
        learns: Whether its events name the segments of its open dimensions, because others write it.
        listens: Datasets whose events the asset consumes: those of its inlets and of its condition.
        named: Datasets of its condition, whose events trigger it.
        definition: The definition that computes it.
        outlets: For a multi-asset, (outlet, storage) of everything that its runs write.
        written_by: For an outlet, the multi-asset whose runs write it.
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
    written_by: str = ""
    refreshes: bool = False

    def stands_elsewhere(self, former: FoldSpec) -> bool:
        """Whether rows computed under ``former`` are not at the asset's place now: it moved, or gained outlets."""
        if self.outlets:
            return not former.outlets or bool(set(self.outlets) - set(former.outlets))
        return self.storage != former.storage or (self.storage is None and self.uri != former.uri)

    @property
    def as_declared(self) -> FoldSpec:
        """The spec as a project's files declare it: without known segments of open dimensions."""
        partitioning = self.partitioning.as_declared
        inlets = tuple(
            inlet.with_inlet_partitioning(inlet.needs.inlet.as_declared).with_consumer_partitioning(partitioning)
            for inlet in self.inlets
        )
        is_same = partitioning is self.partitioning and all(map(is_, inlets, self.inlets))
        return self if is_same else replace(self, partitioning=partitioning, inlets=inlets)

    def with_partitioning(self, partitioning: Partitioning) -> FoldSpec:
        """The spec with this partitioning, also as the consumer of its inlets."""
        if partitioning is self.partitioning:
            return self
        return replace(
            self,
            partitioning=partitioning,
            inlets=tuple(inlet.with_consumer_partitioning(partitioning) for inlet in self.inlets),
        )

    def inlet(self, name: str) -> FoldInlet | None:
        """The inlet of that name; None where there is none."""
        return next((inlet for inlet in self.inlets if inlet.name == name), None)

    def readers(self, uri: str) -> tuple[str, ...]:
        """The names of the inlets that read the dataset; one empty name where only the condition names it."""
        return tuple(inlet.name for inlet in self.inlets if inlet.uri == uri) or ("",)


def build_fold_spec(asset: AssetSpec, project: ProjectSpec) -> FoldSpec:
    """Builds what the journal records of ``asset`` for the fold."""
    if asset.written_by:
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
    # listed by dict.fromkeys, which keeps the order and drops repetitions
    condition = asset.schedule.condition
    leaves = condition.leaves() if condition is not None else ()
    condition_uris = dict.fromkeys(project.listened_uri(asset.name, leaf) for leaf in leaves)
    listens = dict.fromkeys([*condition_uris, *(inlet.uri for inlet in inlets)])
    storage = _storage_location(asset)
    appends = asset.write is not None and asset.write.only_adds
    learns = asset.source is not None and asset.partitioning.is_open
    common_fields = (asset.uri, asset.partitioning, inlets, tuple(listens), tuple(condition_uris), storage, appends)
    refreshes = isinstance(asset.strategy, FullRefresh) and asset.partitioning.is_partitioned
    return FoldSpec(
        *common_fields, asset.definition, learns, tuple(_outlet_locations(asset, project)), refreshes=refreshes
    )


def _outlet_fold_spec(asset: AssetSpec) -> FoldSpec:
    """The spec of an outlet: its multi-asset's runs write it, so it has no inlets and no condition."""
    return FoldSpec(
        asset.uri,
        asset.partitioning,
        storage=_storage_location(asset),
        appends=asset.write is not None and asset.write.only_adds,
        written_by=asset.written_by,
    )


def _outlet_locations(asset: AssetSpec, project: ProjectSpec) -> Iterator[tuple[str, str]]:
    """Yields (name, place of its rows) of each outlet of a multi-asset."""
    for name in asset.outlets:
        yield name, _storage_location(project.assets[name]) or ""


def _storage_location(asset: AssetSpec) -> str | None:
    """The place of the asset's rows, as the journal identifies it; None for an asset without rows of its own."""
    return asset.storage.journal_identity if asset.storage is not None else None
