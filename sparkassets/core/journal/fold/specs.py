"""Folds a changed spec: keeps what remains valid of the state, moves renamed datasets, marks or drops the rest.

The rules for changed partitions are in docs/design/partitions.md#coverage-belongs-to-a-grid.
"""

from __future__ import annotations

from collections.abc import Collection

from sparkassets.core.journal.asset_records import FormerPartitions
from sparkassets.core.journal.entries import NumberedEntry, SpecEntry
from sparkassets.core.journal.fold import datasets, segments, unpublished_partitions
from sparkassets.core.journal.fold.cause_consumption import (
    drop_unknown_requests,
    itemize_unused_events,
    replace_items,
    update_triggers,
)
from sparkassets.core.journal.fold.outputs import add_definition
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef
from sparkassets.core.partitions import EVERYTHING, NOTHING, Partitioning, PartitionSet, StampedPartitions
from sparkassets.frozen import replace


def move_asset(work: FoldWorkspace, old: AssetState, spec: FoldSpec, seq: int) -> AssetState:
    """The asset with a new place, or with partitions of other columns: nothing counts as computed there.

    Its claims, pause, skips and known definitions stay. Recent events whose partitions the new partitioning cannot name
    become events of the whole dataset.
    """
    if not work.has_others(spec.uri, old.name):
        dataset = replace(work.dataset(spec.uri), coverage=NOTHING, gone=NOTHING)
        if not spec.partitioning.understands(old.spec.partitioning):
            recent = RecentEvents.from_events(replace(ref, parts=EVERYTHING) for ref in dataset.recent)
            dataset = replace(dataset, recent=recent, touched=StampedPartitions())
        work.datasets[spec.uri] = dataset
    marks = old.skip_marks if spec.partitioning.understands(old.spec.partitioning) else ()
    made = tuple(replace(each, partitions=NOTHING) for each in old.definition_outputs)
    return AssetState(
        old.name,
        spec,
        chain=old.chain,
        paused=old.paused,
        pause_reason=old.pause_reason,
        placed_since=seq,
        marks=marks,
        instance_marks=old.skipped_instances,
        definition_outputs=made,
    )


def rename_dataset(work: FoldWorkspace, name: str, old: str, new: str) -> None:
    """Moves the events of an asset's dataset to another URI, with what every consumer has used of them.

    Events of other assets that share the old URI stay there.
    """
    is_shared = work.has_others(old, name)
    dataset, new_dataset = work.dataset(old), work.dataset(new)
    moved_events = [replace(ref, uri=new) for ref in dataset.recent if not is_shared or ref.asset == name]
    moved_seqs = {ref.seq for ref in moved_events}
    for reader in {*work.dependent_assets(old), *work.dependent_assets(new)}:
        _rename_consumption(work, reader, old, new, moved_seqs)
    remaining_events = RecentEvents.from_events(ref for ref in dataset.recent if is_shared and ref.asset != name)
    work.datasets[old] = replace(dataset, recent=remaining_events)
    work.datasets[new] = _join_datasets(new_dataset, dataset, moved_events)


def _rename_consumption(work: FoldWorkspace, name: str, old: str, new: str, moved_seqs: Collection[int]) -> None:
    """Moves what one consumer has used of the events with these ``moved_seqs`` from the old URI to the new one."""
    # with all unused events listed one by one, each can move or stay, whatever the number up to which others are used
    asset = itemize_unused_events(work, itemize_unused_events(work, work.assets[name], old), new)
    unanswered = dict(asset.partly_used.get(old, ()))
    moved = {number: rest for number, rest in unanswered.items() if number in moved_seqs}
    remaining = {number: rest for number, rest in unanswered.items() if number not in moved_seqs}
    partly = replace_items(asset.partly_used, old, remaining)
    partly = replace_items(partly, new, moved | dict(asset.partly_used.get(new, ())))
    consumed = {**asset.consumed, new: max(asset.consumed.get(old, 0), asset.consumed.get(new, 0))}
    parted = asset.former_triggers
    if old in parted:
        parted = {**parted, new: parted[old]}
        work.triggered[new] = tuple(sorted({*work.triggered.get(new, ()), name}))
    work.assets[name] = replace(asset, consumed=consumed, partly_used=partly, former_triggers=parted)


def _join_datasets(
    new_dataset: DatasetState, old_dataset: DatasetState, moved_events: Collection[EventRef]
) -> DatasetState:
    """The dataset of the new URI, with everything from the old one; of the two ``touched``, that of the old one."""
    coverage = new_dataset.coverage | old_dataset.coverage
    return replace(
        new_dataset,
        coverage=coverage,
        gone=(new_dataset.gone | old_dataset.gone) - coverage,
        seq=max(new_dataset.seq, old_dataset.seq),
        at=max(new_dataset.at, old_dataset.at),
        recent=RecentEvents.from_events(sorted([*new_dataset.recent, *moved_events], key=lambda ref: ref.seq)),
        touched=old_dataset.touched,
        confirmed=max(new_dataset.confirmed, old_dataset.confirmed),
    )


