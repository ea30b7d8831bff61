"""Moves an asset to another place or other partitioning columns, and its dataset to another URI."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sparkassets.core.journal.fold.cause_consumption import itemize_unused_events, replace_items
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.fold_specs import FoldSpec
from sparkassets.core.journal.recent_events import RecentEvents
from sparkassets.core.journal.state import AssetState, DatasetState, EventRef
from sparkassets.core.partitions import EVERYTHING, NOTHING, StampedPartitions


def move_asset(work: FoldWorkspace, old: AssetState, spec: FoldSpec, seq: int) -> AssetState:
    """The asset at its new place, or with partitions of other columns, where nothing is computed yet.

    Recent events with partitions that the new partitioning cannot name become events of the whole dataset.
    """
    if not work.has_others(spec.uri, old.name):
        dataset = replace(work.dataset(spec.uri), coverage=NOTHING, gone=NOTHING)
        if not spec.partitioning.understands(old.spec.partitioning):
            recent = RecentEvents.from_events(replace(ref, parts=EVERYTHING) for ref in dataset.recent)
            dataset = replace(dataset, recent=recent, touched=StampedPartitions())
        work.datasets[spec.uri] = dataset
    marks = old.skip_marks if spec.partitioning.understands(old.spec.partitioning) else ()
    made = tuple(replace(each, blocks=NOTHING) for each in old.made)
    return AssetState(
        old.name,
        spec,
        chain=old.chain,
        paused=old.paused,
        placed=seq,
        marks=marks,
        instance_marks=old.skipped_instances,
        made=made,
    )


def rename_dataset(work: FoldWorkspace, name: str, old: str, new: str) -> None:
    """Moves the asset's dataset to another URI, with its events and their consumption."""
    shared = work.has_others(old, name)
    dataset, there = work.dataset(old), work.dataset(new)
    moving = [replace(ref, uri=new) for ref in dataset.recent if not shared or ref.asset == name]
    numbers = {ref.seq for ref in moving}
    for reader in {*work.dependent_assets(old), *work.dependent_assets(new)}:
        _rename_consumption(work, reader, old, new, numbers)
    kept = RecentEvents.from_events(ref for ref in dataset.recent if shared and ref.asset != name)
    work.datasets[old] = replace(dataset, recent=kept)
    work.datasets[new] = _join_datasets(there, dataset, moving)


def _rename_consumption(work: FoldWorkspace, name: str, old: str, new: str, numbers: Collection[int]) -> None:
    """Moves an asset's consumption of the events that go to the new URI."""
    asset = itemize_unused_events(work, itemize_unused_events(work, work.assets[name], old), new)
    before = dict(asset.partly.get(old, ()))
    going = {number: rest for number, rest in before.items() if number in numbers}
    staying = {number: rest for number, rest in before.items() if number not in numbers}
    partly = replace_items(asset.partly, old, staying)
    partly = replace_items(partly, new, going | dict(asset.partly.get(new, ())))
    consumed = {**asset.consumed, new: max(asset.consumed.get(old, 0), asset.consumed.get(new, 0))}
    parted = asset.parted
    if old in parted:
        parted = {**parted, new: parted[old]}
        work.keepers[new] = tuple(sorted({*work.keepers.get(new, ()), name}))
    work.assets[name] = replace(asset, consumed=consumed, partly=partly, parted=parted)


def _join_datasets(there: DatasetState, dataset: DatasetState, moving: Collection[EventRef]) -> DatasetState:
    """The dataset of the new URI, with everything from the old one."""
    coverage = there.coverage | dataset.coverage
    return replace(
        there,
        coverage=coverage,
        gone=(there.gone | dataset.gone) - coverage,
        seq=max(there.seq, dataset.seq),
        at=max(there.at, dataset.at),
        recent=RecentEvents.from_events(sorted([*there.recent, *moving], key=lambda ref: ref.seq)),
        touched=dataset.touched,
        confirmed=max(there.confirmed, dataset.confirmed),
    )
