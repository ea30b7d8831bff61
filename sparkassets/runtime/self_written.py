"""What a run changed that wrote its target itself: its table is looked at once the run has ended.

All that the table's log holds by then, and that was not recorded before, is the run's: one event tells of it, and no
later look finds it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec, StorageLocation
from sparkassets.errors import RunError
from sparkassets.ports import DataCommit, TargetObserver
from sparkassets.runtime.execution import CommittedRun
from sparkassets.runtime.target_observation import recorded_table


def observe_own_tables(
    done: CommittedRun,
    asset: AssetSpec,
    assets: Mapping[str, AssetSpec],
    *,
    blocks: PartitionSet,
    state: State,
    targets: TargetObserver,
) -> CommittedRun:
    """The run with where the log of each of its tables stands, and what changed there.

    Args:
        done: It.
        asset: Whose run it is.
        assets: Those of the project.
        blocks: That it computed.
        state: As it was before the run is recorded.
        targets: Looks at the tables.

    Raises:
        RunError: There is no table where the asset says that it is.
        SourceError: A table cannot be looked at.
    """
    written = zip((assets[name] for name in asset.written_assets), done.commits, strict=True)
    return replace(done, commits=tuple(_observe_table(each, own, blocks, state, targets) for own, each in written))


def _observe_table(
    committed: DataCommit, asset: AssetSpec, blocks: PartitionSet, state: State, targets: TargetObserver
) -> DataCommit:
    if asset.storage is None:
        return committed
    known, changed = recorded_table(asset, state), blocks
    found = None if known is None else targets.detect_changes(asset, replace(known, coverage=known.coverage | blocks))
    if known is not None and found is None:
        committed, changed = (
            replace(committed, table_id=known.table_id, version=known.accounted_version, mark=known.mark),
            NOTHING,
        )
    else:
        found = found if found is not None and found.version is not None else targets.read_position(asset)
        if found is None:
            raise _no_table(asset, asset.storage)
        committed = replace(committed, table_id=found.table_id, version=found.version, mark=found.mark or "")
        if known is not None:
            changed = found.lost | PartitionSet.union(each.blocks for each in found.commits)
    if asset.partitioning.is_partitioned and changed.is_everything:
        changed = blocks if known is None else blocks | known.coverage
    if asset.unchanged == "skip":
        committed = committed.with_unchanged(blocks - changed)
    return replace(committed, besides=changed - blocks)


def _no_table(asset: AssetSpec, storage: StorageLocation) -> RunError:
    where = (
        f"{{{{ outlets.{asset.name} }}}} in SQL and context.outlets.{asset.name} in a function say where it is to be"
    )
    place = storage.display_text if storage.table else f"at {storage.display_text}"
    return RunError(
        f"{asset.name}: its code has ended, but there is no Delta table {place}",
        hint=f"{where}; without 'path' and 'table' it is known by its events alone",
    )