def fold_spec_change(work: FoldWorkspace, entry: SpecEntry, numbered: NumberedEntry) -> None:
    """Gives the asset its new spec: computed partitions stay where they still fit, and causes follow the new inlets."""
    name, old = entry.asset, work.flush_staleness(entry.asset)
    spec, learned_keys = segments.resolve_segments(work, name, entry.spec)
    entry = replace(entry, spec=spec)
    asset = update_triggers(
        work, _relocate_asset(work, entry, old, numbered.seq), old.spec if old is not None else None
    )
    work.assets[name] = replace(add_definition(_drop_former_inlets(asset), numbered.seq), keys=learned_keys)
    for inlet in spec.inlets:
        if inlet.name in asset.kept and inlet.on_removed != "keep":  # from now on a removal is a cause
            work.add_staleness(name, inlet, asset.kept[inlet.name].stamped_partitions(), seq=numbered.seq)
    work.update_listeners(name, old)
    if old is not None and asset.coverage:
        _make_stale_by_new_inlets(work, name, old.spec, numbered.seq)
    if old is not None:
        # updates reached no partition that was not listed or set aside, so all of these may be stale
        is_late = _is_restored_late(work, asset, old.former)
        listed = EVERYTHING if is_late else spec.partitioning.known_partitions - old.spec.partitioning.known_partitions
        segments.make_relisted_stale(work, name, listed, numbered.seq)
        work.assets[name] = drop_unknown_requests(work.assets[name])
    segments.propagate_partitioning(work, name, numbered.seq)


def _relocate_asset(work: FoldWorkspace, entry: SpecEntry, old: AssetState | None, seq: int) -> AssetState:
    """The asset under its new spec, with what still holds of its computed partitions.

    It is new, moved (nothing computed there), set aside (a rebuild has to follow), restored, or unchanged.
    """
    spec = entry.spec
    if old is None:
        return AssetState(entry.asset, spec)
    if spec.stands_elsewhere(old.spec):
        return move_asset(work, old, spec, seq)
    if old.spec.uri != spec.uri:
        rename_dataset(work, entry.asset, old.spec.uri, spec.uri)
    if (former := _former_partitions(old)).coverage and not spec.appends:
        if spec.partitioning.same_slots(former.partitioning):
            _restore_coverage(work, work.assets[entry.asset], spec)
        elif not spec.partitioning.same_slots(old.spec.partitioning):
            return _set_coverage_aside(work, work.assets[entry.asset], spec, former, seq)
    elif _has_incompatible_rows(old, spec) or _needs_new_observation(old, spec):
        return move_asset(work, old, spec, seq)
    asset = unpublished_partitions.respecify_withheld(
        _cover_past_intervals(work, work.assets[entry.asset], old.spec, spec), spec
    )
    return replace(_drop_excluded_slots(work, asset, old.spec.partitioning, spec), spec=spec)


def _former_partitions(asset: AssetState) -> FormerPartitions:
    """The content that the asset's runs computed, with the partitioning by which they did; nothing for a source."""
    partitioning = asset.spec.partitioning.as_declared
    covered = asset.coverage if partitioning.is_partitioned else EVERYTHING if asset.last is not None else NOTHING
    return asset.former or FormerPartitions(partitioning, covered if asset.newest_token else NOTHING)


def _set_coverage_aside(
    work: FoldWorkspace, asset: AssetState, spec: FoldSpec, former: FormerPartitions, seq: int
) -> AssetState:
    """Sets the coverage aside until a rebuild: new partitions cannot replace exactly the rows of former ones.

    A day of UTC, for instance, is no day of Tokyo. If the new partitioning cannot even name the former partitions, the
    asset counts as moved.
    """
    partitioning = asset.spec.partitioning
    if not (partitioning.understands(spec.partitioning) and spec.partitioning.understands(partitioning)):
        return replace(
            move_asset(work, asset, spec, seq), newest_token=asset.newest_token, former=replace(former, seq=0)
        )
    _publish_coverage(work, asset.name, spec, NOTHING)
    former = former if asset.former is not None else replace(former, seq=seq)
    without_coverage = replace(asset, coverage=NOTHING, former=former, cursor=None, placed_since=seq)
    return replace(unpublished_partitions.respecify_withheld(without_coverage, spec), spec=spec)


def _restore_coverage(work: FoldWorkspace, asset: AssetState, spec: FoldSpec) -> None:
    """Makes the coverage count again that was set aside, as the asset has its former partitioning again."""
    if (former := asset.former) is not None:
        coverage = former.coverage if former.partitioning.is_partitioned else NOTHING
        _publish_coverage(work, asset.name, spec, coverage)
        work.assets[asset.name] = replace(asset, coverage=coverage, former=None)


