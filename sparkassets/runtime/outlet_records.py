"""What is recorded of each table that a run wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sparkassets.core.journal.entries import OutletEntry, SuccessEntry
from sparkassets.core.journal.state import State
from sparkassets.core.journal.unchanged_partitions import known_unchanged
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.ports import DataCommit
from sparkassets.runtime.execution import CommittedRun
from sparkassets.runtime.iterations import outlet_with_iteration


def outlet_entries(
    project: ProjectSpec, state: State, entry: SuccessEntry, done: CommittedRun
) -> Iterator[OutletEntry]:
    """What a run of a multi-asset left in each of its outlets, by the commit that is in it; nothing of any other."""
    shared = done.first_commit.measures.get("extra", {})
    claim = state.assets[entry.asset].claim_entry(entry.token)
    request = claim.request if claim is not None else None
    for name, committed in zip(entry.outlets, done.commits, strict=True) if entry.outlets else ():
        own = committed.measures.get("outlets", {}).get(name, {})
        told = OutletEntry(
            asset=name,
            uri=project.assets[name].uri,
            maker=entry.asset,
            run=entry.run,
            token=entry.token,
            recorder=entry.recorder,
            epoch=committed.token if committed.token != entry.token else 0,
            blocks=entry.blocks,
            table_id=committed.table_id,
            version=committed.version,
            interval=entry.interval,
            pins=entry.pins,
            extra={**committed.rows, **shared, **own},
            definition=entry.definition,
            withheld=entry.withheld,
            mark=committed.mark,
            besides=committed.besides,
            unchanged=entry.published_partitions
            & known_unchanged(state.assets[name], committed.unchanged_partitions, table_id=committed.table_id),
        )
        yield told if request is None else outlet_with_iteration(told, project.assets[name], state, request, committed)


def find_unchanged(state: State, asset: AssetSpec, done: CommittedRun, blocks: PartitionSet) -> PartitionSet:
    """Those of a run's blocks that are no news in any of the tables that it wrote."""
    same = blocks
    for name, committed in zip(asset.written_assets, done.commits, strict=True):
        same = same & known_unchanged(state.assets[name], committed.unchanged_partitions, table_id=committed.table_id)
    return same


def total_row_counts(commits: Sequence[DataCommit]) -> Mapping[str, int]:
    """What a run did to rows, in all tables together."""
    total: Counter[str] = Counter()
    for committed in commits:
        total.update(committed.rows)
    return dict(total)
