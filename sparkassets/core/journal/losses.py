"""What follows for an asset when its own table is not as its runs left it.

What is gone is missing: it is computed again as if it never had been. Where that would double or lose rows, because
the table is only ever appended to, a person has to decide. What others changed stays as it is, and is told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.found import Found, TargetEntry
from sparkassets.core.journal.state import AssetState, Loss
from sparkassets.core.partitions import RangeSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import LatestOnly

MOST_COMMITS = 20
"""Foreign commits that are remembered of one asset; the newest tell enough."""


def entry_of(asset: AssetSpec, state: AssetState, found: Found | None) -> TargetEntry | None:
    """What is to be recorded of a look at the asset's table; None where nothing is new.

    Args:
        asset: The asset.
        state: What is known of it.
        found: None where the table is as it was recorded.
    """
    whole, stuck = asset.partition is None, state.loss is not None and state.loss.stuck
    if found is None:
        if not stuck:
            return None
        found = Found("back", "", RangeSet(), state.table_id, state.version, state.mark)
        return TargetEntry(asset.name, asset.uri, found, whole=whole, watermarks=state.watermarks)
    if stuck and state.loss is not None and found.reason == state.loss.reason:
        return None
    if not found.is_loss or asset.write is None or asset.write.recomputable:
        kept = state.watermarks if found.lost is not None else {}
        return TargetEntry(asset.name, asset.uri, found, whole=whole, watermarks=kept)
    if isinstance(asset.strategy, LatestOnly) and found.kind == "gone":
        return TargetEntry(asset.name, asset.uri, found, whole=whole)
    if isinstance(asset.strategy, LatestOnly) and found.kind == "restored" and found.watermarks is not None:
        return TargetEntry(asset.name, asset.uri, found, whole=whole, watermarks=found.watermarks)
    return TargetEntry(asset.name, asset.uri, found, whole=whole, stuck=True)


def after_look(asset: AssetState, entry: TargetEntry, seq: int) -> AssetState:
    """The asset once the entry of number ``seq`` is known."""
    found = entry.found
    if entry.stuck:
        return replace(asset, loss=Loss(None, found.reason, seq, stuck=True))
    position: dict[str, Any] = {
        "table_id": found.table_id,
        "version": found.version,
        "seen": found.version,
        "mark": found.mark,
    }
    if found.kind == "back":
        return replace(asset, loss=None, **position)
    foreign = (*asset.foreign, *found.commits)[-MOST_COMMITS:]
    if found.lost is None:
        ranges = None if asset.spec.partition is None else asset.coverage | _ranges(asset.loss)
        return AssetState(
            asset.name,
            asset.spec,
            done=asset.done,
            consumed={uri: number for uri, number in asset.consumed.items() if uri in asset.parted},
            parted=asset.parted,
            watermarks=entry.watermarks,
            chain=asset.chain,
            paused=asset.paused,
            placed=asset.placed,
            loss=Loss(ranges, found.reason, seq),
            foreign=found.commits,
            **position,
        )
    lost = found.lost & asset.coverage
    if not lost:
        return replace(asset, foreign=foreign, **position)
    loss = Loss(lost | _ranges(asset.loss), found.reason, seq)
    return replace(asset, coverage=asset.coverage - lost, cursor=None, loss=loss, foreign=foreign, **position)


def replaced_under(asset: AssetState, entry: SuccessEntry) -> TargetEntry | None:
    """What a success tells of a table that another one had replaced before the run wrote; None as a rule."""
    if asset.table_id in (None, entry.table_id) or (asset.loss is not None and asset.loss.stuck):
        return None
    reason = f"its table was replaced by another one before {entry.run} wrote"
    found = Found("replaced", reason, None, entry.table_id)
    return TargetEntry(asset.name, entry.uri, found, whole=entry.blocks is None, stuck=asset.spec.appends)


def after_success(asset: AssetState, entry: SuccessEntry, seq: int) -> dict[str, Any]:
    """What the success of number ``seq`` changes: how far the log is known, and what was lost or changed by others."""
    loss, blocks = asset.loss, entry.blocks
    decided = loss is not None and loss.stuck and loss.seq != seq
    changes: dict[str, Any] = {"table_id": entry.table_id, "version": entry.version}
    follows = asset.seen is not None and entry.version is not None and asset.seen == entry.version - 1
    if asset.seen is None or follows or decided or asset.table_id != entry.table_id:
        changes |= {"seen": entry.version, "mark": mark_of(entry.token)}
    if blocks is None:
        return changes | {"loss": None if decided or loss is None or not loss.stuck else loss, "foreign": ()}
    rest = _ranges(loss) - blocks
    left = (replace(commit, ranges=commit.ranges - blocks) for commit in asset.foreign)
    changes["foreign"] = tuple(commit for commit in left if commit.ranges)
    return changes | {"loss": replace(loss, ranges=rest) if loss is not None and rest else None}


def mark_of(token: int) -> str:
    """The mark of a commit that a run with that fence token made."""
    return f"epoch:{token}"


def _ranges(loss: Loss | None) -> RangeSet:
    return (loss.ranges if loss is not None else None) or RangeSet()
