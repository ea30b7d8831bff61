"""Folds published iterations: a new one, a rollback to an older one, and those that may be removed."""

from __future__ import annotations

from sparkassets.core.instants import to_unix
from sparkassets.core.iterations import PublishedIteration, RetiredEntry, restore_iteration
from sparkassets.core.journal.entries import NumberedEntry, PublishedEntry, SuccessEntry
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_losses import record_table_version
from sparkassets.core.partitions import NOTHING
from sparkassets.frozen import replace


def add_published_iteration(
    asset: AssetState, entry: PublishedEntry, numbered: NumberedEntry
) -> tuple[PublishedIteration, ...]:
    """The asset's iterations after a success that may have published one; `PublishedIteration` explains the fields."""
    if not entry.iteration or entry.version is None:
        return asset.iterations
    shown = () if entry.is_hidden_iteration else (entry.version,)
    partitioning = asset.spec.partitioning
    hides = NOTHING if partitioning.has_columns else partitioning.widen_to_rows(entry.published_partitions)
    published = PublishedIteration(
        run=entry.run,
        name=entry.iteration,
        version=entry.version,
        seq=numbered.seq,
        at=to_unix(numbered.at),
        partitions=entry.published_partitions,
        interval=entry.interval,
        shown=shown,
        hides=hides,
    )
    return (*asset.iterations, published)


def roll_back_iteration(asset: AssetState, entry: SuccessEntry, seq: int) -> AssetState:
    """The asset after a rollback made an older iteration the newest again.

    It computes nothing, so due and stale partitions and used events stay as they were.
    """
    after = record_table_version(asset, entry, seq, claim=asset.claim_state(entry.recorder))
    return replace(
        after,
        newest_token=max(asset.newest_token, entry.token),
        chain=asset.chain_without_slot(entry.recorder),
        iterations=iterations_after_rollback(asset, entry),
    )


def iterations_after_rollback(asset: AssetState, entry: PublishedEntry) -> tuple[PublishedIteration, ...]:
    """The iterations after a rollback, with the restored one visible to readers."""
    return restore_iteration(asset.iterations, entry.restores, entry.version if entry.version is not None else 0)


def fold_retirement(work: FoldWorkspace, entry: RetiredEntry, _: NumberedEntry) -> None:
    """Forgets retired iterations, whose folders may be removed at any time.

    Their instances go too: no consumer can read the versions of the removed rows.
    """
    asset = work.assets.get(entry.asset)
    if asset is not None:
        retired_versions = {each.version for each in asset.iterations if each.run in entry.runs}
        remaining = tuple(each for each in asset.iterations if each.run not in entry.runs)
        work.assets[entry.asset] = replace(
            asset,
            iterations=remaining,
            instances=tuple(each for each in asset.instances if each.version not in retired_versions),
        )
