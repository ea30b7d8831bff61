"""Losses of an asset's own table: the entry for a table that changed, and what it changes of the state.

Lost partitions are missing and are computed again. Where that could double or lose rows, because the table is only
appended to, a person has to decide. Changes of others stay in the table and are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkassets.core.journal.asset_records import TableLoss
from sparkassets.core.journal.entries import OutletEntry, PublishedEntry
from sparkassets.core.journal.state import AssetState, ClaimState
from sparkassets.core.journal.table_findings import TableFinding, TargetEntry
from sparkassets.core.partitions import EVERYTHING, NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.strategies import LatestOnly
from sparkassets.frozen import replace

MOST_COMMITS = 20
"""Foreign commits that the state remembers for one asset; the newest."""


def asset_after_finding(asset: AssetState, entry: TargetEntry, seq: int) -> AssetState:
    """The asset after a look at its table that the entry numbered ``seq`` records.

    A table that lost everything resets what the asset computed, but not what people marked. Some lost partitions become
    missing. A loss that only a person can settle stops the asset.
    """
    finding = entry.found
    if entry.stuck:
        return replace(asset, loss=TableLoss(EVERYTHING, finding.reason, seq, stuck=True))
    position: dict[str, Any] = {
        "table_id": finding.table_id,
        "version": finding.version,
        "seen_version": finding.version,
        "commit_mark": finding.mark,
    }
    if finding.kind == "back":
        return replace(asset, loss=None, **position)
    foreign = (*asset.foreign_commits, *finding.commits)[-MOST_COMMITS:]
    if finding.lost.is_everything:
        # with what was lost before and not computed since
        partitions = (
            asset.coverage | _lost_partitions(asset.loss) if asset.spec.partitioning.is_partitioned else EVERYTHING
        )
        return AssetState(
            asset.name,
            asset.spec,
            newest_token=asset.newest_token,
            consumed={uri: number for uri, number in asset.consumed.items() if uri in asset.former_triggers},
            former_triggers=asset.former_triggers,
            watermarks=entry.watermarks,
            columns=asset.columns,
            chain=asset.chain,
            paused=asset.paused,
            pause_reason=asset.pause_reason,
            placed_since=asset.placed_since,
            costs=asset.costs,
            marks=asset.skip_marks,
            instance_marks=asset.skipped_instances,
            keys=asset.keys,
            redo_requests=asset.redo_requests,
            definition_outputs=tuple(replace(each, partitions=NOTHING) for each in asset.definition_outputs),
            iterations=asset.iterations if finding.kind == "restored" else (),
            loss=TableLoss(partitions, finding.reason, seq),
            foreign_commits=finding.commits,
            **position,
        )
    lost = finding.lost & asset.coverage
    if not lost:
        return replace(asset, foreign_commits=foreign, **position)
    loss = TableLoss(lost | _lost_partitions(asset.loss), finding.reason, seq)
    return replace(asset, coverage=asset.coverage - lost, cursor=None, loss=loss, foreign_commits=foreign, **position)


def multi_asset_after_finding(
    multi_asset: AssetState, entry: TargetEntry, seq: int, *, stuck: TableLoss | None
) -> AssetState:
    """A multi-asset after a finding in one of its outlets: its next run recomputes lost partitions in all outlets.

    ``stuck`` is the loss of another outlet that a person still has to decide on; None without one.
    """
    finding = entry.found
    if entry.stuck:
        return replace(multi_asset, loss=TableLoss(EVERYTHING, finding.reason, seq, stuck=True))
    if finding.kind == "back":
        return replace(multi_asset, loss=stuck)
    if not finding.is_loss:
        return multi_asset
    # without a version and a table: a multi-asset has no table of its own
    lost = TableFinding(finding.kind, finding.reason, finding.lost)
    return asset_after_finding(
        multi_asset, replace(entry, asset=multi_asset.name, uri=multi_asset.spec.uri, found=lost), seq
    )


def replaced_table_finding(asset: AssetState, entry: PublishedEntry) -> TargetEntry | None:
    """The finding that the table was replaced by another one before the run wrote; None in the usual case.

    A run that writes its target itself may have created the new table, so its success is no such finding.
    """
    # a person decides about a loss that is recorded as stuck, so no second finding is recorded
    if asset.table_id in (None, entry.table_id) or asset.stuck_loss is not None or entry.commit_mark:
        return None
    reason = f"its table was replaced by another before {entry.run} wrote"
    finding = TableFinding("replaced", reason, EVERYTHING, entry.table_id)
    return TargetEntry(asset.name, entry.uri, finding, stuck=asset.spec.appends)


def record_table_version(asset: AssetState, entry: PublishedEntry, seq: int, *, claim: ClaimState | None) -> AssetState:
    """The asset after a success: its table's version, how far the table's log is known, and the losses that remain.

    ``claim`` is the claim that recorded the success; None where it is settled already. A loss that waited for a person
    counts as decided by any success, because only that person's backfill can run.
    """
    stuck = asset.stuck_loss
    # a loss with this very number was found by the same entry, so nobody has decided on it
    is_decided = stuck is not None and stuck.seq != seq
    # else commits before this one are still to be looked at, so the log stays unknown from there on
    if is_decided or _is_known_up_to(asset, entry):
        asset = replace(asset, seen_version=entry.version, commit_mark=_commit_mark(entry))
    loss = asset.loss
    asset = accept_table_content(
        replace(asset, table_id=entry.table_id, version=_newest_version(asset, entry, claim)),
        entry.published_partitions,
    )
    return replace(asset, loss=loss) if stuck is not None and not is_decided else asset


def accept_table_content(asset: AssetState, partitions: PartitionSet) -> AssetState:
    """The asset with its table's rows of ``partitions`` taken as valid: neither lost nor changed by other writers."""
    remaining = (replace(commit, partitions=commit.partitions - partitions) for commit in asset.foreign_commits)
    return replace(
        asset,
        foreign_commits=tuple(commit for commit in remaining if commit.partitions),
        loss=_remaining_loss(asset.loss, partitions),
    )


