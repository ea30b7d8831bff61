"""Runs that end as skipped: they write nothing and tell nobody, and use up what they were claimed for."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import unix
from sparkassets.core.journal import marks
from sparkassets.core.journal.entries import ClaimEntry, Numbered, SkippedEntry
from sparkassets.core.journal.fold import consumption, losses, made, requests, withheld
from sparkassets.core.journal.fold.failures import after_blocks
from sparkassets.core.journal.fold.runs import forget_failures, further, skip_instance, still_stale
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.state import AssetState, LastSkip


def skipped(work: Workspace, entry: SkippedEntry, numbered: Numbered) -> None:
    """Blocks that are there count as current, others rest; no watermark moves, so that no row is passed over."""
    work.marked(entry.asset)
    asset = work.assets[entry.asset]
    chain = asset.without_chain(entry.token)
    if entry.token < asset.placed:
        work.assets[entry.asset] = replace(asset, chain=chain)
        return
    claim = asset.claim(entry.token)
    after = _used_up(work, asset, entry, claim)
    work.assets[entry.asset] = replace(
        requests.of_known(replace(after, redo=requests.answered(asset.redo, entry))),
        done=max(asset.done, entry.token),
        chain=chain,
        withheld=withheld.after_skip(work, asset, entry, claim, numbered),
        marks=marks.after_success(asset.marks, entry.blocks, through=entry.token),
        additions=asset.additions.without(entry.blocks),
        skip=LastSkip(entry.run, numbered.seq, unix(numbered.at), entry.reason, entry.invocation),
    )
    if entry.blocks.is_everything and claim is not None and claim.request.interval is not None:
        skip_instance(work, entry.asset, claim.request.interval, numbered.seq)
    for uri in asset.spec.named:
        consumption.forget(work, uri)
    if entry.blocks.is_everything and after.failed:
        forget_failures(work, entry.asset)


def _used_up(work: Workspace, asset: AssetState, entry: SkippedEntry, claim: ClaimEntry | None) -> AssetState:
    """The asset for which nothing is due any more of what the run was claimed for."""
    is_whole, partitioned = entry.blocks.is_everything, asset.spec.partitioning.is_partitioned
    counts = claim if is_whole != partitioned else None
    scheduled = counts if counts is not None and counts.kind == "scheduled" else None
    after = consumption.after_run(work, asset, entry.blocks, counts, token=entry.token)
    if not is_whole:
        after = replace(
            after,
            stale=still_stale(after, entry.blocks, scheduled, through=entry.token),
            owed=after.owed - entry.blocks,
            gaps=after.gaps - entry.blocks,
            failed=after_blocks(asset.failed, entry.blocks, invocation=entry.invocation),
        )
    elif scheduled is None:
        after = replace(after, failed=())
    if scheduled is not None:
        after = replace(after, cursor=further(after.cursor, scheduled.request.cursor))
    return losses.accepted(made.accepted(after, entry.blocks), entry.blocks)
