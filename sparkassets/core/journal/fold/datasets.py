"""Events: they reach their dataset, and through it all that reads it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sparkassets.core.instants import unix
from sparkassets.core.journal.entries import EventEntry, Numbered, ObservedEntry
from sparkassets.core.journal.fold import consumption, keys, withheld
from sparkassets.core.journal.fold.losses import after_look, after_look_at_outlet
from sparkassets.core.journal.fold.removal import bereft, restored
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.found import TargetEntry
from sparkassets.core.journal.recent import Recent
from sparkassets.core.journal.specs import FoldInlet
from sparkassets.core.journal.state import DatasetState, EventRef
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet, StampedPartitions
from sparkassets.frozen import frozen


def announced(work: Workspace, _: EventEntry, numbered: Numbered) -> None:
    """Somebody said that a dataset was updated."""
    publish(work, numbered)


def observed(work: Workspace, entry: ObservedEntry, numbered: Numbered) -> None:
    """A source was looked at: its position moves, and what is new there is an event."""
    asset = work.assets.get(entry.asset)
    if asset is not None:
        position = {**asset.position, **entry.cursor}
        work.assets[entry.asset] = replace(
            asset,
            position={key: value for key, value in position.items() if value is not None},
            table_id=entry.table_id or asset.table_id,
            version=entry.version if entry.version is not None else asset.version,
        )
    publish(work, numbered, removed=entry.removed)
    for uri, seen in entry.views.items():
        if seen:
            at, parts = unix(numbered.at), seen.changed | seen.removed
            ref = EventRef(numbered.seq, uri, entry.asset, at, parts, dict(sorted(entry.extra.items())), None, None)
            _publish(work, ref, removed=seen.removed, at=at)


def looked_at(work: Workspace, entry: TargetEntry, numbered: Numbered) -> None:
    """An asset's own table was looked at: what is lost there is missing, and what others changed is an event."""
    found(work, entry, numbered.seq)
    publish(work, numbered)


def found(work: Workspace, entry: TargetEntry, seq: int) -> None:
    """What the asset and its dataset lost."""
    work.marked(entry.asset)
    before = work.assets[entry.asset]
    after = work.assets[entry.asset] = after_look(before, entry, seq)
    withdraw(work, entry.asset, entry.uri, before.coverage - after.coverage)
    maker = work.marked(before.spec.maker) if before.spec.maker else None
    if maker is not None:
        others = (work.assets[name] for name, _ in maker.spec.outlets if name in work.assets and name != entry.asset)
        stuck = next((each.loss for each in others if each.stuck is not None), None)
        after = work.assets[maker.name] = after_look_at_outlet(maker, entry, seq, stuck=stuck)
        withdraw(work, maker.name, maker.spec.uri, maker.coverage - after.coverage)


def held(work: Workspace, uri: str, parts: PartitionSet) -> None:
    """What a multi-asset made is there, although no event tells it: those of its outlets do."""
    work.growing(uri).add(NOTHING if parts.is_everything else parts)


def withdraw(work: Workspace, name: str, uri: str, gone: PartitionSet) -> None:
    """What an asset does not have any more is not there for those that read its dataset either."""
    if gone and not work.has_others(uri, name):  # else others may hold it; theirs are not lost
        dataset = work.dataset(uri)
        work.datasets[uri] = replace(dataset, coverage=dataset.coverage - gone)


def confirmed(work: Workspace, uri: str, *, at: int) -> None:
    """Some of the dataset was computed again and came out as it was: it is as fresh as after an update."""
    work.datasets[uri] = replace(work.dataset(uri), confirmed=at)


@frozen
class _Update:
    """What an event does to its dataset.

    Attributes:
        told: What it is about, where it says which partitions these are; nothing for all of the dataset.
        came: What is there now.
        removed: What is not there any more.
        gone: All that was there and is not any more, after it.
    """

    seq: int
    told: PartitionSet
    came: PartitionSet
    removed: PartitionSet
    gone: PartitionSet


def publish(
    work: Workspace, numbered: Numbered, *, removed: PartitionSet = NOTHING, unread_by: Collection[str] = ()
) -> None:
    """The event of an entry, if it tells of one, reaches its dataset and all that reads it.

    Args:
        work: What the fold works on.
        numbered: The entry.
        removed: Of what it is about, what is not there any more.
        unread_by: Assets that read nothing of what changed: for them it is no news.
    """
    ref = EventRef.of(numbered)
    if ref is not None:
        _publish(work, ref, removed=removed, at=unix(numbered.at), unread_by=unread_by)


