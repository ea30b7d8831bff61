"""What is withheld of an asset as runs end, and what of it has a new cause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparkassets.core.instants import unix
from sparkassets.core.journal import withheld
from sparkassets.core.journal.entries import ClaimEntry, Numbered, SuccessEntry
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.specs import FoldInlet
from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.withheld import Records, Withheld
from sparkassets.core.partitions import EVERYTHING, PartitionSet


def after_success(
    work: Workspace, asset: AssetState, entry: SuccessEntry, claim: ClaimEntry | None, numbered: Numbered
) -> Records:
    """What is withheld of the asset once that success is known; ``asset`` is as it was before."""
    if not entry.withheld:
        return withheld.after_run(asset.withheld, entry.blocks, None)
    item = Withheld(
        blocks=entry.withheld,
        run=entry.run,
        token=entry.token,
        seq=numbered.seq,
        at=unix(numbered.at),
        caused=PartitionSet.union(_meanwhile(work, asset, entry)) & entry.withheld,
        judges=((claim.request.judge if claim is not None else "") or entry.definition,),
        verdicts=tuple(each for each in entry.verdicts if each.outcome == "withheld"),
        interval=entry.interval,
        invocation=claim.invocation if claim is not None else "",
    )
    return withheld.after_run(asset.withheld, entry.blocks, item)


def _meanwhile(work: Workspace, asset: AssetState, entry: SuccessEntry) -> Iterator[PartitionSet]:
    """What came for the blocks of a run since it was claimed; which blocks, as far as that is known."""
    ignored = {inlet.uri for inlet in asset.spec.inlets if inlet.on_update == "ignore"}
    if not asset.spec.partitioning.is_partitioned:
        uris = ignored if asset.spec.named else set[str]()  # what else came is not used, so that it runs
    else:
        uris = ignored.union(_unread(asset))
        yield asset.redone_since(entry.token)
        yield from (marks.since(entry.token).parts() for marks in asset.stale.values())
    if any(work.newest(uri) > entry.token for uri in uris):
        yield EVERYTHING


def _unread(asset: AssetState) -> Iterator[str]:
    """The datasets that its condition names and that it does not read."""
    read = {inlet.uri for inlet in asset.spec.inlets}
    return (uri for uri in asset.spec.named if uri not in read)


def updated(work: Workspace, name: str, blocks: PartitionSet) -> None:
    """An inlet was updated for ``blocks`` of an asset with partitions: what is withheld of them is tried again."""
    asset = work.assets[name]
    if asset.withheld:
        work.assets[name] = replace(asset, withheld=withheld.caused(asset.withheld, blocks))


def compared(work: Workspace, name: str, inlet: FoldInlet) -> None:
    """An inlet was updated whose updates do not run an asset without partitions: what is withheld is tried again.

    One that runs by times alone is tried at the next.
    """
    asset = work.assets[name]
    if asset.withheld and asset.spec.named and inlet.on_update == "ignore":
        work.assets[name] = replace(asset, withheld=withheld.caused(asset.withheld, EVERYTHING))


def announced(work: Workspace, uri: str) -> None:
    """A dataset was updated: what is withheld of assets whose condition names it, and that do not read it."""
    for asset in work.keeping(uri):
        if asset.withheld and asset.spec.partitioning.is_partitioned and uri in _unread(asset):
            work.assets[asset.name] = replace(asset, withheld=withheld.caused(asset.withheld, EVERYTHING))
