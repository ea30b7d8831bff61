"""Iterations: published, made the newest again, and removed."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import unix
from sparkassets.core.journal.entries import Numbered, OutletEntry, SuccessEntry
from sparkassets.core.journal.fold.losses import after_success
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.iterations import Iteration, RetiredEntry, restored
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING


def published(asset: AssetState, entry: SuccessEntry | OutletEntry, numbered: Numbered) -> tuple[Iteration, ...]:
    """What the asset has published once that success is known."""
    if not entry.iteration or entry.version is None:
        return asset.iterations
    shown = () if entry.beside else (entry.version,)
    own = asset.spec.partitioning
    hides = NOTHING if own.has_columns else own.in_rows(entry.published)
    told = (entry.version, numbered.seq, unix(numbered.at), entry.published, entry.interval, shown, hides)
    return (*asset.iterations, Iteration(entry.run, entry.iteration, *told))


def rolled_back(asset: AssetState, entry: SuccessEntry, seq: int) -> AssetState:
    """The asset once an older iteration is the newest again.

    It computed nothing: what is due or stale is so as before, and what was used up stays so.
    """
    after = after_success(asset, entry, seq, link=asset.link(entry.recorder))
    return replace(
        after,
        done=max(asset.done, entry.token),
        chain=asset.without_chain(entry.recorder),
        iterations=restored_by(asset, entry),
    )


def restored_by(asset: AssetState, entry: SuccessEntry | OutletEntry) -> tuple[Iteration, ...]:
    """The iterations once the one that a run goes back to is what readers see."""
    return restored(asset.iterations, entry.restores, entry.version if entry.version is not None else 0)


def retired(work: Workspace, entry: RetiredEntry, _: Numbered) -> None:
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
