"""Builds the entry for an asset's own table that is not as its runs left it.

Lost partitions are missing and are computed again. Where that could double or lose rows, because the table is only
appended to, a person has to decide. Changes of others stay in the table and are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import LatestOnly


def build_target_entry(asset: AssetSpec, state: AssetState, found: TableFinding | None) -> TargetEntry | None:
    """The entry to record for a look at the asset's table; None where nothing is new.

    Args:
        asset: The asset.
        state: Its state.
        found: The finding; None where the table is as recorded.
    """
    stuck = state.stuck_loss
    if found is None and stuck is not None:
        back = TableFinding("back", "", NOTHING, state.table_id, state.version, state.mark)
        return TargetEntry(asset.name, asset.uri, back, watermarks=state.watermarks)
    if found is None or (stuck is not None and found.reason == stuck.reason):
        return None
    # a run that appends the lost rows of one outlet again would append them to the other outlets, too
    apart = bool(asset.maker) and not _is_recomputable(asset)
    start = None if apart and found.is_loss else _restart_watermarks(asset, state, found)
    return TargetEntry(asset.name, asset.uri, found, stuck=start is None, watermarks=start or {})


def _restart_watermarks(asset: AssetSpec, state: AssetState, found: TableFinding) -> Mapping[str, str] | None:
    """The watermarks from which the asset goes on; None where a person has to decide on the loss."""
    if not found.is_loss or _is_recomputable(asset):
        return {} if found.lost.is_everything else state.watermarks
    if asset.partitioning.is_partitioned and _is_gone_for_certain(found):
        return {}  # the lost partitions are missing, and appended again
    if not _has_watermarks(asset):
        return None
    if found.kind == "gone":
        return {}
    return found.watermarks if found.kind == "restored" else None


def _is_recomputable(asset: AssetSpec) -> bool:
    """Whether the rows that its runs wrote can be computed again."""
    return asset.write is None or asset.write.recomputable


def _is_gone_for_certain(found: TableFinding) -> bool:
    """Whether no row of the lost partitions remains, so that appending them again doubles none."""
    return found.kind == "gone" or (found.kind == "restored" and not found.lost.is_everything)


def _has_watermarks(asset: AssetSpec) -> bool:
    """Whether its runs read rows above a watermark."""
    return isinstance(asset.strategy, LatestOnly) and any(inlet.read for inlet in asset.inlets.values())
