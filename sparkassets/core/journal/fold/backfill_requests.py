"""Folds requests to compute partitions again, and keeps what is left of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.backfill_requests import BackfillEntry, RedoRequest
from sparkassets.core.journal.entries import NumberedEntry, SkippedEntry, SuccessEntry
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import PartitionSet


def fold_backfill_request(work: FoldWorkspace, entry: BackfillEntry, numbered: NumberedEntry) -> None:
    """Adds the request as the newest: it replaces the same older request, and takes its partitions from all others."""
    asset = work.assets[entry.asset]
    others = [each for each in asset.redo if each.asked != entry.asked]
    if not entry.asked:
        work.assets[entry.asset] = replace(asset, redo=requests_without(others, entry.blocks))
        return
    newest = RedoRequest(
        numbered.seq, to_unix(numbered.at), entry.asked, entry.blocks, entry.newest_first, entry.limited
    )
    work.assets[entry.asset] = replace(asset, redo=_open_requests([*requests_without(others, entry.blocks), newest]))


def answer_requests(requests: Iterable[RedoRequest], entry: SuccessEntry | SkippedEntry) -> tuple[RedoRequest, ...]:
    """The requests after a success or a skipped run, which answers those that were recorded before its claim."""
    if entry.blocks.is_everything:
        return tuple(requests)
    return _open_requests(
        replace(each, left=each.left - entry.blocks) if each.seq < entry.token else each for each in requests
    )


def requests_without(requests: Iterable[RedoRequest], blocks: PartitionSet) -> tuple[RedoRequest, ...]:
    """The requests without these blocks."""
    return _open_requests(replace(each, left=each.left - blocks) for each in requests)


def drop_unknown_requests(asset: AssetState) -> AssetState:
    """Drops requests for segments that the asset does not have any more."""
    if not asset.redo or not asset.spec.partitioning.segments:
        return asset
    known = asset.spec.partitioning.known_partitions
    return replace(asset, redo=tuple(each for each in asset.redo if each.left.overlaps(known)))


def _open_requests(requests: Iterable[RedoRequest]) -> tuple[RedoRequest, ...]:
    return tuple(each for each in requests if each.left)
