"""The spec of an asset is another one from here on."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.entries import NumberedEntry, SpecEntry
from sparkassets.core.journal.fold import datasets, segments, withholding
from sparkassets.core.journal.fold.backfill_requests import drop_unknown_requests
from sparkassets.core.journal.fold.cause_consumption import update_triggers
from sparkassets.core.journal.fold.provenance import add_definition
from sparkassets.core.journal.fold.relocations import move_asset, rename_dataset
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.state import AssetState, FormerPartitions
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet


def fold_spec_change(work: FoldWorkspace, entry: SpecEntry, numbered: NumberedEntry) -> None:
    """What was computed stays where it stands; what follows from it goes by the new spec."""
    name, old = entry.asset, work.flush_stale_marks(entry.asset)
    spec, known = segments.resolve_segments(work, name, entry.spec)
    entry = replace(entry, spec=spec)
    asset = update_triggers(
        work, _relocate_asset(work, entry, old, numbered.seq), old.spec if old is not None else None
    )
    work.assets[name] = replace(add_definition(_drop_former_inlets(asset), numbered.seq), keys=known)
    for inlet in spec.inlets:
        if inlet.name in asset.kept and inlet.on_removed != "keep":  # what was removed counts after all
            work.add_stale_mark(name, inlet, asset.kept[inlet.name].stamped_partitions(), seq=numbered.seq)
    work.update_listeners(name, old)
    if old is not None and asset.coverage:
        _mark_new_inlets_stale(work, name, old.spec, numbered.seq)
    if old is not None:
        late = _is_restored_late(work, asset, old.former)
        listed = EVERYTHING if late else spec.partitioning.known_partitions - old.spec.partitioning.known_partitions
        segments.mark_relisted_stale(work, name, listed, numbered.seq)
        work.assets[name] = drop_unknown_requests(work.assets[name])
    segments.propagate_partitioning(work, name, numbered.seq)


def _relocate_asset(work: FoldWorkspace, entry: SpecEntry, old: AssetState | None, seq: int) -> AssetState:
    """The asset with its new spec: what is known of it is where it stands."""
    spec = entry.spec
    if old is None:
        return AssetState(entry.asset, spec)
    if spec.stands_elsewhere(old.spec):
        return move_asset(work, old, spec, seq)
    if old.spec.uri != spec.uri:
        rename_dataset(work, entry.asset, old.spec.uri, spec.uri)
    if (former := _former_partitions(old)).coverage and not spec.appends:
        if spec.partitioning.same_slots(former.partitioning):
            _restore(work, work.assets[entry.asset], spec)
        elif not spec.partitioning.same_slots(old.spec.partitioning):
            return _set_aside(work, work.assets[entry.asset], spec, former, seq)
    elif _has_incompatible_rows(old, spec) or _needs_new_observation(old, spec):
        return move_asset(work, old, spec, seq)
    asset = withholding.respecify_withheld(_cover_past_intervals(work, work.assets[entry.asset], old.spec, spec), spec)
    return replace(_drop_excluded_slots(work, asset, old.spec.partitioning, spec), spec=spec)


def _former_partitions(asset: AssetState) -> FormerPartitions:
    """What the asset's runs computed, with the partitions by which they did; of a source nothing."""
    own = asset.spec.partitioning.as_declared
    there = asset.coverage if own.is_partitioned else EVERYTHING if asset.last is not None else NOTHING
    return asset.former or FormerPartitions(own, there if asset.done else NOTHING)


def _set_aside(
    work: FoldWorkspace, asset: AssetState, spec: FoldSpec, former: FormerPartitions, seq: int
) -> AssetState:
    """The asset, of which nothing counts as there: a day of UTC is no day of Tokyo, and replaces no rows of one."""
    own = asset.spec.partitioning
    if not (own.understands(spec.partitioning) and spec.partitioning.understands(own)):
        return replace(move_asset(work, asset, spec, seq), done=asset.done, former=replace(former, seq=0))
    _publish_coverage(work, asset.name, spec, NOTHING)
    former = former if asset.former is not None else replace(former, seq=seq)
    aside = replace(asset, coverage=NOTHING, former=former, cursor=None, placed=seq)
    return replace(withholding.respecify_withheld(aside, spec), spec=spec)


