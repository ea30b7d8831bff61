"""Which of a run's blocks are no news: they came out as they were, and that is what was told of them before."""

from __future__ import annotations

from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet


def known_unchanged(asset: AssetState, same: PartitionSet, *, table_id: str | None) -> PartitionSet:
    """Those of ``same``, the blocks whose rows a run found to be as they were, that consumers know so.

    What was never there, or is lost, or stands in another table by now, is news whatever its rows are.

    Args:
        asset: Before the run is recorded.
        same: Of the run's blocks; everything of an asset without partitions.
        table_id: Of the table that the run is in.
    """
    if asset.table_id != table_id or asset.stuck_loss is not None:
        return NOTHING
    if asset.spec.partitioning.is_partitioned:
        return same & asset.coverage
    return EVERYTHING if same.is_everything and asset.last is not None and asset.loss is None else NOTHING
