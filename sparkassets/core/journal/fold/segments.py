"""Learns and removes segments of open dimensions (``segments: runtime``), for an asset and everything that reads it.

An asset knows the segments that a person added, that its events named, that a run of all segments found, and that its
inlets know; without those that a person removed (docs/design/partitions.md#discovered-segments). A change costs time by
the segments that it adds or removes, not by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sparkassets.core.journal import withheld_records
from sparkassets.core.journal.asset_records import FailedPartitions, LearnedKeys, PartlyUsed
from sparkassets.core.journal.entries import NumberedEntry, SegmentEntry, SuccessEntry
from sparkassets.core.journal.fold.cause_consumption import drop_unknown_requests
from sparkassets.core.journal.fold.outputs import keep_removed_rows
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldInlet, FoldSpec
from sparkassets.core.journal.known_segments import add_keys, contains_key, remove_keys
from sparkassets.core.journal.state import AssetState, EventRef
from sparkassets.core.partitions import NOTHING, Partitioning, PartitionSet, SegmentPartition, StampedPartitions
from sparkassets.core.partitions.common_ends import count_common_ends
from sparkassets.core.partitions.partition_set import union_by_segment
from sparkassets.core.partitions.segment_functions import Segment
from sparkassets.core.partitions.segments import WHOLE
from sparkassets.frozen import replace

_NOTHING_LEARNED = LearnedKeys()


def fold_segments(work: FoldWorkspace, entry: SegmentEntry, numbered: NumberedEntry) -> None:
    """Applies a person's addition or removal of segments; each takes back an earlier opposite one."""
    asset = work.assets.get(entry.asset)
    if asset is None:
        return
    learned = _learned_keys(asset, entry.column)
    known = add_keys(remove_keys(learned.known, entry.removed), entry.added)
    removed = add_keys(remove_keys(learned.removed, entry.added), entry.removed)
    _store_learned_keys(work, asset, {entry.column: LearnedKeys(known, removed)}, numbered.seq, computed=False)


def learn_event_segments(work: FoldWorkspace, ref: EventRef) -> None:
    """Adds the segments that an event names to the assets that may learn them from it.

    These are assets that others write, and readers of a view that values in the rows of the dataset make.
    """
    if not ref.parts.apart:
        return
    owners = [ref.asset] if ref.asset is not None else [each.name for each in work.assets.values()]
    for name in owners:
        asset = work.assets.get(name)
        if asset is not None and asset.spec.learns and asset.spec.uri == ref.uri:
            learn_segments(work, name, asset.spec.partitioning.open_segments(ref.parts), ref.seq)
    for reader, inlet in list(work.readers(ref.uri)):
        if segments := _segments_from_values(work, inlet, ref.parts):
            learn_segments(work, reader, segments, ref.seq)


def _segments_from_values(work: FoldWorkspace, inlet: FoldInlet, parts: PartitionSet) -> dict[str, set[str]]:
    """By column of the reader, the segments that the inlet's view makes known, as values in rows are its partitions.

    Empty for an inlet that is no view.
    """
    owner = work.assets.get(inlet.name)
    if owner is None or owner.spec.uri == inlet.uri:
        return {}
    open_segments = inlet.needs.inlet.open_segments(parts)
    pairs = [(own, inlet_dimension) for own, inlet_dimension in inlet.needs.shared_segment_dimensions if own.is_open]
    return {
        own.column: open_segments[inlet_dimension.column]
        for own, inlet_dimension in pairs
        if open_segments.get(inlet_dimension.column)
    }


def learn_segments(
    work: FoldWorkspace, name: str, keys: Mapping[str, Collection[str]], seq: int, *, computed: bool = False
) -> None:
    """Adds segments to the known ones of an asset, except those that a person removed.

    Args:
        work: The fold's working copy of the state.
        name: The asset.
        keys: Column to segments.
        seq: Sequence number of the entry that brings them.
        computed: A run of all segments found them. Runs of all segments then computed each of them wherever the whole
            dimension is covered. That does not hold after a removal: what `_cover_whole_dimension` covers, nobody
            computed for other segments than the removed one.
    """
    asset, learned = work.assets[name], {}
    computed = computed and not any(_learned_keys(asset, column).removed for column in keys)
    for column, column_keys in keys.items():
        known_before = _learned_keys(asset, column)
        not_removed = [key for key in column_keys if not contains_key(known_before.removed, key)]
        learned[column] = replace(known_before, known=add_keys(known_before.known, not_removed))
    _store_learned_keys(work, asset, learned, seq, computed=computed)


