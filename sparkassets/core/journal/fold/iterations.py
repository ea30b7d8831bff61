"""Iterations: published, made the newest again, and removed."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import to_unix
from sparkassets.core.journal.entries import NumberedEntry, OutletEntry, SuccessEntry
from sparkassets.core.journal.fold.losses import record_table_version
from sparkassets.core.journal.fold.workspace import FoldWorkspace
from sparkassets.core.journal.iterations import PublishedIteration, RetiredEntry, restore_iteration
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING


def add_published_iteration(
    asset: AssetState, entry: SuccessEntry | OutletEntry, numbered: NumberedEntry
) -> tuple[PublishedIteration, ...]:
    """What the asset has published once that success is known."""
    if not entry.iteration or entry.version is None:
        return asset.iterations
    shown = () if entry.beside else (entry.version,)
    own = asset.spec.partitioning
    hides = NOTHING if own.has_columns else own.in_rows(entry.published_partitions)
    told = (entry.version, numbered.seq, to_unix(numbered.at), entry.published_partitions, entry.interval, shown, hides)
    return (*asset.iterations, PublishedIteration(entry.run, entry.iteration, *told))


def roll_back_iteration(asset: AssetState, entry: SuccessEntry, seq: int) -> AssetState:
    """The asset once an older iteration is the newest again.

    It computed nothing: what is due or stale is so as before, and what was used up stays so.
    """
    after = record_table_version(asset, entry, seq, link=asset.claim_state(entry.recorder))
    return replace(
        after,
        done=max(asset.done, entry.token),
        chain=asset.chain_without_slot(entry.recorder),
        iterations=iterations_after_rollback(asset, entry),
    )


def iterations_after_rollback(asset: AssetState, entry: SuccessEntry | OutletEntry) -> tuple[PublishedIteration, ...]:
    """The iterations once the one that a run goes back to is what readers see."""
    return restore_iteration(asset.iterations, entry.restores, entry.version if entry.version is not None else 0)


def fold_retirement(work: FoldWorkspace, entry: RetiredEntry, _: NumberedEntry) -> None:
    """Those are gone, or will be."""
    asset = work.assets.get(entry.asset)
    if asset is not None:
        gone = {each.version for each in asset.iterations if each.run in entry.runs}
        left = tuple(each for each in asset.iterations if each.run not in entry.runs)
        work.assets[entry.asset] = replace(
            asset,
            iterations=left,
            instances=tuple(each for each in asset.instances if each.version not in gone),
        )