def _newest_version(asset: AssetState, entry: PublishedEntry, link: ClaimState | None) -> int | None:
    """The newest recorded version of the table, after a success; None where its target has no versions.

    Where runs go side by side, one that committed later may be recorded already.
    """
    before = asset.version
    if link is None or not link.run_slot or asset.table_id != entry.table_id or before is None or entry.version is None:
        return entry.version
    return max(before, entry.version)


def _is_known_up_to(asset: AssetState, entry: PublishedEntry) -> bool:
    """Whether the table's log has no commit of unknown origin before this success.

    That is so for another table, for the next version, and for a run that wrote its target itself.
    """
    if asset.seen_version is None or asset.table_id != entry.table_id or entry.commit_mark:
        return True
    return entry.version is not None and asset.seen_version == entry.version - 1


def _remaining_loss(loss: TableLoss | None, partitions: PartitionSet) -> TableLoss | None:
    """The rest of a loss after ``partitions`` were computed; None where nothing is left."""
    remaining = _lost_partitions(loss) - partitions
    return replace(loss, partitions=remaining) if loss is not None and remaining else None


def _commit_mark(entry: PublishedEntry) -> str:
    """The text that identifies the commit in the table: its own, or one with the fence token of its claim."""
    if entry.commit_mark:
        return entry.commit_mark
    later = entry.epoch if isinstance(entry, OutletEntry) else 0
    return f"epoch:{later or entry.token}"


def _lost_partitions(loss: TableLoss | None) -> PartitionSet:
    """The lost partitions; none where it is unknown which ones are."""
    return loss.lost_partitions if loss is not None else NOTHING


def build_target_entry(asset: AssetSpec, state: AssetState, finding: TableFinding | None) -> TargetEntry | None:
    """The entry to record for a look at the asset's table; None where nothing is new.

    Args:
        asset: The asset.
        state: Its state.
        finding: The finding; None where the table is as recorded.
    """
    stuck = state.stuck_loss
    if finding is None and stuck is not None:  # the table is as recorded again, so the loss is over
        restored_finding = TableFinding("back", "", NOTHING, state.table_id, state.version, state.commit_mark)
        return TargetEntry(asset.name, asset.uri, restored_finding, watermarks=state.watermarks)
    if finding is None or (stuck is not None and finding.reason == stuck.reason):
        return None
    # a run that appends the lost rows of one outlet again would append them to the other outlets, too
    would_duplicate = bool(asset.written_by) and asset.appends
    watermarks = None if would_duplicate and finding.is_loss else _restart_watermarks(asset, state, finding)
    return TargetEntry(asset.name, asset.uri, finding, stuck=watermarks is None, watermarks=watermarks or {})


def _restart_watermarks(asset: AssetSpec, state: AssetState, finding: TableFinding) -> Mapping[str, str] | None:
    """The watermarks from which the asset goes on after a finding; None where a person has to decide on the loss.

    Without watermarks (an empty mapping) everything is read again. An asset that appends goes on by itself only if no
    lost row can remain in the table, or the restored table says how far it was read.
    """
    if finding.stuck:
        return None
    if not finding.is_loss or not asset.appends:
        return {} if finding.lost.is_everything else state.watermarks
    if asset.partitioning.is_partitioned and _is_gone_for_certain(finding):
        return {}  # the lost partitions are missing, and appended again
    if not _has_watermarks(asset):
        return None
    if finding.kind == "gone":
        return {}
    return finding.watermarks if finding.kind == "restored" else None


def _is_gone_for_certain(finding: TableFinding) -> bool:
    """Whether no row of the lost partitions remains, so that appending them again doubles none."""
    return finding.kind == "gone" or (finding.kind == "restored" and not finding.lost.is_everything)


def _has_watermarks(asset: AssetSpec) -> bool:
    """Whether its runs read rows above a watermark."""
    return isinstance(asset.strategy, LatestOnly) and any(inlet.read for inlet in asset.inlets.values())
