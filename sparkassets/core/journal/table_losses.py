"""What is recorded of an asset's own table when it is not as its runs left it.

What is gone is missing: it is computed again as if it never had been. Where that would double or lose rows, because
the table is only ever appended to, a person has to decide. What others changed stays as it is, and is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.journal.state import AssetState
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import NOTHING
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import LatestOnly


def build_target_entry(asset: AssetSpec, state: AssetState, found: TableFinding | None) -> TargetEntry | None:
    """What is to be recorded of a look at the asset's table; None where nothing is new.

    Args:
        asset: The asset.
        state: What is known of it.
        found: None where the table is as it was recorded.
    """
    stuck = state.stuck_loss
    if found is None and stuck is not None:
        back = TableFinding("back", "", NOTHING, state.table_id, state.version, state.mark)
        return TargetEntry(asset.name, asset.uri, back, watermarks=state.watermarks)
    if found is None or (stuck is not None and found.reason == stuck.reason):
        return None
    # what an outlet lost its runs would append again to the other outlets as well, which have it all
    apart = bool(asset.maker) and not _is_recomputable(asset)
    start = None if apart and found.is_loss else _restart_watermarks(asset, state, found)
    return TargetEntry(asset.name, asset.uri, found, stuck=start is None, watermarks=start or {})


def _restart_watermarks(asset: AssetSpec, state: AssetState, found: TableFinding) -> Mapping[str, str] | None:
    """The watermarks from which the asset goes on; None where it only adds, and a person has to decide on a loss."""
    if not found.is_loss or _is_recomputable(asset):
        return {} if found.lost.is_everything else state.watermarks
    if asset.partitioning.is_partitioned and _is_gone_for_certain(found):
        return {}  # what is lost is missing, and appended again
    if not _has_watermarks(asset):
        return None
    if found.kind == "gone":
        return {}
    return found.watermarks if found.kind == "restored" else None


def _is_recomputable(asset: AssetSpec) -> bool:
    """Whether what its runs wrote can be computed again."""
    return asset.write is None or asset.write.recomputable


def _is_gone_for_certain(found: TableFinding) -> bool:
    """Whether no rows of what is lost are there any more, so that to append it again doubles none."""
    return found.kind == "gone" or (found.kind == "restored" and not found.lost.is_everything)


def _has_watermarks(asset: AssetSpec) -> bool:
    """Whether it goes by what is read above a watermark."""
    return isinstance(asset.strategy, LatestOnly) and any(inlet.read for inlet in asset.inlets.values())
