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
from sparkassets.core.journal.state import AssetState, FormerPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet


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
        late = _is_restored_late(work, asset, old.former)
        listed = EVERYTHING if late else spec.partitioning.known - old.spec.partitioning.known
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
    if (former := _former(old)).coverage and not spec.appends:
        if spec.partitioning.same_slots(former.partitioning):
            _restore(work, work.assets[entry.asset], spec)
        elif not spec.partitioning.same_slots(old.spec.partitioning):
            return _set_aside(work, work.assets[entry.asset], spec, former, seq)
    elif _stands_otherwise(old, spec) or _is_observed_otherwise(old, spec):
        return moved(work, old, spec, seq)
    asset = withheld.respecified(_as_appended(work, work.assets[entry.asset], old.spec, spec), spec)
    return replace(_as_exact(work, asset, old.spec.partitioning, spec), spec=spec)


def _former(asset: AssetState) -> FormerPartitions:
    """What the asset's runs computed, with the partitions by which they did; of a source nothing."""
    own = asset.spec.partitioning.declared
    there = asset.coverage if own.is_partitioned else EVERYTHING if asset.last is not None else NOTHING
    return asset.former or FormerPartitions(own, there if asset.done else NOTHING)


def _set_aside(work: Workspace, asset: AssetState, spec: FoldSpec, former: FormerPartitions, seq: int) -> AssetState:
    """The asset, of which nothing counts as there: a day of UTC is no day of Tokyo, and replaces no rows of one."""
    own = asset.spec.partitioning
    if not (own.understands(spec.partitioning) and spec.partitioning.understands(own)):
        return replace(moved(work, asset, spec, seq), done=asset.done, former=replace(former, seq=0))
    _publish_coverage(work, asset.name, spec, NOTHING)
    former = former if asset.former is not None else replace(former, seq=seq)
    aside = replace(asset, coverage=NOTHING, former=former, cursor=None, placed=seq)
    return replace(withheld.respecified(aside, spec), spec=spec)


def _restore(work: Workspace, asset: AssetState, spec: FoldSpec) -> None:
    """Has the asset hold again what was computed by the partitions that it has from now on, as before."""
    if (former := asset.former) is not None:
        coverage = former.coverage if former.partitioning.is_partitioned else NOTHING
        _publish_coverage(work, asset.name, spec, coverage)
        work.assets[asset.name] = replace(asset, coverage=coverage, former=None)


def _publish_coverage(work: Workspace, name: str, spec: FoldSpec, coverage: PartitionSet) -> None:
    """Has readers of the asset's dataset find only ``coverage`` there, unless others write the dataset, too."""
    if not work.has_others(spec.uri, name):
        work.datasets[spec.uri] = replace(work.dataset(spec.uri), coverage=coverage, gone=NOTHING)


def _is_restored_late(work: Workspace, asset: AssetState, former: FormerPartitions | None) -> bool:
    """Whether the asset has its former partitions again, and inlets were updated while nobody marked these stale."""
    if former is None or asset.former is not None:
        return False
    return any(work.newest(inlet.uri) > former.seq for inlet in asset.spec.inlets)


def _is_observed_otherwise(old: AssetState, spec: FoldSpec) -> bool:
    """Whether an observed source has other partitions, so that it has to be looked at from the beginning."""
    observed = not old.done and (bool(old.position) or old.version is not None)
    return observed and not spec.partitioning.same_slots(old.spec.partitioning)


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
