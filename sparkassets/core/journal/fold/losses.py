"""What follows for an asset from a look at its own table, and from a success for what is lost or changed there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparkassets.core.journal.entries import SuccessEntry
from sparkassets.core.journal.found import Found, TargetEntry
from sparkassets.core.journal.state import AssetState, Loss
from sparkassets.core.partitions import RangeSet

MOST_COMMITS = 20
"""Foreign commits that are remembered of one asset; the newest tell enough."""


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


def after_success(asset: AssetState, entry: SuccessEntry, seq: int) -> AssetState:
    """The asset after the success of number ``seq``: how far its log is known, and what is lost or changed still."""
    loss = asset.loss
    decided = loss is not None and loss.stuck and loss.seq != seq
    follows = asset.seen is not None and entry.version is not None and asset.seen == entry.version - 1
    if asset.seen is None or follows or decided or asset.table_id != entry.table_id:
        asset = replace(asset, seen=entry.version, mark=_mark_of(entry.token))
    asset = replace(asset, table_id=entry.table_id, version=entry.version)
    if entry.blocks is None:
        return replace(asset, loss=None if decided or loss is None or not loss.stuck else loss, foreign=())
    rest = _ranges(loss) - entry.blocks
    left = (replace(commit, ranges=commit.ranges - entry.blocks) for commit in asset.foreign)
    return replace(
        asset,
        loss=replace(loss, ranges=rest) if loss is not None and rest else None,
        foreign=tuple(commit for commit in left if commit.ranges),
    )


def _mark_of(token: int) -> str:
    """The mark of a commit that a run with that fence token made."""
    return f"epoch:{token}"


def _ranges(loss: Loss | None) -> RangeSet:
    return (loss.ranges if loss is not None else None) or RangeSet()
