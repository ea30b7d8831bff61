"""What is recorded of an asset's own table when it is not as its runs left it.

What is gone is missing: it is computed again as if it never had been. Where that would double or lose rows, because
the table is only ever appended to, a person has to decide. What others changed stays as it is, and is told.
"""

from __future__ import annotations

from sparkassets.core.journal.found import Found, TargetEntry
from sparkassets.core.journal.state import AssetState
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import LatestOnly


def entry_of(asset: AssetSpec, state: AssetState, found: Found | None) -> TargetEntry | None:
    """What is to be recorded of a look at the asset's table; None where nothing is new.

    Args:
        asset: The asset.
        state: What is known of it.
        found: None where the table is as it was recorded.
    """
    stuck = state.loss is not None and state.loss.stuck
    if found is None:
        if not stuck:
            return None
        found = Found("back", "", NOTHING, state.table_id, state.version, state.mark)
        return TargetEntry(asset.name, asset.uri, found, watermarks=state.watermarks)
    if stuck and state.loss is not None and found.reason == state.loss.reason:
        return None
    if not found.is_loss or asset.write is None or asset.write.recomputable:
        kept = {} if found.lost.is_everything else state.watermarks
        return TargetEntry(asset.name, asset.uri, found, watermarks=kept)
    if isinstance(asset.strategy, LatestOnly) and found.kind == "gone":
        return TargetEntry(asset.name, asset.uri, found)
    if isinstance(asset.strategy, LatestOnly) and found.kind == "restored" and found.watermarks is not None:
        return TargetEntry(asset.name, asset.uri, found, watermarks=found.watermarks)
    return TargetEntry(asset.name, asset.uri, found, stuck=True)
