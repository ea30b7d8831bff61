"""Keeps rows of a consumer whose input was removed (``on_removed: keep``), and the partitions that lookback owes.

A partition whose input partition was removed keeps its rows: `AssetState.kept` records it, and since when. It is kept
until a run that was claimed later has computed it again, or all of its input is present again.
"""

from __future__ import annotations

from dataclasses import replace

from sparkassets.core.journal.fold_specs import FoldInlet
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING, PartitionSet, StampedPartitions
from sparkassets.core.runs import RunRequest


def keep_removed_rows(
    asset: AssetState, inlet: FoldInlet, removed: PartitionSet, *, computed: PartitionSet, seq: int
) -> AssetState:
    """The consumer after ``removed`` of the inlet were removed: partitions ``computed`` from them keep their rows."""
    if inlet.on_removed != "keep" or not inlet.needs.is_mapped or not removed:
        return asset
    lost = inlet.needs.affected_partitions(removed) & computed
    return _with_kept(asset, inlet.name, asset.kept.get(inlet.name, StampedPartitions()).overlay(lost, seq))


def forget_restored(asset: AssetState, inlet: FoldInlet, came: PartitionSet, *, gone: PartitionSet) -> AssetState:
    """The consumer after ``came`` of the inlet are present again: partitions whose input is complete are not kept."""
    marks = asset.kept.get(inlet.name)
    if marks is None or not inlet.needs.is_mapped or not came:
        return asset
    reached = inlet.needs.affected_partitions(came) & marks.stamped_partitions()
    whole = reached - inlet.needs.affected_partitions(inlet.needs.required_partitions(reached) & gone)
    return _with_kept(asset, inlet.name, marks.without_stamped(whole, through=_ANY))


def clear_kept_and_owed(
    asset: AssetState, blocks: PartitionSet, request: RunRequest | None, *, through: int
) -> AssetState:
    """Updates kept, owed and gaps after a success of ``blocks`` that was claimed at ``through``.

    ``request`` is None where the claim is not known any more.
    """
    owes, gaps = (request.owes, request.gaps) if request is not None else (NOTHING, NOTHING)
    kept = {name: marks.without_stamped(blocks, through=through) for name, marks in asset.kept.items()}
    return replace(
        asset,
        kept={name: marks for name, marks in kept.items() if marks},
        owed=(asset.owed - blocks) | owes,
        gaps=(asset.gaps | gaps) - asset.coverage - blocks,
    )


def _with_kept(asset: AssetState, name: str, marks: StampedPartitions) -> AssetState:
    others = {each: kept for each, kept in asset.kept.items() if each != name}
    return replace(asset, kept=others | {name: marks} if marks else others)


_ANY = 1 << 62
"""Later than any sequence number."""
"""Later than any sequence number."""