def resolve_segments(work: FoldWorkspace, name: str, spec: FoldSpec) -> tuple[FoldSpec, dict[str, LearnedKeys]]:
    """Adds the known segments to a declared spec; returns it with the asset's own learned segments, by column.

    A dimension whose segments were listed until now starts with those that have computed partitions.
    """
    inlets = []
    for inlet in spec.inlets:
        known = work.assets.get(inlet.name)
        has_same_declaration = known is not None and known.spec.partitioning.as_declared == inlet.needs.inlet
        inlets.append(
            inlet.with_inlet_partitioning(known.spec.partitioning)
            if known is not None and has_same_declaration
            else inlet
        )
    spec, asset_before = replace(spec, inlets=tuple(inlets)), work.flush_staleness(name)
    if spec.written_by:
        return spec.with_partitioning(_writer_partitioning(work, spec)), {}
    keys = {
        each.column.lower(): _initial_keys(work, asset_before, spec, each)
        for each in spec.partitioning.segments
        if each.is_open
    }
    return spec.with_partitioning(_resolved_partitioning(spec, keys)), keys


def propagate_partitioning(work: FoldWorkspace, name: str, seq: int, *, computed: bool = False) -> None:
    """Gives the asset's changed partitioning to its outlets and to every inlet that reads it.

    ``computed`` is whether a run of all segments has computed each new one.
    """
    asset = work.assets[name]
    for outlet, _ in asset.spec.outlets:
        _update_outlet_partitioning(work, outlet, seq, computed=computed)
    for reader, inlet in list(work.readers(asset.spec.uri)):
        has_same_declaration = inlet.needs.inlet.as_declared == asset.spec.partitioning.as_declared
        if inlet.name == name and has_same_declaration and inlet.needs.inlet is not asset.spec.partitioning:
            spec = work.assets[reader].spec
            inlets = tuple(
                inlet.with_inlet_partitioning(asset.spec.partitioning) if each is inlet else each
                for each in spec.inlets
            )
            work.assets[reader] = replace(work.assets[reader], spec=replace(spec, inlets=inlets))
            _update_partitioning(work, reader, seq, computed=False)


def make_relisted_stale(work: FoldWorkspace, name: str, listed: PartitionSet, seq: int) -> None:
    """Makes computed partitions stale that are listed again: no update reached them while they were not listed.

    Where no inlet can make them stale, they count as missing.
    """
    asset = work.assets[name]
    relisted = listed & (asset.coverage | asset.claimed_partitions)
    if not relisted:
        return
    for inlet in asset.spec.inlets:
        asset = keep_removed_rows(asset, inlet, work.dataset(inlet.uri).gone, computed=relisted, seq=seq)
    work.assets[name] = asset
    relisted = relisted - PartitionSet.union(stamps.stamped_partitions() for stamps in asset.kept.values())
    marking_inlets = [inlet for inlet in asset.spec.inlets if inlet.on_update != "ignore"]
    for inlet in marking_inlets:
        work.add_staleness(name, inlet, relisted, seq=seq)
    if not marking_inlets:  # no inlet can make them stale, so they count as missing
        work.assets[name] = replace(asset, coverage=asset.coverage - relisted)


def whole_dimension_partitions(parts: PartitionSet) -> PartitionSet:
    """The part of ``parts`` that stands for a whole dimension, because none of its segments was known."""
    return PartitionSet.by_segment({segment: time for segment, time in parts.apart if WHOLE in segment})


def countable_partitions(partitioning: Partitioning, partitions: PartitionSet) -> PartitionSet:
    """The run's partitions that still exist: a whole dimension is no partition any more once its segments are known."""
    return (
        partitions - whole_dimension_partitions(partitions)
        if partitioning.is_open and not partitioning.has_whole
        else partitions
    )


