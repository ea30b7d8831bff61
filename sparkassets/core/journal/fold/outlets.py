"""Folds the result of a multi-asset's run in each outlet; the run's own success follows and settles the claim."""

from __future__ import annotations

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import marks
from sparkassets.core.journal.entries import NumberedEntry, OutletEntry
from sparkassets.core.journal.fold import datasets, iterations, segments
from sparkassets.core.journal.fold.aligned_instances import record_instance
from sparkassets.core.journal.fold.runs import former_after_run, last_run
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.table_losses import record_table_version, replaced_table_finding
from sparkassets.frozen import replace


def fold_outlet(work: FoldWorkspace, entry: OutletEntry, numbered: NumberedEntry) -> None:
    """Covers the run's partitions in the outlet and publishes their event.

    Partitions that a person marked as missing since the claim stay missing.
    """
    asset = work.assets[entry.asset]
    if entry.token < asset.placed_since:  # it wrote to the outlet's former place
        return
    if entry.restores:
        _fold_outlet_rollback(work, entry, numbered)
        return
    if (replaced := replaced_table_finding(asset, entry)) is not None:
        datasets.apply_table_finding(work, replaced, numbered.seq)
        asset = work.assets[entry.asset]
    writer = work.assets.get(entry.written_by)
    claim = writer.claim_entry(entry.token) if writer is not None else None
    recorder_claim = writer.claim_state(entry.recorder) if writer is not None else None
    marked_missing = asset.redo_partitions_since(entry.token)
    # without partitions of a whole open dimension whose segments became known since the claim
    countable = segments.countable_partitions(asset.spec.partitioning, entry.published_partitions)
    after = record_instance(
        work, record_table_version(asset, entry, numbered.seq, claim=recorder_claim), entry, numbered.seq
    )
    work.assets[entry.asset] = replace(
        after,
        coverage=after.coverage if entry.partitions.is_everything else after.coverage | (countable - marked_missing),
        newest_token=max(asset.newest_token, entry.token),
        last=last_run(asset, entry, claim, numbered),
        former=former_after_run(asset, entry, claim),
        marks=marks.marks_after_success(asset.marks, entry.partitions, through=entry.token),
        iterations=iterations.add_published_iteration(after, entry, numbered),
    )
    datasets.publish_event(work, numbered)
    if entry.unchanged:
        datasets.confirm_unchanged(work, entry.uri, at=to_unix(numbered.at))
    datasets.withdraw_coverage(
        work, entry.asset, entry.uri, (marked_missing & entry.partitions) | (entry.published_partitions - countable)
    )


def _fold_outlet_rollback(work: FoldWorkspace, entry: OutletEntry, numbered: NumberedEntry) -> None:
    """Makes an older iteration of the outlet the newest again: an event for consumers, without computed partitions."""
    asset, writer = work.assets[entry.asset], work.assets.get(entry.written_by)
    # claims are those of the multi-asset, whose runs write the outlet
    recorder_claim = writer.claim_state(entry.recorder) if writer is not None else None
    after = record_table_version(asset, entry, numbered.seq, claim=recorder_claim)
    work.assets[entry.asset] = replace(
        after,
        newest_token=max(asset.newest_token, entry.token),
        iterations=iterations.iterations_after_rollback(asset, entry),
    )
    datasets.publish_event(work, numbered)
