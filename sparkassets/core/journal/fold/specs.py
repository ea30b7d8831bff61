"""The spec of an asset is another one from here on."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.entries import Numbered, SpecEntry
from sparkassets.core.journal.fold import datasets, keys, withheld
from sparkassets.core.journal.fold.consumption import named_anew
from sparkassets.core.journal.fold.made import defined
from sparkassets.core.journal.fold.moves import moved, renamed
from sparkassets.core.journal.fold.requests import of_known
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.specs import FoldSpec
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, Partitioning, PartitionSet


def changed(work: Workspace, entry: SpecEntry, numbered: Numbered) -> None:
    """What was computed stays where it stands; what follows from it goes by the new spec."""
    name, old = entry.asset, work.marked(entry.asset)
    spec, known = keys.respecified(work, name, entry.spec)
    entry = replace(entry, spec=spec)
    asset = named_anew(work, _at_its_place(work, entry, old, numbered.seq), old.spec if old is not None else None)
    work.assets[name] = replace(defined(_of_inlets(asset), numbered.seq), keys=known)
    for inlet in spec.inlets:
        if inlet.name in asset.kept and inlet.on_removed != "keep":  # what was removed counts after all
            work.mark(name, inlet, asset.kept[inlet.name].parts(), seq=numbered.seq)
    work.listen(name, old)
    if old is not None and asset.coverage:
        _came_new(work, name, old.spec, numbered.seq)
    if old is not None:
        listed = spec.partitioning.known - old.spec.partitioning.known
        keys.listed_again(work, name, listed, numbered.seq)
        work.assets[name] = of_known(work.assets[name])
    keys.spread(work, name, numbered.seq)


def _at_its_place(work: Workspace, entry: SpecEntry, old: AssetState | None, seq: int) -> AssetState:
    """The asset with its new spec: what is known of it is where it stands."""
    spec = entry.spec
    if old is None:
        return AssetState(entry.asset, spec)
    if spec.stands_elsewhere(old.spec):
        return moved(work, old, spec, seq)
    if old.spec.uri != spec.uri:
        renamed(work, entry.asset, old.spec.uri, spec.uri)
    if _stands_otherwise(old, spec):
        return moved(work, old, spec, seq)
    asset = withheld.respecified(_as_appended(work, work.assets[entry.asset], old.spec, spec), spec)
    return replace(_as_exact(work, asset, old.spec.partitioning, spec), spec=spec)


def _as_appended(work: Workspace, asset: AssetState, before: FoldSpec, spec: FoldSpec) -> AssetState:
    """The asset where its intervals are partitions from now on: those that ran are not appended once more.

    What is withheld of them was not appended. Of a multi-asset they are in its outlets.
    """
    time, after = spec.partitioning.time, spec.partitioning
    if not spec.appends or before.partitioning.is_partitioned or time is None or time.start is None:
        return asset
    if asset.cursor is None:
        return asset
    held = (after.cover(PartitionSet.span(*each.interval)) for each in asset.withheld if each.interval is not None)
    ran = (after.between(time.start, asset.cursor[1]) & after.over(asset.cursor[1])) - PartitionSet.union(held)
    datasets.held(work, spec.uri, ran)
    for name, _ in spec.outlets:
        if (outlet := work.marked(name)) is not None:
            work.assets[name] = replace(outlet, coverage=outlet.coverage | ran)
            datasets.held(work, outlet.spec.uri, ran)
    return replace(asset, coverage=asset.coverage | ran)


def _as_exact(work: Workspace, asset: AssetState, before: Partitioning, spec: FoldSpec) -> AssetState:
    """The asset where what slots were excluded is another: what was no slot was neither computed nor there."""
    time, after = before.time, spec.partitioning
    if time is None or not time.exclude or (after.time is not None and after.time.exclude == time.exclude):
        return asset

    def own(parts: PartitionSet) -> PartitionSet:
        exact = before.exact(parts)
        return exact | after.inside(exact) if after.time is not None else exact

    if not work.has_others(spec.uri, asset.name):
        dataset = work.dataset(spec.uri)
        work.datasets[spec.uri] = replace(dataset, coverage=own(dataset.coverage), gone=own(dataset.gone))
    return replace(asset, coverage=own(asset.coverage))


def _stands_otherwise(old: AssetState, spec: FoldSpec) -> bool:
    """Whether what was computed is of no partitions of the new spec, or its rows may not tell of which segments."""
    cut = bool(spec.partitioning.segments and not old.spec.partitioning.segments and old.coverage)
    return not spec.appends and (cut or not spec.partitioning.understands(old.spec.partitioning))


def _of_inlets(asset: AssetState) -> AssetState:
    """Without what is known of inlets that it has no more, or that keep nothing any more."""
    inlets = asset.spec.inlets
    stale = {inlet.name: asset.stale[inlet.name] for inlet in inlets if inlet.name in asset.stale}
    keeping = {inlet.name for inlet in inlets if inlet.on_removed == "keep"}
    return replace(asset, stale=stale, kept={name: marks for name, marks in asset.kept.items() if name in keeping})


def _came_new(work: Workspace, name: str, before: FoldSpec, seq: int) -> None:
    """What was computed without an inlet is out of date."""
    for inlet in work.assets[name].spec.inlets:
        if before.inlet(inlet.name) is None and work.newest(inlet.uri):
            there = work.dataset(inlet.uri).coverage
            datasets.mark_stale(work, name, inlet, there or EVERYTHING, seq=seq)