def make_late_segments_stale(work: FoldWorkspace, before: AssetState, entry: SuccessEntry) -> None:
    """Makes partitions of segments that a run discovered stale, if an inlet was updated since the run's claim.

    Such an update could only be mapped to segments that were known then. ``before`` is the asset before the success.
    """
    claim = before.claim_entry(entry.token)
    if claim is None or entry.partitions.is_everything:
        return
    late = entry.partitions - claim.partitions
    if whole_dimension_partitions(claim.partitions):
        late = NOTHING if before.spec.partitioning.has_whole else entry.partitions
    for inlet in before.spec.inlets:
        newest = work.dataset(inlet.uri).seq
        if late and inlet.on_update != "ignore" and newest > entry.token:
            work.add_staleness(entry.asset, inlet, late, seq=newest)


# --------------------------------------------------------------------- one asset


def _learned_keys(asset: AssetState, column: str) -> LearnedKeys:
    """The segments that the asset itself learned of an open dimension; empty ones where it learned none."""
    return asset.keys.get(column.lower(), _NOTHING_LEARNED)


def _store_learned_keys(
    work: FoldWorkspace, asset: AssetState, learned: Mapping[str, LearnedKeys], seq: int, *, computed: bool
) -> None:
    """Stores the learned segments by column, and updates the partitioning of the asset and of all that read it."""
    changed = {
        column.lower(): column_keys
        for column, column_keys in learned.items()
        if column_keys != _learned_keys(asset, column)
    }
    if changed:
        work.assets[asset.name] = replace(asset, keys={**asset.keys, **changed})
        _update_partitioning(work, asset.name, seq, computed=computed)


def _initial_keys(
    work: FoldWorkspace, asset_before: AssetState | None, spec: FoldSpec, dimension: SegmentPartition
) -> LearnedKeys:
    """The segments with which a new dimension of the asset starts: its own former ones, and those of views."""
    former_keys = _previous_keys(work, asset_before, spec, dimension)
    segments_of_views = [_segments_from_values(work, inlet, work.dataset(inlet.uri).coverage) for inlet in spec.inlets]
    new_keys = {
        key
        for each in segments_of_views
        for key in each.get(dimension.column, ())
        if not contains_key(former_keys.removed, key)
    }
    return replace(former_keys, known=add_keys(former_keys.known, new_keys)) if new_keys else former_keys


def _previous_keys(
    work: FoldWorkspace, asset_before: AssetState | None, spec: FoldSpec, dimension: SegmentPartition
) -> LearnedKeys:
    """The segments that the asset learned of the dimension before; else those of its present partitions.

    Present partitions do not count if an inlet shares the dimension, as its segments come from there.
    """
    if asset_before is not None and dimension.column.lower() in asset_before.keys:
        return asset_before.keys[dimension.column.lower()]
    present = work.dataset(spec.uri).coverage if spec.learns else NOTHING
    if (
        asset_before is not None
        and asset_before.spec.partitioning.same_grid(spec.partitioning)
        and not _inlet_dimensions(spec, dimension)
    ):
        present = present | asset_before.coverage
    # events may have named partitions of the dataset by other dimensions before the asset was known
    if not present.apart or (asset_before is None and len(present.apart[0][0]) != len(spec.partitioning.segments)):
        return _NOTHING_LEARNED
    return LearnedKeys(tuple(sorted(spec.partitioning.open_segments(present)[dimension.column])))


def _update_partitioning(work: FoldWorkspace, name: str, seq: int, *, computed: bool) -> None:
    """Recomputes the asset's partitioning from its own and its inlets' segments; nothing happens if it stays.

    A change marks partitions of segments that are listed again as stale, and goes on to all readers.
    """
    asset = work.assets[name]
    before, after = asset.spec.partitioning, _resolved_partitioning(asset.spec, asset.keys)
    if after is before:
        return
    _adopt_partitioning(work, work.flush_staleness(name) or asset, after, computed=computed)
    for added in _new_tuples(before, after) if not (before.has_whole and computed) else ():
        make_relisted_stale(
            work, name, added.known_partitions - whole_dimension_partitions(added.known_partitions), seq
        )
    work.assets[name] = drop_unknown_requests(work.assets[name])
    propagate_partitioning(work, name, seq, computed=computed)


def _adopt_partitioning(work: FoldWorkspace, asset: AssetState, after: Partitioning, *, computed: bool) -> None:
    """Gives the asset its new partitioning, with what it has of dimensions that lost all segments, or got the first."""
    before, known = asset.spec.partitioning, replace(asset, spec=asset.spec.with_partitioning(after))
    work.assets[asset.name] = known
    if after.has_whole:
        _cover_whole_dimension(work, known, before)
    elif before.has_whole:
        work.assets[asset.name] = _split_whole_dimension(known, computed=computed)
        _split_dataset_coverage(work, known, work.assets[asset.name])


