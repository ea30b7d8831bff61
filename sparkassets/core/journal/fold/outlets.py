"""What a run of a multi-asset leaves in each of its outlets; its own success, which follows, does all the rest."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import marks
from sparkassets.core.journal.entries import NumberedEntry, OutletEntry
from sparkassets.core.journal.fold import datasets, iterations, segments
from sparkassets.core.journal.fold.losses import record_table_version, replaced_table_finding
from sparkassets.core.journal.fold.runs import former_after_run, last_run, record_instance
from sparkassets.core.journal.fold.workspace import FoldWorkspace


def fold_outlet(work: FoldWorkspace, entry: OutletEntry, numbered: NumberedEntry) -> None:
    """The blocks are there in the outlet, and their event is published."""
    asset = work.assets[entry.asset]
    if entry.token < asset.placed:  # it wrote where the outlet was before
        return
    if entry.restores:
        _fold_outlet_rollback(work, entry, numbered)
        return
    if (replaced := replaced_table_finding(asset, entry)) is not None:
        datasets.apply_table_finding(work, replaced, numbered.seq)
        asset = work.assets[entry.asset]
    maker = work.assets.get(entry.maker)
    claim = maker.claim_entry(entry.token) if maker is not None else None
    link = maker.claim_state(entry.recorder) if maker is not None else None
    again, counted = (
        asset.redo_partitions_since(entry.token),
        segments.countable_partitions(asset.spec.partitioning, entry.published_partitions),
    )
    after = record_instance(work, record_table_version(asset, entry, numbered.seq, link=link), entry, numbered.seq)
    work.assets[entry.asset] = replace(
        after,
        coverage=after.coverage if entry.blocks.is_everything else after.coverage | (counted - again),
        done=max(asset.done, entry.token),
        last=last_run(asset, entry, claim, numbered),
        former=former_after_run(asset, entry, claim),
        marks=marks.marks_after_success(asset.marks, entry.blocks, through=entry.token),
        iterations=iterations.add_published_iteration(after, entry, numbered),
    )
    datasets.publish_event(work, numbered)
    if entry.unchanged:
        datasets.confirm_unchanged(work, entry.uri, at=to_unix(numbered.at))
    datasets.withdraw_coverage(
        work, entry.asset, entry.uri, (again & entry.blocks) | (entry.published_partitions - counted)
    )


def _fold_outlet_rollback(work: FoldWorkspace, entry: OutletEntry, numbered: NumberedEntry) -> None:
    """An older iteration is the newest again: an update for those that read the outlet; nothing was computed."""
    asset, maker = work.assets[entry.asset], work.assets.get(entry.maker)
    link = maker.claim_state(entry.recorder) if maker is not None else None
    after = record_table_version(asset, entry, numbered.seq, link=link)
    shown = iterations.iterations_after_rollback(asset, entry)
    work.assets[entry.asset] = replace(after, done=max(asset.done, entry.token), iterations=shown)
    datasets.publish_event(work, numbered)
