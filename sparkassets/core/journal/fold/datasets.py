"""Applies events and looks at tables to datasets, and propagates them to every consumer."""

from __future__ import annotations

from collections.abc import Collection

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import EventEntry, NumberedEntry, ObservedEntry
from sparkassets.core.journal.fold import cause_consumption, segments, unpublished_partitions
from sparkassets.core.journal.fold.outputs import forget_restored, keep_removed_rows
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldInlet
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import DatasetState, EventRef
from sparkassets.core.journal.table_findings import TargetEntry
from sparkassets.core.journal.table_losses import asset_after_finding, multi_asset_after_finding
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet, StampedPartitions
from sparkassets.frozen import frozen, replace


def fold_event(work: FoldWorkspace, _: EventEntry, numbered: NumberedEntry) -> None:
    """Publishes an announced update."""
    publish_event(work, numbered)


def fold_observation(work: FoldWorkspace, entry: ObservedEntry, numbered: NumberedEntry) -> None:
    """Moves the position up to which a source was read, and publishes the changes of the source and of its views."""
    asset = work.assets.get(entry.asset)
    if asset is not None:
        position = {**asset.position, **entry.cursor}  # None in the entry removes a key
        work.assets[entry.asset] = replace(
            asset,
            position={key: value for key, value in position.items() if value is not None},
            table_id=entry.table_id or asset.table_id,
            version=entry.version if entry.version is not None else asset.version,
        )
    publish_event(work, numbered, removed=entry.removed)
    for uri, seen in entry.views.items():  # each view is a dataset of its own, with its own event
        if seen:
            at, parts = to_unix(numbered.at), seen.changed | seen.removed
            ref = EventRef(numbered.seq, uri, entry.asset, at, parts, dict(sorted(entry.extra.items())), None, None)
            _publish_event_ref(work, ref, removed=seen.removed, at=at)


def fold_table_finding(work: FoldWorkspace, entry: TargetEntry, numbered: NumberedEntry) -> None:
    """Records a look at an asset's own table: lost partitions are missing, and changes of others are an event."""
    apply_table_finding(work, entry, numbered.seq)
    publish_event(work, numbered)


def apply_table_finding(work: FoldWorkspace, entry: TargetEntry, seq: int) -> None:
    """Removes what a table lost from the coverage of its asset, its dataset and the multi-asset that writes it."""
    work.flush_staleness(entry.asset)
    before = work.assets[entry.asset]
    after = work.assets[entry.asset] = asset_after_finding(before, entry, seq)
    withdraw_coverage(work, entry.asset, entry.uri, before.coverage - after.coverage)
    writer = work.flush_staleness(before.spec.written_by) if before.spec.written_by else None
    if writer is not None:
        others = (work.assets[name] for name, _ in writer.spec.outlets if name in work.assets and name != entry.asset)
        # the multi-asset waits for a person as long as one of its outlets does
        stuck = next((each.loss for each in others if each.stuck_loss is not None), None)
        after = work.assets[writer.name] = multi_asset_after_finding(writer, entry, seq, stuck=stuck)
        withdraw_coverage(work, writer.name, writer.spec.uri, writer.coverage - after.coverage)


def add_coverage(work: FoldWorkspace, uri: str, parts: PartitionSet) -> None:
    """Adds coverage of a multi-asset's dataset, which has no events of its own: its outlets have them."""
    work.add_coverage(uri, NOTHING if parts.is_everything else parts)


def withdraw_coverage(work: FoldWorkspace, name: str, uri: str, withdrawn: PartitionSet) -> None:
    """Removes partitions that an asset no longer holds from its dataset, unless other assets share the dataset."""
    if withdrawn and not work.has_others(uri, name):  # other assets with this URI may still hold them
        dataset = work.dataset(uri)
        work.datasets[uri] = replace(dataset, coverage=dataset.coverage - withdrawn)


def confirm_unchanged(work: FoldWorkspace, uri: str, *, at: int) -> None:
    """Records that a run left some of the dataset unchanged: it is as fresh as after an update."""
    work.datasets[uri] = replace(work.dataset(uri), confirmed=at)


@frozen
class _DatasetUpdate:
    """The effect of an event on its dataset.

    Attributes:
        updated: The event's partitions; nothing where it names none and so concerns the whole dataset.
        available: Updated partitions that are present now.
        removed: Partitions that the event removed.
        gone: All partitions that were present and are removed, after the event.
    """

    seq: int
    updated: PartitionSet
    available: PartitionSet
    removed: PartitionSet
    gone: PartitionSet


def publish_event(
    work: FoldWorkspace, numbered: NumberedEntry, *, removed: PartitionSet = NOTHING, unread_by: Collection[str] = ()
) -> None:
    """Applies the event of an entry, if it has one, to its dataset and every consumer.

    Args:
        work: The fold's working copy of the state.
        numbered: The entry.
        removed: Partitions of the event that are no longer present.
        unread_by: Assets that read none of the changed rows; for them the event counts as used.
    """
    ref = EventRef.from_entry(numbered)
    if ref is not None:
        _publish_event_ref(work, ref, removed=removed, at=to_unix(numbered.at), unread_by=unread_by)