def _publish(
    work: Workspace, ref: EventRef, *, removed: PartitionSet, at: int, unread_by: Collection[str] = ()
) -> None:
    keys.named(work, ref)
    for name in unread_by:
        _use_up(work, name, ref)
    others = ((name, inlet) for name, inlet in work.readers(ref.uri) if name not in unread_by)
    readers = [(name, inlet, work.seeing(inlet)) for name, inlet in others]
    update = _updated(work, ref, removed, at=at)
    keepers = work.keeping(ref.uri)
    work.remember(ref, alone=not keepers)
    if keepers and not any(ref.uri in keeper.spec.named for keeper in keepers):
        consumption.forget(work, ref.uri)
    for name, inlet, before in readers:
        _reach(work, name, inlet, before, update)
    withheld.announced(work, ref.uri)


def _use_up(work: Workspace, name: str, ref: EventRef) -> None:
    """Has the asset have used the event, where it has used all of the dataset before it."""
    asset = work.assets.get(name)
    if asset is not None and asset.consumed.get(ref.uri, 0) >= work.newest(ref.uri):
        work.assets[name] = replace(asset, consumed={**asset.consumed, ref.uri: ref.seq})


def _updated(work: Workspace, ref: EventRef, removed: PartitionSet, *, at: int) -> _Update:
    dataset = work.datasets.get(ref.uri) or DatasetState(ref.uri)
    growing = work.growing(ref.uri)
    told = NOTHING if ref.parts.is_everything else ref.parts
    growing.add(told)
    changed = told or growing.result()
    came = told - removed
    growing.remove(removed)
    gone = (dataset.gone - came) | removed if removed or dataset.gone else dataset.gone
    work.datasets[ref.uri] = replace(
        dataset,
        gone=gone,
        seq=ref.seq,
        at=at,
        recent=dataset.recent if work.keepers.get(ref.uri) else Recent(),
        touched=_unsettled(work, dataset, changed, at),
    )
    return _Update(ref.seq, told, came, removed, gone)


def _unsettled(work: Workspace, dataset: DatasetState, changed: PartitionSet, at: int) -> StampedPartitions:
    """When time of the dataset was last updated, as far back as some consumer's ``settle`` goes."""
    settle = max((inlet.settle for _, inlet in work.readers(dataset.uri)), default=0)
    return dataset.touched.since(at - settle).overlay(changed, at) if settle else StampedPartitions()


def _reach(work: Workspace, name: str, inlet: FoldInlet, before: FoldInlet, update: _Update) -> None:
    """What the update does to one that reads the dataset; ``before`` it saw what was there before."""
    asset = restored(work.assets[name], work.seeing(inlet), update.came, gone=update.gone)
    known = asset.coverage | asset.claimed if update.removed else asset.coverage
    work.assets[name] = bereft(asset, before, update.removed, computed=known, seq=update.seq)
    counts = update.came if inlet.on_removed == "keep" else update.told
    if counts or not update.told:
        mark_stale(work, name, inlet, counts or EVERYTHING, seq=update.seq, before=before)


def mark_stale(
    work: Workspace, name: str, inlet: FoldInlet, changed: PartitionSet, *, seq: int, before: FoldInlet | None = None
) -> None:
    """Marks what ``changed`` of the inlet touches in the consumer with the cause ``seq``.

    Where the newest partition tells, that is what read it ``before`` the change as well as what reads it now.
    """
    asset = work.assets[name]
    if not asset.spec.partitioning.is_partitioned:
        withheld.compared(work, name, inlet)
        return  # an asset without partitions compares the dataset's number with what it consumed
    computed = asset.coverage | asset.claimed
    affected = computed
    if inlet.needs.is_mapped and not changed.is_everything and not asset.spec.refreshes:
        affected = work.seeing(inlet).needs.down(changed)
        if before is not None and inlet.needs.goes_by_newest:
            affected = affected | before.needs.down(changed)
        withheld.updated(work, name, affected)
    else:
        withheld.updated(work, name, EVERYTHING)
    if inlet.on_update == "ignore":
        affected = affected - computed  # only a new cause for what failed
    work.mark(name, inlet, affected, seq=seq)