def _restore(work: FoldWorkspace, asset: AssetState, spec: FoldSpec) -> None:
    """Has the asset hold again what was computed by the partitions that it has from now on, as before."""
    if (former := asset.former) is not None:
        coverage = former.coverage if former.partitioning.is_partitioned else NOTHING
        _publish_coverage(work, asset.name, spec, coverage)
        work.assets[asset.name] = replace(asset, coverage=coverage, former=None)


def _publish_coverage(work: FoldWorkspace, name: str, spec: FoldSpec, coverage: PartitionSet) -> None:
    """Has readers of the asset's dataset find only ``coverage`` there, unless others write the dataset, too."""
    if not work.has_others(spec.uri, name):
        work.datasets[spec.uri] = replace(work.dataset(spec.uri), coverage=coverage, gone=NOTHING)


def _is_restored_late(work: FoldWorkspace, asset: AssetState, former: FormerPartitions | None) -> bool:
    """Whether the asset has its former partitions again, and inlets were updated while nobody marked these stale."""
    if former is None or asset.former is not None:
        return False
    return any(work.newest_seq(inlet.uri) > former.seq for inlet in asset.spec.inlets)


def _needs_new_observation(old: AssetState, spec: FoldSpec) -> bool:
    """Whether an observed source has other partitions, so that it has to be looked at from the beginning."""
    observed = not old.done and (bool(old.position) or old.version is not None)
    return observed and not spec.partitioning.same_slots(old.spec.partitioning)


def _cover_past_intervals(work: FoldWorkspace, asset: AssetState, before: FoldSpec, spec: FoldSpec) -> AssetState:
    """The asset where its intervals are partitions from now on: those that ran are not appended once more.

    What is withheld of them was not appended. Of a multi-asset they are in its outlets.
    """
    time, after = spec.partitioning.time, spec.partitioning
    if not spec.appends or before.partitioning.is_partitioned or time is None or time.start is None:
        return asset
    if asset.cursor is None:
        return asset
    held = (after.cover(PartitionSet.span(*each.interval)) for each in asset.withheld if each.interval is not None)
    ran = (
        after.partitions_between(time.start, asset.cursor[1]) & after.finished_partitions(asset.cursor[1])
    ) - PartitionSet.union(held)
    datasets.add_coverage(work, spec.uri, ran)
    for name, _ in spec.outlets:
        if (outlet := work.flush_stale_marks(name)) is not None:
            work.assets[name] = replace(outlet, coverage=outlet.coverage | ran)
            datasets.add_coverage(work, outlet.spec.uri, ran)
    return replace(asset, coverage=asset.coverage | ran)


def _drop_excluded_slots(work: FoldWorkspace, asset: AssetState, before: Partitioning, spec: FoldSpec) -> AssetState:
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


def _has_incompatible_rows(old: AssetState, spec: FoldSpec) -> bool:
    """Whether what was computed is of no partitions of the new spec, or its rows may not tell of which segments."""
    cut = bool(spec.partitioning.segments and not old.spec.partitioning.segments and old.coverage)
    return not spec.appends and (cut or not spec.partitioning.understands(old.spec.partitioning))


def _drop_former_inlets(asset: AssetState) -> AssetState:
    """Without what is known of inlets that it has no more, or that keep nothing any more."""
    inlets = asset.spec.inlets
    stale = {inlet.name: asset.stale[inlet.name] for inlet in inlets if inlet.name in asset.stale}
    keeping = {inlet.name for inlet in inlets if inlet.on_removed == "keep"}
    return replace(asset, stale=stale, kept={name: marks for name, marks in asset.kept.items() if name in keeping})


def _mark_new_inlets_stale(work: FoldWorkspace, name: str, before: FoldSpec, seq: int) -> None:
    """What was computed without an inlet is out of date."""
    for inlet in work.assets[name].spec.inlets:
        if before.inlet(inlet.name) is None and work.newest_seq(inlet.uri):
            there = work.dataset(inlet.uri).coverage
            datasets.mark_stale(work, name, inlet, there or EVERYTHING, seq=seq)
