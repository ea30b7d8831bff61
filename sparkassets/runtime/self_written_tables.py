"""Reads what a run changed that writes its target itself.

Such a run makes no commit that the driver could read. Its table is looked at once the run has ended: whatever its log
holds by then and was not recorded before belongs to that run. One event announces it, so no later look reports the same
change again.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.journal.state import State
from sparkassets.core.partitions import NOTHING, PartitionSet
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.errors import RunError
from sparkassets.frozen import replace
from sparkassets.ports import DataCommit, TargetObserver
from sparkassets.runtime.observation import recorded_table
from sparkassets.runtime.outcomes import CommittedRun


def observe_own_tables(
    outcome: CommittedRun,
    asset: AssetSpec,
    assets: Mapping[str, AssetSpec],
    *,
    partitions: PartitionSet,
    state: State,
    targets: TargetObserver,
) -> CommittedRun:
    """The run with the version of each table that it wrote itself, and with the partitions that changed there.

    Args:
        outcome: The run.
        asset: The asset that it is a run of.
        assets: The project's assets by name.
        partitions: The partitions that it computed.
        state: The state before the run is recorded.
        targets: Looks at the tables.

    Raises:
        RunError: There is no table where the asset says that it is.
        SourceError: A table cannot be looked at.
    """
    written = zip((assets[name] for name in asset.written_assets), outcome.commits, strict=True)
    return replace(
        outcome, commits=tuple(_observe_table(commit, table, partitions, state, targets) for table, commit in written)
    )


def _observe_table(
    committed: DataCommit, asset: AssetSpec, partitions: PartitionSet, state: State, targets: TargetObserver
) -> DataCommit:
    """The commit of one table with its version, its unchanged partitions, and what changed outside the run.

    A table that has not changed since it was recorded keeps its recorded version. A change that cannot be determined by
    partition counts for all that the table holds.
    """
    if asset.storage is None:
        return committed
    recorded, changed, finding = recorded_table(asset, state), partitions, None
    if recorded is not None:
        finding = targets.detect_changes(asset, replace(recorded, coverage=recorded.coverage | partitions))
    if recorded is not None and finding is None:
        changed = NOTHING
        committed = replace(
            committed, table_id=recorded.table_id, version=recorded.accounted_version, commit_mark=recorded.mark
        )
    else:
        if finding is None or finding.version is None:
            finding = targets.read_position(asset)
        if finding is None:
            raise _no_table(asset, asset.storage)
        committed = replace(
            committed, table_id=finding.table_id, version=finding.version, commit_mark=finding.mark or ""
        )
        if recorded is not None:
            changed = finding.changed_partitions
    if asset.partitioning.is_partitioned and changed.is_everything:
        changed = partitions if recorded is None else partitions | recorded.coverage
    if asset.unchanged == "skip":
        committed = committed.with_unchanged(partitions - changed)
    return replace(committed, other_changed_partitions=changed - partitions)


def _no_table(asset: AssetSpec, storage: StorageLocation) -> RunError:
    """The error for a run whose code has ended without writing a Delta table where the asset says."""
    where = f"write to {{{{ outlets.{asset.name} }}}} in SQL, or to context.outlets.{asset.name} in a function"
    place = storage.display_text if storage.table else f"at {storage.display_text}"
    return RunError(
        f"{asset.name}: its code has ended, but did not write a Delta table {place}",
        hint=f"{where}; without 'path' and 'table' it is known only by its events",
    )
