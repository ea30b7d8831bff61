"""What a run of a multi-asset leaves in each of its outlets; its own success, which follows, does all the rest."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import unix
from sparkassets.core.journal import marks
from sparkassets.core.journal.entries import Numbered, OutletEntry
from sparkassets.core.journal.fold import datasets, iterations, keys
from sparkassets.core.journal.fold.losses import after_success, replaced_under
from sparkassets.core.journal.fold.runs import former_after, last_run, with_instance
from sparkassets.core.journal.fold.workspace import Workspace


def written(work: Workspace, entry: OutletEntry, numbered: Numbered) -> None:
    """The blocks are there in the outlet, and their event is published."""
    asset = work.assets[entry.asset]
    if entry.token < asset.placed:  # it wrote where the outlet was before
        return
    if entry.restores:
        _rolled_back(work, entry, numbered)
        return
    if (replaced := replaced_under(asset, entry)) is not None:
        datasets.found(work, replaced, numbered.seq)
        asset = work.assets[entry.asset]
    maker = work.assets.get(entry.maker)
    claim = maker.claim(entry.token) if maker is not None else None
    link = maker.link(entry.recorder) if maker is not None else None
    again, counted = asset.redone_since(entry.token), keys.counted(asset.spec.partitioning, entry.published)
    after = with_instance(work, after_success(asset, entry, numbered.seq, link=link), entry, numbered.seq)
    work.assets[entry.asset] = replace(
        after,
        coverage=after.coverage if entry.blocks.is_everything else after.coverage | (counted - again),
        done=max(asset.done, entry.token),
        last=last_run(asset, entry, claim, numbered),
        former=former_after(asset, entry, claim),
        marks=marks.after_success(asset.marks, entry.blocks, through=entry.token),
        iterations=iterations.published(after, entry, numbered),
    )
    datasets.publish(work, numbered)
    if entry.unchanged:
        datasets.confirmed(work, entry.uri, at=unix(numbered.at))
    datasets.withdraw(work, entry.asset, entry.uri, (again & entry.blocks) | (entry.published - counted))


def _rolled_back(work: Workspace, entry: OutletEntry, numbered: Numbered) -> None:
    """An older iteration is the newest again: an update for those that read the outlet; nothing was computed."""
    asset, maker = work.assets[entry.asset], work.assets.get(entry.maker)
    link = maker.link(entry.recorder) if maker is not None else None
    after = after_success(asset, entry, numbered.seq, link=link)
    shown = iterations.restored_by(asset, entry)
    work.assets[entry.asset] = replace(after, done=max(asset.done, entry.token), iterations=shown)
    datasets.publish(work, numbered)
