"""What is recorded of each table that a run wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sparkassets.core.journal.entries import OutletEntry, SuccessEntry
from sparkassets.core.journal.state import State
from sparkassets.core.journal.unchanged import no_news
from sparkassets.core.partitions import PartitionSet
from sparkassets.core.spec.model import AssetSpec, ProjectSpec
from sparkassets.ports import Committed
from sparkassets.runtime.execution import Done
from sparkassets.runtime.publishing import outlet_with_iteration


def outlet_entries(project: ProjectSpec, state: State, entry: SuccessEntry, done: Done) -> Iterator[OutletEntry]:
    """What a run of a multi-asset left in each of its outlets, by the commit that is in it; nothing of any other."""
    shared = done.committed.measures.get("extra", {})
    claim = state.assets[entry.asset].claim(entry.token)
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
            unchanged=entry.published & no_news(state.assets[name], committed.unchanged, table_id=committed.table_id),
        )
        yield told if request is None else outlet_with_iteration(told, project.assets[name], state, request, committed)


def unchanged(state: State, asset: AssetSpec, done: Done, blocks: PartitionSet) -> PartitionSet:
    """Those of a run's blocks that are no news in any of the tables that it wrote."""
    same = blocks
    for name, committed in zip(asset.written, done.commits, strict=True):
        same = same & no_news(state.assets[name], committed.unchanged, table_id=committed.table_id)
    return same


def rows_of(commits: Sequence[Committed]) -> Mapping[str, int]:
    """What a run did to rows, in all tables together."""
    total: Counter[str] = Counter()
    for committed in commits:
        total.update(committed.rows)
    return dict(total)