def _cover_whole_dimension(work: FoldWorkspace, asset: AssetState, before: Partitioning) -> None:
    """Covers the whole of dimensions that lost their last segment (`_whole_coverage`), also in the dataset."""
    whole, uri = _whole_coverage(before, asset.spec.partitioning, asset.coverage), asset.spec.uri
    work.assets[asset.name] = replace(asset, coverage=asset.coverage | whole)
    if whole and not work.has_others(uri, asset.name):
        dataset = work.dataset(uri)
        work.datasets[uri] = replace(dataset, coverage=dataset.coverage | whole)


def _whole_coverage(before: Partitioning, after: Partitioning, coverage: PartitionSet) -> PartitionSet:
    """The whole of dimensions that lost their last segment, for the time that this segment was computed.

    It counts as computed, because removing a segment is no cause for a run; the next caused run discovers segments.
    """
    pairs = zip(before.segments, after.segments, strict=True)
    lost_keys = [old.keys if new.keys == (WHOLE,) else () for old, new in pairs]

    def to_whole(segment: Segment) -> Segment:
        return tuple(WHOLE if keys else key for key, keys in zip(segment, lost_keys, strict=True))

    covered_whole = (
        (to_whole(segment), ranges) for segment, ranges in coverage.apart if _holds_any(segment, lost_keys)
    )
    return PartitionSet.by_segment(union_by_segment(covered_whole))


def _holds_any(segment: Segment, lost_keys: Sequence[Sequence[str]]) -> bool:
    """Whether the tuple of segments has a removed segment in each dimension that lost its last one."""
    return any(lost_keys) and all(key in keys for key, keys in zip(segment, lost_keys, strict=True) if keys)


def _update_outlet_partitioning(work: FoldWorkspace, name: str, seq: int, *, computed: bool) -> None:
    """Takes over the multi-asset's segments into an outlet.

    Nothing becomes stale here: only the multi-asset's partitions are computed.
    """
    asset = work.flush_staleness(name)
    if asset is None:
        return
    before, after = asset.spec.partitioning, _writer_partitioning(work, asset.spec)
    if after is before:
        return
    _adopt_partitioning(work, asset, after, computed=computed)
    propagate_partitioning(work, name, seq)


def _writer_partitioning(work: FoldWorkspace, spec: FoldSpec) -> Partitioning:
    """The partitioning of an outlet, with the known segments of its multi-asset."""
    writer = work.assets.get(spec.written_by)
    if writer is None or not spec.partitioning.is_open or not spec.partitioning.same_grid(writer.spec.partitioning):
        return spec.partitioning
    known = {each.column: each.keys for each in writer.spec.partitioning.segments}
    return spec.partitioning.with_keys({each: known[each] for each in spec.partitioning.open_columns if each in known})


def _resolved_partitioning(spec: FoldSpec, keys: Mapping[str, LearnedKeys]) -> Partitioning:
    """The partitioning with all known segments in its open dimensions: learned ones and those of inlets."""
    known = {each.column: _resolved_keys(spec, keys, each) for each in spec.partitioning.segments if each.is_open}
    return spec.partitioning.with_keys(known)


def _resolved_keys(spec: FoldSpec, keys: Mapping[str, LearnedKeys], dimension: SegmentPartition) -> tuple[str, ...]:
    """The known segments of one open dimension, from runs, people and inlets.

    If there is none and no inlet or event can bring one, the whole dimension (`WHOLE`): one run of it finds them.
    """
    learned, inlet_dimensions = keys.get(dimension.column.lower(), _NOTHING_LEARNED), _inlet_dimensions(spec, dimension)
    known: tuple[str, ...] = ()
    for more in (learned.known, *(each.keys for each in inlet_dimensions if each.keys != (WHOLE,))):
        known = add_keys(known, more) if known else more
    known = remove_keys(known, learned.removed)
    only_runs_discover = not inlet_dimensions and not spec.learns
    return (WHOLE,) if only_runs_discover and not known else known


