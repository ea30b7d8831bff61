"""Finds the partitions of a run that are no event for consumers, because their rows stayed the same."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet


def known_unchanged(asset: AssetState, same: PartitionSet, *, table_id: str | None) -> PartitionSet:
    """The partitions of ``same`` that consumers already know with these rows.

    Partitions that were not present before, were lost, or are in another table now, are an event whatever their rows.

    Args:
        asset: Its state before the run is recorded.
        same: Partitions whose rows the run left unchanged; everything for an asset without partitions.
        table_id: The table that the run is in.
    """
    if asset.table_id != table_id or asset.stuck_loss is not None:
        return NOTHING
    if asset.spec.partitioning.is_partitioned:
        return same & asset.coverage
    return EVERYTHING if same.is_everything and asset.last is not None and asset.loss is None else NOTHING
