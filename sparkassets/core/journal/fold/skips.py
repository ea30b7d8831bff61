"""Folds skipped runs: they write nothing and are no event, but use up the causes that they were claimed for."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import to_unix
from sparkassets.core.journal import marks
from sparkassets.core.journal.entries import ClaimEntry, NumberedEntry, SkippedEntry
from sparkassets.core.journal.fold import backfill_requests, cause_consumption, losses, provenance, withholding
from sparkassets.core.journal.fold.failures import clear_failures
from sparkassets.core.journal.fold.runs import forget_failures, later_interval, skip_instance, stale_after_run
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.state import AssetState, LastSkip


def fold_skip(work: FoldWorkspace, entry: SkippedEntry, numbered: NumberedEntry) -> None:
    """Present partitions of the run count as current, and others rest until a new cause.

    No watermark moves, so that later runs read the rows that this one did not.
    """
    work.flush_stale_marks(entry.asset)
    asset = work.assets[entry.asset]
    chain = asset.chain_without_slot(entry.token)
    if entry.token < asset.placed:
        work.assets[entry.asset] = replace(asset, chain=chain)
        return
    claim = asset.claim_entry(entry.token)
    after = _use_up_skipped(work, asset, entry, claim)
    work.assets[entry.asset] = replace(
        backfill_requests.drop_unknown_requests(
            replace(after, redo=backfill_requests.answer_requests(asset.redo, entry))
        ),
        done=max(asset.done, entry.token),
        chain=chain,
        withheld=withholding.withheld_after_skip(work, asset, entry, claim, numbered),
        marks=marks.marks_after_success(asset.marks, entry.blocks, through=entry.token),
        additions=asset.additions.without_partitions(entry.blocks),
        skip=LastSkip(entry.run, numbered.seq, to_unix(numbered.at), entry.reason, entry.invocation),
    )
    if entry.blocks.is_everything and claim is not None and claim.request.interval is not None:
        skip_instance(work, entry.asset, claim.request.interval, numbered.seq)
    for uri in asset.spec.named:
        cause_consumption.forget_used_events(work, uri)
    if entry.blocks.is_everything and after.failed:
        forget_failures(work, entry.asset)


def _use_up_skipped(
    work: FoldWorkspace, asset: AssetState, entry: SkippedEntry, claim: ClaimEntry | None
) -> AssetState:
    """The asset after the skipped run used up everything that it was claimed for."""
    is_whole, partitioned = entry.blocks.is_everything, asset.spec.partitioning.is_partitioned
    # partitions were added to the asset, or taken from it, since the claim: its consumption no longer applies
    counts = claim if is_whole != partitioned else None
    scheduled = counts if counts is not None and counts.kind == "scheduled" else None
    after = cause_consumption.use_up_causes(work, asset, entry.blocks, counts, token=entry.token)
    if not is_whole:
        after = replace(
            after,
            stale=stale_after_run(after, entry.blocks, scheduled, through=entry.token),
            owed=after.owed - entry.blocks,
            gaps=after.gaps - entry.blocks,
            failed=clear_failures(asset.failed, entry.blocks, invocation=entry.invocation),
        )
    elif scheduled is None:
        after = replace(after, failed=())
    if scheduled is not None:
        after = replace(after, cursor=later_interval(after.cursor, scheduled.request.cursor))
    return losses.accept_table_content(provenance.accept_definition(after, entry.blocks), entry.blocks)