def _inlet_dimensions(spec: FoldSpec, dimension: SegmentPartition) -> list[SegmentPartition]:
    """The dimensions of inlets that share the column; the asset takes over their segments."""
    pairs = (pair for inlet in spec.inlets for pair in inlet.needs.shared_segment_dimensions)
    return [inlet_dimension for own, inlet_dimension in pairs if own.same_column(dimension)]


def _new_tuples(before: Partitioning, after: Partitioning) -> Iterator[Partitioning]:
    """Yields the segment tuples that only ``after`` has, as partitionings with just the added segments.

    There is one for each dimension that gained segments.
    """
    for i, (old, new) in enumerate(zip(before.segments, after.segments, strict=True)):
        added_keys = _added_keys(old.keys, new.keys)
        if added_keys:
            dimensions = (*after.segments[:i], replace(new, keys=added_keys), *after.segments[i + 1 :])
            yield replace(after, segments=dimensions)


def _added_keys(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of ``new`` that ``old`` does not have; fast where both differ in one place."""
    if old is new:
        return ()
    start, end = count_common_ends(old, new)
    replaced = frozenset(old[start : len(old) - end])
    return tuple(key for key in new[start : len(new) - end] if key not in replaced)


def _split_whole_dimension(asset: AssetState, *, computed: bool) -> AssetState:
    """Replaces the whole of a dimension by its segments, now that these are known: each takes over what the whole had.

    Segments count as computed only if a run of all segments ``computed`` them; added ones are missing.
    """
    partitioning = asset.spec.partitioning
    keys = {each.column: each.keys for each in partitioning.segments}

    def split_whole(parts: PartitionSet) -> PartitionSet:
        return partitioning.resolve_whole(parts, keys)

    def split_computed(parts: PartitionSet) -> PartitionSet:
        return split_whole(parts) if computed else parts - whole_dimension_partitions(parts)

    return replace(
        asset,
        coverage=split_computed(asset.coverage),
        definition_outputs=tuple(
            replace(made, partitions=split_computed(made.partitions)) for made in asset.definition_outputs
        ),
        marks=tuple(replace(mark, partitions=split_whole(mark.partitions)) for mark in asset.marks),
        stale=_map_stamped(asset.stale, split_whole),
        kept=_map_stamped(asset.kept, split_whole),
        owed_lookback=split_whole(asset.owed_lookback),
        gaps=split_whole(asset.gaps),
        partly_used={key: _map_partly(items, split_whole) for key, items in asset.partly_used.items()},
        failed=_failed_without_whole(asset.failed),
        withheld=withheld_records.withheld_without(
            asset.withheld, PartitionSet.union(whole_dimension_partitions(item.partitions) for item in asset.withheld)
        ),
        redo_requests=tuple(replace(request, left=split_whole(request.left)) for request in asset.redo_requests),
    )


def _split_dataset_coverage(work: FoldWorkspace, before: AssetState, after: AssetState) -> None:
    """Splits a whole dimension in the coverage of the dataset into covered segments, unless other assets have it."""
    uri, whole = after.spec.uri, whole_dimension_partitions(before.coverage)
    if whole and not work.has_others(uri, after.name):
        dataset = work.dataset(uri)
        coverage = (dataset.coverage - whole) | (after.coverage - before.coverage)
        work.datasets[uri] = replace(dataset, coverage=coverage)


def _failed_without_whole(before: tuple[FailedPartitions, ...]) -> tuple[FailedPartitions, ...]:
    """The failures without those of a whole dimension."""
    failed = (
        replace(item, partitions=item.partitions - whole_dimension_partitions(item.partitions)) for item in before
    )
    return tuple(item for item in failed if item.partitions)


def _map_stamped(
    before: Mapping[str, StampedPartitions], split_whole: Callable[[PartitionSet], PartitionSet]
) -> dict[str, StampedPartitions]:
    """Stamped partitions by inlet, with each whole dimension split into its segments."""
    mapped = {}
    for name, stamps in before.items():
        mapped[name] = StampedPartitions()
        for parts, stamp in stamps.items():
            mapped[name] = mapped[name].overlay(split_whole(parts), stamp)
    return mapped


def _map_partly(items: PartlyUsed, split_whole: Callable[[PartitionSet], PartitionSet]) -> PartlyUsed:
    """Partly used events or ticks, with each whole dimension split into its segments."""
    return tuple((number, split_whole(parts)) for number, parts in items)