def _publish_event_ref(
    work: FoldWorkspace, ref: EventRef, *, removed: PartitionSet, at: int, unread_by: Collection[str] = ()
) -> None:
    """Applies an event to its dataset and to every consumer; see `publish_event`.

    Consumers are looked up with what was present before the event, as a mapping to the newest partition needs both.
    """
    segments.learn_event_segments(work, ref)
    for name in unread_by:
        _mark_event_used(work, name, ref)
    others = ((name, inlet) for name, inlet in work.readers(ref.uri) if name not in unread_by)
    readers = [(name, inlet, work.inlet_with_coverage(inlet)) for name, inlet in others]
    update = _update_dataset(work, ref, removed, at=at)
    triggered = work.triggered_assets(ref.uri)
    work.remember_event(ref, keeps_only_newest=not triggered)
    if triggered and not any(ref.uri in asset.spec.named for asset in triggered):
        cause_consumption.forget_used_events(work, ref.uri)
    for name, inlet, inlet_before in readers:
        _propagate_update(work, name, inlet, inlet_before, update)
    unpublished_partitions.retry_triggered(work, ref.uri)


def _mark_event_used(work: FoldWorkspace, name: str, ref: EventRef) -> None:
    """Counts the event as used by the asset, where the asset has used all earlier events of the dataset."""
    asset = work.assets.get(name)
    if asset is not None and asset.consumed.get(ref.uri, 0) >= work.newest_seq(ref.uri):
        work.assets[name] = replace(asset, consumed={**asset.consumed, ref.uri: ref.seq})


def _update_dataset(work: FoldWorkspace, ref: EventRef, removed: PartitionSet, *, at: int) -> _DatasetUpdate:
    """Updates the dataset's coverage, times and events; returns what the event changed."""
    # an event of the whole dataset names no partition, so it makes none present
    updated = NOTHING if ref.parts.is_everything else ref.parts
    work.add_coverage(ref.uri, updated)
    changed = updated or work.coverage(ref.uri)
    available = updated - removed
    # reading the coverage flushes its buffer, so it is read only where something was removed
    coverage = work.coverage(ref.uri) - removed if removed else None
    dataset = work.datasets.get(ref.uri) or DatasetState(ref.uri)
    gone = (dataset.gone - available) | removed if removed or dataset.gone else dataset.gone
    work.datasets[ref.uri] = replace(
        dataset,
        coverage=dataset.coverage if coverage is None else coverage,
        gone=gone,
        seq=ref.seq,
        at=at,
        recent=dataset.recent if work.triggered.get(ref.uri) else RecentEvents(),
        touched=_recent_touches(work, dataset, changed, at),
    )
    return _DatasetUpdate(ref.seq, updated, available, removed, gone)


def _recent_touches(work: FoldWorkspace, dataset: DatasetState, changed: PartitionSet, at: int) -> StampedPartitions:
    """When each partition was last updated, no further back than the longest ``settle`` of a consumer."""
    settle = max((inlet.settle for _, inlet in work.readers(dataset.uri)), default=0)
    return dataset.touched.stamped_after(at - settle).overlay(changed, at) if settle else StampedPartitions()


def _propagate_update(
    work: FoldWorkspace, name: str, inlet: FoldInlet, inlet_before: FoldInlet, update: _DatasetUpdate
) -> None:
    """Applies a dataset's update to one consumer.

    ``inlet_before`` is the consumer's inlet with the partitions that were present before the update.
    """
    asset = forget_restored(work.assets[name], work.inlet_with_coverage(inlet), update.available, gone=update.gone)
    # a claimed run may have read the removed rows already
    computed = asset.coverage | asset.claimed_partitions if update.removed else asset.coverage
    work.assets[name] = keep_removed_rows(asset, inlet_before, update.removed, computed=computed, seq=update.seq)
    # under `keep`, a removal is no cause; an event of the whole dataset, which names no partitions, affects everything
    changed = update.available if inlet.on_removed == "keep" else update.updated
    if changed or not update.updated:
        make_stale(work, name, inlet, changed or EVERYTHING, seq=update.seq, inlet_before=inlet_before)


def make_stale(
    work: FoldWorkspace,
    name: str,
    inlet: FoldInlet,
    changed: PartitionSet,
    *,
    seq: int,
    inlet_before: FoldInlet | None = None,
) -> None:
    """Makes those partitions of a consumer stale that depend on ``changed`` inlet partitions, with the cause ``seq``.

    Where the mapping takes the newest partition, that includes partitions that read it ``inlet_before`` the change.
    """
    asset = work.assets[name]
    if not asset.spec.partitioning.is_partitioned:
        unpublished_partitions.retry_ignored_update(work, name, inlet)
        return  # an asset without partitions compares the dataset's number with what it consumed
    # a claimed partition may be computed from what was there before the change
    computed = asset.coverage | asset.claimed_partitions
    affected = computed  # without a mapping, all that is computed
    if inlet.needs.is_mapped and not changed.is_everything and not asset.spec.refreshes:
        affected = work.inlet_with_coverage(inlet).needs.affected_partitions(changed)
        if inlet_before is not None and inlet.needs.goes_by_newest:
            affected = affected | inlet_before.needs.affected_partitions(changed)
        unpublished_partitions.retry_updated(work, name, affected)
    else:
        unpublished_partitions.retry_updated(work, name, EVERYTHING)
    if inlet.on_update == "ignore":
        affected = affected - computed  # computed ones stay current; failed ones get a new cause
    work.add_staleness(name, inlet, affected, seq=seq)