def _publish_coverage(work: FoldWorkspace, name: str, spec: FoldSpec, coverage: PartitionSet) -> None:
    """Sets the coverage of the asset's dataset, unless other assets have the same URI."""
    if not work.has_others(spec.uri, name):
        work.datasets[spec.uri] = replace(work.dataset(spec.uri), coverage=coverage, gone=NOTHING)


def _is_restored_late(work: FoldWorkspace, asset: AssetState, former: FormerPartitions | None) -> bool:
    """Whether inlets were updated while the coverage was set aside, when nothing could mark it as stale."""
    if former is None or asset.former is not None:
        return False
    return any(work.newest_seq(inlet.uri) > former.seq for inlet in asset.spec.inlets)


def _needs_new_observation(old: AssetState, spec: FoldSpec) -> bool:
    """Whether a source that was observed has other partitions now, and must be observed from the beginning."""
    was_observed = not old.newest_token and (bool(old.position) or old.version is not None)
    return was_observed and not spec.partitioning.same_slots(old.spec.partitioning)


def _cover_past_intervals(work: FoldWorkspace, asset: AssetState, former_spec: FoldSpec, spec: FoldSpec) -> AssetState:
    """Covers the intervals that ran, for an appending asset that gets partitions: none must be appended twice.

    Withheld intervals were not appended. A multi-asset's intervals are in its outlets, too.
    """
    time, partitioning = spec.partitioning.time, spec.partitioning
    if not spec.appends or former_spec.partitioning.is_partitioned or time is None or time.start is None:
        return asset
    if asset.cursor is None:
        return asset
    withheld = (
        partitioning.cover(PartitionSet.span(*each.interval)) for each in asset.withheld if each.interval is not None
    )
    covered = (
        partitioning.partitions_between(time.start, asset.cursor[1]) & partitioning.finished_partitions(asset.cursor[1])
    ) - PartitionSet.union(withheld)
    datasets.add_coverage(work, spec.uri, covered)
    for name, _ in spec.outlets:
        if (outlet := work.flush_staleness(name)) is not None:
            work.assets[name] = replace(outlet, coverage=outlet.coverage | covered)
            datasets.add_coverage(work, outlet.spec.uri, covered)
    return replace(asset, coverage=asset.coverage | covered)


def _drop_excluded_slots(work: FoldWorkspace, asset: AssetState, former: Partitioning, spec: FoldSpec) -> AssetState:
    """Drops slots from the coverage that were excluded before and no longer are: they were never computed."""
    time, partitioning = former.time, spec.partitioning
    if (
        time is None
        or not time.exclude
        or (partitioning.time is not None and partitioning.time.exclude == time.exclude)
    ):
        return asset

    def without_excluded(parts: PartitionSet) -> PartitionSet:
        exact = former.exact(parts)  # the time of slots that were not excluded
        return exact | partitioning.inside(exact) if partitioning.time is not None else exact

    if not work.has_others(spec.uri, asset.name):
        dataset = work.dataset(spec.uri)
        work.datasets[spec.uri] = replace(
            dataset, coverage=without_excluded(dataset.coverage), gone=without_excluded(dataset.gone)
        )
    return replace(asset, coverage=without_excluded(asset.coverage))


def _has_incompatible_rows(old: AssetState, spec: FoldSpec) -> bool:
    """Whether the new partitioning cannot describe the computed rows: they may lack a column that it needs."""
    adds_segments = bool(spec.partitioning.segments and not old.spec.partitioning.segments and old.coverage)
    return not spec.appends and (adds_segments or not spec.partitioning.understands(old.spec.partitioning))


def _drop_former_inlets(asset: AssetState) -> AssetState:
    """Drops the staleness for inlets that the asset no longer has, and kept rows of inlets that no longer keep."""
    inlets = asset.spec.inlets
    stale = {inlet.name: asset.stale[inlet.name] for inlet in inlets if inlet.name in asset.stale}
    keeping_inlets = {inlet.name for inlet in inlets if inlet.on_removed == "keep"}
    return replace(
        asset, stale=stale, kept={name: stamps for name, stamps in asset.kept.items() if name in keeping_inlets}
    )


def _make_stale_by_new_inlets(work: FoldWorkspace, name: str, former_spec: FoldSpec, seq: int) -> None:
    """Makes partitions stale that were computed before the asset had an inlet that it has now."""
    for inlet in work.assets[name].spec.inlets:
        if former_spec.inlet(inlet.name) is None and work.newest_seq(inlet.uri):
            present = work.dataset(inlet.uri).coverage
            datasets.make_stale(work, name, inlet, present or EVERYTHING, seq=seq)
