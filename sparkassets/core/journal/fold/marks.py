"""What follows from a mark: blocks are accepted as computed, to be computed again, or not wanted any more."""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.instants import unix
from sparkassets.core.journal import withheld
from sparkassets.core.journal.entries import Numbered
from sparkassets.core.journal.fold import consumption, datasets, made, requests
from sparkassets.core.journal.fold.failures import but_of as failures_but_of
from sparkassets.core.journal.fold.failures import without
from sparkassets.core.journal.fold.losses import accepted
from sparkassets.core.journal.fold.removal import computed
from sparkassets.core.journal.fold.runs import further, skip_instance, to_align, want_instance
from sparkassets.core.journal.fold.workspace import Workspace
from sparkassets.core.journal.marks import InstanceMark, Mark, MarkEntry, after_instance, after_mark
from sparkassets.core.journal.state import AssetState, Instance
from sparkassets.core.partitions import NOTHING, PartitionSet


def marked(work: Workspace, entry: MarkEntry, numbered: Numbered) -> None:
    """The blocks are what a person says; what failed of them is forgotten."""
    work.marked(entry.asset)
    asset = work.assets[entry.asset]
    if entry.kind != "accept":
        asset = work.assets[entry.asset] = _answered(asset, entry)
    if entry.only_answers:
        work.assets[entry.asset] = replace(asset, failed=without(asset.failed, entry.blocks))
        return
    if entry.instance is not None:
        work.assets[entry.asset] = _instance(work, asset, entry, entry.instance, numbered)
        if entry.kind == "skip":
            skip_instance(work, entry.asset, entry.instance, numbered.seq)
        elif entry.kind == "missing":
            want_instance(work, entry.asset, entry.instance)
        _tell(work, entry, numbered, withdrawn=NOTHING)
        return
    mark = Mark(entry.kind, entry.blocks, entry.reason, entry.by, numbered.seq, unix(numbered.at))
    if entry.run:
        known = withheld.accepted(asset.withheld, entry.run, mark.text)
        work.assets[entry.asset] = replace(asset, failed=(), withheld=known)
        return
    follow = _whole if entry.blocks.is_everything else _blocks
    redo = asset.redo if entry.kind == "missing" else requests.without(asset.redo, entry.blocks)
    after = follow(work, asset, entry, numbered.seq)
    if asset.stuck is not None:
        after = replace(after, loss=asset.loss)
    marks = after_mark(asset.marks, mark, claims=(link.token for link in after.chain))
    work.assets[entry.asset] = replace(after, marks=marks, redo=redo)
    _tell(work, entry, numbered, withdrawn=asset.coverage - after.coverage)


def _tell(work: Workspace, entry: MarkEntry, numbered: Numbered, *, withdrawn: PartitionSet) -> None:
    """What the asset's readers hear of it."""
    datasets.withdraw(work, entry.asset, entry.uri, withdrawn)
    datasets.publish(work, numbered)
    spec = work.assets[entry.asset].spec
    if spec.outlets and entry.kind == "done":
        datasets.held(work, entry.uri, entry.blocks)
    for uri in spec.named:
        consumption.forget(work, uri)


def _answered(asset: AssetState, entry: MarkEntry) -> AssetState:
    """The asset without the claims of which a person has told now, for all of their blocks, what became of them."""
    chain = asset.chain
    for link in asset.asking:
        known = asset.spec.partitioning.known
        left = link.asks.without(entry.blocks, known=known) if link.asks is not None else None
        rest = [each for each in chain if each.slot != link.slot]
        own = [replace(each, asks=left) if each is link else each for each in chain if each.slot == link.slot]
        chain = tuple(rest) if left is None else tuple(sorted([*rest, *own], key=lambda each: each.token))
    return asset if chain is asset.chain else replace(asset, chain=chain)


def _blocks(work: Workspace, asset: AssetState, entry: MarkEntry, seq: int) -> AssetState:
    blocks = entry.blocks
    asset = replace(asset, failed=without(asset.failed, blocks))
    if entry.kind == "accept":
        return asset
    asset = replace(asset, withheld=withheld.without(asset.withheld, blocks))
    match entry.kind:
        case "done":
            return _done(work, asset, blocks, seq)
        case "missing":
            kept = {name: marks.clear(blocks, through=seq) for name, marks in asset.kept.items()}
            coverage = asset.coverage - blocks
            return replace(asset, coverage=coverage, kept={name: marks for name, marks in kept.items() if marks})
        case "skip":
            return replace(asset, owed=asset.owed - blocks)


def _done(work: Workspace, asset: AssetState, blocks: PartitionSet, seq: int) -> AssetState:
    asset = accepted(consumption.after_run(work, asset, blocks, None, token=seq), blocks)
    asset = made.accepted(asset, blocks)
    stale = {name: marks.clear(blocks, through=seq) for name, marks in asset.stale.items()}
    return replace(
        computed(asset, blocks, None, through=seq),
        coverage=asset.coverage | blocks,
        former=None,
        stale={name: marks for name, marks in stale.items() if marks},
    )


def _instance(
    work: Workspace, asset: AssetState, entry: MarkEntry, interval: tuple[int, int], numbered: Numbered
) -> AssetState:
    """An asset without partitions, of whose instances a person tells of one: it is used up, whatever it had failed of.

    A tick that others are due before is told apart until these ran.
    """
    after = consumption.answered(work, asset, entry.consumption, entry.events)
    told = InstanceMark(entry.kind, interval, not entry.events, entry.reason, entry.by, numbered.seq, unix(numbered.at))
    cursor = further(asset.cursor, entry.cursor)
    if entry.kind == "done" and asset.table_id is not None:
        there = Instance(*interval, numbered.seq, asset.table_id, asset.version)
        after = to_align(work, after, entry.uri, there)
    return replace(
        after,
        cursor=cursor,
        failed=() if entry.cursor is not None else failures_but_of(asset.failed, entry.events),
        withheld=asset.withheld if entry.kind == "missing" else withheld.but_instance(asset.withheld, interval),
        instance_marks=after_instance(asset.instance_marks, told, cursor),
    )


def _whole(work: Workspace, asset: AssetState, entry: MarkEntry, _: int) -> AssetState:
    """An asset without partitions: what was due is used up, unless it is to run again."""
    asset = replace(asset, failed=())
    if entry.kind == "accept":
        return asset
    asset = replace(asset, withheld=())
    if entry.kind == "missing":
        return asset
    after = consumption.answered(work, asset, entry.consumption, entry.events)
    watermarks = {**after.watermarks, **entry.watermarks}
    after = replace(after, cursor=further(after.cursor, entry.cursor), watermarks=watermarks)
    return made.accepted(accepted(after, entry.blocks), entry.blocks) if entry.kind == "done" else after
